package syntax

import (
	"bytes"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// Pieces returns the pieces of the file, in order: one for each definition, or
// for its header if it has members, and one for each gap between definitions.
func (o *Outline) Pieces() []source.Piece {
	l := &layout{o: o}
	l.place()
	return l.pieces()
}

// A layout gives each item of an outline its final place in the file.
type layout struct {
	o      *Outline
	placed []item // those of o.items that get a piece, with their final spans
}

// place gives each item its comments and the rest of its lines. An item of one
// line that shares it with another is left to the other.
func (l *layout) place() {
	index := make([]int, len(l.o.items)) // of an item → in placed, -1 if left out
	floor := 0                           // where the last boundary lies
	for i, it := range l.o.items {
		index[i] = -1
		limit := len(l.o.src)
		if it.parent >= 0 {
			up := index[it.parent]
			for p := it.parent; up < 0 && p >= 0; {
				if p = l.o.items[p].parent; p >= 0 {
					up = index[p]
				}
			}
			it.parent = up
			if up >= 0 {
				limit = l.placed[up].end
				floor = max(floor, l.placed[up].start+1)
			}
		}
		if n := len(l.placed); n > 0 && l.placed[n-1].open && l.placed[n-1].end > it.start {
			floor = l.placed[n-1].start + 1
		}
		start, doc := l.o.lead(it.start, floor)
		if it.doc == "" && it.inner > it.start {
			_, it.doc = l.o.lead(it.inner, it.start)
		}
		if it.doc == "" {
			it.doc = doc
		}
		oneLine := !bytes.Contains(l.o.src[it.start:it.end], []byte{'\n'})
		if first := l.o.Lines.Start(start); first >= floor {
			start = first
		} else if oneLine || start < floor {
			continue
		}
		it.end = min(limit, l.lineEnd(it.end))
		if it.start = start; it.end <= it.start {
			continue
		}
		if n := len(l.placed); n > 0 && l.placed[n-1].open {
			l.placed[n-1].end = min(l.placed[n-1].end, it.start)
		}
		index[i] = len(l.placed)
		l.placed = append(l.placed, it)
		if l.hasMembers(i) {
			floor = it.start + 1
		} else {
			floor = it.end
		}
	}
}

func (l *layout) hasMembers(i int) bool {
	return i+1 < len(l.o.items) && l.o.items[i+1].parent == i
}

// lineEnd returns the end of the line that ends at or after end, if no other
// item begins on the rest of it.
func (l *layout) lineEnd(end int) int {
	if end > 0 && l.o.src[end-1] == '\n' {
		return end
	}
	next := l.o.Lines.After(max(0, end-1))
	if source.IsTail(l.o.src[end:next]) {
		return next
	}
	rest := bytes.TrimLeft(l.o.src[end:next], " \t;,)}]")
	for _, mark := range [...]string{"//", "#", "/*", "--"} {
		if bytes.HasPrefix(rest, []byte(mark)) {
			return next
		}
	}
	return end
}

// pieces lays items and the gaps between them out in order.
func (l *layout) pieces() []source.Piece {
	var out []source.Piece
	var open []int // items that hold the place we are at
	at := 0
	gap := func(to int) {
		if to <= at {
			return
		}
		p := source.Piece{Start: at, End: to, Kind: "lines"}
		if len(open) > 0 {
			p.Parent = l.placed[open[len(open)-1]].name
		} else if len(out) == 0 && l.o.Package != "" && (len(l.placed) == 0 || l.placed[0].name != l.o.Package) {
			p.Kind, p.Name, p.Doc = "module", l.o.Package, l.o.Doc
		}
		out = append(out, p)
		at = to
	}
	for i, it := range l.placed {
		for len(open) > 0 && open[len(open)-1] != it.parent {
			gap(l.placed[open[len(open)-1]].end)
			open = open[:len(open)-1]
		}
		gap(it.start)
		end := it.end
		if i+1 < len(l.placed) && l.placed[i+1].parent == i {
			end = l.placed[i+1].start // only its header
		}
		parent := it.owner
		if parent == "" && it.parent >= 0 {
			parent = l.placed[it.parent].name
		}
		out = append(out, source.Piece{Start: it.start, End: end, Kind: it.kind, Name: it.name, Parent: parent, Doc: it.doc})
		at = end
		open = append(open, i)
	}
	for len(open) > 0 {
		gap(l.placed[open[len(open)-1]].end)
		open = open[:len(open)-1]
	}
	gap(len(l.o.src))
	return out
}
