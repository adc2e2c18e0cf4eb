package recall

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// Links from chunks: two memories are linked where each is among the first few
// whose chunks have the other's rare words. They are found when somebody looks at
// a memory, from the text index as it is then, and are kept nowhere: a first
// index, a save and a branch switch do no work for them, and a rebuilt index
// answers the same. A term that comes up anywhere changes how rare it is
// everywhere, so that links that were stored would be out of step with each save.
const (
	maxAssociations      = 5   // links from chunks that a memory has at most
	minSimilarity        = .25 // of a chunk's rare words, at least
	minSimilarityAlone   = .4  // where it is the only one, and of the same folder
	nearbyFactor         = 1.5 // of the same folder: as much closer than the best of others
	maxPerChunk          = 3   // of them that one chunk of the memory makes
	similarityCandidates = 24  // memories of which the first few are chosen
	maxPassages          = 400 // chunks of a memory that are compared
	maxSimilarityCache   = 512 // memories whose outcome is kept until the index changes
)

// A leaning is what one memory's chunks find: another, and the two chunks that
// are most alike.
type similarity struct {
	to    fold.ID
	share float64
	here  chunkEnd
	there chunkEnd
	words []string // that both have
}

// An end is one of two chunks that are alike.
type chunkEnd struct {
	key   string // of the text index
	chunk fold.Chunk
}

// similarities remembers what was found in the index as it is.
type similarityCache struct {
	mu      sync.Mutex // guards the fields below
	version similarityVersion
	found   map[fold.ID][]similarity
}

// A leaningState is all on which an outcome depends beside the files themselves.
type similarityVersion struct {
	seq     int64 // of the index
	words   int64 // seq of the text index, which follows
	model   *Meaning
	vectors int64 // seq of the vectors, where they count
}

// An association is a link from chunks.
type association struct {
	fold.Link

	chunks [2]chunkEnd // of From and of To
}

// associations returns the links from chunks of the memory id, the closest first.
func (s *Door) associations(ctx context.Context, id fold.ID) ([]association, error) {
	own, err := s.similarities(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []association
	for _, l := range own {
		back, err := s.similarities(ctx, l.to)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(back, func(b similarity) bool { return b.to == id })
		if i < 0 {
			continue
		}
		out = append(out, associate(id, l, back[i]))
	}
	slices.SortStableFunc(out, func(a, b association) int { return cmp.Compare(b.Weight, a.Weight) })
	return out, nil
}

// associate makes the link of two memories that lean to each other. It is the
// same seen from either.
func associate(id fold.ID, l, back similarity) association {
	a := association{
		Link:   fold.Link{From: id, To: l.to, Type: fold.LinkRelated, Derived: true, Weight: math.Sqrt(l.share * back.share)},
		chunks: [2]chunkEnd{l.here, l.there},
	}
	if back.share > l.share || back.share == l.share && l.to < id {
		a.chunks, l.words = [2]chunkEnd{back.there, back.here}, back.words
	}
	if a.To < a.From {
		a.From, a.To = a.To, a.From
		a.chunks[0], a.chunks[1] = a.chunks[1], a.chunks[0]
	}
	a.Evidence = "alike in meaning"
	if len(l.words) > 0 {
		a.Evidence = "both have " + strings.Join(l.words, ", ")
	}
	return a
}

// similarities returns the first few memories whose chunks are like those of id.
func (s *Door) similarities(ctx context.Context, id fold.ID) ([]similarity, error) {
	m := s.model.Load()
	state := similarityVersion{model: m}
	if m.cosineWeight() > 0 {
		state.vectors = m.Vectors.Seq()
	}
	var err error
	if state.seq, err = s.Index.Seq(ctx); err != nil {
		return nil, err
	}
	state.words = s.Text.Seq()
	c := &s.similar
	c.mu.Lock()
	if c.found == nil || c.version != state || len(c.found) >= maxSimilarityCache {
		c.version, c.found = state, map[fold.ID][]similarity{}
	}
	found, ok := c.found[id]
	c.mu.Unlock()
	if ok {
		return found, nil
	}
	if found, err = s.compare(ctx, id, m); err != nil {
		return nil, fmt.Errorf("compare the chunks of %s: %w", id, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == state {
		c.found[id] = found
	}
	return found, nil
}

// compare finds what the chunks of one memory are like.
func (s *Door) compare(ctx context.Context, id fold.ID, m *Meaning) ([]similarity, error) {
	rows, err := s.Index.Memories(ctx, []fold.ID{id})
	if err != nil {
		return nil, err
	}
	row, ok := rows[id]
	if !ok {
		return nil, nil
	}
	if s.Compared != nil {
		s.Compared.Add(1)
	}
	ends, passages, err := s.passages(ctx, row)
	if err != nil || len(passages) == 0 {
		return nil, err
	}
	alike, err := s.Text.Alike(ctx, passages)
	if err != nil {
		return nil, err
	}
	addVectorSimilarities(m, id, ends, alike)
	best := map[fold.ID]similarity{}
	for i, list := range alike {
		for _, a := range list {
			if a.Share < minSimilarity {
				break
			}
			if was, ok := best[a.Memory]; !ok || a.Share > was.share {
				best[a.Memory] = similarity{to: a.Memory, share: a.Share, here: ends[i], there: chunkEnd{key: a.Key}, words: a.Terms}
			}
		}
	}
	if err := s.dropLinked(ctx, id, best); err != nil {
		return nil, err
	}
	found := slices.SortedFunc(maps.Values(best), func(a, b similarity) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.to, b.to))
	})
	if found, err = s.choose(ctx, row, found[:min(len(found), similarityCandidates)]); err != nil {
		return nil, err
	}
	return found, s.placeEnds(ctx, found)
}

