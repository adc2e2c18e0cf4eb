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

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// Associations are links derived from chunks: two memories are linked if each is among
// the most similar few of the other, by the rare words their chunks share. They are
// computed when a memory is read, and not stored: each new term changes how rare all
// terms are, so that stored ones would be outdated with each save.
const (
	maxAssociations      = 5   // of one memory at most
	minSimilarity        = .25 // share of a chunk's rare words that two chunks have in common, at least
	minSimilarityAlone   = .4  // the same for a memory of the same folder
	nearbyFactor         = 1.5 // how much closer one of the same folder must be than the best of others
	maxPerChunk          = 3   // associations that one chunk makes at most
	similarityCandidates = 24  // memories that the associations are chosen from
	maxPassages          = 400 // chunks of a memory that are compared
	maxSimilarities      = 512 // memories whose similarities are cached
)

// A similarity is one memory that another one's chunks are similar to, and the two most
// similar chunks.
type similarity struct {
	to    fold.ID
	share float64
	here  chunkEnd
	there chunkEnd
	words []string // that both have
}

// A chunkEnd is one of two similar chunks.
type chunkEnd struct {
	key   string // of the text index
	chunk fold.Chunk
}

// A similarityKey is a memory and all that its similarities depend on beside the source
// files.
type similarityKey struct {
	id      fold.ID
	seq     int64 // of the index
	words   int64 // seq of the text index, which follows that of the index
	model   *Model
	vectors int64 // seq of the vectors, where they count
}

// An association is a link derived from chunks.
type association struct {
	fold.Link

	chunks [2]chunkEnd // of From and of To
}

// associations returns the associations of the memory id, the closest first.
func (s *Service) associations(ctx context.Context, id fold.ID) ([]association, error) {
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

// associate makes the association of two memories that are similar to each other. It is
// the same from both sides.
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

// similarities returns the few memories whose chunks are most similar to those of id.
func (s *Service) similarities(ctx context.Context, id fold.ID) ([]similarity, error) {
	m := s.model.Load()
	key := similarityKey{id: id, words: s.Text.Seq(), model: m}
	if m.cosineWeight() > 0 {
		key.vectors = m.Vectors.Seq()
	}
	var err error
	if key.seq, err = s.Index.Seq(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	found, ok := s.similar.Get(key)
	s.mu.Unlock()
	if ok {
		return found, nil
	}
	if found, err = s.compare(ctx, id, m); err != nil {
		return nil, fmt.Errorf("compare the chunks of %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.similar.Put(key, found)
	return found, nil
}

// compare computes the similarities of one memory.
func (s *Service) compare(ctx context.Context, id fold.ID, m *Model) ([]similarity, error) {
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

// passages returns the chunks of a memory with their texts; the whole text of a memory
// without chunks.
func (s *Service) passages(ctx context.Context, row index.Row) ([]chunkEnd, []textindex.Passage, error) {
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
		return nil, nil, nil // deleted or unreadable: no reason to fail for the links of others
	}
	licence := chunker.Licence(src) // the same text begins many files
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

// dropLinked removes the memories that id is linked with already.
func (s *Service) dropLinked(ctx context.Context, id fold.ID, found map[fold.ID]similarity) error {
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

// choose takes the best few of found, which is sorted. Files of one folder and memories
// of one session are similar anyway: at most one of them is chosen, if it is much closer
// than the others. One chunk, such as a licence, may not make all of them.
func (s *Service) choose(ctx context.Context, row index.Row, found []similarity) ([]similarity, error) {
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

// locality returns what a memory has in common with its neighbours: the folder of its
// source, or its session.
func locality(row index.Row) string {
	switch {
	case row.FilePath != "":
		return "folder " + path.Dir(row.FilePath)
	case row.Session != "":
		return "session " + row.Session
	}
	return ""
}

// placeEnds sets the chunks that were found, from their keys.
func (s *Service) placeEnds(ctx context.Context, found []similarity) error {
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

// wireAssociation returns a as seen from the memory id; rows have both memories.
func (s *Service) wireAssociation(a association, id fold.ID, rows map[fold.ID]index.Row) wire.Link {
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

// associatedLinks returns the associations of the memory id for a reply.
func (s *Service) associatedLinks(ctx context.Context, id fold.ID) ([]wire.Link, error) {
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
