package vecindex

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// A graph is the engine that walks a hierarchical navigable small world over the
// rows of a table (Malkov and Yashunin, IEEE TPAMI 2018): each row is linked to
// rows near it, in layers of which each has a sixteenth of the rows of the one
// below, and a search walks from the top to what is nearest. Its effort is how many
// of the best rows a walk keeps. The graph holds row numbers only; the rows stay in
// the table.
//
// One goroutine builds and extends a graph, while searches may walk: links are read
// and written atomically, and a list that is half old and half new is only a little
// worse. Only adding blocks excludes searches.
//
// Tombstones stay nodes: a walk passes them and does not find them.
const (
	graphLinks  = 16             // links of a node in a layer, twice as many in the lowest
	graphLowest = 2 * graphLinks // links in the lowest layer
	graphLayers = 12             // more would need 16^12 rows
	graphEffort = 128            // rows that an insertion considers
	noLink      = math.MaxUint32
	upperWords  = 1 << 14 // links in a block of the upper layers
)

type graph struct {
	generation uint64
	nodes      atomic.Int64  // rows below this are nodes, or were tombstones when their turn came
	entry      atomic.Uint64 // row and layer where a walk begins, see packEntry; 0 is none
	spare      sync.Pool     // of *walker

	blocks sync.RWMutex // taken by walks, and by who adds to the fields below
	lowest [][]uint32   // blockRows lists of graphLowest links each
	upAt   [][]uint32   // blockRows places in upper each, in lists, times 16, plus how many lists; 0 is none
	upper  [][]uint32   // lists of graphLinks links, those of a node's layers from 1 on in a row
	upUsed int          // links in upper
}

func newGraph(generation uint64) *graph { return &graph{generation: generation} }

func packEntry(row int32, layer int) uint64 { return uint64(row)<<8 | uint64(layer) | 1<<63 }

func unpackEntry(e uint64) (row int32, layer int, ok bool) {
	return int32(e >> 8), int(e & 0xFF), e != 0
}

// layerOf returns the highest layer of the row of key: a function of the key, so
// that a graph of the same rows is the same graph.
func layerOf(key string) int {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h ^= h >> 33 // and a finalizer, for the high bits
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	u := float64(h>>11+1) / (1 << 53)
	return min(int(-math.Log(u)/math.Log(graphLinks)), graphLayers-1)
}

// grow makes room for the links of a row in its layers.
func (g *graph) grow(row int32, layer int) {
	for int(row/blockRows) >= len(g.lowest) {
		b := make([]uint32, blockRows*graphLowest)
		for i := range b {
			b[i] = noLink
		}
		g.lowest, g.upAt = append(g.lowest, b), append(g.upAt, make([]uint32, blockRows))
	}
	need := layer * graphLinks
	if need == 0 || g.upAt[row/blockRows][row%blockRows] != 0 {
		return
	}
	if left := upperWords - g.upUsed%upperWords; left < need {
		g.upUsed += left
	}
	for len(g.upper)*upperWords < g.upUsed+need {
		b := make([]uint32, upperWords)
		for i := range b {
			b[i] = noLink
		}
		g.upper = append(g.upper, b)
	}
	g.upAt[row/blockRows][row%blockRows] = uint32(g.upUsed/graphLinks)<<4 | uint32(layer)
	g.upUsed += need
}

// links returns the list of a node in a layer: rows, then noLink.
func (g *graph) links(row int32, layer int) []uint32 {
	if layer == 0 {
		at := int(row%blockRows) * graphLowest
		return g.lowest[row/blockRows][at : at+graphLowest : at+graphLowest]
	}
	at := g.upAt[row/blockRows][row%blockRows]
	if int(at&15) < layer {
		return nil
	}
	i := (int(at>>4) + layer - 1) * graphLinks
	return g.upper[i/upperWords][i%upperWords : i%upperWords+graphLinks]
}

// layers returns how many layers above the lowest a row is in.
func (g *graph) layers(row int32) int { return int(g.upAt[row/blockRows][row%blockRows] & 15) }

// frozen returns g as it is now for reading without blocks locked.
func (g *graph) frozen() *graph {
	g.blocks.RLock()
	defer g.blocks.RUnlock()
	f := newGraph(g.generation)
	f.nodes.Store(g.nodes.Load())
	f.lowest, f.upAt, f.upper, f.upUsed = g.lowest, g.upAt, g.upper, g.upUsed
	f.entry.Store(g.entry.Load())
	return f
}

// A walker is the memory of one search or insertion; it is used again.
type walker struct {
	q      dot.Query
	seen   bitset
	open   []scored // max-heap: rows whose links are still to be followed
	best   []scored // min-heap: the best so far
	chosen []scored
	old    []scored
	sorted []scored
	of     dot.Query // a row against which others are measured
}

func (w *walker) begin(rows int) {
	n := (rows + 63) / 64
	if cap(w.seen) < n {
		w.seen = make(bitset, n+n/8)
	}
	w.seen = w.seen[:n]
}

