package meta

import (
	"fmt"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// What was read before a change must not be held after it.
func TestAMemoHoldsNothingOld(t *testing.T) {
	m := memo[int]{room: 3}
	take := func(ids ...fold.ID) (map[fold.ID]int, []fold.ID, uint64) {
		all := map[fold.ID]int{}
		missing, drops := m.take(ids, all)
		return all, missing, drops
	}
	_, missing, drops := take("a", "b")
	if len(missing) != 2 {
		t.Errorf("an empty memo misses %v", missing)
	}
	m.put(map[fold.ID]int{"a": 1, "b": 2}, drops)
	_, _, before := take("c")
	m.drop([]fold.ID{"a"})
	m.put(map[fold.ID]int{"a": 1, "c": 3}, before) // read before the change
	if all, missing, _ := take("a", "b", "c"); fmt.Sprint(all, missing) != "map[b:2] [a c]" {
		t.Errorf("after a change: %v, missing %v", all, missing)
	}
	_, _, drops = take()
	m.put(map[fold.ID]int{"d": 4, "e": 5, "f": 6}, drops)
	if all, _, _ := take("b", "d", "e", "f"); len(all) != 3 {
		t.Errorf("beyond its room it holds %v", all)
	}
}
