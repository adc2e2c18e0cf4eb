// Package powertest tests what a power cut leaves of files. It records what a
// program does to a folder, call by call, and makes of the record the states the
// disk may be in when the power is cut after any of them: what was synced is
// there, and of the rest nothing, all, or some.
//
// What may survive depends on the file system. See [Mode].
package powertest

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
)

// A kind is one of the things a call does.
type kind int

const (
	names kind = iota // names come, go or move, in one step
	bytes             // the bytes of a file change
	syncs             // what was done becomes durable
)

// A bind is a change of one name in a folder.
type bind struct {
	dir  inode
	name string
	to   inode // 0: the name goes
}

// An op is one call that matters.
type op struct {
	kind kind
	what string // for a person, such as "fsync co/fold/a"
	path string // below the root

	binds []bind // of names

	ino  inode  // of bytes, or of syncs where not all
	off  int64  // of bytes
	data []byte // of bytes
	cut  bool   // of bytes: the file has off bytes then

	all   bool // of syncs: the whole file system
	since int  // of syncs: it began after so many ops
}

// A Log is what was recorded. It is safe for concurrent use once it is complete.
type Log struct {
	start tree
	fresh tree // nodes that came to be, as they were then
	ops   []op
	// elsewhere are the folders that lie on another machine.
	elsewhere []string
}

// Elsewhere says that folders below the recorded one are on another machine, or
// in somebody's memory: whatever is done to them survives.
func (l *Log) Elsewhere(folders ...string) { l.elsewhere = append(l.elsewhere, folders...) }

// Len returns how many calls were recorded.
func (l *Log) Len() int { return len(l.ops) }

// Syncs returns what was synced, in order: "fsync" and the path of a file or
// folder below the recorded one, or "syncfs".
func (l *Log) Syncs() []string {
	var out []string
	for _, o := range l.ops {
		if o.kind == syncs {
			out = append(out, o.what)
		}
	}
	return out
}

// Without returns the log of a program that is the same but leaves out the syncs
// that drop reports, by what [Log.Syncs] calls them; and how many they are.
func (l *Log) Without(drop func(what string) bool) (*Log, int) {
	out, n := *l, 0
	out.ops = make([]op, len(l.ops))
	for i, o := range l.ops {
		if o.kind == syncs && drop(o.what) {
			o.ino, o.all = 0, false // covers nothing
			n++
		}
		out.ops[i] = o
	}
	return &out, n
}

// away reports whether a path is on another machine.
func (l *Log) away(p string) bool {
	for _, e := range l.elsewhere {
		if p == e || len(p) > len(e) && p[:len(e)] == e && p[len(e)] == '/' {
			return true
		}
	}
	return false
}

// state returns the disk after the ops of which survive says so.
func (l *Log) state(survive []bool) tree {
	t := make(tree, len(l.start)+len(l.fresh))
	maps.Copy(t, l.start)
	maps.Copy(t, l.fresh)
	own := map[inode]bool{} // nodes that are this state's alone
	mine := func(ino inode) *node {
		n := t[ino]
		if !own[ino] {
			c := *n
			if n.isDir() {
				c.names = maps.Clone(n.names)
			}
			n, own[ino] = &c, true
			t[ino] = n
		}
		return n
	}
	for i, ok := range survive {
		if !ok {
			continue
		}
		o := &l.ops[i]
		switch o.kind {
		case names:
			for _, b := range o.binds {
				n := mine(b.dir)
				if b.to == 0 {
					delete(n.names, b.name)
				} else {
					n.names[b.name] = b.to
				}
			}
		case bytes:
			n := mine(o.ino)
			n.data, n.past = o.apply(n.data), mix(n.past, uint64(i)+1)
		}
	}
	return t
}

// apply returns what a file holds after o, which leaves was alone.
func (o *op) apply(was []byte) []byte {
	if o.cut {
		now := make([]byte, o.off)
		copy(now, was)
		return now
	}
	now := make([]byte, max(int64(len(was)), o.off+int64(len(o.data))))
	copy(now, was)
	copy(now[o.off:], o.data)
	return now
}

// mix is one step of FNV-1a, a word at a time.
func mix(h, v uint64) uint64 { return (h ^ v) * 1099511628211 }

// hash tells two states apart by what made them.
func (t tree) hash() uint64 {
	h := uint64(14695981039346656037)
	_ = t.walk(func(p string, ino inode, n *node) error { // fn returns no error
		for i := range len(p) {
			h = mix(h, uint64(p[i]))
		}
		h = mix(mix(h, uint64(ino)), n.past)
		return nil
	})
	return h
}

// add takes up one op; now is the disk so far, which it changes.
func (l *Log) add(now tree, o op) {
	i := len(l.ops)
	l.ops = append(l.ops, o)
	switch o.kind {
	case names:
		for _, b := range o.binds {
			if b.to == 0 {
				delete(now[b.dir].names, b.name)
			} else {
				now[b.dir].names[b.name] = b.to
			}
		}
	case bytes:
		n := now[o.ino]
		n.data, n.past = o.apply(n.data), mix(n.past, uint64(i)+1)
	}
}

// create adds a new node and its name.
func (l *Log) create(now tree, ino inode, n node, p, what string) error {
	dir, name, err := now.parent(p)
	if err != nil {
		return err
	}
	fresh := n
	if n.mode&fs.ModeDir != 0 {
		fresh.names, n.names = map[string]inode{}, map[string]inode{}
	}
	l.fresh[ino], now[ino] = &fresh, &n
	l.add(now, op{kind: names, what: what, path: p, binds: []bind{{dir, name, ino}}})
	return nil
}

// move renames, or exchanges.
func (l *Log) move(now tree, from, to string, exchange bool) error {
	a, b, err := now.pair(from, to)
	if err != nil {
		return err
	}
	src, ok := now[a.dir].names[a.name]
	if !ok {
		return fmt.Errorf("rename %s: nothing has that name", from)
	}
	dst := inode(0)
	if exchange {
		dst = now[b.dir].names[b.name]
	} else if now[b.dir].names[b.name] == src {
		return nil // two names of one file: rename does nothing
	}
	l.add(now, op{
		kind: names, what: "rename " + from + " " + to, path: to,
		binds: []bind{{a.dir, a.name, dst}, {b.dir, b.name, src}},
	})
	return nil
}

func (t tree) pair(from, to string) (a, b bind, err error) {
	if a.dir, a.name, err = t.parent(from); err != nil {
		return a, b, err
	}
	b.dir, b.name, err = t.parent(to)
	return a, b, err
}

// clean returns a path as the log has it.
func clean(p string) string { return path.Clean(p) }
