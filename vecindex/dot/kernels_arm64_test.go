package dot

import "unsafe"

type kernel = func(a, b, c, d *byte, q *int8, n int, out *[4]int32)

// kernels are those this machine can run.
func kernels() map[string]kernel {
	all := map[string]kernel{"scalar": fourScalar, "go": lanesKernel, "neon": biased(fourNEON)}
	if fast.sdot {
		all["neon-sdot"] = biased(fourSDOT)
	}
	return all
}

// biased adds to the products what the bias of the rows adds to those of the
// others.
func biased(k kernel) kernel {
	return func(a, b, c, d *byte, q *int8, n int, out *[4]int32) {
		k(a, b, c, d, q, n, out)
		sum := int32(0)
		for _, f := range unsafe.Slice(q, n) {
			sum += int32(f)
		}
		for i := range out {
			out[i] += bias * sum
		}
	}
}
