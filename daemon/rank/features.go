package rank

import (
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Feature is one kind of evidence for a candidate. Its value is in [0, 1]: 1 for the
// candidate of the search that has most of it, 0 for none.
type Feature int

// The features. Scores are those of the text index: BM25 of the document itself
// unless something else is said.
const (
	Words        Feature = iota // over all fields
	Expanded                    // over all fields, with synonyms
	Exact                       // whole identifiers and word pairs
	Body                        // the text alone
	Name                        // name and title alone
	Symbol                      // the qualified name alone
	Path                        // the path alone
	Coverage                    // share of the question's terms that occur, by idf
	Coverage2                   // its square
	NameCoverage                // Name × Coverage
	NameShare                   // share of the terms of its name and title that the question has
	File                        // of a chunk: its file or memory as a whole
	FileExact                   // of a chunk: whole identifiers in its file
	FileTop                     // of a chunk: the three best chunks of its file, see [TopSum]
	ChunkBest                   // of a file: its best chunk
	ChunkTop                    // of a file: its three best chunks
	ChunkName                   // of a file: the best name among its chunks
	ChunkExact                  // of a file: the best Exact among its chunks
	ChunkCover                  // of a file: the best Coverage among its chunks
	Messages                    // of a file: with the messages of commits that touched it
	Votes                       // commits that look like the question and touched it
	Neighbour                   // of a chunk: the mean of those before and after
	Window                      // of a memory: over all fields, with parts of those said before and after
	Session                     // of a memory: the three best of its session
	Vector                      // cosine
	Associated                  // Conch's associations
	Person                      // of a memory of a session: see [Hint]; so are the next three
	Time
	Asks
	Linked
	numFeatures
)

// featureNames are what explanations call the features.
var featureNames = [numFeatures]string{
	"words", "synonyms", "names", "body", "name", "symbol", "path", "coverage", "coverage²", "name×coverage", "name share",
	"file", "file names", "file chunks", "best chunk", "chunks", "chunk name", "chunk names", "chunk coverage",
	"messages", "commits", "neighbours", "with neighbours", "session", "vector", "associated",
	"person", "time", "asks", "linked",
}

func (f Feature) String() string { return featureNames[f] }

// Features returns all features in order.
func Features() []Feature {
	out := make([]Feature, numFeatures)
	for i := range out {
		out[i] = Feature(i)
	}
	return out
}

// A Row has a number for each feature: the values of a candidate, or the weights of a
// kind of candidates.
type Row [numFeatures]float64

// A Sample is one candidate with its values.
type Sample struct {
	Key    string // of a chunk; of a memory its id
	Memory fold.ID
	Prose  bool // of a chunk or file: text for people
	Values Row
}

// samples are the candidates of one kind, in the order they came.
type samples struct {
	rows []Sample
	at   map[string]int
}

// Buffers are memory for the samples of a search, to be reused by the next one: samples
// are half of what a search allocates. The zero value is ready; nil allocates each time.
// They serve one search at a time.
type Buffers struct{ free, used []*samples }

// Release frees the buffers for the next search. The [Evidence] of what was ranked with
// them must not be used any more.
func (b *Buffers) Release() {
	b.free = append(b.free, b.used...)
	b.used = b.used[:0]
}

// samples returns an empty list with capacity for n candidates.
func (b *Buffers) samples(n int) *samples {
	s := &samples{}
	if b != nil {
		if last := len(b.free) - 1; last >= 0 {
			s, b.free = b.free[last], b.free[:last]
		}
		b.used = append(b.used, s)
	}
	s.rows = slices.Grow(s.rows[:0], n)
	if s.at == nil {
		s.at = make(map[string]int, n)
	}
	clear(s.at)
	return s
}

func (s *samples) add(key string, memory fold.ID) *Sample {
	if i, ok := s.at[key]; ok {
		return &s.rows[i]
	}
	s.at[key] = len(s.rows)
	s.rows = append(s.rows, Sample{Key: key, Memory: memory})
	return &s.rows[len(s.rows)-1]
}

// normalise divides every feature by the best value that a candidate has, so that
// the best has 1 and one without the evidence 0. (Dividing by the best keeps zero
// where it is, which min-max over a list that was cut off would not.)
func normalise(rows []Sample) {
	var best Row
	for i := range rows {
		for f, v := range rows[i].Values {
			if v > best[f] { // false for NaN
				best[f] = v
			}
		}
	}
	for i := range rows {
		for f, v := range rows[i].Values {
			if best[f] > 0 {
				v = unit(v / best[f])
			} else {
				v = 0
			}
			rows[i].Values[f] = v
		}
	}
}

// share returns score as a part of what it is at most, which makes chunks of
// code and of text comparable: each kind has its own rarity of terms.
func (h *Hit) share(score float64) float64 {
	if h.Ideal > 0 {
		return score / h.Ideal
	}
	return score
}

// own sets the features that come from the document itself.
func (r *Row) own(h *Hit) {
	set := func(f Feature, v float64) { r[f] = max(r[f], v) }
	set(Words, h.share(h.Fielded))
	set(Expanded, h.share(max(h.Expanded, h.Fielded)))
	set(Exact, h.Exact)
	set(Body, h.share(h.Body))
	set(Name, h.share(h.Name))
	set(Symbol, h.share(h.Symbol))
	set(Path, h.share(h.Path))
	set(Coverage, h.Coverage)
	set(Coverage2, h.Coverage*h.Coverage)
	set(NameCoverage, h.share(h.Name)*h.Coverage)
	set(NameShare, h.NameShare)
}

// ChunkSamples returns the chunks among the candidates.
func ChunkSamples(c Candidates) []Sample {
	s := c.Buffers.samples(len(c.Chunks) + len(c.Vectors))
	siblings := map[fold.ID][]float64{}
	for i := range c.Chunks {
		h := &c.Chunks[i]
		row := s.add(h.Key, h.Memory)
		row.Prose = h.Prose
		row.Values.own(h)
		siblings[h.Memory] = append(siblings[h.Memory], h.share(h.Fielded))
	}
	for _, n := range c.Vectors {
		if strings.HasPrefix(n.Key, "c:") {
			row := s.add(n.Key, n.Memory)
			row.Values[Vector] = max(row.Values[Vector], n.Score)
		}
	}
	tops := make(map[fold.ID]float64, len(siblings))
	for id, scores := range siblings {
		tops[id] = TopSum(scores)
	}
	type whole struct{ words, exact float64 }
	parents := make(map[fold.ID]whole, len(siblings)) // of those that have chunks among the candidates
	for i := range s.rows {
		parents[s.rows[i].Memory] = whole{}
	}
	for _, hits := range [][]Hit{c.Files, c.Memories} {
		for i := range hits {
			h := &hits[i]
			p, ok := parents[h.Memory]
			if !ok {
				continue
			}
			parents[h.Memory] = whole{max(p.words, h.share(h.Fielded)), max(p.exact, h.Exact)}
		}
	}
	for i := range s.rows {
		r := &s.rows[i]
		p := parents[r.Memory]
		r.Values[File], r.Values[FileExact], r.Values[FileTop] = p.words, p.exact, tops[r.Memory]
		r.Values[Votes] = c.Votes[r.Memory]
	}
	setNeighbours(s.rows, c.Places)
	normalise(s.rows)
	return s.rows
}

// FileSamples returns the files among the candidates.
func FileSamples(c Candidates) []Sample { return c.fileSamples(c.fileIDs()) }

func (c *Candidates) fileSamples(files map[fold.ID]bool) []Sample {
	return c.wholes(c.Files, len(files), func(id fold.ID) bool { return files[id] })
}

// MemorySamples returns the memories among the candidates that are no files.
func MemorySamples(c Candidates) []Sample { return c.memorySamples(c.fileIDs()) }

func (c *Candidates) memorySamples(files map[fold.ID]bool) []Sample {
	return c.wholes(c.Memories, len(c.Memories), func(id fold.ID) bool { return !files[id] })
}

// fileIDs are the files among the candidates: only they have chunks and votes.
func (c *Candidates) fileIDs() map[fold.ID]bool {
	files := make(map[fold.ID]bool, len(c.Files))
	for _, hits := range [][]Hit{c.Files, c.Chunks} {
		for i := range hits {
			files[hits[i].Memory] = true
		}
	}
	for i := range c.Vectors {
		if strings.HasPrefix(c.Vectors[i].Key, "c:") {
			files[c.Vectors[i].Memory] = true
		}
	}
	for id := range c.Votes {
		files[id] = true
	}
	for id := range c.Messages {
		files[id] = true
	}
	for i := range c.Memories {
		delete(files, c.Memories[i].Memory)
	}
	return files
}

// wholes returns the memories for which is returns true, about n, with their features from
// hits, from their chunks and from the other channels.
func (c *Candidates) wholes(hits []Hit, n int, is func(fold.ID) bool) []Sample {
	s := c.Buffers.samples(n)
	add := func(id fold.ID) *Row { return &s.add(string(id), id).Values }
	prose := map[fold.ID]bool{}
	for i := range hits {
		add(hits[i].Memory).own(&hits[i])
		prose[hits[i].Memory] = hits[i].Prose
	}
	chunks := map[fold.ID][]float64{}
	for i := range c.Chunks {
		h := &c.Chunks[i]
		if !is(h.Memory) {
			continue
		}
		if _, ok := prose[h.Memory]; !ok {
			prose[h.Memory] = h.Prose
		}
		v, words := add(h.Memory), h.share(h.Fielded)
		chunks[h.Memory] = append(chunks[h.Memory], words)
		v[ChunkBest] = max(v[ChunkBest], words)
		v[ChunkName] = max(v[ChunkName], h.share(h.Name))
		v[ChunkExact] = max(v[ChunkExact], h.Exact)
		v[ChunkCover] = max(v[ChunkCover], h.Coverage)
	}
	for _, n := range c.Vectors {
		if is(n.Memory) {
			v := add(n.Memory)
			v[Vector] = max(v[Vector], n.Score)
		}
	}
	for id, score := range c.Votes {
		if is(id) {
			add(id)[Votes] = score
		}
	}
	for id, score := range c.Messages {
		if is(id) {
			add(id)[Messages] = score
		}
	}
	for i, id := range c.Associated {
		if is(id) {
			v := add(id)
			v[Associated] = max(v[Associated], 1/float64(1+i))
		}
	}
	for id, hint := range c.Hints {
		if i, ok := s.at[string(id)]; ok {
			v := &s.rows[i].Values
			v[Person], v[Time], v[Asks], v[Linked] = hint.Person, hint.Time, hint.Asks, hint.Linked
		}
	}
	// The maps were read in random order.
	sortLarge(s.rows, func(a, b *Sample) int { return strings.Compare(a.Key, b.Key) })
	for i := range s.rows {
		s.rows[i].Values[ChunkTop] = TopSum(chunks[s.rows[i].Memory])
		s.rows[i].Prose = prose[s.rows[i].Memory]
	}
	setSessionFeatures(s.rows, hits, c.Places)
	normalise(s.rows)
	return s.rows
}

// setNeighbours sets the mean score of the chunks before and after each one.
func setNeighbours(rows []Sample, places map[string]Place) {
	at := make(map[Place]int, len(rows))
	for i := range rows {
		if p, ok := places[rows[i].Key]; ok {
			at[p] = i
		}
	}
	for p, i := range at {
		sum := 0.0
		for _, step := range [...]int{-1, 1} {
			if other, ok := at[Place{p.Group, p.Ordinal + step}]; ok {
				sum += rows[other].Values[Words] / 2
			}
		}
		rows[i].Values[Neighbour] = sum
	}
}
