package dot

type kernel = func(a, b, c, d *byte, q *int8, n int, out *[4]int32)

// kernels are those this machine can run.
func kernels() map[string]kernel {
	all := map[string]kernel{"scalar": fourScalar, "go": lanesKernel}
	if fast.avx2 {
		all["avx2"] = fourAVX2
	}
	if fast.vnni {
		all["avx512-vnni"] = fourVNNI
	}
	return all
}
