package main

import "math"

// dim is how many numbers a vector has.
const dim = 128

// A vector is one row.
type vector = [dim]float32

// The sums below are written so that they come out the same on every machine: a
// conversion keeps a compiler from fusing a product with a sum, which rounds
// once instead of twice, and exp and log are our own, since the standard
// library's differ by processor.

// dot returns the product of a and b.
func dot(a, b *vector) float32 {
	var s0, s1, s2, s3 float32
	for i := 0; i < dim; i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	return (s0 + s1) + (s2 + s3)
}

// addTo adds f times b to a.
func addTo(a *vector, f float32, b *vector) {
	for i := 0; i < dim; i += 4 {
		a[i] += float32(f * b[i])
		a[i+1] += float32(f * b[i+1])
		a[i+2] += float32(f * b[i+2])
		a[i+3] += float32(f * b[i+3])
	}
}

// length returns the Euclidean length of a. Square roots are exact everywhere.
func length(a *vector) float32 { return float32(math.Sqrt(float64(dot(a, a)))) }

// unit scales a to unit length, unless it is zero.
func unit(a *vector) {
	if l := length(a); l > 0 {
		for i := range a {
			a[i] /= l
		}
	}
}

const (
	log2e = 1.44269504088896338700e+00
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// exp returns e**x, to about 15 digits, for x from -700 to 700; 0 below.
func exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	k := math.Floor(float64(x*log2e) + .5)
	r := x - float64(k*ln2Hi) - float64(k*ln2Lo)
	sum := 1.0 / 6227020800
	for _, c := range [...]float64{
		1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, .5, 1, 1,
	} {
		sum = c + float64(sum*r)
	}
	return float64(sum * math.Float64frombits(uint64(int64(k)+1023)<<52))
}

// log returns the natural logarithm of x > 0, to about 15 digits.
func log(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = m*2, k-1
	}
	f := (m - 1) / (m + 1)
	square, power, sum := float64(f*f), f, 0.0
	for n := 1.0; n < 30; n += 2 {
		sum += power / n
		power = float64(power * square)
	}
	return float64(float64(k)*ln2Hi) + (2*sum + float64(float64(k)*ln2Lo))
}

// random is a stream of random numbers that is the same everywhere: splitmix64
// (Steele, Lea, Flood 2014).
type random uint64

// newRandom returns the stream of the n-th thing of a kind, independent of all
// others.
func newRandom(seed, kind, n uint64) random {
	c := random(seed)
	c = random(c.next() ^ kind)
	c = random(c.next() ^ n)
	return random(c.next())
}

func (c random) peek() uint64 {
	z := uint64(c)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

func (c *random) next() uint64 {
	*c += 0x9E3779B97F4A7C15
	return c.peek()
}

// intn returns a number in [0, n).
func (c *random) intn(n int) int { return int(c.next() % uint64(n)) }

// float returns a number in [0, 1).
func (c *random) float() float64 { return float64(c.next()>>11) / (1 << 53) }
