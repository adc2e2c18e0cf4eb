package chunker

import (
	"bytes"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// An outline is what a parser found in a file.
type outline struct {
	items   []item // in order of start; a member comes after what holds it
	leads   []span // comments, decorators and attributes, in order
	imports []string
	pkg     string
	doc     string
	parts   []part // in other languages, in order

	// cuts returns all places at which no token is divided, in order. It is
	// called once at most, and only if a piece is too long.
	cuts func() []cut
	// release frees what cuts needs; nil if there is nothing to free.
	release func()
}

// An item is a definition that gets a chunk of its own.
type item struct {
	span
	inner  int // where the definition proper begins, before which its comment may stand
	kind   string
	name   string // qualified
	owner  string // name of what it belongs to without lying in it; "" if nothing
	parent int    // index of the item that holds it; -1 if none
	doc    string // of a docstring; that of comments before it is found by assemble
	open   bool   // it ends where the next item begins, if that is before its end
	gather bool   // others may have joined it, see walk.gather
}

// A span is the bytes [start, end) of a file.
type span struct{ start, end int }

// assemble makes chunks of an outline: one for each item, or for its header if
// it has members, and one for each gap.
func assemble(o *outline, lang string, src []byte, opt Options) []fold.Chunk {
	lines := indexLines(src)
	a := &assembler{src: src, lines: lines, o: o}
	a.place()
	pieces := merge(a.pieces(), src, lines, opt.MinLines, opt.MaxLines)
	pieces = split(pieces, lines, opt.MaxLines, o.cuts)
	if len(pieces) == 1 && isTail(src) {
		pieces = splitByLines(pieces, src, lines, opt.LineSize) // a file of blank lines
	}
	return finish(pieces, lang, src, lines)
}

type assembler struct {
	src    []byte
	lines  *lineIndex
	o      *outline
	placed []item // those of o.items that get a piece, with their final spans
}

// place gives each item its comments and the rest of its lines. An item of one
// line that shares it with another is left to the other.
func (a *assembler) place() {
	index := make([]int, len(a.o.items)) // of an item → in placed, -1 if left out
	floor := 0                           // where the last boundary lies
	for i, it := range a.o.items {
		index[i] = -1
		limit := len(a.src)
		if it.parent >= 0 {
			up := index[it.parent]
			for p := it.parent; up < 0 && p >= 0; {
				if p = a.o.items[p].parent; p >= 0 {
					up = index[p]
				}
			}
			it.parent = up
			if up >= 0 {
				limit = a.placed[up].end
				floor = max(floor, a.placed[up].start+1)
			}
		}
		if n := len(a.placed); n > 0 && a.placed[n-1].open && a.placed[n-1].end > it.start {
			floor = a.placed[n-1].start + 1
		}
		start, doc := a.lead(it.start, floor)
		if it.doc == "" && it.inner > it.start {
			_, it.doc = a.lead(it.inner, it.start)
		}
		if it.doc == "" {
			it.doc = doc
		}
		oneLine := !bytes.Contains(a.src[it.start:it.end], []byte{'\n'})
		if first := a.lines.start(start); first >= floor {
			start = first
		} else if oneLine || start < floor {
			continue
		}
		it.end = min(limit, a.lineEnd(it.end))
		if it.start = start; it.end <= it.start {
			continue
		}
		if n := len(a.placed); n > 0 && a.placed[n-1].open {
			a.placed[n-1].end = min(a.placed[n-1].end, it.start)
		}
		index[i] = len(a.placed)
		a.placed = append(a.placed, it)
		if a.hasMembers(i) {
			floor = it.start + 1
		} else {
			floor = it.end
		}
	}
}

func (a *assembler) hasMembers(i int) bool {
	return i+1 < len(a.o.items) && a.o.items[i+1].parent == i
}

// lineEnd returns the end of the line that ends at or after end, if no other
// item begins on the rest of it.
func (a *assembler) lineEnd(end int) int {
	if end > 0 && a.src[end-1] == '\n' {
		return end
	}
	next := a.lines.after(max(0, end-1))
	if isTail(a.src[end:next]) {
		return next
	}
	rest := bytes.TrimLeft(a.src[end:next], " \t;,)}]")
	for _, mark := range [...]string{"//", "#", "/*", "--"} {
		if bytes.HasPrefix(rest, []byte(mark)) {
			return next
		}
	}
	return end
}

// lead returns where the comments and attributes that stand directly before
// start begin, and the first sentence of the last comment among them.
func (a *assembler) lead(start, floor int) (at int, doc string) {
	at = start
	// The last lead that ends before start.
	lo, hi := 0, len(a.o.leads)
	for lo < hi {
		if mid := (lo + hi) / 2; a.o.leads[mid].end <= start {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	var comments []string
	for i := lo - 1; i >= 0; i-- {
		l := a.o.leads[i]
		if l.start < floor || bytes.Count(a.src[l.end:at], []byte{'\n'}) > 1-min(1, bytes.Count(a.src[l.end-1:l.end], []byte{'\n'})) ||
			len(bytes.TrimSpace(a.src[l.end:at])) > 0 {
			break
		}
		first := max(a.lines.start(l.start), floor)
		if len(bytes.TrimSpace(a.src[first:l.start])) > 0 {
			break // it belongs to the line it ends
		}
		at = l.start
		if isComment(a.src[l.start:l.end]) {
			comments = append(comments, string(a.src[l.start:l.end]))
		}
	}
	if len(comments) > 0 {
		var b strings.Builder
		for _, comment := range slices.Backward(comments) {
			b.WriteString(strings.TrimRight(comment, "\r\n"))
			b.WriteByte('\n')
		}
		if text := b.String(); at > 0 || !isLicence(text) {
			doc = sentence(commentText(text))
		}
	}
	return at, doc
}

// isComment reports whether a lead is a comment and no attribute or decorator.
func isComment(lead []byte) bool {
	switch lead[0] {
	case '/', '-', '=':
		return true
	case '#':
		return len(lead) == 1 || lead[1] != '['
	}
	return false
}

// pieces lays items and the gaps between them out in order.
func (a *assembler) pieces() []piece {
	var out []piece
	var open []int // items that hold the place we are at
	at := 0
	gap := func(to int) {
		if to <= at {
			return
		}
		p := piece{start: at, end: to, kind: "lines"}
		if len(open) > 0 {
			p.parent = a.placed[open[len(open)-1]].name
		} else if len(out) == 0 && a.o.pkg != "" && (len(a.placed) == 0 || a.placed[0].name != a.o.pkg) {
			p.kind, p.name, p.doc = "module", a.o.pkg, a.o.doc
		}
		out = append(out, p)
		at = to
	}
	for i, it := range a.placed {
		for len(open) > 0 && open[len(open)-1] != it.parent {
			gap(a.placed[open[len(open)-1]].end)
			open = open[:len(open)-1]
		}
		gap(it.start)
		end := it.end
		if i+1 < len(a.placed) && a.placed[i+1].parent == i {
			end = a.placed[i+1].start // only its header
		}
		parent := it.owner
		if parent == "" && it.parent >= 0 {
			parent = a.placed[it.parent].name
		}
		out = append(out, piece{start: it.start, end: end, kind: it.kind, name: it.name, parent: parent, doc: it.doc})
		at = end
		open = append(open, i)
	}
	for len(open) > 0 {
		gap(a.placed[open[len(open)-1]].end)
		open = open[:len(open)-1]
	}
	gap(len(a.src))
	return out
}

// isOpening reports whether b, which starts at the byte at of a file, says
// nothing of it: space, the line that names an interpreter, the tag that opens
// PHP, settings of a language.
func isOpening(b []byte, at int) bool {
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		known := len(line) == 0
		for _, word := range [...]string{"<?php", "'use ", "\"use ", "set -", "declare(strict_types", "@file:"} {
			known = known || bytes.HasPrefix(line, []byte(word))
		}
		if !known && (at > 0 || !bytes.HasPrefix(line, []byte("#!"))) {
			return false
		}
		at += len(line) + 1
	}
	return true
}

// headerDoc returns the first sentence of the first comment of a file that is no
// licence, stands before anything else, and belongs to no definition unless it
// says that it describes the file.
func headerDoc(o *outline, src []byte, lines *lineIndex) string {
	at := 0
	for i := 0; i < len(o.leads); {
		from := o.leads[i]
		if !isOpening(src[at:from.start], at) {
			return ""
		}
		to := from.end
		if from.start == 0 && bytes.HasPrefix(src, []byte("#!")) {
			at = to
			i++
			continue // what stands on the next line is no part of it
		}
		block := bytes.HasPrefix(src[from.start:], []byte("/*"))
		for i++; !block && i < len(o.leads) && lines.line(o.leads[i].start) <= lines.line(max(0, to-1))+1 &&
			len(bytes.TrimSpace(src[to:o.leads[i].start])) == 0; i++ {
			to = o.leads[i].end
		}
		comment := string(src[from.start:to])
		at = to
		if isLicence(comment) {
			continue
		}
		attached := false
		for _, it := range o.items {
			if it.start >= to {
				attached = bytes.Count(src[to:it.start], []byte{'\n'}) <= 1 && len(bytes.TrimSpace(src[to:it.start])) == 0
				break
			}
		}
		if attached && !strings.Contains(comment, "@file") && !strings.Contains(comment, "\\file") && !strings.Contains(comment, "@module") {
			return ""
		}
		if doc := sentence(commentText(comment)); doc != "" {
			return doc
		}
	}
	return ""
}
