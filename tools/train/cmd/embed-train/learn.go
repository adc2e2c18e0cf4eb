package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"time"
)

// A recipe is how vectors are learned.
type recipe struct {
	seed                uint64
	steps               int     // batches
	size                int     // pairs in each
	temperature         float64 // cosines are divided by it
	firstRate, lastRate float64 // the learning rate falls from one to the other
	dropout             float64 // probability that a term of a text is left out
	hide                float64 // probability that code loses every term the query has
}

// standard is the recipe of the table in the tree.
func standard() recipe {
	return recipe{seed: 1, steps: 6000, size: 384, temperature: .1, firstRate: .05, lastRate: .005, dropout: .3, hide: .6}
}

// A bag is a text without its order: its different terms, and 1 + ln of how
// often each occurs.
type bag struct {
	term  []int32
	times []float32
	sum   uint64 // equal for equal bags
}

func newBag(seq []int32) bag {
	s := make([]int32, 0, len(seq))
	for _, t := range seq {
		if t >= 0 {
			s = append(s, t)
		}
	}
	slices.Sort(s)
	var b bag
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		b.term = append(b.term, s[i])
		b.times = append(b.times, float32(1+log(float64(j-i))))
		i = j
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, b.term) // a hash takes everything
	b.sum = h.Sum64()
	return b
}

// An example is one pair as bags.
type example struct{ query, code bag }

// A model is what is learned: a vector and the logarithm of a weight for each
// term.
type model struct {
	rows    []vector
	weights []float32 // logarithms

	// Sums of squared gradients (Adagrad; Duchi, Hazan, Singer 2011), one for
	// each row.
	rowSquares, weightSquares []float32
}

// A step is what one batch needs; it is used again for the next.
type step struct {
	recipe
	w           workers
	m           *model
	examples    []example
	batch       []int     // numbers of examples
	sides       [2][]text // queries, code
	sim         []float32 // batch × batch: e to the power of the cosines, then the gradients of these
	loss        []float64
	occurrences []occurrence // by term
	bounds      []int        // where each term begins in occurrences
}

// text is one side of one pair of the batch.
type text struct {
	bag    bag
	factor []float32 // what each term's vector is multiplied by
	vec    vector    // of unit length; zero if there is none
	norm   float32   // its length before
	grad   vector    // gradient of vec, then of what it was before its length was made 1
}

// An occurrence is one term of one text.
type occurrence struct {
	text *text
	at   int // in its bag
}

// learn makes a model of the corpus that starts from rows, and prints how it
// goes.
func learn(c *corpus, rows []vector, r recipe, w workers, out io.Writer) *model {
	m := newModel(c, rows)
	s := newStep(c, m, r, w)
	sampler := newSampler(c, r)
	loss, since, start := 0.0, 0, time.Now()
	for n := range r.steps {
		rate := float32(r.lastRate + float64((r.firstRate-r.lastRate)*(1-float64(n)/float64(r.steps))))
		loss += s.run(uint64(n), sampler.batch(n), rate)
		since++
		if (n+1)%500 == 0 || n+1 == r.steps {
			fmt.Fprintf(out, "step %5d of %d: loss %.4f, %.0f s\n", n+1, r.steps, loss/float64(since), time.Since(start).Seconds())
			loss, since = 0, 0
		}
	}
	return m
}

func newStep(c *corpus, m *model, r recipe, w workers) *step {
	s := &step{recipe: r, w: w, m: m, sim: make([]float32, r.size*r.size), loss: make([]float64, r.size)}
	for i := range s.sides {
		s.sides[i] = make([]text, r.size)
	}
	s.examples = make([]example, len(c.pairs))
	w.each(len(c.pairs), 64, func(i int) {
		s.examples[i] = example{newBag(c.pairs[i].query), newBag(c.pairs[i].code)}
	})
	return s
}

// newModel returns a model with the rows of the decomposition at unit length, and
// weights that say how rare a term is (Arora, Liang, Ma 2017).
func newModel(c *corpus, rows []vector) *model {
	n := len(rows)
	m := &model{rows: rows, weights: make([]float32, n), rowSquares: make([]float32, n), weightSquares: make([]float32, n)}
	count, total := make([]float64, n), 0.0
	for _, p := range c.pairs {
		for _, side := range [][]int32{p.query, p.code} {
			for _, t := range side {
				if t >= 0 {
					count[t]++
					total++
				}
			}
		}
	}
	for t := range rows {
		unit(&rows[t])
		const common = 1e-3
		m.weights[t] = float32(log(common / (common + count[t]/total)))
	}
	return m
}

