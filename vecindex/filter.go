package vecindex

import (
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Filter says which vectors a search may find. The zero Filter, and nil, allow
// all.
type Filter struct {
	Only     map[fold.ID]bool // memories that may be found, they and their chunks; nil means all
	Not      map[fold.ID]bool // memories that may not be found
	Memories bool             // memories alone, not their chunks
}

// passing returns the live rows that f lets pass, and how many they are; nil
// means all live rows. Its cost depends on the memories that f names, not on all.
func (t *table) passing(f *Filter) (bitset, int) {
	if f == nil || f.Only == nil && len(f.Not) == 0 && !f.Memories {
		return nil, t.live()
	}
	if f.Only != nil {
		pass, n := newBitset(t.len()), 0
		for id, yes := range f.Only {
			if !yes || f.Not[id] {
				continue
			}
			t.eachOf(id, func(row int32) {
				if !f.Memories || t.own.has(row) {
					pass.set(row)
					n++
				}
			})
		}
		return pass, n
	}
	var pass bitset
	if f.Memories {
		pass = slices.Clone(t.own)
	} else {
		pass = newBitset(t.len())
		for row := range pass {
			pass[row] = ^uint64(0)
		}
		if rest := t.len() % 64; rest > 0 {
			pass[len(pass)-1] = 1<<rest - 1
		}
	}
	for i, w := range t.dead {
		pass[i] &^= w
	}
	for id, no := range f.Not {
		if no {
			t.eachOf(id, pass.clear)
		}
	}
	return pass, pass.count()
}
