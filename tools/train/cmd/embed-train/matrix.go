package main

import (
	"cmp"
	"math"
	"slices"
)

// window is how many terms on either side of a term are its neighbours.
const window = 5

// smoothing is the power of the frequency of a context (Levy, Goldberg, Dagan
// 2015): a rare context counts less than its frequency would make it.
const smoothing = 0.75

// A matrix is sparse, n rows by n columns.
type matrix struct {
	n      int
	start  []int // of each row in column and value; one more than rows
	column []int32
	value  []float64
}

// pmi returns the positive pointwise mutual information of each two terms (Church &
// Hanks 1990): by how much more often than by chance they stand near each other.
func pmi(c *corpus) *matrix {
	n := len(c.terms)
	near := make([]uint32, n*n) // integers: their sum does not depend on the order
	count := func(seq []int32) {
		for i, a := range seq {
			if a < 0 {
				continue
			}
			for _, b := range seq[i+1 : min(i+1+window, len(seq))] {
				if b >= 0 && a != b {
					near[int(a)*n+int(b)]++
					near[int(b)*n+int(a)]++
				}
			}
		}
	}
	for _, p := range c.pairs {
		count(p.query)
		count(p.code)
	}
	totals, total, smooth := make([]float64, n), 0.0, 0.0
	for i := range n {
		sum := uint64(0)
		for _, k := range near[i*n : (i+1)*n] {
			sum += uint64(k)
		}
		totals[i] = float64(sum)
		total += totals[i]
	}
	context := make([]float64, n)
	for i, t := range totals {
		if t > 0 {
			context[i] = exp(float64(smoothing * log(t)))
			smooth += context[i]
		}
	}
	m := &matrix{n: n, start: make([]int, 1, n+1)}
	for i := range n {
		for j, k := range near[i*n : (i+1)*n] {
			if k == 0 {
				continue
			}
			if v := log(float64(k) / totals[i] / context[j] * smooth); v > 0 {
				m.column = append(m.column, int32(j))
				m.value = append(m.value, v)
			}
		}
		m.start = append(m.start, len(m.column))
	}
	return m
}

// transpose returns m with rows for columns.
func (m *matrix) transpose() *matrix {
	t := &matrix{n: m.n, start: make([]int, m.n+1), column: make([]int32, len(m.column)), value: make([]float64, len(m.value))}
	for _, j := range m.column {
		t.start[j+1]++
	}
	for i := range m.n {
		t.start[i+1] += t.start[i]
	}
	at := slices.Clone(t.start[:m.n])
	for i := range m.n {
		for k := m.start[i]; k < m.start[i+1]; k++ {
			j := m.column[k]
			t.column[at[j]], t.value[at[j]] = int32(i), m.value[k]
			at[j]++
		}
	}
	return t
}

// times returns m × x, where x has n rows of wide numbers.
func (m *matrix) times(w workers, x []float64, wide int) []float64 {
	out := make([]float64, m.n*wide)
	w.each(m.n, 16, func(i int) {
		row := out[i*wide : (i+1)*wide]
		for k := m.start[i]; k < m.start[i+1]; k++ {
			v := m.value[k]
			from := x[int(m.column[k])*wide:][:len(row)]
			for d := range row {
				row[d] += float64(v * from[d])
			}
		}
	})
	return out
}

// decompose returns, for each row of m, its coordinates along the dim strongest
// singular directions, each scaled by the root of the singular value: randomised
// SVD with power iterations (Halko, Martinsson, Tropp 2011).
func decompose(w workers, m *matrix, seed uint64) []vector {
	const extra, rounds = 16, 3
	wide := dim + extra
	t := m.transpose()
	r := newRandom(seed, 1, 0)
	x := make([]float64, m.n*wide)
	for i := range x {
		// Twelve evenly spread numbers make a nearly normal one.
		for range 12 {
			x[i] += r.float() - .5
		}
	}
	q := m.times(w, x, wide)
	orthogonal(q, m.n, wide)
	for range rounds {
		q = t.times(w, q, wide)
		orthogonal(q, m.n, wide)
		q = m.times(w, q, wide)
		orthogonal(q, m.n, wide)
	}
	b := t.times(w, q, wide) // row j: column j of m along the directions q
	square := make([]float64, wide*wide)
	w.each(wide, 1, func(i int) {
		for k := i; k < wide; k++ {
			sum := 0.0
			for j := range m.n {
				sum += float64(b[j*wide+i] * b[j*wide+k])
			}
			square[i*wide+k] = sum
		}
	})
	for i := range wide {
		for k := range i {
			square[i*wide+k] = square[k*wide+i]
		}
	}
	values, directions := eigen(square, wide)
	out := make([]vector, m.n)
	w.each(m.n, 16, func(i int) {
		for d := range dim {
			sum := 0.0
			for k := range wide {
				sum += float64(q[i*wide+k] * directions[k*wide+d])
			}
			out[i][d] = float32(sum * math.Sqrt(math.Sqrt(max(values[d], 0))))
		}
	})
	return out
}

// orthogonal makes the columns of x, n rows by wide, of unit length and
// perpendicular to each other: Gram-Schmidt, twice.
func orthogonal(x []float64, n, wide int) {
	// Column by column in memory, since every column is read wide times.
	cols := make([][]float64, wide)
	for k := range cols {
		cols[k] = make([]float64, n)
		for i := range n {
			cols[k][i] = x[i*wide+k]
		}
	}
	for k, c := range cols {
		for range 2 {
			for _, before := range cols[:k] {
				sum := product(c, before)
				for i, v := range before {
					c[i] -= float64(sum * v)
				}
			}
		}
		if l := math.Sqrt(product(c, c)); l > 0 {
			for i := range c {
				c[i] /= l
			}
		}
		for i, v := range c {
			x[i*wide+k] = v
		}
	}
}

func product(a, b []float64) float64 {
	var s0, s1 float64
	b = b[:len(a)]
	i := 0
	for ; i+1 < len(a); i += 2 {
		s0 += float64(a[i] * b[i])
		s1 += float64(a[i+1] * b[i+1])
	}
	if i < len(a) {
		s0 += float64(a[i] * b[i])
	}
	return s0 + s1
}

// eigen returns the eigenvalues of the symmetric matrix a, n by n, largest
// first, and the eigenvectors as columns: Jacobi's rotations, row by row.
func eigen(a []float64, n int) (values, vectors []float64) {
	v := make([]float64, n*n)
	for i := range n {
		v[i*n+i] = 1
	}
	rotate := func(m []float64, i, j int, c, s float64) {
		x, y := m[i], m[j]
		m[i], m[j] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
	for range 12 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				off := a[p*n+q]
				if off == 0 {
					continue
				}
				theta := (a[q*n+q] - a[p*n+p]) / (2 * off)
				t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(float64(t*t)+1)
				s := float64(t * c)
				for k := range n {
					rotate(a, k*n+p, k*n+q, c, s)
				}
				for k := range n {
					rotate(a, p*n+k, q*n+k, c, s)
				}
				for k := range n {
					rotate(v, k*n+p, k*n+q, c, s)
				}
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(a[y*n+y], a[x*n+x]) })
	values, vectors = make([]float64, n), make([]float64, n*n)
	for to, from := range order {
		values[to] = a[from*n+from]
		for k := range n {
			vectors[k*n+to] = v[k*n+from]
		}
	}
	return values, vectors
}
