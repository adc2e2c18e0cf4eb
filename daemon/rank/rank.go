package rank

import (
	"cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Hit is one document that the text index found.
type Hit struct {
	Key       string // "m:<memory id>" or "c:<chunk id>"
	Memory    fold.ID
	Fielded   float64 // BM25F over all fields
	Expanded  float64 // the same with synonyms; at least Fielded
	Exact     float64 // BM25 of joined identifiers and word pairs
	Name      float64 // BM25F of symbol and heading alone
	Body      float64 // BM25 of the text alone
	Symbol    float64 // BM25 of the qualified name alone
	Path      float64 // BM25 of the path alone
	NameShare float64 // share of the terms of symbol and title that the question has
	Coverage  float64 // share of the question's terms that occur, in [0, 1]
	Ideal     float64 // maximum of Fielded for this question; 0 if not known
	Prose     bool    // text for people (a section, a manual), not code

	// Terms are all terms of the question, in its order, with how often the memory has
	// each. Nil if the memory has no neighbours.
	Terms []TermCount
	K1    float64 // of the BM25 that Terms are for
}

// A TermCount is one term of the question in one memory.
type TermCount struct {
	Worth float64 // its idf
	Count float64 // weighted frequency over all fields, see BM25F
}

// A Near is one document that the vector index found.
type Near struct {
	Key    string
	Memory fold.ID
	Score  float64 // cosine
}

// A Place is the position of a document in its group; neighbours have the ordinals before
// and after. The group of a chunk is its memory, that of a memory its session.
type Place struct {
	Group   string
	Ordinal int
}

// A Hint is what a question says of a memory of a session, other than by its words. All
// fields are in [0, 1].
type Hint struct {
	Person float64 // the question names the author
	Time   float64 // the question names its time, or asks when and it mentions a time
	Asks   float64 // it ends with a question
	Linked float64 // a written link ties it to one of the best
}

// Candidates are what the channels of one search found, in any order. Each field may be
// nil.
type Candidates struct {
	Files    []Hit // memories of source files
	Memories []Hit // all other memories
	Chunks   []Hit
	Vectors  []Near // of memories and chunks

	Votes             map[fold.ID]float64 // by memory; larger is better
	Messages          map[fold.ID]float64 // score of files with the messages of their commits
	Associated        []fold.ID           // best first
	Hints             map[fold.ID]Hint    // by memory of a session
	Places            map[string]Place    // by key; those that are missing have no neighbours
	Strength          map[fold.ID]float64 // in [0, 1]; those that are missing count as 1
	MatchingNeighbour map[fold.ID]fold.ID // by memory without words of the question: a neighbour that has some

	Buffers *Buffers // for the samples; may be nil
}

// Fusion is how channels become one score.
type Fusion string

// The fusions. RRF is reciprocal rank fusion ([Fuse]) of the same channels, each
// with one vote; it loses to Linear on every set that was measured.
const (
	Linear Fusion = "linear"
	RRF    Fusion = "rrf"
)

// Options of [Rank] and [RankChunks]. The zero value works.
type Options struct {
	Weights        *Weights // nil means DefaultWeights
	Fusion         Fusion   // "" means Linear
	StrengthWeight float64  // w of [Blend]; 0 leaves strength out
	// WeightOf returns the w of each memory, where they do not have the same.
	// Nil means StrengthWeight for all.
	WeightOf func(fold.ID) float64
	Limit    int // 0 means all
	MinScore float64
}

// A Term is one summand of a relevance: Value × Weight, Value in [0, 1]. The
// sum of a result's terms is its relevance. A weight below 0 corrects another: a
// long function covers much of any question.
type Term struct {
	Name   string
	Value  float64
	Weight float64
}

// An Evidence explains a relevance. Its terms are computed when they are asked for, since
// only a few of the ranked candidates are shown. The zero value has none.
type Evidence struct {
	model  *model
	sample *Sample
	share  float64 // of the weights of the model
	factor float64 // of the weights after that
}

// Terms returns the summands of the relevance.
func (e Evidence) Terms() []Term {
	if e.model == nil {
		return nil
	}
	terms := e.model.terms(e.sample, e.share)
	for i := range terms {
		terms[i].Weight *= e.factor
	}
	return terms
}

// Scaled returns the evidence of f times the relevance.
func (e Evidence) Scaled(f float64) Evidence {
	e.factor *= f
	return e
}

// OnlyNeighbour reports whether nothing of the candidate itself was found, neither a word
// nor a vector: only a neighbour in its session or an association made it a result.
func (e Evidence) OnlyNeighbour() bool {
	if e.sample == nil {
		return false
	}
	v := &e.sample.Values
	for _, own := range [...]Feature{Words, Exact, ChunkBest, ChunkExact, Votes, Messages, Vector} {
		if v[own] > 0 {
			return false
		}
	}
	return v[Window] > 0 || v[Associated] > 0
}

// A RankedChunk is one chunk in its place.
type RankedChunk struct {
	Evidence

	Key       string
	Memory    fold.ID
	Relevance float64 // in [0, 1]; 1 is the best that this search could give
}

// A Ranked is one memory in its place.
type Ranked struct {
	Evidence

	ID        fold.ID
	Score     float64       // Blend of the two below
	Relevance float64       // in [0, 1]; compares results of one search, not of two
	Strength  float64       // in [0, 1]
	Chunks    []RankedChunk // that were found, best first
}

// Rank orders memories. Ties are ordered by id.
func Rank(c Candidates, opt Options) []Ranked {
	w := opt.weights()
	chunks := RankChunks(c, Options{Weights: &w})
	sortLarge(chunks, func(a, b *RankedChunk) int { return cmp.Compare(a.Memory, b.Memory) })
	byMemory := map[fold.ID][]RankedChunk{}
	for len(chunks) > 0 {
		n := 1
		for n < len(chunks) && chunks[n].Memory == chunks[0].Memory {
			n++
		}
		byMemory[chunks[0].Memory], chunks = chunks[:n:n], chunks[n:]
	}
	share := shares(c, w)
	isFile := c.fileIDs()
	files, others := c.fileSamples(isFile), c.memorySamples(isFile)
	out := make([]Ranked, 0, len(files)+len(others))
	for _, kind := range []struct {
		samples []Sample
		code    *Row
		prose   *Row
		share   float64
	}{{files, &w.File, &w.Document, share.files}, {others, &w.Memory, &w.Memory, share.others}} {
		m := newModel(kind.samples, opt.Fusion, func(s *Sample) *Row {
			if s.Prose {
				return kind.prose
			}
			return kind.code
		})
		for i := range m.samples {
			s := &m.samples[i]
			if !m.found(s) {
				continue
			}
			r := Ranked{ID: s.Memory, Strength: 1, Chunks: byMemory[s.Memory]}
			r.Relevance, r.Evidence = m.relevance(s, kind.share)
			if st, ok := c.Strength[s.Memory]; ok {
				r.Strength = unit(st)
			}
			if r.Score = opt.Score(r.ID, r.Relevance, r.Strength); r.Score >= opt.MinScore {
				out = append(out, r)
			}
		}
	}
	sortLarge(out, func(a, b *Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Relevance, a.Relevance), cmp.Compare(a.ID, b.ID))
	})
	return limit(out, opt.Limit)
}

