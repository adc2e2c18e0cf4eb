// Package fulltest says how much a test does. make test runs all tests on two
// cores, under the race detector, and tries some of a large space; make full and
// make crash try it all.
package fulltest

import "os"

// Pick returns large where FOLDWATCH_FULL or FOLDWATCH_CRASH is set, as make full
// and make crash do, and small where a test shares two cores with all others.
func Pick[T any](small, large T) T {
	if os.Getenv("FOLDWATCH_FULL") != "" || Crash() {
		return large
	}
	return small
}

// Crash reports whether crashes are tried at every step: make crash, for hours.
func Crash() bool { return os.Getenv("FOLDWATCH_CRASH") != "" }

// Some returns n of all, evenly spread, the first and the last among them where n is
// more than one; all of them where Pick returns large.
func Some[T any](n int, all []T) []T {
	if n = Pick(n, len(all)); n >= len(all) {
		return all
	}
	var out []T
	for i := range n {
		out = append(out, all[i*(len(all)-1)/max(n-1, 1)])
	}
	return out
}
