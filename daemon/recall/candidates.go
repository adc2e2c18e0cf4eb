package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Channel is one way in which a search finds.
type Channel string

// The channels of a search.
const (
	Words   Channel = "words"
	Vectors Channel = "vectors"
	Commits Channel = "commits"
)

// Channels are the channels that a search asks; none means all that have a weight.
type Channels []Channel

// have reports whether a search asks a channel.
func (cs Channels) have(ch Channel) bool { return len(cs) == 0 || slices.Contains(cs, ch) }

// only removes from c what other channels found.
func (cs Channels) only(c *rank.Candidates) {
	if !cs.have(Words) {
		c.Files, c.Memories, c.Chunks = nil, nil, nil
	}
	if !cs.have(Vectors) {
		c.Vectors = nil
	}
	if !cs.have(Commits) {
		c.Votes, c.Messages = nil, nil
	}
}

// A Place is where a candidate is: lines of a source file, or a memory as a whole.
type Place struct {
	Memory     fold.ID
	Path       string // of the source file; "" if the memory is not about one
	Start, End int    // lines of a chunk, from 1, both included; 0 for a memory
}

// Found is what one search found, before it is ranked.
type Found struct {
	rank.Candidates

	At map[string]Place // by key of a candidate
}

// Candidates returns what the channels find for req, before it is ranked. Weights are
// measured and fitted on it.
func (s *Service) Candidates(ctx context.Context, req wire.SearchRequest, channels Channels) (Found, error) {
	f, err := checkSearch(&req)
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	p, err := s.gather(ctx, req, nil, f, channels, s.Now())
	if err != nil {
		return Found{}, fmt.Errorf("search %s: %w", s.Slug, err)
	}
	at, err := s.locate(ctx, p.found)
	return Found{p.found, at}, err
}

// locate returns the places of the candidates, by their keys.
func (s *Service) locate(ctx context.Context, c rank.Candidates) (map[string]Place, error) {
	at := map[string]Place{}
	var chunkIDs []string
	var owners []fold.ID
	add := func(key string, memory fold.ID) {
		if _, ok := at[key]; ok {
			return
		}
		at[key] = Place{Memory: memory}
		owners = append(owners, memory)
		if id, ok := strings.CutPrefix(key, "c:"); ok {
			chunkIDs = append(chunkIDs, id)
		}
	}
	for _, hits := range [][]rank.Hit{c.Files, c.Memories, c.Chunks} {
		for _, h := range hits {
			add(h.Key, h.Memory)
		}
	}
	for _, n := range c.Vectors {
		add(n.Key, n.Memory)
	}
	for _, of := range []map[fold.ID]float64{c.Votes, c.Messages} {
		for id := range of {
			add("m:"+string(id), id)
		}
	}
	slices.Sort(owners)
	owners = slices.Compact(owners)
	rows, err := s.Index.Memories(ctx, owners)
	if err != nil {
		return nil, err
	}
	chunks, err := s.Index.ChunksByID(ctx, owners, chunkIDs)
	if err != nil {
		return nil, err
	}
	for key, p := range at {
		p.Path = rows[p.Memory].FilePath
		if ch, ok := chunks[strings.TrimPrefix(key, "c:")]; ok && strings.HasPrefix(key, "c:") {
			p.Start, p.End = ch.StartLine, ch.EndLine
		}
		at[key] = p
	}
	return at, nil
}
