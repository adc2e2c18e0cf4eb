//go:build cgo

package chunker

import (
	"bytes"
	"cmp"
	"slices"
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

// outline returns what is in the tree below root, which its cuts read again.
func (w *walk) outline(root *sitter.Node) *outline {
	c := root.Walk()
	defer c.Close()
	if c.GotoFirstChild() {
		w.run(c)
	}
	w.calls(root)
	if w.g.indented {
		slices.SortFunc(w.out.leads, func(a, b span) int { return cmp.Compare(a.start, b.start) })
		w.out.leads = slices.Compact(w.out.leads)
	}
	if w.g.fileImports != nil {
		w.out.imports = append(w.out.imports, w.g.fileImports(w.src)...)
	}
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
	} else if w.g.leading != nil && w.g.leading(n, w.src) {
		w.out.leads = append(w.out.leads, span{s.start, s.start + len(bytes.TrimRight(w.src[s.start:s.end], " \t\r\n"))})
	}
	if r.imports {
		w.out.imports = append(w.out.imports, w.g.imports(n, w.src)...)
	}
	if r.act == pkg && w.out.pkg == "" {
		w.out.pkg = w.g.pkg(n, w.src)
	}
	f := found{act: r.act, kind: r.kind}
	switch {
	case r.look != nil:
		f = r.look(n, w.src)
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
		if w.lines.lines(s.start, s.end) <= w.maxLines {
			return false
		}
		w.frames = append(w.frames, frame{})
		return true
	case wrap:
		w.frames = append(w.frames, frame{wrap: true, span: s, first: len(w.out.items)})
		return true
	case holdsLong:
		if w.lines.lines(s.start, s.end) <= w.maxLines {
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
	lines := w.lines.lines(s.start, s.end)
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
	if last.parent != up || last.kind != f.kind || w.lines.lines(last.start, s.end) > maxGather || len(bytes.TrimSpace(w.src[last.end:s.start])) > 0 {
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
		it.doc = sentence(commentText(w.g.docstring(n, w.src)))
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
	column := func(at int) int { return at - w.lines.start(at) }
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

// calls finds imports that are expressions, wherever they are: require("fs").
func (w *walk) calls(root *sitter.Node) {
	called := w.g.called
	if called == nil {
		called = firstArgument
	}
	for _, name := range w.g.calls {
		word := []byte(name)
		size := len(strings.TrimSuffix(name, "("))
		for at := 0; ; at += len(word) {
			i := bytes.Index(w.src[at:], word)
			if i < 0 {
				break
			}
			at += i
			n := root.DescendantForByteRange(uint(at), uint(at+size))
			if n == nil || int(n.StartByte()) != at || int(n.EndByte()) != at+size || n.ChildCount() > 0 {
				continue // in a string, a comment or another word
			}
			up := n.Parent()
			for up != nil && up.EndByte() == n.EndByte() && up.StartByte() == n.StartByte() {
				up = up.Parent() // the word import is a node of its own in JavaScript
			}
			if up != nil {
				w.out.imports = append(w.out.imports, called(up, w.src)...)
			}
		}
	}
}

// firstArgument returns what the string is that a call is given first.
func firstArgument(call *sitter.Node, src []byte) []string {
	arg := child(call, "source")
	if args := child(call, "arguments"); args != nil {
		arg = args.NamedChild(0)
	}
	if !is(arg, "string") {
		return nil
	}
	if s := stringContent(arg, src); s != "" {
		return []string{s} // [[in Lua]]
	}
	return []string{quoted(text(arg, src))}
}

// linePlaces adds the starts of the lines of [start, end), those after a blank
// line first.
func (w *walk) linePlaces(start, end int) {
	blank := false
	for n := w.lines.line(start); n < len(w.lines.starts) && w.lines.starts[n] < end; n++ {
		at, rank := w.lines.starts[n], 900
		if blank {
			rank = 800
		}
		next := end
		if n+1 < len(w.lines.starts) {
			next = min(end, w.lines.starts[n+1])
		}
		if blank = len(bytes.TrimSpace(w.src[at:next])) == 0; !blank {
			w.places = append(w.places, cut{at: at, rank: rank})
		}
	}
}

// isPart reports whether a part in another language, which has places of its
// own, begins at start.
func (w *walk) isPart(start int) bool {
	return slices.ContainsFunc(w.out.parts, func(p part) bool { return p.start == start })
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
		if known && w.g.prosy[kind] && w.lines.lines(start, end) > w.maxLines/2 && !w.isPart(start) {
			w.linePlaces(start, end)
		}
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