// passages returns the chunks of a memory and what they say; of one that has no
// chunks, all of it.
func (s *Door) passages(ctx context.Context, row index.Row) ([]chunkEnd, []textindex.Passage, error) {
	chunks, err := s.Index.ChunksOf(ctx, []fold.ID{row.ID})
	if err != nil {
		return nil, nil, err
	}
	own := chunks[row.ID]
	if len(own) == 0 && row.Source != fold.SourceFile {
		return []chunkEnd{{key: "m:" + string(row.ID)}},
			[]textindex.Passage{{Memory: row.ID, Name: row.Title, Text: withoutTitle(row.Body, row.Title)}}, nil
	}
	src, _ := s.Source(ctx, row.FilePath)
	if src == nil {
		return nil, nil, nil // it went since, or cannot be read now: the links of others do not fail for that
	}
	licence := chunker.Licence(src) // what many files begin with says nothing of one
	var ends []chunkEnd
	var passages []textindex.Passage
	for _, c := range own[:min(len(own), maxPassages)] {
		if c.Hidden || c.EndByte > len(src) {
			continue
		}
		if text := src[c.StartByte:c.EndByte]; fold.ChunkHash(text) == c.Hash {
			ends = append(ends, chunkEnd{"c:" + c.ID, c})
			text = text[min(max(licence-c.StartByte, 0), len(text)):]
			passages = append(passages, textindex.Passage{Memory: row.ID, Name: c.NodeName, Text: string(text)})
		}
	}
	return ends, passages, nil
}

// dropLinked leaves out what a link in either direction leads to already.
func (s *Door) dropLinked(ctx context.Context, id fold.ID, found map[fold.ID]similarity) error {
	out, in, err := s.Index.LinksOf(ctx, []fold.ID{id})
	if err != nil {
		return err
	}
	for _, l := range out[id] {
		delete(found, l.To)
	}
	for _, l := range in[id] {
		delete(found, l.From)
	}
	return nil
}

// choose takes the first few of found, which are sorted: files of one folder, and
// what was said in one session, are alike anyway, and one of them at most is
// among the chosen, where it is much closer than any other; nor may one chunk,
// such as a notice that many files have, take all places.
func (s *Door) choose(ctx context.Context, row index.Row, found []similarity) ([]similarity, error) {
	ids := make([]fold.ID, len(found))
	for i, l := range found {
		ids[i] = l.to
	}
	rows, err := s.Index.Memories(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []similarity
	var beside *similarity
	made := map[string]int{}
	best, home := 0.0, locality(row)
	for i, l := range found {
		other, ok := rows[l.to]
		switch {
		case !ok || other.Deleted:
		case home != "" && locality(other) == home:
			if beside == nil {
				beside = &found[i]
			}
		case made[l.here.key] < maxPerChunk:
			made[l.here.key]++
			best = max(best, l.share)
			out = append(out, l)
		}
	}
	if beside != nil && beside.share >= max(nearbyFactor*best, minSimilarityAlone) {
		out = append([]similarity{*beside}, out...)
	}
	return out[:min(len(out), maxAssociations)], nil
}

// locality is what a memory has in common with its neighbours: the folder of
// its source, or its session.
func locality(row index.Row) string {
	switch {
	case row.FilePath != "":
		return "folder " + path.Dir(row.FilePath)
	case row.Session != "":
		return "session " + row.Session
	}
	return ""
}

// placeEnds says where the chunks lie that were found.
func (s *Door) placeEnds(ctx context.Context, found []similarity) error {
	var ids []string
	var owners []fold.ID
	for _, l := range found {
		if id, ok := strings.CutPrefix(l.there.key, "c:"); ok {
			ids, owners = append(ids, id), append(owners, l.to)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	chunks, err := s.Index.ChunksByID(ctx, owners, ids)
	if err != nil {
		return err
	}
	for i := range found {
		found[i].there.chunk = chunks[strings.TrimPrefix(found[i].there.key, "c:")]
	}
	return nil
}

// wireAssociation is a as seen from the memory id; rows have both ends.
func (s *Door) wireAssociation(a association, id fold.ID, rows map[fold.ID]index.Row) wire.Link {
	direction, other := "out", a.To
	if a.To == id {
		direction, other = "in", a.From
	}
	l := link(a.Link, direction, rows[other].Title)
	l.ID = a.AlikeID()
	var places [2]string
	for i, m := range [...]fold.ID{a.From, a.To} {
		c, row := a.chunks[i].chunk, rows[m]
		l.Chunks = append(l.Chunks, wire.LinkChunk{
			MemoryID: string(m), ID: c.ID, FilePath: row.FilePath, NodeType: c.NodeType, NodeName: c.NodeName,
			StartLine: c.StartLine, EndLine: c.EndLine,
		})
		switch {
		case c.ID != "":
			places[i] = fmt.Sprintf("%s:%d-%d", row.FilePath, c.StartLine, c.EndLine)
		case row.Path != "":
			places[i] = "fold/" + row.Path
		default:
			places[i] = string(m)
		}
	}
	l.Evidence += ": " + places[0] + " ~ " + places[1]
	return l
}

// associatedLinks are the links from chunks of the memory id as it is shown.
func (s *Door) associatedLinks(ctx context.Context, id fold.ID) ([]wire.Link, error) {
	found, err := s.associations(ctx, id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var ends []fold.ID
	for _, a := range found {
		ends = append(ends, a.From, a.To)
	}
	rows, err := s.Index.Memories(ctx, ends)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Link, len(found))
	for i, a := range found {
		out[i] = s.wireAssociation(a, id, rows)
	}
	return out, nil
}
