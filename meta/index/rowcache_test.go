package index

import (
	"fmt"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/lru"
)

// cacheOf is a cache of at most max rows.
func cacheOf(max int) *rowCache[int] {
	return &rowCache[int]{rows: lru.Cache[fold.ID, int]{MaxLen: max}}
}

// What was read before a change must not be held after it.
func TestRowCacheHoldsNothingOld(t *testing.T) {
	c := cacheOf(3)
	get := func(ids ...fold.ID) (all, missing []int, drops uint64) {
		all = make([]int, len(ids))
		missing, drops = c.get(ids, all)
		return all, missing, drops
	}
	_, missing, drops := get("a", "b")
	if len(missing) != 2 {
		t.Errorf("an empty cache misses %v", missing)
	}
	c.put(map[fold.ID]int{"a": 1, "b": 2}, drops)
	_, _, before := get("c")
	c.drop([]fold.ID{"a"})
	c.put(map[fold.ID]int{"a": 1, "c": 3}, before) // read before the change
	if all, missing, _ := get("a", "b", "c"); fmt.Sprint(all, missing) != "[0 2 3] [0]" {
		t.Errorf("after a change: %v, missing %v", all, missing)
	}
	_, _, before = get("x")
	for range maxDropped + 1 {
		c.drop([]fold.ID{"c"})
	}
	c.put(map[fold.ID]int{"x": 24}, before) // nobody knows any more what changed
	if all, missing, _ := get("b", "c", "x"); fmt.Sprint(all, missing) != "[2 0 0] [1 2]" {
		t.Errorf("after many changes: %v, missing %v", all, missing)
	}
}

func TestRowCacheHoldsWhatWasAskedForLately(t *testing.T) {
	c := cacheOf(3)
	missing := func(ids ...fold.ID) (missing []int) {
		missing, _ = c.get(ids, make([]int, len(ids)))
		return missing
	}
	put := func(ids ...fold.ID) {
		read := map[fold.ID]int{}
		for i, id := range ids {
			read[id] = i
		}
		_, drops := c.get(nil, nil)
		c.put(read, drops)
	}
	put("a")
	put("b", "c")
	missing("a")
	put("d", "e")
	if got := missing("a", "b", "c", "d", "e"); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("of one that was asked for, two that were not and two new ones %v are missing", got)
	}
}
