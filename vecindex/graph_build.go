package vecindex

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// buildGraph links all live rows of a frozen table in the order of their keys, so
// that the same rows give the same graph.
func buildGraph(ctx context.Context, t *table) (*graph, error) {
	g, w := newGraph(t.generation), &walker{}
	order := make([]int32, 0, t.live())
	for row := range int32(t.len()) {
		if !t.dead.has(row) {
			order = append(order, row)
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(t.keys[a], t.keys[b]) })
	if t.len() > 0 {
		g.grow(int32(t.len()-1), 0)
	}
	for i, row := range order {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		g.grow(row, layerOf(t.keys[row]))
		g.insert(t, w, row)
	}
	g.nodes.Store(int64(t.len()))
	return g, nil
}

// extend links the rows that t, a frozen table, has more than the graph.
func (g *graph) extend(ctx context.Context, t *table) (engine, error) {
	w := &walker{}
	for first := int32(g.nodes.Load()); int(first) < t.len(); first += blockRows {
		last := min(first+blockRows, int32(t.len()))
		g.blocks.Lock()
		for row := first; row < last; row++ {
			g.grow(row, layerOf(t.keys[row]))
		}
		g.blocks.Unlock()
		for row := first; row < last; row++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if !t.dead.has(row) {
				g.insert(t, w, row)
			}
			g.nodes.Store(int64(row) + 1)
		}
	}
	return g, nil
}

// insert links a row for which there is room.
func (g *graph) insert(t *table, w *walker, row int32) {
	layer := layerOf(t.keys[row])
	w.q.SetRow(t.at(row), t.scale[row])
	w.begin(t.len())
	_, highest, _ := unpackEntry(g.entry.Load())
	at, from, ok := g.descend(t, &w.q, min(layer, highest))
	if ok {
		w.sorted = append(w.sorted[:0], at)
		for l := from; l >= 0; l-- {
			g.search(t, w, &w.q, w.sorted, graphEffort, l, nil)
			w.sorted = append(w.sorted[:0], w.best...)
			// A row that is being linked again may be found by its old links.
			w.sorted = slices.DeleteFunc(w.sorted, func(s scored) bool { return s.row == row })
			sortBest(w.sorted)
			g.selectNeighbours(t, w, w.sorted, graphLinks, w.q.Scale)
			g.connect(t, w, row, l)
			if len(w.sorted) == 0 {
				w.sorted = append(w.sorted, at)
			}
		}
	}
	if !ok || layer > highest {
		g.entry.Store(packEntry(row, layer))
	}
}

func sortBest(s []scored) {
	slices.SortFunc(s, func(a, b scored) int {
		switch {
		case worse(b, a):
			return -1
		case worse(a, b):
			return 1
		}
		return 0
	})
}

// selectNeighbours picks up to n of near, the best first, into w.chosen: those that are
// nearer to the row they are to be linked with than to any chosen before (the
// heuristic of the paper, section 4), so that links lead into all directions,
// and then the best of the rest. Scale is that of the row, since the scores lack it.
func (g *graph) selectNeighbours(t *table, w *walker, near []scored, n int, scale float32) {
	w.chosen = w.chosen[:0]
	if len(near) <= n {
		w.chosen = append(w.chosen, near...)
		return
	}
	left := w.old[:0]
	for _, c := range near {
		if len(w.chosen) == n {
			break
		}
		w.of.SetRow(t.at(c.row), t.scale[c.row])
		if g.isDiverse(t, w, &w.of, c.score*scale) {
			w.chosen = append(w.chosen, c)
		} else {
			left = append(left, c)
		}
	}
	for _, c := range left {
		if len(w.chosen) == n {
			break
		}
		w.chosen = append(w.chosen, c)
	}
	w.old = left
}

// isDiverse reports whether all chosen rows are further from q than cosine says.
func (g *graph) isDiverse(t *table, w *walker, q *dot.Query, cosine float32) bool {
	var products [4]int32
	least := cosine / q.Scale
	for i := 0; i < len(w.chosen); i += 4 {
		part := w.chosen[i:]
		at := func(j int) *byte { return t.ptr(part[min(j, len(part)-1)].row) }
		q.Four(&products, at(0), at(1), at(2), at(3))
		for j := 0; j < min(4, len(part)); j++ {
			if float32(products[j])*t.scale[part[j].row] > least {
				return false
			}
		}
	}
	return true
}

// connect links row with w.chosen in a layer, and them with row; a full list is
// chosen anew.
func (g *graph) connect(t *table, w *walker, row int32, layer int) {
	setLinks(g.links(row, layer), w.chosen)
	to := make([]int32, len(w.chosen))
	for i, c := range w.chosen {
		to[i] = c.row
	}
	var rows []scored
	for _, other := range to {
		links := g.links(other, layer)
		n := 0
		for n < len(links) && links[n] != noLink && links[n] != uint32(row) {
			n++
		}
		if n < len(links) {
			if links[n] == noLink {
				atomic.StoreUint32(&links[n], uint32(row))
			}
			continue
		}
		w.of.SetRow(t.at(other), t.scale[other])
		scale := w.of.Scale
		rows = rows[:0]
		for _, r := range links {
			rows = append(rows, scored{row: int32(r)})
		}
		rows = append(rows, scored{row: row})
		g.score(t, &w.of, rows)
		sortBest(rows)
		g.selectNeighbours(t, w, rows, len(links), scale)
		setLinks(links, w.chosen)
	}
}

// score fills in the scores of rows.
func (g *graph) score(t *table, q *dot.Query, rows []scored) {
	var products [4]int32
	for i := 0; i < len(rows); i += 4 {
		part := rows[i:]
		at := func(j int) *byte { return t.ptr(part[min(j, len(part)-1)].row) }
		q.Four(&products, at(0), at(1), at(2), at(3))
		for j := 0; j < min(4, len(part)); j++ {
			part[j].score = float32(products[j]) * t.scale[part[j].row]
		}
	}
}

// set replaces a list.
func setLinks(links []uint32, rows []scored) {
	for i := range links {
		r := uint32(noLink)
		if i < len(rows) {
			r = uint32(rows[i].row)
		}
		atomic.StoreUint32(&links[i], r)
	}
}
