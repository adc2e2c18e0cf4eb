package chunker

import (
	"cmp"
	"slices"
)

// A part is a span of a file that is written in another language, such as a
// script in a page.
type part struct {
	span
	item int // index of the item it lies in
	lang string
}

// embed adds sub, what was found in the i-th part of o, which may be nil. Items
// without a parent become members of the item that the part lies in.
func (o *outline) embed(i int, sub *outline) {
	if sub == nil {
		return
	}
	p := o.parts[i]
	moved := make([]item, len(sub.items))
	for j, it := range sub.items {
		it.start, it.inner, it.end = it.start+p.start, it.inner+p.start, it.end+p.start
		if it.parent >= 0 {
			it.parent += p.item + 1
		} else {
			it.parent = p.item
		}
		moved[j] = it
	}
	for j := range o.items {
		if o.items[j].parent > p.item {
			o.items[j].parent += len(moved)
		}
	}
	o.items = slices.Insert(o.items, p.item+1, moved...)
	for j := i + 1; j < len(o.parts); j++ {
		o.parts[j].item += len(moved)
	}
	for _, l := range sub.leads {
		o.leads = append(o.leads, span{l.start + p.start, l.end + p.start})
	}
	slices.SortFunc(o.leads, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	o.imports = append(o.imports, sub.imports...)
	o.doc = cmp.Or(o.doc, sub.doc)

	cuts, release := o.cuts, o.release
	o.cuts = func() []cut {
		all := cuts()
		for _, c := range sub.cuts() {
			if c.at += p.start; c.at > p.start { // else it would part the tag from what it holds
				all = append(all, c)
			}
		}
		return sortPlaces(all)
	}
	o.release = func() {
		if release != nil {
			release()
		}
		sub.free()
	}
}

// free frees what cuts needs, after which cuts must not be called.
func (o *outline) free() {
	if o.release != nil {
		o.release()
		o.release = nil
	}
}
