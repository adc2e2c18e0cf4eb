package syntax

import (
	"cmp"
	"slices"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// embed adds sub, what was found in the i-th part of o, which may be nil. Items
// without a parent become members of the item that the part lies in.
func (o *Outline) embed(i int, sub *Outline) {
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
	o.Imports = append(o.Imports, sub.Imports...)
	o.Doc = cmp.Or(o.Doc, sub.Doc)

	breaks, free := o.breaks, o.free
	o.breaks = func() []source.Break {
		all := breaks()
		for _, c := range sub.breaks() {
			if c.At += p.start; c.At > p.start { // else it would part the tag from what it holds
				all = append(all, c)
			}
		}
		return source.SortBreaks(all)
	}
	o.free = func() {
		if free != nil {
			free()
		}
		sub.Close()
	}
}
