package local

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Older reports whether version a is older than b by the precedence of
// semver.org 2.0.0, section 11, in which what stands behind a plus does not count.
// It is false where one of them is no such version, or that does not tell.
func Older(a, b string) bool {
	x, xs := semantic().FindStringSubmatch(a), semantic().FindStringSubmatch(b)
	if x == nil || xs == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		if c := compareNumbers(x[i], xs[i]); c != 0 {
			return c < 0
		}
	}
	if x[4] == "" || xs[4] == "" {
		return x[4] != "" && xs[4] == "" // what comes before a release
	}
	return slices.CompareFunc(strings.Split(x[4], "."), strings.Split(xs[4], "."), func(a, b string) int {
		_, errA := strconv.ParseUint(a, 10, 64)
		_, errB := strconv.ParseUint(b, 10, 64)
		switch {
		case errA == nil && errB == nil:
			return compareNumbers(a, b)
		case errA == nil:
			return -1 // numbers are below words
		case errB == nil:
			return 1
		}
		return strings.Compare(a, b)
	}) < 0
}

// semantic takes a version apart: three numbers, and what comes before a release.
var semantic = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$`)
})

// compareNumbers compares whole numbers of any length by their digits.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
