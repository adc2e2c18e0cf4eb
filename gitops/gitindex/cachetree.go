package gitindex

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// A node is one folder of the cache tree: the trees that the index is known to
// come to, so that git need not make them again.
type node struct {
	name  string
	count int    // entries below; -1 if the tree is not known
	oid   []byte // of the tree, if known
	subs  []*node
}

// maxDepth bounds how deep folders nest; git itself refuses paths of 4096 bytes.
const maxDepth = 2048

func parseTree(b []byte, hashSize int) (*node, error) {
	root, rest, err := parseNode(b, hashSize, 0)
	if err != nil || len(rest) > 0 || root.name != "" {
		return nil, ErrOdd
	}
	return root, nil
}

func parseNode(b []byte, hashSize, depth int) (n *node, rest []byte, err error) {
	name, b, ok := bytes.Cut(b, []byte{0})
	line, b, ok2 := bytes.Cut(b, []byte{'\n'})
	counts, subs, ok3 := strings.Cut(string(line), " ")
	if !ok || !ok2 || !ok3 || depth > maxDepth {
		return nil, nil, ErrOdd
	}
	n = &node{name: string(name)}
	if n.count, err = strconv.Atoi(counts); err != nil || n.count < -1 {
		return nil, nil, ErrOdd
	}
	k, err := strconv.Atoi(subs)
	if err != nil || k < 0 || k > len(b) {
		return nil, nil, ErrOdd
	}
	if n.count >= 0 {
		if len(b) < hashSize {
			return nil, nil, ErrOdd
		}
		n.oid, b = b[:hashSize:hashSize], b[hashSize:]
	}
	for range k {
		var sub *node
		if sub, b, err = parseNode(b, hashSize, depth+1); err != nil || sub.name == "" {
			return nil, nil, ErrOdd
		}
		n.subs = append(n.subs, sub)
	}
	return n, b, nil
}

func (n *node) append(b []byte) []byte {
	b = append(b, n.name...)
	b = append(b, 0)
	b = strconv.AppendInt(b, int64(n.count), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(n.subs)), 10)
	b = append(b, '\n')
	if n.count >= 0 {
		b = append(b, n.oid...)
	}
	for _, s := range n.subs {
		b = s.append(b)
	}
	return b
}

func (n *node) sub(name string) *node {
	for _, s := range n.subs {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (n *node) find(dir string) *node {
	if dir == "" {
		return n
	}
	name, rest, _ := strings.Cut(dir, "/")
	s := n.sub(name)
	if s == nil {
		return nil
	}
	return s.find(rest)
}

// forget says that the trees on the way to path are not known any more.
func (n *node) forget(path string) {
	n.count, n.oid = -1, nil
	name, rest, deeper := strings.Cut(path, "/")
	if s := n.sub(name); s != nil && deeper {
		s.forget(rest)
	}
}

// mendTree returns the cache tree after edits. One that cannot be read is left
// out: git reads it as one that knows nothing.
func (f *File) mendTree(b []byte, done []Edit, trees map[string]TreeChange) []byte {
	root, err := parseTree(b, f.hashSize)
	if err != nil {
		root = &node{count: -1}
		return root.append(nil)
	}
	if trees == nil {
		for _, e := range done {
			root.forget(e.Path)
		}
	} else {
		c := changes{done: done, trees: trees, kids: map[string][]string{}, hashSize: f.hashSize}
		for d := range trees {
			if d != "" {
				at := max(strings.LastIndexByte(d, '/'), 0)
				c.kids[d[:at]] = append(c.kids[d[:at]], d)
			}
		}
		c.follow(root, "")
	}
	return root.append(nil)
}

// changes are what edits come to, folder by folder.
type changes struct {
	done     []Edit
	trees    map[string]TreeChange
	kids     map[string][]string // the folders of trees directly in one
	hashSize int
}

// follow brings n, the folder dir, to what trees says. A tree that was not known,
// or another than trees says it was, stays unknown, and so do those above it.
func (c *changes) follow(n *node, dir string) {
	t := c.trees[dir]
	known := n.count >= 0 && t.Was != nil && bytes.Equal(n.oid, t.Was) && len(t.Now) == c.hashSize
	for _, d := range c.kids[dir] {
		name := d[strings.LastIndexByte(d, '/')+1:]
		s, t := n.sub(name), c.trees[d]
		switch {
		case s != nil && t.Now == nil:
			n.subs = slices.DeleteFunc(n.subs, func(x *node) bool { return x == s })
			continue
		case s == nil && t.Now == nil:
			continue
		case s == nil && t.Was != nil:
			known = false
			continue
		case s == nil:
			n.subs = append(n.subs, c.made(d))
			continue
		}
		c.follow(s, d)
		known = known && s.count >= 0
	}
	slices.SortFunc(n.subs, compareNodes)
	if known {
		n.count, n.oid = n.count+below(c.done, dir), t.Now
	} else {
		n.count, n.oid = -1, nil
	}
}

// made returns the node of a folder that is new, with those in it.
func (c *changes) made(dir string) *node {
	n := &node{name: dir[strings.LastIndexByte(dir, '/')+1:], count: below(c.done, dir), oid: c.trees[dir].Now}
	for _, d := range c.kids[dir] {
		if c.trees[d].Now != nil {
			n.subs = append(n.subs, c.made(d))
		}
	}
	slices.SortFunc(n.subs, compareNodes)
	return n
}

// compareNodes is git's order of folders in a cache tree: the shorter first.
func compareNodes(a, b *node) int {
	if len(a.name) != len(b.name) {
		return len(a.name) - len(b.name)
	}
	return strings.Compare(a.name, b.name)
}
