package index

import (
	"context"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

const linkColumns = `from_id, id, derived, to_id, link_type, context, evidence, weight`

const linkColumnCount = 8

func linkValues(l *fold.Link) []any {
	return []any{string(l.From), l.ID(), bit(l.Derived), string(l.To), string(l.Type), l.Context, l.Evidence, l.Weight}
}

func scanLink(scan func(...any) error) (fold.Link, error) {
	var l fold.Link
	var id string
	err := scan(&l.From, &id, &l.Derived, &l.To, &l.Type, &l.Context, &l.Evidence, &l.Weight)
	return l, err
}

// LinksOf returns the links from and to each of ids, written ones first, then
// by type and other end. Of a written and a derived link with equal id the
// written one is returned. The other end need not exist.
func (x *DB) LinksOf(ctx context.Context, ids []fold.ID) (out, in map[fold.ID][]fold.Link, err error) {
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
	err = x.db.Each(ctx, "read links", gather(out, func(l fold.Link) fold.ID { return l.From }),
		`select `+linkColumns+` from memory_links where from_id in (select value from json_each(?))
		order by derived, link_type, to_id`, sqlite.List(ids))
	if err != nil {
		return nil, nil, err
	}
	err = x.db.Each(ctx, "read links", gather(in, func(l fold.Link) fold.ID { return l.To }),
		`select `+linkColumns+` from memory_links where to_id in (select value from json_each(?))
		order by derived, link_type, from_id`, sqlite.List(ids))
	return out, in, err
}

// LinkByID returns the link of that id, written or derived; the written one if
// both exist. It returns fold.ErrNotFound if there is none.
func (x *DB) LinkByID(ctx context.Context, linkID string) (fold.Link, error) {
	l, err := scanLink(x.db.Row(ctx, "link "+linkID, `select `+linkColumns+` from memory_links where id = ? order by derived limit 1`,
		linkID).Scan)
	return l, err
}
