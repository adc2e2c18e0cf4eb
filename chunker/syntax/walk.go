//go:build cgo

package syntax

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// A walk goes over one tree with a cursor, without recursion: a file of 200,000
// nested brackets has a tree as deep.
type walk struct {
	g        *grammar
	src      []byte
	maxLines int

	out    *Outline
	frames []frame
	scopes []scope
	heads  []head
	titles map[int]bool // where headings begin that have given their text to what holds them
}

// A frame is a node that the walk is inside of.
type frame struct {
	wrap    bool
	scope   bool
	crowded bool // it has many entries of data
	span    span
	first   int // len(out.items) when it was entered
}

// A scope is an item whose members are being found.
type scope struct {
	item   int
	prefix string // what the names of members begin with
	kind   string
}

// readTree returns what is in the tree below root, which its breaks read again.
func readTree(g *grammar, root *sitter.Node, src []byte, maxLines int) *Outline {
	w := &walk{g: g, src: src, maxLines: maxLines, out: newOutline(src)}
	o := w.out
	c := root.Walk()
	defer c.Close()
	if c.GotoFirstChild() {
		w.run(c)
	}
	o.Imports = append(o.Imports, calledImports(g, root, src)...)
	if g.indented {
		slices.SortFunc(o.leads, func(a, b span) int { return cmp.Compare(a.start, b.start) })
		o.leads = slices.Compact(o.leads)
	}
	if g.fileImports != nil {
		o.Imports = append(o.Imports, g.fileImports(src)...)
	}
	if g.fileDoc != nil {
		o.Doc = g.fileDoc(root, src)
	} else {
		o.Doc = o.headerDoc()
	}
	o.breaks = func() []source.Break { return treeBreaks(g, o, root, maxLines) }
	return o
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
	} else if w.g.leading != nil && w.g.leading(n, w.src) {
		w.out.leads = append(w.out.leads, span{s.start, s.start + len(bytes.TrimRight(w.src[s.start:s.end], " \t\r\n"))})
	}
	if r.imports {
		w.out.Imports = append(w.out.Imports, w.g.imports(n, w.src)...)
	}
	if r.act == pkg && w.out.Package == "" {
		w.out.Package = w.g.pkg(n, w.src)
	}
	f := found{act: r.act, kind: r.kind}
	switch {
	case r.inspect != nil:
		f = r.inspect(n, w.src)
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
	if r.data {
		f = w.entry(f, s)
	}
	switch f.act {
	case enter:
		w.frames = append(w.frames, frame{span: s, crowded: w.g.crowds && n.NamedChildCount() > crowd})
		return true
	case enterLong:
		if w.out.Lines.Count(s.start, s.end) <= w.maxLines {
			return false
		}
		w.frames = append(w.frames, frame{})
		return true
	case wrap:
		w.frames = append(w.frames, frame{wrap: true, span: s, first: len(w.out.items)})
		return true
	case holdsLong:
		if w.out.Lines.Count(s.start, s.end) <= w.maxLines {
			return false
		}
		f.act = holds
		return f.name != "" && w.add(n, s, f, r.member)
	case define, holds, precedes:
		if f.open && w.titles[s.start] {
			return false
		}
		return f.name != "" && w.add(n, s, f, r.member)
	}
	return false
}

const (
	leastEntry = 3   // lines of an entry of data that gets a chunk
	longEntry  = 24  // lines above which the entries of an entry get chunks
	longInner  = 100 // the same for an entry in an entry
	deepEntry  = 4   // how deep entries of entries get chunks
	crowd      = 100 // entries above which short ones are left together
	leastCrowd = 20  // leastEntry in a crowd: a lock file is no chunk a package
)

// entry decides by its length what becomes of an entry of data.
func (w *walk) entry(f found, s span) found {
	least, long := leastEntry, longEntry
	if n := len(w.frames); n > 0 && w.frames[n-1].crowded {
		least = leastCrowd
	}
	if len(w.scopes) > 0 {
		long = longInner
	}
	lines := w.out.Lines.Count(s.start, s.end)
	switch {
	case lines < least:
		return found{}
	case lines > long && len(w.scopes) < deepEntry:
		f.act = holds
	default:
		f.act = define
	}
	return f
}

// inner returns where the content of the innermost node that the walk is inside
// of ends: before its closing tag, if it has one.
func (w *walk) inner() int {
	if len(w.frames) == 0 || w.frames[len(w.frames)-1].span.end == 0 {
		return len(w.src)
	}
	s := w.frames[len(w.frames)-1].span
	content := bytes.TrimRight(w.src[s.start:s.end], " \t\r\n")
	if i := bytes.LastIndexByte(content, '<'); i >= 0 && bytes.HasPrefix(content[i:], []byte("</")) {
		return s.start + len(bytes.TrimRight(content[:i], " \t"))
	}
	return s.end
}

// above returns the headings that a heading stands under, in the same scope.
func (w *walk) above(f found) string {
	for n := len(w.heads); n > 0 && (w.heads[n-1].depth != len(w.scopes) || w.heads[n-1].kind >= f.kind); n-- {
		w.heads = w.heads[:n-1]
	}
	names := make([]string, 0, len(w.heads)+1)
	for _, h := range w.heads {
		names = append(names, h.name)
	}
	w.heads = append(w.heads, head{depth: len(w.scopes), kind: f.kind, name: f.name})
	return strings.Join(names, w.g.sep)
}

