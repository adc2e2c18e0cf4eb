package rank

import (
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A table holds the values of named terms for every candidate.
type table struct {
	keys   []string
	row    map[string]int
	terms  []string
	weight []float64
	values [][]float64 // by term, then row
}

func newTable() *table { return &table{row: map[string]int{}} }

// add gives key a row if it has none.
func (t *table) add(key string) {
	if _, ok := t.row[key]; !ok {
		t.row[key] = len(t.keys)
		t.keys = append(t.keys, key)
	}
}

// term adds a column of values by row, each divided by the best, so that the
// best candidate has 1 and one without the evidence has 0. (Dividing by the
// best keeps zero where it is, which min-max over a cut-off list would not.)
// Terms of no weight are left out.
func (t *table) term(name string, weight float64, values []float64) {
	if weight <= 0 || len(values) == 0 {
		return
	}
	best := slices.Max(values)
	out := make([]float64, len(values))
	for i, v := range values {
		if best > 0 {
			out[i] = unit(v / best)
		}
	}
	if best > 0 {
		t.terms, t.weight, t.values = append(t.terms, name), append(t.weight, weight), append(t.values, out)
	}
}

// relevance returns the weighted mean of a row's terms, and the terms with the
// weights they have in it.
func (t *table) relevance(row int) (float64, []Term) {
	total := 0.0
	for _, w := range t.weight {
		total += w
	}
	if total == 0 {
		return 0, nil
	}
	sum, terms := 0.0, make([]Term, 0, len(t.terms))
	for i, name := range t.terms {
		v := t.values[i][row]
		sum += v * t.weight[i] / total
		if v != 0 {
			terms = append(terms, Term{name, v, t.weight[i] / total})
		}
	}
	return unit(sum), terms
}

// fuse replaces all terms by one, their reciprocal rank fusion.
func (t *table) fuse() {
	rankings := make([][]string, len(t.terms))
	for i := range t.terms {
		found := []Scored{}
		for row, key := range t.keys {
			if t.values[i][row] > 0 {
				found = append(found, Scored{key, t.values[i][row]})
			}
		}
		sortScored(found)
		for _, s := range found {
			rankings[i] = append(rankings[i], s.Key)
		}
	}
	values := make([]float64, len(t.keys))
	for _, s := range Fuse(FuseK, rankings...) {
		values[t.row[s.Key]] = s.Score
	}
	t.terms, t.weight, t.values = nil, nil, nil
	t.term("rrf", 1, values)
}

// chunkTable gathers what is known about single chunks.
func chunkTable(c Candidates, w ChunkWeights) *table {
	t := newTable()
	for _, h := range c.Chunks {
		t.add(h.Key)
	}
	if w.Vector > 0 {
		for _, n := range c.Vectors {
			if strings.HasPrefix(n.Key, "c:") {
				t.add(n.Key)
			}
		}
	}
	n := len(t.keys)
	fielded, exact, name, coverage := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	parent, vector := make([]float64, n), make([]float64, n)
	whole := map[fold.ID]float64{}
	for _, hits := range [][]Hit{c.Files, c.Memories} {
		for _, h := range hits {
			whole[h.Memory] = max(whole[h.Memory], h.Fielded)
		}
	}
	for _, h := range c.Chunks {
		row := t.row[h.Key]
		fielded[row], exact[row] = h.Fielded, h.Exact
		if h.Prose {
			// Headings are short and chance decides whether they have a term;
			// in code it is the reverse, and a long function covers everything.
			coverage[row] = h.Coverage
		} else {
			name[row] = h.Name
		}
		parent[row] = whole[h.Memory]
	}
	for _, v := range c.Vectors {
		if row, ok := t.row[v.Key]; ok {
			vector[row], parent[row] = v.Score, whole[v.Memory]
		}
	}
	t.term("words", w.Fielded, fielded)
	t.term("names", w.Exact, exact)
	t.term("symbol", w.Name, name)
	t.term("coverage", w.Coverage, coverage)
	t.term("file", w.Parent, parent)
	t.term("neighbours", w.Neighbour, t.neighbours(c.Places, "", fielded))
	t.term("vector", w.Vector, vector)
	return t
}

// memoryTable gathers what is known about memories, of files and others.
func memoryTable(c Candidates, w MemoryWeights) *table {
	t := newTable()
	for _, hits := range [][]Hit{c.Files, c.Memories, c.Chunks} {
		for _, h := range hits {
			t.add(string(h.Memory))
		}
	}
	if w.Vector > 0 {
		for _, v := range c.Vectors {
			t.add(string(v.Memory))
		}
	}
	if w.Votes > 0 {
		for id := range c.Votes {
			t.add(string(id))
		}
	}
	if w.Associated > 0 {
		for _, id := range c.Associated {
			t.add(string(id))
		}
	}
	slices.Sort(t.keys) // the maps above have no order
	for row, key := range t.keys {
		t.row[key] = row
	}
	n := len(t.keys)
	document, exact, coverage := make([]float64, n), make([]float64, n), make([]float64, n)
	files, others := bestOf(c.Files), bestOf(c.Memories)
	share := shares(c)
	for _, group := range []struct {
		hits  []Hit
		best  best
		share float64
	}{{c.Files, files, share.files}, {c.Memories, others, share.others}} {
		for _, h := range group.hits {
			row := t.row[string(h.Memory)]
			document[row] = max(document[row], h.Fielded/group.best.fielded*group.share)
			if group.best.exact > 0 {
				exact[row] = max(exact[row], h.Exact/group.best.exact*group.share)
			}
			coverage[row] = max(coverage[row], h.Coverage)
		}
	}
	t.term("words", w.Document, document)
	t.term("chunks", w.Chunks, t.topChunks(c, document, share))
	t.term("names", w.Exact, exact)
	t.term("coverage", w.Coverage, coverage)
	t.term("commits", w.Votes, t.byMemory(c.Votes))
	t.term("neighbours", w.Neighbour, t.neighbours(c.Places, "m:", document))
	vectors := map[fold.ID]float64{}
	for _, v := range c.Vectors {
		vectors[v.Memory] = max(vectors[v.Memory], v.Score)
	}
	t.term("vector", w.Vector, t.byMemory(vectors))
	associated := map[fold.ID]float64{}
	for i, id := range c.Associated {
		associated[id] = max(associated[id], 1/float64(1+i))
	}
	t.term("associated", w.Associated, t.byMemory(associated))
	return t
}

// topChunks returns what the three best chunks give every memory. A memory that
// is not a file and has no chunk among the candidates is taken as one chunk.
func (t *table) topChunks(c Candidates, document []float64, share share) []float64 {
	scores := make([][]float64, len(t.keys))
	for _, h := range c.Chunks {
		row := t.row[string(h.Memory)]
		scores[row] = append(scores[row], h.Fielded)
	}
	out, most := make([]float64, len(t.keys)), 0.0
	for row, s := range scores {
		out[row] = TopSum(s)
		most = max(most, out[row])
	}
	for row := range out {
		if most > 0 {
			out[row] *= share.files / most
		}
	}
	for _, h := range c.Memories {
		switch row := t.row[string(h.Memory)]; {
		case scores[row] == nil:
			out[row] = document[row]
		case share.files > 0:
			out[row] *= share.others / share.files
		}
	}
	return out
}

// A share says how the scores of files and of other memories compare. Each kind
// is divided by its own best, times how much of the question that best one has:
// BM25 of different kinds is not on one scale, coverage is. For files it is the
// best chunk that is asked, since a whole file has a bit of everything.
type share struct{ files, others float64 }

func shares(c Candidates) share {
	files, others := bestOf(c.Chunks).coverage, bestOf(c.Memories).coverage
	if len(c.Chunks) == 0 {
		files = bestOf(c.Files).coverage
	}
	most := max(files, others)
	return share{files / most, others / most}
}

func (t *table) byMemory(m map[fold.ID]float64) []float64 {
	out := make([]float64, len(t.keys))
	for id, v := range m {
		if row, ok := t.row[string(id)]; ok {
			out[row] = v
		}
	}
	return out
}

// neighbours returns the mean value of the candidates before and after each
// one. prefix makes a key of places from a key of the table.
func (t *table) neighbours(places map[string]Place, prefix string, values []float64) []float64 {
	at := make(map[Place]int, len(t.keys))
	for row, key := range t.keys {
		if p, ok := places[prefix+key]; ok {
			at[p] = row
		}
	}
	out := make([]float64, len(t.keys))
	for p, row := range at {
		for _, step := range [...]int{-1, 1} {
			if other, ok := at[Place{p.Group, p.Ordinal + step}]; ok {
				out[row] += values[other] / 2
			}
		}
	}
	return out
}

// best is the best a kind of document reaches.
type best struct{ fielded, exact, coverage float64 }

// bestOf returns the best of hits; coverage is that of the best one, and a trace
// if there is none.
func bestOf(hits []Hit) best {
	b := best{}
	for _, h := range hits {
		if h.Fielded > b.fielded {
			b.fielded, b.coverage = h.Fielded, h.Coverage
		}
		b.exact = max(b.exact, h.Exact)
	}
	if b.fielded <= 0 {
		b.fielded = 1
	}
	if !(b.coverage > .01) {
		b.coverage = .01
	}
	b.coverage = unit(b.coverage)
	return b
}