// RankChunks orders chunks by relevance. Ties are ordered by key.
func RankChunks(c Candidates, opt Options) []RankedChunk {
	w := opt.weights()
	m := newModel(ChunkSamples(c), opt.Fusion, func(s *Sample) *Row {
		if s.Prose {
			return &w.Section
		}
		return &w.Code
	})
	out := make([]RankedChunk, 0, len(m.samples))
	for i := range m.samples {
		s := &m.samples[i]
		if !m.found(s) {
			continue
		}
		r := RankedChunk{Key: s.Key, Memory: s.Memory}
		if r.Relevance, r.Evidence = m.relevance(s, 1); r.Relevance >= opt.MinScore {
			out = append(out, r)
		}
	}
	sortLarge(out, func(a, b *RankedChunk) int {
		return cmp.Or(cmp.Compare(b.Relevance, a.Relevance), cmp.Compare(a.Key, b.Key))
	})
	return limit(out, opt.Limit)
}

func (o Options) weights() Weights {
	if o.Weights == nil {
		return DefaultWeights()
	}
	return *o.Weights
}

func (o Options) weightOf(id fold.ID) float64 {
	if o.WeightOf == nil {
		return o.StrengthWeight
	}
	return o.WeightOf(id)
}

// Score is the [Blend] of what was found of the memory id.
func (o Options) Score(id fold.ID, relevance, strength float64) float64 {
	return Blend(o.weightOf(id), relevance, strength)
}

func limit[T any](s []T, n int) []T {
	if n > 0 && n < len(s) {
		return s[:n]
	}
	return s
}
