package meta

import (
	"context"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// LinksOf returns the links from and to each of ids, written ones first, then
// by type and other end. Of a written and a derived link with equal id the
// written one is returned. The other end need not exist.
func (x *Index) LinksOf(ctx context.Context, ids []fold.ID) (out, in map[fold.ID][]fold.Link, err error) {
	out = make(map[fold.ID][]fold.Link)
	in = make(map[fold.ID][]fold.Link)
	if len(ids) == 0 {
		return out, in, nil
	}
	gather := func(all map[fold.ID][]fold.Link, end func(fold.Link) fold.ID) func(func(...any) error) error {
		seen := make(map[string]bool)
		return func(scan func(...any) error) error {
			l, err := scanLink(scan)
			if err != nil || seen[l.ID()] {
				return err
			}
			seen[l.ID()] = true
			all[end(l)] = append(all[end(l)], l)
			return nil
		}
	}
	err = x.db.each(ctx, "read links", gather(out, func(l fold.Link) fold.ID { return l.From }),
		`select `+linkColumns+` from memory_links where from_id in (select value from json_each(?))
		order by derived, link_type, to_id`, list(ids))
	if err != nil {
		return nil, nil, err
	}
	err = x.db.each(ctx, "read links", gather(in, func(l fold.Link) fold.ID { return l.To }),
		`select `+linkColumns+` from memory_links where to_id in (select value from json_each(?))
		order by derived, link_type, from_id`, list(ids))
	return out, in, err
}

// LinkByID returns the link of that id, written or derived; the written one if
// both exist. It returns fold.ErrNotFound if there is none.
func (x *Index) LinkByID(ctx context.Context, linkID string) (fold.Link, error) {
	l, err := scanLink(x.db.r.QueryRowContext(ctx, `select `+linkColumns+` from memory_links where id = ? order by derived limit 1`,
		linkID).Scan)
	return l, x.db.wrap(err, "link "+linkID)
}