// A head is a heading that later ones may stand under.
type head struct {
	depth int // of scopes
	kind  string
	name  string
}

// gather lets f join the item before it, if both are short, of one kind, and
// nothing but space lies between them, or if it goes on with what has the same
// name. It reports whether it did.
func (w *walk) gather(f found, s span) bool {
	n := len(w.out.items)
	if n == 0 || !w.out.items[n-1].gather || !f.gather && f.name != w.out.items[n-1].name {
		return false
	}
	last := &w.out.items[n-1]
	up := -1
	if len(w.scopes) > 0 {
		up = w.scopes[len(w.scopes)-1].item
	}
	if last.parent != up || last.kind != f.kind || w.out.Lines.Count(last.start, s.end) > maxGather || len(bytes.TrimSpace(w.src[last.end:s.start])) > 0 {
		return false
	}
	last.end, last.gather = s.end, f.gather
	if !strings.Contains(", "+last.name+", ", ", "+f.name+", ") && len(last.name)+len(f.name) < maxGatherName {
		last.name += ", " + f.name
	}
	return true
}

const (
	maxGather     = 20  // lines of short things in one chunk
	maxGatherName = 120 // bytes of their names
)

// add appends the item that n was found to be. It reports whether to look for
// members; then it has pushed a frame and a scope.
func (w *walk) add(n *sitter.Node, s span, f found, member string) bool {
	if f.end > s.start {
		s.end = min(s.end, f.end)
	}
	if w.gather(f, s) {
		return false
	}
	if f.open {
		s.end = max(s.end, w.inner())
	}
	if f.open {
		f.owner = w.above(f)
	}
	it := item{span: s, inner: s.start, kind: f.kind, parent: -1, open: f.open, gather: f.gather}
	if w.g.indented {
		it.end = w.trimEnd(n, s)
	}
	var within []string // what the name is qualified by
	if len(w.scopes) > 0 {
		up := w.scopes[len(w.scopes)-1]
		it.parent, within = up.item, append(within, up.prefix)
		if member != "" && up.kind != "module" {
			it.kind = member
		}
	}
	if f.owner != "" {
		within = append(within, f.owner)
		it.owner = strings.Join(within, w.g.sep)
	}
	prefix := strings.Join(within, w.g.sep)
	switch {
	case prefix == "":
	case it.kind == "method" && w.g.methodSep != "":
		prefix += w.g.methodSep
	default:
		prefix += w.g.sep
	}
	it.name = prefix + f.name
	if strings.HasPrefix(f.name, "impl ") {
		it.name = f.name // it is no name that others could say
	}
	if w.g.docstring != nil {
		it.doc = source.CommentDoc(w.g.docstring(n, w.src))
	}
	w.out.items = append(w.out.items, it)
	if f.titled > 0 {
		if w.titles == nil {
			w.titles = make(map[int]bool)
		}
		w.titles[f.titled] = true
	}
	if f.lang != "" && f.from < f.to {
		w.out.parts = append(w.out.parts, part{span: span{f.from, f.to}, item: len(w.out.items) - 1, lang: f.lang})
	}
	switch f.act {
	case precedes:
		w.frames = append(w.frames, frame{span: s})
		return true
	case holds:
	default:
		return false
	}
	if f.scope == "" {
		f.scope = f.name
	}
	w.scopes = append(w.scopes, scope{item: len(w.out.items) - 1, prefix: prefix + f.scope, kind: it.kind})
	w.frames = append(w.frames, frame{scope: true, span: s})
	return true
}

// trimEnd returns the end of n, whose span is s, without the space and comments
// that a block by indentation takes in before what comes after it. The comments
// are noted as leads of that.
func (w *walk) trimEnd(n *sitter.Node, s span) int {
	end := s.end
	column := func(at int) int { return at - w.out.Lines.Start(at) }
	limit := column(s.start)
	for range maxDepth {
		var inner *sitter.Node // the last part that is no such comment
		for i := n.NamedChildCount(); i > 0 && inner == nil; i-- {
			c := n.NamedChild(i - 1)
			start, kind := int(c.StartByte()), int(c.KindId())
			if kind >= len(w.g.lead) || !w.g.lead[kind] || column(start) > limit || start == s.start {
				inner = c
				break
			}
			w.out.leads = append(w.out.leads, span{start, int(c.EndByte())})
			end = min(end, start)
		}
		if inner == nil || len(bytes.TrimSpace(w.src[min(int(inner.EndByte()), end):end])) > 0 {
			break // a bracket ends it
		}
		n = inner
	}
	return s.start + len(bytes.TrimRight(w.src[s.start:end], " \t\r\n"))
}

// leave ends the last frame. What was found in a wrapper takes its range.
func (w *walk) leave() {
	f := w.frames[len(w.frames)-1]
	w.frames = w.frames[:len(w.frames)-1]
	if f.scope {
		w.scopes = w.scopes[:len(w.scopes)-1]
		w.heads = w.heads[:0]
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
