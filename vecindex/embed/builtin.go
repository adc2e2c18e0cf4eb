package embed

import (
	"context"
	"math"
	"sync"

	"github.com/foldwatch/foldwatch/meta/words"
)

// How much the parts of a term without a vector of its own count beside the whole
// of it: its n-grams let related spellings meet.
const (
	gramWeight = 0.35
	gramSize   = 4 // bytes; terms are mostly ASCII
)

// unknownWeight is how much a term without a vector counts beside the mean of those
// that have one: it is rare, so it tells much.
const unknownWeight = 0.5

// Builtin returns the embedder that is always there. It needs no model and gives
// the same vectors on every machine.
func Builtin() *Static {
	return &Static{lexicon: lexicon{open: func() (*Table, error) { return checked(staticTable, staticSum, words.Version) }}}
}

// A Static is an [Embedder] that adds up one vector for each term of
// [words.Analyze], times the weight of the term and 1 + ln of how often it occurs.
// The vectors of some thousand terms were learned (see static.md); those of all
// others are made from hashes of the term and its character n-grams (Weinberger
// et al., ICML 2009), as are those of all terms where the table is off.
type Static struct {
	lexicon lexicon
	scratch sync.Pool // of *vectorBuilder
}

// Identity names the table by its checksum.
func (s *Static) Identity() Identity {
	id := Identity{Provider: "builtin", Model: "static", Revision: words.Version + "." + staticSum[:12], Dim: TableDim, Normalize: "l2"}
	if s.Off() != "" {
		id.Model, id.Revision = "hash", words.Version+".2"
	}
	return id
}

// Table returns what [Table.Expand] and the vectors are taken from. It is empty
// if it is off.
func (s *Static) Table() *Table { return s.lexicon.table() }

// Off says why the table is not used, "" if it is: it is damaged, or its terms
// are those of another analyser.
func (s *Static) Off() string {
	s.lexicon.table()
	return s.lexicon.off
}

// Embed returns the vectors of texts. They do not depend on the kind.
func (s *Static) Embed(ctx context.Context, texts []string, _ Kind) ([][]float32, error) {
	t := s.lexicon.table()
	m, _ := s.scratch.Get().(*vectorBuilder)
	if m == nil {
		m = newVectorBuilder(t)
	}
	defer s.scratch.Put(m)
	all := make([]float32, TableDim*len(texts))
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if v := (*[TableDim]float32)(all[i*TableDim:]); m.embed(text, v) {
			out[i] = v[:]
		}
	}
	return out, nil
}

// A vectorBuilder is what one call reuses.
type vectorBuilder struct {
	table         *Table
	unknownWeight float32 // weight of a term without a vector
	analysis      words.Analysis
	seen          []uint32       // how often each term of the table occurs in the text
	rows          []int          // terms of the table that occur, in the order of their first time
	others        map[uint64]int // places in hashed, by hash of the term
	hashed        []unknown
}

// unknown is a term of a text that has no vector, and how often it occurs.
type unknown struct {
	span  words.Span
	hash  uint64
	times int
}

func newVectorBuilder(t *Table) *vectorBuilder {
	m := &vectorBuilder{table: t, unknownWeight: 1, seen: make([]uint32, t.Len()), others: map[uint64]int{}}
	if n := t.Len(); n > 0 {
		sum := 0.0
		for i := range n {
			sum += float64(t.weight(i))
		}
		m.unknownWeight = float32(unknownWeight * sum / float64(n))
	}
	return m
}

// embed sets v, which is zero, to the vector of text. It returns false if the
// text has no term.
func (m *vectorBuilder) embed(text string, v *[TableDim]float32) bool {
	m.count(text)
	for _, i := range m.rows {
		f := m.table.factor(i) * often(int(m.seen[i]))
		m.seen[i] = 0
		row := m.table.row(i)
		for d := range v {
			// A conversion keeps the product from being fused with the sum, so
			// that vectors are the same on every processor.
			v[d] += float32(f * float32(int8(row[d])))
		}
	}
	for _, u := range m.hashed {
		m.hash(u, v)
	}
	square := 0.0
	for _, f := range v {
		square += float64(float64(f) * float64(f))
	}
	if square == 0 {
		return false // no term, or features that cancel out
	}
	length := math.Sqrt(square)
	for d, f := range v {
		v[d] = float32(float64(f) / length)
	}
	return true
}

// count finds the terms of text and how often each occurs.
func (m *vectorBuilder) count(text string) {
	m.rows, m.hashed = m.rows[:0], m.hashed[:0]
	clear(m.others)
	m.analysis.Reset(text)
	for _, span := range m.analysis.Terms {
		term := m.analysis.Bytes(span)
		hash := fnv(termSeed, term)
		if i := m.table.number(term, hash); i >= 0 {
			if m.seen[i]++; m.seen[i] == 1 {
				m.rows = append(m.rows, i)
			}
			continue
		}
		at, ok := m.others[hash]
		if !ok {
			at = len(m.hashed)
			m.others[hash] = at
			m.hashed = append(m.hashed, unknown{span: span, hash: hash})
		}
		m.hashed[at].times++
	}
}

// hash adds a term without a vector.
func (m *vectorBuilder) hash(u unknown, v *[TableDim]float32) {
	var own [TableDim]float32
	scatter(&own, u.hash, 1)
	term := m.analysis.Bytes(u.span)
	for i := 0; len(term) > gramSize && i+gramSize <= len(term); i++ {
		scatter(&own, fnv(gramSeed, term[i:i+gramSize]), gramWeight)
	}
	square := 0.0
	for _, f := range own {
		square += float64(float64(f) * float64(f))
	}
	if square == 0 {
		return
	}
	f := m.unknownWeight * often(u.times) / float32(math.Sqrt(square))
	for d := range own {
		v[d] += float32(f * own[d])
	}
}

// scatter adds weight, with one sign or the other, at the eight places that a
// hash names.
func scatter(v *[TableDim]float32, hash uint64, weight float32) {
	for h, k := mix(hash), 0; k < 8; h, k = h>>8, k+1 {
		if h&128 != 0 {
			v[h%TableDim] -= weight
		} else {
			v[h%TableDim] += weight
		}
	}
}

// often returns 1 + ln n.
func often(n int) float32 {
	if n <= 1 {
		return 1
	}
	return float32(1 + math.Log(float64(n)))
}

// Seeds keep terms and n-grams of the same letters apart.
const (
	termSeed = 14695981039346656037
	gramSeed = termSeed ^ 0x9E3779B97F4A7C15
)

// fnv is FNV-1a.
func fnv(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// mix spreads the bits of h (finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xFF51AFD7ED558CCD
	h = (h ^ h>>33) * 0xC4CEB9FE1A85EC53
	return h ^ h>>33
}
