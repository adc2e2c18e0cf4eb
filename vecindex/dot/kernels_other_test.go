//go:build !amd64 && !arm64

package dot

type kernel = func(a, b, c, d *byte, q *int8, n int, out *[4]int32)

// kernels are those this machine can run.
func kernels() map[string]kernel { return map[string]kernel{"scalar": fourScalar, "go": lanesKernel} }
