package index

import (
	"context"
	"maps"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// loadLinks reads the links that the batch's memories have now, where they may
// differ from those to be set: of thousands that a branch switch changes none do.
func (a *applyTx) loadLinks(ctx context.Context, changes []Change) error {
	var links []fold.ID
	for i := range changes {
		c := &changes[i]
		if !c.SetLinks && !c.SetDerived {
			continue
		}
		same, err := a.keepsLinks(c)
		if err != nil {
			return err
		}
		id := c.About()
		if a.batch.sameLinks[id] = same; c.SetDerived || !same {
			links = append(links, id)
		}
	}
	return a.each(ctx, `select `+linkColumns+` from memory_links where from_id in (select value from json_each(?))`, links,
		func(scan func(...any) error) error {
			l, err := scanLink(scan)
			a.batch.links[l.From] = append(a.batch.links[l.From], l)
			return err
		})
}

// keepsLinks reports whether it is known, without reading them, that the written
// links of a change are those that are stored: a memory that is described in the
// index only has those that its row says, which is compared.
func (a *applyTx) keepsLinks(c *Change) (bool, error) {
	r := c.Memory
	if !c.SetLinks || r == nil || r.ID != c.About() || c.Forget == r.ID || r.Described != "index" || !slices.Equal(c.Links, r.Links) {
		return false, nil
	}
	have, there := a.batch.rows[r.ID]
	if !there {
		return false, nil
	}
	want, err := a.newRow(r)
	return err == nil && have[columnDescribed] == want[columnDescribed] && have[columnMore] == want[columnMore], err
}

// setLinks makes now the written, or the derived, links from id.
func (a *applyTx) setLinks(ctx context.Context, id fold.ID, now []fold.Link, derived bool) error {
	want := make(map[string]fold.Link, len(now))
	for _, l := range now {
		l.From, l.Derived = id, derived
		if !derived && l.Weight == 0 {
			l.Weight = 1
		}
		if first, twice := want[l.ID()]; twice {
			if first.Context == "" {
				first.Context = l.Context
			}
			l = first
		}
		want[l.ID()] = l
	}
	var gone []string
	for _, l := range a.batch.links[id] {
		if l.Derived != derived {
			continue
		}
		if w, ok := want[l.ID()]; !ok {
			gone = append(gone, l.ID())
		} else if w == l {
			delete(want, l.ID())
		}
	}
	if len(gone)+len(want) > 0 {
		a.touch(id)
	}
	if len(gone) > 0 {
		_, err := a.tx.ExecContext(ctx, `delete from memory_links where from_id = ? and derived = ?
			and id in (select value from json_each(?))`, string(id), derived, sqlite.List(gone))
		if err != nil {
			return err
		}
	}
	for _, lid := range slices.Sorted(maps.Keys(want)) {
		l := want[lid]
		if err := a.tables.links.Add(ctx, a.tx, linkValues(&l)...); err != nil {
			return err
		}
	}
	return nil
}
