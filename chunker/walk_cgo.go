//go:build cgo

package chunker

import (
	"bytes"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// maxDepth bounds how deep definitions are looked for.
const maxDepth = 400

// A walk goes over one tree with a cursor, without recursion: a file of 200,000
// nested brackets has a tree as deep.
type walk struct {
	g        *grammar
	src      []byte
	lines    *lineIndex
	maxLines int

	out    outline
	frames []frame
	scopes []scope
	places []cut
}

// A frame is a node that the walk is inside of.
type frame struct {
	wrap  bool
	scope bool
	span  span
	first int // len(out.items) when it was entered
}

// A scope is an item whose members are being found.
type scope struct {
	item   int
	prefix string // what the names of members begin with
	kind   string
}

// outline returns what is in the tree below root, which its cuts read again.
func (w *walk) outline(root *sitter.Node) *outline {
	c := root.Walk()
	defer c.Close()
	if c.GotoFirstChild() {
		w.run(c)
	}
	w.calls(root)
	if w.g.fileDoc != nil {
		w.out.doc = w.g.fileDoc(root, w.src)
	} else {
		w.out.doc = headerDoc(&w.out, w.src, w.lines)
	}
	w.out.cuts = func() []cut {
		c := root.Walk()
		defer c.Close()
		w.findPlaces(c)
		return sortPlaces(w.places)
	}
	return &w.out
}

// run visits the nodes that rules lead to, from the first child of the root.
func (w *walk) run(c *sitter.TreeCursor) {
	for {
		if w.visit(c.Node()) {
			if len(w.frames) < maxDepth && c.GotoFirstChild() {
				continue
			}
			w.leave()
		}
		for !c.GotoNextSibling() {
			if len(w.frames) == 0 || !c.GotoParent() {
				return
			}
			w.leave()
		}
	}
}

// visit does what the rule of n says. It reports whether to look into n; then it
// has pushed a frame.
func (w *walk) visit(n *sitter.Node) bool {
	kind := n.KindId()
	r := w.g.rule(kind)
	s := span{int(n.StartByte()), int(n.EndByte())}
	if int(kind) < len(w.g.lead) && w.g.lead[kind] {
		w.out.leads = append(w.out.leads, s)
	}
	if r.imports {
		w.out.imports = append(w.out.imports, w.g.imports(n, w.src)...)
	}
	f := found{act: r.act, kind: r.kind}
	switch {
	case r.look != nil:
		f = r.look(n, w.src)
	case r.act == pkg && w.out.pkg == "":
		w.out.pkg = w.g.pkg(n, w.src)
	case r.act == define || r.act == holds:
		if r.body != "" && n.ChildByFieldName(r.body) == nil {
			return false
		}
		field := r.name
		if field == "" {
			field = "name"
		}
		f.name = line(n.ChildByFieldName(field), w.src)
	}
	switch f.act {
	case enter:
		w.frames = append(w.frames, frame{})
		return true
	case enterLong:
		if w.lines.lines(s.start, s.end) <= w.maxLines {
			return false
		}
		w.frames = append(w.frames, frame{})
		return true
	case wrap:
		w.frames = append(w.frames, frame{wrap: true, span: s, first: len(w.out.items)})
		return true
	case define, holds:
		return f.name != "" && w.add(n, s, f, r.member)
	}
	return false
}

// add appends the item that n was found to be. It reports whether to look for
// members; then it has pushed a frame and a scope.
func (w *walk) add(n *sitter.Node, s span, f found, member string) bool {
	it := item{span: s, inner: s.start, kind: f.kind, parent: -1}
	prefix := ""
	if len(w.scopes) > 0 {
		up := w.scopes[len(w.scopes)-1]
		it.parent, prefix = up.item, up.prefix+w.g.sep
		if member != "" && up.kind != "module" {
			it.kind = member
		}
	}
	if f.owner != "" {
		it.owner = prefix + f.owner
		f.name = f.owner + w.g.sep + f.name
	}
	it.name = prefix + f.name
	if strings.HasPrefix(f.name, "impl ") {
		it.name = f.name // it is no name that others could say
	}
	if w.g.docstring != nil {
		it.doc = sentence(commentText(w.g.docstring(n, w.src)))
	}
	w.out.items = append(w.out.items, it)
	if f.act != holds {
		return false
	}
	if f.scope == "" {
		f.scope = f.name
	}
	w.scopes = append(w.scopes, scope{item: len(w.out.items) - 1, prefix: prefix + f.scope, kind: it.kind})
	w.frames = append(w.frames, frame{scope: true})
	return true
}

// leave ends the last frame. What was found in a wrapper takes its range.
func (w *walk) leave() {
	f := w.frames[len(w.frames)-1]
	w.frames = w.frames[:len(w.frames)-1]
	if f.scope {
		w.scopes = w.scopes[:len(w.scopes)-1]
	}
	if !f.wrap || len(w.out.items) == f.first {
		return
	}
	first := &w.out.items[f.first]
	first.start = min(first.start, f.span.start)
	for i := len(w.out.items) - 1; i >= f.first; i-- {
		if it := &w.out.items[i]; it.parent == first.parent {
			it.end = max(it.end, f.span.end)
			return
		}
	}
}

// calls finds imports that are calls, wherever they are: require("fs").
func (w *walk) calls(root *sitter.Node) {
	for _, name := range w.g.calls {
		word := []byte(name + "(")
		for at := 0; ; at += len(word) {
			i := bytes.Index(w.src[at:], word)
			if i < 0 {
				break
			}
			at += i
			n := root.DescendantForByteRange(uint(at), uint(at+len(name)))
			if n == nil || int(n.StartByte()) != at || !is(n, "identifier", "import", "require") {
				continue
			}
			up := n.Parent()
			arg := child(up, "source")
			if args := child(up, "arguments"); args != nil {
				arg = args.NamedChild(0)
			}
			if is(arg, "string") {
				w.out.imports = append(w.out.imports, quoted(text(arg, w.src)))
			}
		}
	}
}

// findPlaces collects where long pieces may be divided: before the parts of
// whatever is too long to stay whole, but never in a string or a comment. Worse
// than all statements is the place between a comment and what it stands before;
// worse still one in the middle of a line; the worst is one before a bracket or
// the like, which is all there is in a file of brackets.
func (w *walk) findPlaces(c *sitter.TreeCursor) {
	depth := 0
	comment := -1 // end of the comment just passed
	for {
		n := c.Node()
		kind := n.KindId()
		start, end := int(n.StartByte()), int(n.EndByte())
		known := int(kind) < len(w.g.lead)
		if depth > 0 && start < end {
			at, rank := lineStart(w.src, start), depth
			isComment := known && w.g.lead[kind]
			if comment >= 0 && bytes.Count(w.src[comment:max(start, comment)], []byte{'\n'}) <= 1 {
				rank += 1000
			}
			if at > 0 && w.src[at-1] != '\n' {
				rank += 2000
			}
			if !n.IsNamed() {
				rank += 4000
			}
			w.places = append(w.places, cut{at: at, rank: rank})
			comment = -1
			if isComment && (at == 0 || w.src[at-1] == '\n') {
				comment = end
				if w.src[end-1] == '\n' {
					comment = end - 1 // Rust's doc comments hold their line feed
				}
			}
		}
		opaque := known && w.g.opaque[kind]
		if !opaque && w.lines.lines(start, end) > w.maxLines/2 && c.GotoFirstChild() {
			depth++
			continue
		}
		for !c.GotoNextSibling() {
			if depth == 0 || !c.GotoParent() {
				return
			}
			depth--
		}
		if depth == 0 {
			return
		}
	}
}
