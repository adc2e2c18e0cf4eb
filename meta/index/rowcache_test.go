package meta

import (
	"fmt"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// What was read before a change must not be held after it.
func TestAMemoHoldsNothingOld(t *testing.T) {
	m := memo[int]{room: 3}
	take := func(ids ...fold.ID) (all, missing []int, drops uint64) {
		all = make([]int, len(ids))
		missing, drops = m.take(ids, all)
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
	if all, missing, _ := take("a", "b", "c"); fmt.Sprint(all, missing) != "[0 2 3] [0]" {
		t.Errorf("after a change: %v, missing %v", all, missing)
	}
	_, _, before = take("x")
	for range wentMost + 1 {
		m.drop([]fold.ID{"c"})
	}
	m.put(map[fold.ID]int{"x": 24}, before) // nobody knows any more what changed
	if all, missing, _ := take("b", "c", "x"); fmt.Sprint(all, missing) != "[2 0 0] [1 2]" {
		t.Errorf("after many changes: %v, missing %v", all, missing)
	}
	_, _, drops = take()
	m.put(map[fold.ID]int{"d": 4, "e": 5, "f": 6}, drops)
	if all, _, _ := take("b", "d", "e", "f"); fmt.Sprint(all) != "[2 4 5 6]" { // b is kept, d to f were new before it
		t.Errorf("beyond its room it holds %v", all)
	}
	m.put(map[fold.ID]int{"g": 7, "h": 8, "i": 9}, drops)
	if all, missing, _ := take("b", "d"); fmt.Sprint(all, missing) != "[2 0] [1]" {
		t.Errorf("after as many new ones, of one that was asked for and one that was not: %v, missing %v", all, missing)
	}
	m.drop([]fold.ID{"b", "g"})
	if all, missing, _ := take("b", "g", "h"); fmt.Sprint(missing) != "[0 1]" {
		t.Errorf("after a change of what was kept: %v, missing %v", all, missing)
	}
}

// A memo of values that have a size holds no more than twice its room.
func TestAMemoHasRoom(t *testing.T) {
	m := memo[string]{room: 100, size: func(s string) int { return len(s) }}
	for i := range 50 {
		id := fold.ID(fmt.Sprint(i))
		_, drops := m.take([]fold.ID{id}, make([]string, 1))
		m.put(map[fold.ID]string{id: string(make([]byte, 1+i))}, drops)
		if i%3 == 0 {
			m.drop([]fold.ID{id})
		}
		held := 0
		for _, of := range []map[fold.ID]string{m.held, m.older} {
			for _, s := range of {
				held += len(s)
			}
		}
		if held > 2*m.room {
			t.Fatalf("after %d values %d bytes are held in room for %d", i+1, held, m.room)
		}
	}
	_, drops := m.take(nil, nil)
	m.put(map[fold.ID]string{"large": string(make([]byte, 101))}, drops)
	if missing, _ := m.take([]fold.ID{"large", "49"}, make([]string, 2)); len(missing) != 1 || missing[0] != 0 {
		t.Errorf("of one too large and the last before it %v is missing", missing)
	}
}
