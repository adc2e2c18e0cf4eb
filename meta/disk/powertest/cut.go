package powertest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
)

// A Mode is how a file system keeps the order of what was not synced. In every
// mode the bytes of a file that were not synced are there or not, each write for
// itself; what was synced is there.
type Mode int

const (
	// Journaled keeps names in the order they were changed, over all folders: ext4,
	// xfs, btrfs and apfs write them to one journal.
	Journaled Mode = iota
	// Loose keeps that order within each folder only, which is all that POSIX lets
	// a program count on. A rename between two folders is one step here too.
	Loose
)

func (m Mode) String() string { return [...]string{"journaled", "loose"}[m] }

// A State is what the disk may hold after a power cut.
type State struct {
	log     *Log
	survive []bool

	// Name says which it is: the last call before the cut, and what survived.
	Name string
}

// WriteTo makes the folder dir hold the state and nothing else.
func (s *State) WriteTo(dir string) error { return s.log.state(s.survive).writeTo(dir) }

// States returns the states that differ, in random order. Some of what was not
// synced is chosen at random, tries times for each call: seed decides.
func (l *Log) States(mode Mode, tries int, seed uint64) iter.Seq[*State] {
	return func(yield func(*State) bool) {
		// The choices made for each call, of what was not synced.
		fixed := [...]struct {
			name   string
			choose func(*op) bool
		}{
			{"only what was synced", func(*op) bool { return false }},
			{"everything", func(*op) bool { return true }},
			{"names without bytes", func(o *op) bool { return o.kind == names }},
			{"bytes without names", func(o *op) bool { return o.kind == bytes }},
		}
		durable, seen := l.durableFrom(), map[uint64]bool{}
		each := len(fixed) + tries
		for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm((len(l.ops) + 1) * each) {
			k, way := i/each, i%each
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			few := rng.IntN(4) // of four: how many of the rest survive
			name, choose := "some, chosen at random", func(*op) bool { return rng.IntN(4) <= few }
			if way < len(fixed) {
				name, choose = fixed[way].name, fixed[way].choose
			}
			survive := l.close(mode, durable, k, choose)
			h := l.state(survive).hash()
			if seen[h] {
				continue
			}
			seen[h] = true
			at := "before anything"
			if k > 0 {
				at = fmt.Sprintf("after %d (%s)", k, l.ops[k-1].what)
			}
			if !yield(&State{log: l, survive: survive, Name: fmt.Sprintf("%s, %s: %s", at, mode, name)}) {
				return
			}
		}
	}
}

// durableFrom returns, for each op, after how many ops it is durable; more than
// there are if never.
func (l *Log) durableFrom() []int {
	from := make([]int, len(l.ops))
	for i, o := range l.ops {
		from[i] = len(l.ops) + 1
		if l.away(o.path) {
			from[i] = i + 1
			continue
		}
		for j := i + 1; j < len(l.ops); j++ {
			if s := &l.ops[j]; s.kind == syncs && s.since > i && s.covers(&o) {
				from[i] = j + 1
				break
			}
		}
	}
	return from
}

// covers reports whether the sync s makes o durable. A rename between two folders
// is durable with either.
func (s *op) covers(o *op) bool {
	switch {
	case s.all:
		return true
	case o.kind == bytes:
		return s.ino == o.ino
	case o.kind == names:
		return slices.ContainsFunc(o.binds, func(b bind) bool { return b.dir == s.ino })
	}
	return false
}

// close returns which of the first k ops survive: what is durable, what is chosen,
// and what cannot be missing then.
func (l *Log) close(mode Mode, durable []int, k int, choose func(*op) bool) []bool {
	survive := make([]bool, k)
	all, forced := false, map[inode]bool{} // names before this one survive: everywhere, or in a folder
	for i := k - 1; i >= 0; i-- {
		o := &l.ops[i]
		switch {
		case o.kind == syncs:
			continue
		case l.away(o.path): // of another disk
			survive[i] = true
			continue
		}
		survive[i] = durable[i] <= k || choose(o)
		if o.kind != names {
			continue
		}
		if mode == Journaled {
			survive[i] = survive[i] || all
			all = survive[i]
			continue
		}
		for _, b := range o.binds {
			survive[i] = survive[i] || forced[b.dir]
		}
		for _, b := range o.binds {
			forced[b.dir] = forced[b.dir] || survive[i]
		}
	}
	return survive
}
