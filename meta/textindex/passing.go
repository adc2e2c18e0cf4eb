package textindex

import (
	"context"
	"errors"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Passing returns the memories of which a document passes f, for channels that
// have no filter of their own. It returns nil where f lets everything pass.
func (x *Index) Passing(ctx context.Context, f Filter) (_ map[fold.ID]bool, err error) {
	defer wrap(&err, "filter memories")
	r, err := x.store.Reader()
	if err != nil {
		return nil, err
	}
	defer closeReader(r, &err)
	snap, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.New("reader is not a snapshot")
	}
	set, err := f.bits(ctx, snap, slots(snap))
	if err != nil || set == nil {
		return nil, err
	}
	out := map[fold.ID]bool{}
	p := &pass{ctx: ctx, r: snap}
	dict, err := snap.FieldDict(byMemory)
	p.each(dict, err, func(term string) {
		if p.err == nil && p.any(set, byMemory, term) {
			out[fold.ID(term)] = true
		}
	})
	return out, p.err
}

// any reports whether a document that has value in field is in set.
func (p *pass) any(set bitset, field, value string) bool {
	tfr, err := p.r.TermFieldReader(p.ctx, []byte(value), field, false, false, false)
	if err != nil {
		p.err = err
		return false
	}
	defer closeReader(tfr, &p.err)
	var doc index.TermFieldDoc
	for {
		d, err := tfr.Next(&doc)
		if err != nil || d == nil {
			p.err = err
			return false
		}
		if set.has(d.ID.Value()) {
			return true
		}
	}
}
