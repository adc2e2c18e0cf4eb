package main

import (
	"math"
)

// A Case is one question as the fit sees it.
type Case struct {
	Group      string // cases of a group count as much together as those of any other
	Candidates []Candidate
}

// A Candidate is one result that could be shown for a question.
type Candidate struct {
	Row    int       // of weights that it is scored by
	Values []float64 // by feature
	Right  bool      // finds a target
}

// fitOptions of [fitRows].
type fitOptions struct {
	Rows     int      // rows of weights
	Features int      // of each
	Use      [][]bool // by row, then feature: which are fitted; the others stay 0
	L2       float64  // weight of the penalty |w|²/2 beside the mean loss of a case
}

// fitRows returns the weights under which the candidates that find a target are
// most likely drawn first: softmax regression over each list (Cao and others,
// ICML 2007, with top-one probabilities), by Newton's method. The function is
// convex, and sums run in the order of the cases, so that the same cases give the
// same weights.
func fitRows(cases []Case, opt fitOptions) [][]float64 {
	p := newProblem(cases, opt)
	w := make([]float64, p.n)
	loss := p.loss(w)
	for range 60 {
		grad, hess := p.derive(w)
		step := solve(hess, grad)
		var next []float64
		better, size := loss, 1.0
		for range 30 {
			next = make([]float64, len(w))
			for i := range w {
				next[i] = w[i] - size*step[i]
			}
			if better = p.loss(next); better < loss {
				break
			}
			size /= 2
		}
		if !(better < loss-1e-10) {
			break
		}
		w, loss = next, better
	}
	out := make([][]float64, opt.Rows)
	for r := range out {
		out[r] = make([]float64, opt.Features)
		for f, at := range p.at[r] {
			if at >= 0 {
				out[r][f] = w[at]
			}
		}
	}
	return out
}

// A problem is the loss of a fit and its derivatives.
type problem struct {
	cases  []Case
	shares []float64 // of each case in the loss
	at     [][]int   // by row, then feature: which variable it is; -1 for none
	n      int
	l2     float64
}

func newProblem(cases []Case, opt fitOptions) *problem {
	p := &problem{l2: opt.L2}
	count := map[string]float64{}
	for _, c := range cases {
		right := 0
		for _, d := range c.Candidates {
			if d.Right {
				right++
			}
		}
		if right > 0 && right < len(c.Candidates) {
			p.cases = append(p.cases, c)
			count[c.Group]++
		}
	}
	for _, c := range p.cases {
		p.shares = append(p.shares, 1/(count[c.Group]*float64(len(count))))
	}
	for r := range opt.Rows {
		at := make([]int, opt.Features)
		for f := range at {
			at[f] = -1
			if opt.Use[r][f] {
				at[f] = p.n
				p.n++
			}
		}
		p.at = append(p.at, at)
	}
	return p
}

// chances returns how likely each candidate is drawn first, how likely it should
// be, and the loss.
func (p *problem) chances(c *Case, w []float64, chance []float64) (right, loss float64) {
	best := math.Inf(-1)
	for i, d := range c.Candidates {
		s := 0.0
		for f, at := range p.at[d.Row] {
			if at >= 0 {
				s += w[at] * d.Values[f]
			}
		}
		chance[i] = s
		best = max(best, s)
		if d.Right {
			right++
			loss -= s
		}
	}
	loss /= right
	sum := 0.0
	for i := range c.Candidates {
		chance[i] = math.Exp(chance[i] - best)
		sum += chance[i]
	}
	for i := range c.Candidates {
		chance[i] /= sum
	}
	return right, loss + best + math.Log(sum)
}

func (p *problem) loss(w []float64) float64 {
	total := 0.0
	for _, v := range w {
		total += p.l2 / 2 * v * v
	}
	var chance []float64
	for i := range p.cases {
		chance = grown(chance, len(p.cases[i].Candidates))
		_, loss := p.chances(&p.cases[i], w, chance)
		total += p.shares[i] * loss
	}
	return total
}

// derive returns the gradient and the Hessian.
func (p *problem) derive(w []float64) (grad []float64, hess [][]float64) {
	grad, hess = make([]float64, p.n), make([][]float64, p.n)
	for i := range hess {
		hess[i] = make([]float64, p.n)
		grad[i], hess[i][i] = p.l2*w[i], p.l2
	}
	mean, wanted := make([]float64, p.n), make([]float64, p.n)
	var chance []float64
	for i := range p.cases {
		c := &p.cases[i]
		chance = grown(chance, len(c.Candidates))
		right, _ := p.chances(c, w, chance)
		clear(mean)
		clear(wanted)
		for k, d := range c.Candidates {
			at := p.at[d.Row]
			if d.Right {
				for f, v := range d.Values {
					if at[f] >= 0 {
						wanted[at[f]] += v / right
					}
				}
			}
			if chance[k] < 1e-9 {
				continue
			}
			for f, v := range d.Values {
				if at[f] < 0 || v == 0 {
					continue
				}
				mean[at[f]] += chance[k] * v
				row, weight := hess[at[f]], p.shares[i]*chance[k]*v
				for g, u := range d.Values[:f+1] {
					if at[g] >= 0 {
						row[at[g]] += weight * u
					}
				}
			}
		}
		for a := range mean {
			grad[a] += p.shares[i] * (mean[a] - wanted[a])
			if mean[a] == 0 {
				continue
			}
			for b := 0; b <= a; b++ {
				hess[a][b] -= p.shares[i] * mean[a] * mean[b]
			}
		}
	}
	for a := range hess {
		for b := range a {
			hess[b][a] = hess[a][b]
		}
	}
	return grad, hess
}

func grown(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// solve returns x with a·x = b for a symmetric positive definite a, by Cholesky.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	l := make([][]float64, n)
	for i := range l {
		l[i] = make([]float64, i+1)
		for j := range l[i] {
			s := a[i][j]
			for k := range j {
				s -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(max(s, 1e-12))
			} else {
				l[i][j] = s / l[j][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		s := b[i]
		for k := range i {
			s -= l[i][k] * x[k]
		}
		x[i] = s / l[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		s := x[i]
		for k := i + 1; k < n; k++ {
			s -= l[k][i] * x[k]
		}
		x[i] = s / l[i][i]
	}
	return x
}
