package textindex

import (
	"context"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Passing returns the memories of which a document passes f, for channels that
// have no filter of their own. It returns nil where f lets everything pass.
func (x *Index) Passing(ctx context.Context, f Filter) (_ map[fold.ID]bool, err error) {
	defer wrap(&err, "filter memories")
	sieve, err := f.sieve()
	if err != nil || sieve.Empty() {
		return nil, err
	}
	s, err := x.snapshot()
	if err != nil {
		return nil, err
	}
	defer closeReader(s, &err)
	out := map[fold.ID]bool{}
	for i, ok := range s.owners(sieve) {
		l := &s.leaves[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if l.deleted == nil { // every owner has a document
			for o, yes := range ok {
				if yes {
					out[fold.ID(l.value(uint32(o), ownerMemory))] = true
				}
			}
			continue
		}
		for doc := range uint32(l.Count()) {
			o := l.ownerOf(doc)
			if ok[o] && !l.deleted.Contains(doc) {
				out[fold.ID(l.value(o, ownerMemory))] = true
				ok[o] = false // once
			}
		}
	}
	return out, nil
}
