package syntax

import (
	"bytes"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// An Outline is what a parser found in a file. Close it.
type Outline struct {
	Imports []string // as written, in order
	Package string   // as declared by the file; "" if its language has none
	Doc     string   // first sentence of what documents the file
	Lines   *source.Lines

	src    []byte
	items  []item // in order of start; a member comes after what holds it
	leads  []span // comments, decorators and attributes, in order
	parts  []part // in other languages, in order
	breaks func() []source.Break
	free   func() // frees what breaks needs; nil if there is nothing to free
}

// A span is the bytes [start, end) of a file.
type span struct{ start, end int }

// An item is a definition that gets a piece of its own.
type item struct {
	span
	inner  int // where the definition proper begins, before which its comment may stand
	kind   string
	name   string // qualified
	owner  string // name of what it belongs to without lying in it; "" if nothing
	parent int    // index of the item that holds it; -1 if none
	doc    string // of a docstring; that of comments before it is found by layout
	open   bool   // it ends where the next item begins, if that is before its end
	gather bool   // others may have joined it, see walk.gather
}

// A part is a span that is written in another language, such as a script in a
// page.
type part struct {
	span
	item int // index of the item it lies in
	lang string
}

func newOutline(src []byte) *Outline {
	return &Outline{src: src, Lines: source.IndexLines(src)}
}

// Breaks returns all places at which no token is divided, in order. It is the
// costly part of an outline: call it only if a piece is too long.
func (o *Outline) Breaks() []source.Break { return o.breaks() }

// Close frees what Breaks needs, which must not be called afterwards.
func (o *Outline) Close() {
	if o.free != nil {
		o.free()
		o.free = nil
	}
}

// lead returns where the comments and attributes that stand directly before
// start begin, and the first sentence of the last comment among them.
func (o *Outline) lead(start, floor int) (at int, doc string) {
	at = start
	// The last lead that ends before start.
	lo, hi := 0, len(o.leads)
	for lo < hi {
		if mid := (lo + hi) / 2; o.leads[mid].end <= start {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	var comments []string
	for i := lo - 1; i >= 0; i-- {
		l := o.leads[i]
		if l.start < floor || bytes.Count(o.src[l.end:at], []byte{'\n'}) > 1-min(1, bytes.Count(o.src[l.end-1:l.end], []byte{'\n'})) ||
			len(bytes.TrimSpace(o.src[l.end:at])) > 0 {
			break
		}
		first := max(o.Lines.Start(l.start), floor)
		if len(bytes.TrimSpace(o.src[first:l.start])) > 0 {
			break // it belongs to the line it ends
		}
		at = l.start
		if isComment(o.src[l.start:l.end]) {
			comments = append(comments, string(o.src[l.start:l.end]))
		}
	}
	if len(comments) > 0 {
		var b strings.Builder
		for _, comment := range slices.Backward(comments) {
			b.WriteString(strings.TrimRight(comment, "\r\n"))
			b.WriteByte('\n')
		}
		if text := b.String(); at > 0 || !source.IsLicence(text) {
			doc = source.CommentDoc(text)
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

// lineStart returns the start of the line that at lies in if there is nothing
// but space before at, else at.
func lineStart(src []byte, at int) int {
	first := bytes.LastIndexByte(src[:at], '\n') + 1
	if len(bytes.TrimSpace(src[first:at])) == 0 {
		return first
	}
	return at
}
