package index

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// ResolverEntries returns the names under which memories are linked to, in the
// order of their ids.
func (x *DB) ResolverEntries(ctx context.Context) ([]fold.ResolverEntry, error) {
	return x.entries(ctx, `select id, path, title, more from memories order by id`)
}

// ResolverEntriesOf returns those entries of which one of names, in the form of
// [fold.Memory.LinkNames], is a name, or whose id is one of ids: what decides
// where such links lead.
func (x *DB) ResolverEntriesOf(ctx context.Context, names []string, ids []fold.ID) ([]fold.ResolverEntry, error) {
	if len(names)+len(ids) == 0 {
		return nil, nil
	}
	return x.entries(ctx, entriesOf, sqlite.List(ids), sqlite.List(names))
}

const (
	entriesOf = `select id, path, title, more from memories where id in (
		select value from json_each(?1)
		union select memory_id from memory_names where name in (select value from json_each(?2))
		union select id from memories where title_key in (select value from json_each(?2))) order by id`
	linkersOf = `select distinct memory_id from memory_linking where name in (select value from json_each(?1)) order by memory_id`
)

func (x *DB) entries(ctx context.Context, query string, args ...any) ([]fold.ResolverEntry, error) {
	var all []fold.ResolverEntry
	err := x.db.Each(ctx, "read names", func(scan func(...any) error) error {
		var e fold.ResolverEntry
		var rest string
		if err := scan(&e.ID, &e.Path, &e.Title, &rest); err != nil {
			return err
		}
		var m struct {
			Aliases []string `json:"aliases"`
			Foreign string   `json:"foreign"`
		}
		if err := json.Unmarshal([]byte(rest), &m); err != nil {
			return fmt.Errorf("memory %s: %w: %w", e.ID, sqlite.ErrDamaged, err)
		}
		e.Aliases, e.Foreign = m.Aliases, m.Foreign
		all = append(all, e)
		return nil
	}, query, args...)
	return all, err
}

// LinkersOf returns the memories in fold/ that link by one of names, in the form
// of [fold.ResolverEntry.Names], in order.
func (x *DB) LinkersOf(ctx context.Context, names []string) ([]fold.ID, error) {
	return x.ids(ctx, "read linkers", linkersOf, sqlite.List(names))
}

// Linkers returns the memories in fold/ that link by name, in order.
func (x *DB) Linkers(ctx context.Context) ([]fold.ID, error) {
	return x.ids(ctx, "read linkers", `select distinct memory_id from memory_linking order by memory_id`)
}