// run learns from the n-th batch and returns its loss.
func (s *step) run(n uint64, batch []int, rate float32) float64 {
	s.embed(n, batch)
	loss := s.compare()
	s.backpropagate()
	s.indexTerms()
	s.update(rate)
	return loss
}

// embed draws which terms are left out of the n-th batch, and makes the vectors of
// its texts from the others.
func (s *step) embed(n uint64, batch []int) {
	s.batch = batch
	s.w.each(len(batch), 8, func(i int) {
		e, r := &s.examples[batch[i]], newRandom(s.seed, 2, n<<16|uint64(i))
		q, c := &s.sides[0][i], &s.sides[1][i]
		hidden := r.float() < s.hide
		q.bag.take(&e.query, func(int32) bool { return r.float() >= s.dropout })
		c.bag.take(&e.code, func(t int32) bool {
			return r.float() >= s.dropout && (!hidden || !e.query.has(t))
		})
		q.embed(s.m)
		c.embed(s.m)
	})
}

// take makes b what wanted leaves of from, in the memory it has.
func (b *bag) take(from *bag, wanted func(t int32) bool) {
	b.term, b.times, b.sum = b.term[:0], b.times[:0], from.sum
	for i, t := range from.term {
		if wanted(t) {
			b.term, b.times = append(b.term, t), append(b.times, from.times[i])
		}
	}
}

func (b *bag) has(t int32) bool {
	_, ok := slices.BinarySearch(b.term, t)
	return ok
}

// embed sums the vectors of the terms and scales the sum to unit length.
func (t *text) embed(m *model) {
	t.vec, t.factor = vector{}, t.factor[:0]
	for i, n := range t.bag.term {
		f := float32(t.bag.times[i] * float32(exp(float64(m.weights[n]))))
		t.factor = append(t.factor, f)
		addTo(&t.vec, f, &m.rows[n])
	}
	if t.norm = length(&t.vec); t.norm > 0 {
		for d := range t.vec {
			t.vec[d] /= t.norm
		}
	}
}

// compare fills sim with how much the loss grows with each cosine: cross entropy
// of finding the code of a query among all code of the batch, and the query of a
// piece of code among all queries (InfoNCE; van den Oord, Li, Vinyals 2018).
func (s *step) compare() float64 {
	n := len(s.batch)
	queries, codes := s.sides[0], s.sides[1]
	rows, columns, right := make([]float64, n), make([]float64, n), make([]float64, n)
	heat := 1 / s.temperature
	s.w.each(n, 8, func(i int) {
		q := &queries[i]
		for j := range n {
			c, e := &codes[j], 0.0
			// Equal texts are no wrong answers, empty ones no answers.
			if q.norm > 0 && c.norm > 0 && (i == j || q.bag.sum != queries[j].bag.sum && c.bag.sum != codes[i].bag.sum) {
				e = exp(float64(float64(dot(&q.vec, &c.vec))-1) * heat)
			}
			s.sim[i*n+j] = float32(e)
			rows[i] += float64(float32(e))
		}
	})
	s.w.each(n, 8, func(j int) {
		for i := range n {
			columns[j] += float64(s.sim[i*n+j])
		}
		right[j] = float64(s.sim[j*n+j])
	})
	s.w.each(n, 8, func(i int) {
		s.loss[i] = 0
		for j := range n {
			e, g := float64(s.sim[i*n+j]), 0.0
			if right[i] > 0 {
				g += e / rows[i]
			}
			if right[j] > 0 {
				g += e / columns[j]
			}
			s.sim[i*n+j] = float32(g)
		}
		if right[i] > 0 {
			s.sim[i*n+i] -= 2
			s.loss[i] = -.5 * (log(right[i]/rows[i]) + log(right[i]/columns[i]))
		}
	})
	sum := 0.0
	for _, l := range s.loss[:n] {
		sum += l
	}
	return sum / float64(n)
}

// minGradient is the derivative by a cosine below which it is taken for 0.
const minGradient = 1e-5

// backpropagate turns sim into the gradients of the texts' sums, before these were
// scaled to unit length.
func (s *step) backpropagate() {
	n := len(s.batch)
	scale := float32(1 / (2 * s.temperature * float64(n)))
	s.w.each(2*n, 8, func(k int) {
		i, side := k%n, k/n
		t := &s.sides[side][i]
		t.grad = vector{}
		if t.norm == 0 {
			return
		}
		for j := range n {
			g := s.sim[i*n+j]
			if side == 1 {
				g = s.sim[j*n+i]
			}
			if g > minGradient || g < -minGradient {
				addTo(&t.grad, float32(g*scale), &s.sides[1-side][j].vec)
			}
		}
		addTo(&t.grad, -dot(&t.grad, &t.vec), &t.vec)
		for d := range t.grad {
			t.grad[d] /= t.norm
		}
	})
}

