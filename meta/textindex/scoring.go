package textindex

import (
	"math"
	"math/bits"
)

// A scoring is how documents of one kind are scored. Figures: retrieval.md 1.2,
// 2 and what was measured on its dev sets.
type scoring struct {
	k1     float64
	b      float64            // of the body
	weight [numFields]float64 // of a term in a field, beside one in the body
	exact  float64            // share of Exact in Score
}

var scorings = [len(kinds)]scoring{
	// Whole files. Their body is the text of their chunks, and what describes them
	// counts as context.
	fileKind: {k1: 2, b: .4, weight: [numFields]float64{body: 1, symbol: 2, pathWords: 3, title: 2, about: 1, tags: 1, keywords: 1}, exact: .3},
	// Functions, types, and what lies between them.
	chunkKind: {k1: 2, b: .8, weight: [numFields]float64{body: 1, symbol: 4, pathWords: 2, title: 2, about: .5, tags: 1, keywords: 1}, exact: .3},
	// Sections and paragraphs.
	sectionKind: {k1: 1.2, b: .6, weight: [numFields]float64{body: 1, symbol: 2, pathWords: 1, title: 2, about: .5, tags: 1, keywords: 1}, exact: .3},
	memoryKind:  {k1: 1, b: .5, weight: [numFields]float64{body: 1, symbol: 2, pathWords: 1, title: 2, about: 1, tags: 1, keywords: 1}, exact: .3},
}

// pivots are the lengths, in terms, of the short fields that count neither less
// nor more; their b is shortB. The body's pivot is its average.
var pivots = [numFields]float64{symbol: 4, pathWords: 6, title: 6, about: 40, tags: 4, keywords: 10}

const shortB = .3

// idf is that of BM25 with the 1 that keeps it positive: log(1 + (n - df + .5) /
// (df + .5)) (Robertson & Zaragoza 2009; Lucene).
func idf(n, df float64) float64 { return math.Log((n + 1) / (df + .5)) }

// weigh returns the weighted frequency of tf occurrences in a field of length.
func (c *kindSearch) weigh(f int, tf uint64, length uint32) float64 {
	b := shortB
	if f == body || f == exact {
		b = c.scoring.b
	}
	return float64(tf) / (1 - b + b*float64(max(length, 1))/c.pivot[f])
}

// weighAll returns the weighted frequency of a term that stands so often in the
// fields of document n of its kind in seg.
func (c *kindSearch) weighAll(seg *segment, n uint32, counts counts) (s termScore) {
	if tf := counts.of(body); tf > 0 {
		s.body = float32(c.scoring.weight[body] * c.weigh(body, tf, seg.length(c.k, body, n)))
		s.tf = s.body
	}
	// Fields follow the body in the order of their bits.
	for rest := uint64(counts) >> shift(body+1); rest != 0; {
		f := body + 1 + bits.TrailingZeros64(rest)/8
		tf := counts.of(f)
		rest &^= fieldMost << (shift(f) - shift(body+1))
		length := seg.length(c.k, f, n)
		v := float32(c.scoring.weight[f] * c.weigh(f, tf, length))
		s.tf += v
		switch f {
		case symbol:
			s.symbol = v
			s.name += v
			s.share += float32(tf) / float32(max(length, 1))
		case title:
			s.name += v
			s.share += float32(tf) / float32(max(length, 1))
		case pathWords:
			s.path = v
		}
	}
	return s
}
