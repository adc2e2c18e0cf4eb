package rank

import (
	"cmp"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Hit is what the text index says about one document.
type Hit struct {
	Key      string // "m:<memory id>" or "c:<chunk id>"
	Memory   fold.ID
	Fielded  float64 // BM25F over all fields
	Exact    float64 // BM25 of joined identifiers and word pairs
	Name     float64 // BM25F of symbol and heading alone
	Coverage float64 // share of the question's terms that occur, in [0, 1]
	Prose    bool    // text for people (a section, a paragraph), not code
}

// A Near is what the vector index says about one document.
type Near struct {
	Key    string
	Memory fold.ID
	Score  float64 // cosine
}

// A Place says where a document stands among its neighbours: those of the same
// group with the ordinal before and after. A chunk's group is its memory, a
// memory's its session.
type Place struct {
	Group   string
	Ordinal int
}

// Candidates are what the channels of one search found. Nothing needs to be
// sorted; every part may be nil.
type Candidates struct {
	Files    []Hit // memories of source files
	Memories []Hit // all other memories
	Chunks   []Hit
	Vectors  []Near // of memories and chunks

	Votes      map[fold.ID]float64 // by memory; larger is better
	Associated []fold.ID           // best first
	Places     map[string]Place    // by key; those that are missing have no neighbours
	Strength   map[fold.ID]float64 // in [0, 1]; those that are missing count as 1
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
// sum of a result's terms is its relevance.
type Term struct {
	Name   string
	Value  float64
	Weight float64
}

// A RankedChunk is one chunk in its place.
type RankedChunk struct {
	Key       string
	Memory    fold.ID
	Relevance float64 // in [0, 1]; 1 is the best that this search could give
	Terms     []Term
}

// A Ranked is one memory in its place.
type Ranked struct {
	ID        fold.ID
	Score     float64 // Blend of the two below
	Relevance float64 // in [0, 1]; compares results of one search, not of two
	Strength  float64 // in [0, 1]
	Terms     []Term
	Chunks    []RankedChunk // that were found, best first
}

// Rank orders memories. Ties are ordered by id.
func Rank(c Candidates, opt Options) []Ranked {
	w := opt.weights()
	chunks := RankChunks(c, Options{Weights: &w})
	table := memoryTable(c, w.Memory)
	if opt.Fusion == RRF {
		table.fuse()
	}
	byMemory := map[fold.ID][]RankedChunk{}
	for _, ch := range chunks {
		byMemory[ch.Memory] = append(byMemory[ch.Memory], ch)
	}
	out := make([]Ranked, 0, len(table.keys))
	for row, key := range table.keys {
		id := fold.ID(key)
		r := Ranked{ID: id, Strength: 1, Chunks: byMemory[id]}
		r.Relevance, r.Terms = table.relevance(row)
		if s, ok := c.Strength[id]; ok {
			r.Strength = unit(s)
		}
		r.Score = opt.Score(id, r.Relevance, r.Strength)
		if r.Score >= opt.MinScore {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Relevance, a.Relevance), cmp.Compare(a.ID, b.ID))
	})
	return limit(out, opt.Limit)
}

// RankChunks orders chunks by relevance. Ties are ordered by key.
func RankChunks(c Candidates, opt Options) []RankedChunk {
	table := chunkTable(c, opt.weights().Chunk)
	if opt.Fusion == RRF {
		table.fuse()
	}
	memory := make(map[string]fold.ID, len(table.keys))
	for _, h := range c.Chunks {
		memory[h.Key] = h.Memory
	}
	for _, n := range c.Vectors {
		memory[n.Key] = n.Memory
	}
	out := make([]RankedChunk, 0, len(table.keys))
	for row, key := range table.keys {
		r := RankedChunk{Key: key, Memory: memory[key]}
		r.Relevance, r.Terms = table.relevance(row)
		if r.Relevance >= opt.MinScore {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b RankedChunk) int {
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