// indexTerms lists the occurrences in the batch by term, those of one term in the
// order of the texts.
func (s *step) indexTerms() {
	n := len(s.m.rows)
	if s.bounds == nil {
		s.bounds = make([]int, n+2)
	}
	clear(s.bounds)
	all := 0
	for _, side := range s.sides {
		for i := range s.batch {
			for _, t := range side[i].bag.term {
				s.bounds[t+2]++
				all++
			}
		}
	}
	for t := range n {
		s.bounds[t+2] += s.bounds[t+1]
	}
	s.occurrences = slices.Grow(s.occurrences[:0], all)[:all]
	for _, side := range s.sides {
		for i := range s.batch {
			for at, t := range side[i].bag.term {
				s.occurrences[s.bounds[t+1]] = occurrence{&side[i], at}
				s.bounds[t+1]++
			}
		}
	}
}

// gradient returns by how much the loss grows with a term's row and with the
// logarithm of its weight, false if the term does not occur in the batch.
func (s *step) gradient(term int) (g vector, weight float32, ok bool) {
	occurrences := s.occurrences[s.bounds[term]:s.bounds[term+1]]
	for _, x := range occurrences {
		addTo(&g, x.text.factor[x.at], &x.text.grad)
	}
	// Factors are proportional to the weight, so the derivative by its logarithm
	// is the one by the row, along the row.
	return g, dot(&s.m.rows[term], &g), len(occurrences) > 0
}

// update takes one step along the gradient of every term that occurs in the batch.
func (s *step) update(rate float32) {
	m := s.m
	s.w.each(len(m.rows), 64, func(t int) {
		g, weight, ok := s.gradient(t)
		if !ok {
			return
		}
		m.rowSquares[t] += dot(&g, &g) / dim
		if q := m.rowSquares[t]; q > 0 {
			addTo(&m.rows[t], -rate/float32(math.Sqrt(float64(q))), &g)
		}
		m.weightSquares[t] += float32(weight * weight)
		if q := m.weightSquares[t]; q > 0 {
			m.weights[t] -= float32(rate * weight / float32(math.Sqrt(float64(q))))
		}
	})
}

// A sampler chooses the pairs of each batch.
type sampler struct {
	r       random
	size    int
	pairs   []int   // all, shuffled
	at      int     // how many of them were used
	sources [][]int // pairs by source, of those that have enough
	owner   []int   // where in sources the pairs are, each as often as it has pairs
	out     []int
}

// minOwn is how many pairs a source must have for a batch to be made from it and one
// other.
const minOwn = 64

func newSampler(c *corpus, r recipe) *sampler {
	p := &sampler{r: newRandom(r.seed, 3, 0), size: r.size}
	for from := 0; from < len(c.pairs); {
		to := from
		var own []int
		for to < len(c.pairs) && c.pairs[to].source == c.pairs[from].source {
			own = append(own, to)
			to++
		}
		if len(own) >= minOwn {
			for range own {
				p.owner = append(p.owner, len(p.sources))
			}
			p.sources = append(p.sources, own)
		}
		p.pairs = append(p.pairs, own...)
		from = to
	}
	p.at = len(p.pairs)
	return p
}

// batch returns the n-th batch: pairs of all sources, or, every second time, of
// two sources alone, whose wrong answers are harder to tell from right ones.
func (p *sampler) batch(n int) []int {
	p.out = p.out[:0]
	if n%2 == 0 || len(p.sources) < 2 {
		for len(p.out) < min(p.size, len(p.pairs)) {
			if p.at == len(p.pairs) {
				p.shuffle(p.pairs)
				p.at = 0
			}
			p.out = append(p.out, p.pairs[p.at])
			p.at++
		}
		return p.out
	}
	a := p.owner[p.r.intn(len(p.owner))]
	b := a
	for b == a {
		b = p.owner[p.r.intn(len(p.owner))]
	}
	for _, own := range [][]int{p.sources[a], p.sources[b]} {
		most := min(p.size/2, len(own))
		for i := range most {
			k := i + p.r.intn(len(own)-i)
			own[i], own[k] = own[k], own[i]
		}
		p.out = append(p.out, own[:most]...)
	}
	return p.out
}

func (p *sampler) shuffle(s []int) {
	for i := range s {
		k := i + p.r.intn(len(s)-i)
		s[i], s[k] = s[k], s[i]
	}
}
