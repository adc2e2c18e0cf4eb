package rank

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortLargeIsAStableSort(t *testing.T) {
	t.Parallel()
	type large struct {
		key, number int
		_           [200]byte
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		list := make([]large, rnd.IntN(60))
		for i := range list {
			list[i] = large{key: rnd.IntN(20), number: i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b large) int { return cmp.Compare(a.key, b.key) })
		sortLarge(list, func(a, b *large) int { return cmp.Compare(a.key, b.key) })
		if !slices.Equal(list, want) {
			t.Fatalf("sorted %v, want %v", list, want)
		}
	}
}
