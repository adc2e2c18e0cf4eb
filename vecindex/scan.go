package vecindex

import (
	"math"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// The scan has two passes. The coarse one multiplies four dimensions at once
// in plain 64-bit registers (see [coarse]) with 7 bits on each side; the
// candidates it keeps are scored again with all 8 bits of the row and the query
// as it came. The errors of 7 bits are about 1/127/sqrt(dim) of a cosine,
// far less than the distance from rank k to rank keep(k).

// keep is how many rows the coarse pass hands to the second one for k results.
func keep(k int) int { return 8*k + 128 }

// laneMask selects every other byte and the low 7 bits of it.
const laneMask = 0x007F007F007F007F

// Search returns the k nearest stored vectors to q for which allow says yes,
// the nearest first, ties by key. A nil allow allows all; it is called under
// the index's lock and must not call back. Search returns nil if q is not a
// vector of this index.
func (x *Index) Search(q []float32, k int, allow func(key string, m fold.ID) bool) []Hit {
	if k <= 0 || x.check(q) != nil {
		return nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	rows := x.coarseTop(q, min(keep(k), len(x.keys)), allow)
	hits := make([]Hit, len(rows))
	for i, row := range rows {
		hits[i] = Hit{Key: x.keys[row], Memory: x.mems[row], Score: x.cosine(q, int(row))}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		switch {
		case a.Score > b.Score, a.Score == b.Score && a.Key < b.Key:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	return slices.Clip(hits[:min(k, len(hits))])
}

// cosine returns the dot product of q and a row, all bits used.
func (x *Index) cosine(q []float32, row int) float64 {
	words := x.arena[row*x.words : (row+1)*x.words]
	dot := float32(0)
	for d, f := range q {
		dot += f * float32(int(byte(words[d/8]>>(uint(d%8)*8)))-128)
	}
	return float64(dot) * float64(x.scale[row])
}

// coarseTop returns the n rows with the best coarse scores that are allowed.
func (x *Index) coarseTop(q []float32, n int, allow func(string, fold.ID) bool) []int32 {
	even, odd, bias := x.coarseQuery(q)
	top := make(rowHeap, 0, n)
	for row, key := range x.keys {
		if key == "" {
			continue
		}
		words := x.arena[row*x.words : (row+1)*x.words]
		// byte-128 is about 2*(byte>>1) - 127, and lane-64 is the query, so that
		// dot = 2*S - 127*sum(lane-64)... with the sums that do not depend on both
		// sides taken out of the loop.
		dot := 2*coarse(words, even, odd) - 128*int64(x.sum[row]) + bias
		score := float32(dot) * x.scale[row]
		if len(top) == n && !top.beats(score, key, x.keys) {
			continue
		}
		if allow != nil && !allow(key, x.mems[row]) {
			continue
		}
		top.push(rowScore{score, int32(row)}, n, x.keys)
	}
	rows := make([]int32, len(top))
	for i, r := range top {
		rows[i] = r.row
	}
	return rows
}

// coarseQuery returns q as 7-bit lanes, reversed within each word so that one
// multiplication adds four products, and the part of the dot product that
// depends on q alone.
func (x *Index) coarseQuery(q []float32) (even, odd []uint64, bias int64) {
	top := float32(0)
	for _, f := range q {
		top = max(top, f, -f)
	}
	even, odd = make([]uint64, x.words), make([]uint64, x.words)
	lanes := int64(0)
	for d, f := range q {
		lane := uint64(int(math.RoundToEven(float64(f/top*63))) + 64)
		lanes += int64(lane)
		to := even
		if d%2 == 1 {
			to = odd
		}
		to[d/8] |= lane << (48 - uint(d%8)/2*16)
	}
	// sum (2a-127)(b-64) = 2 sum ab - 128 sum a - 127 sum b + 127*64*dim
	return even, odd, 127*64*int64(x.dim) - 127*lanes
}

// coarse returns the sum of the products of 7-bit lanes of a row and a query.
// With lanes a0..a3 and b3..b0 of 16 bits, the top lane of the 64-bit product
// is a0*b0 + a1*b1 + a2*b2 + a3*b3: at most 4*127*127 < 2^16, and the lanes
// below it hold fewer products, so that nothing carries over.
func coarse(row, even, odd []uint64) int64 {
	even, odd = even[:len(row)], odd[:len(row)]
	s := uint64(0)
	for i, w := range row {
		s += (w>>1&laneMask*even[i])>>48 + (w>>9&laneMask*odd[i])>>48
	}
	return int64(s)
}

type rowScore struct {
	score float32
	row   int32
}

// A rowHeap is a bounded min-heap: the worst kept row is at its root. Rows with
// equal scores are ordered by key, the smaller the better.
type rowHeap []rowScore

func (h rowHeap) worse(i, j int, keys []string) bool {
	if h[i].score != h[j].score {
		return h[i].score < h[j].score
	}
	return keys[h[i].row] > keys[h[j].row]
}

// beats reports whether a row would push out the worst.
func (h rowHeap) beats(score float32, key string, keys []string) bool {
	if score != h[0].score {
		return score > h[0].score
	}
	return key < keys[h[0].row]
}

// push adds r, instead of the worst if there are n already.
func (h *rowHeap) push(r rowScore, n int, keys []string) {
	s := *h
	if len(s) < n {
		s = append(s, r)
		for i := len(s) - 1; i > 0 && s.worse(i, (i-1)/2, keys); i = (i - 1) / 2 {
			s[i], s[(i-1)/2] = s[(i-1)/2], s[i]
		}
		*h = s
		return
	}
	s[0] = r
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
			if s.worse(c, worst, keys) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		s[i], s[worst] = s[worst], s[i]
		i = worst
	}
}
