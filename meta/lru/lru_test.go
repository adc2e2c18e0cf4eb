package lru_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/meta/lru"
)

func keys(c *lru.Cache[int, string]) []int {
	var all []int
	for k := range c.All() {
		all = append(all, k)
	}
	return all
}

func TestCacheForgetsWhatWasNotUsedForLongest(t *testing.T) {
	c := lru.Cache[int, string]{MaxLen: 3}
	for n, s := range []string{"zero", "one", "two"} {
		if evicted := c.Put(n, s); len(evicted) > 0 {
			t.Errorf("Put(%d) evicted %q before the cache was full", n, evicted)
		}
	}
	if v, ok := c.Get(0); v != "zero" || !ok {
		t.Errorf("Get(0) = %q, %t", v, ok)
	}
	if evicted := c.Put(3, "three"); !slices.Equal(evicted, []string{"one"}) {
		t.Errorf("Put(3) evicted %q, want the one that was not used", evicted)
	}
	if _, ok := c.Get(1); ok {
		t.Error("what was evicted is still there")
	}
	if v, ok := c.Remove(2); v != "two" || !ok {
		t.Errorf("Remove(2) = %q, %t", v, ok)
	}
	if _, ok := c.Remove(2); ok {
		t.Error("what was removed is still there")
	}
	c.Put(0, "nought")
	if v, _ := c.Get(0); v != "nought" || c.Len() != 2 {
		t.Errorf("Put in place of a value: %q of %d, want nought of 2", v, c.Len())
	}
	if got := keys(&c); !slices.Equal(got, []int{0, 3}) {
		t.Errorf("All() = %v, want the last used first", got)
	}
}

func TestCacheHoldsItsCost(t *testing.T) {
	c := lru.Cache[int, string]{MaxCost: 10, Cost: func(s string) int { return len(s) }}
	c.Put(1, "1234")
	c.Put(2, "1234")
	if evicted := c.Put(3, "12345678901"); !slices.Equal(evicted, []string{"12345678901"}) {
		t.Errorf("a value beyond the bound evicted %q, want itself alone", evicted)
	}
	c.Put(2, "12") // cheaper than the one it replaces
	if evicted := c.Put(4, "1234"); len(evicted) > 0 {
		t.Errorf("evicted %q of what costs 10 together", evicted)
	}
	if evicted := c.Put(5, "1"); !slices.Equal(evicted, []string{"1234"}) {
		t.Errorf("evicted %q, want the oldest alone", evicted)
	}
	got := maps.Collect(c.All())
	if want := (map[int]string{2: "12", 4: "1234", 5: "1"}); !maps.Equal(got, want) {
		t.Errorf("All() = %v, want %v", got, want)
	}
}