// descend walks from the entry to the layer above low, always to the nearest.
func (g *graph) descend(t *table, q *dot.Query, low int) (at scored, layer int, ok bool) {
	row, layer, ok := unpackEntry(g.entry.Load())
	if !ok {
		return at, 0, false
	}
	at = scored{float32(q.One(t.ptr(row))) * t.scale[row], row}
	for ; layer > low; layer-- {
		for moved := true; moved; {
			moved = false
			links := g.links(at.row, layer)
			for i := range links {
				r := atomic.LoadUint32(&links[i])
				if r == noLink {
					break
				}
				if s := float32(q.One(t.ptr(int32(r)))) * t.scale[r]; s > at.score {
					at, moved = scored{s, int32(r)}, true
				}
			}
		}
	}
	return at, layer, true
}

// search fills w.best with the ef best rows of a layer that are found from the rows
// in from. Filter is the search they are for; nil allows all rows.
func (g *graph) search(t *table, w *walker, q *dot.Query, from []scored, ef, layer int, filter *query) {
	clear(w.seen)
	w.open, w.best = w.open[:0], w.best[:0]
	for _, s := range from {
		w.seen.set(s.row)
		w.open = pushMax(w.open, s)
		if filter == nil || filter.may(t, s.row) {
			w.best = pushMin(w.best, s, ef)
		}
	}
	for len(w.open) > 0 {
		var c scored
		c, w.open = popMax(w.open)
		if len(w.best) == ef && c.score < w.best[0].score {
			return
		}
		g.follow(t, w, q, g.links(c.row, layer), ef, filter)
	}
}

// follow looks at the rows of one list that were not seen, four at a time.
func (g *graph) follow(t *table, w *walker, q *dot.Query, links []uint32, ef int, filter *query) {
	var rows [graphLowest]int32
	n := 0
	for i := range links {
		r := atomic.LoadUint32(&links[i])
		if r == noLink {
			break
		}
		if row := int32(r); !w.seen.has(row) && int(row>>6) < len(w.seen) {
			w.seen.set(row)
			rows[n] = row
			n++
		}
	}
	if n == 0 {
		return
	}
	if filter != nil {
		filter.scored.Add(int64(n))
	}
	var products [4]int32
	for i := 0; i < n; i += 4 {
		for j := n; j < i+4; j++ { // the last one again, in vain
			rows[j] = rows[n-1]
		}
		q.Four(&products, t.ptr(rows[i]), t.ptr(rows[i+1]), t.ptr(rows[i+2]), t.ptr(rows[i+3]))
		for j := 0; j < 4 && i+j < n; j++ {
			s := scored{float32(products[j]) * t.scale[rows[i+j]], rows[i+j]}
			if len(w.best) == ef && s.score <= w.best[0].score {
				continue
			}
			w.open = pushMax(w.open, s)
			if filter == nil || filter.may(t, s.row) {
				w.best = pushMin(w.best, s, ef)
			}
		}
	}
}

func (*graph) name() string         { return Graph }
func (*graph) efforts() []int       { return []int{48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048} }
func (g *graph) fits(t *table) bool { return g.generation == t.generation }

func (g *graph) propose(t *table, q *query, effort int, offer func(scored)) (covered int) {
	w, ok := g.spare.Get().(*walker)
	if !ok {
		w = &walker{}
	}
	defer g.spare.Put(w)
	w.begin(t.len())
	g.blocks.RLock()
	defer g.blocks.RUnlock()
	nodes := g.nodes.Load()
	if at, _, ok := g.descend(t, q.bytes, 0); ok {
		g.search(t, w, q.bytes, []scored{at}, effort, 0, q)
		for _, s := range w.best {
			if int64(s.row) < nodes { // those that were linked since are offered by the caller
				offer(s)
			}
		}
	}
	return int(nodes)
}

// The heaps order rows by score, equal ones by row.

func worse(a, b scored) bool {
	return a.score < b.score || a.score == b.score && a.row > b.row
}

// pushMin adds s to a heap with the worst at its root, instead of that if there
// are n already.
func pushMin(h []scored, s scored, n int) []scored {
	if len(h) < n {
		h = append(h, s)
		for i := len(h) - 1; i > 0; {
			up := (i - 1) / 2
			if !worse(h[i], h[up]) {
				break
			}
			h[i], h[up] = h[up], h[i]
			i = up
		}
		return h
	}
	if !worse(h[0], s) {
		return h
	}
	h[0] = s
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(h) {
			return h
		}
		if c+1 < len(h) && worse(h[c+1], h[c]) {
			c++
		}
		if !worse(h[c], h[i]) {
			return h
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func pushMax(h []scored, s scored) []scored {
	h = append(h, s)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !worse(h[up], h[i]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

func popMax(h []scored) (scored, []scored) {
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			return first, h
		}
		if c+1 < last && worse(h[c], h[c+1]) {
			c++
		}
		if !worse(h[i], h[c]) {
			return first, h
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
