package meta

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// ResolverEntries returns the names under which memories are linked to, in the
// order of their ids.
func (x *Index) ResolverEntries(ctx context.Context) ([]fold.ResolverEntry, error) {
	return x.entries(ctx, `select id, path, title, more from memories order by id`)
}

// ResolverEntriesOf returns those entries of which one of names, in the form of
// [fold.Memory.LinkNames], is a name, or whose id is one of ids: what decides
// where such links lead.
func (x *Index) ResolverEntriesOf(ctx context.Context, names []string, ids []fold.ID) ([]fold.ResolverEntry, error) {
	if len(names)+len(ids) == 0 {
		return nil, nil
	}
	return x.entries(ctx, entriesOf, list(ids), list(names))
}

const (
	entriesOf = `select id, path, title, more from memories where id in (
		select value from json_each(?1)
		union select memory_id from memory_names where name in (select value from json_each(?2))
		union select id from memories where title_key in (select value from json_each(?2))) order by id`
	linkersOf = `select distinct memory_id from memory_linking where name in (select value from json_each(?1)) order by memory_id`
)

func (x *Index) entries(ctx context.Context, query string, args ...any) ([]fold.ResolverEntry, error) {
	var all []fold.ResolverEntry
	err := x.db.each(ctx, "read names", func(scan func(...any) error) error {
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
			return fmt.Errorf("memory %s: %w: %w", e.ID, ErrDamaged, err)
		}
		e.Aliases, e.Foreign = m.Aliases, m.Foreign
		all = append(all, e)
		return nil
	}, query, args...)
	return all, err
}

// LinkersOf returns the memories in fold/ that link by one of names, in the form
// of [fold.ResolverEntry.Names], in order.
func (x *Index) LinkersOf(ctx context.Context, names []string) ([]fold.ID, error) {
	return x.linkers(ctx, linkersOf, list(names))
}

// Linkers returns the memories in fold/ that link by name, in order.
func (x *Index) Linkers(ctx context.Context) ([]fold.ID, error) {
	return x.linkers(ctx, `select distinct memory_id from memory_linking order by memory_id`)
}

func (x *Index) linkers(ctx context.Context, query string, args ...any) ([]fold.ID, error) {
	var ids []fold.ID
	err := x.db.each(ctx, "read linkers", func(scan func(...any) error) error {
		var id fold.ID
		if err := scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	}, query, args...)
	return ids, err
}

// entry is what links may call the memory.
func (r *Row) entry() fold.ResolverEntry {
	return fold.ResolverEntry{ID: r.ID, Path: r.Path, Title: r.Title, Aliases: r.Aliases, Foreign: r.Foreign}
}

// linking returns the names by which the memory links, each once.
func (r *Row) linking() []string {
	if r.Described != "fold" {
		return nil
	}
	names := r.LinkNames()
	slices.Sort(names)
	return slices.Compact(names)
}

// setNames follows a memory that is put: old is what was there.
func (a *apply) setNames(ctx context.Context, there bool, old, now *Row) error {
	var had, linked []string
	if there {
		had, linked = old.entry().ListedNames(), old.linking()
	}
	if err := a.replaceNames(ctx, a.names, `delete from memory_names where memory_id = ?`, now.ID, had, now.entry().ListedNames()); err != nil {
		return err
	}
	return a.replaceNames(ctx, a.linking, `delete from memory_linking where memory_id = ?`, now.ID, linked, now.linking())
}

func (a *apply) replaceNames(ctx context.Context, in *inserter, clear string, id fold.ID, had, now []string) error {
	if slices.Equal(had, now) {
		return nil
	}
	if len(had) > 0 {
		if _, err := a.tx.ExecContext(ctx, clear, string(id)); err != nil {
			return err
		}
	}
	for _, name := range now {
		if err := in.add(ctx, a.tx, string(id), name); err != nil {
			return err
		}
	}
	return nil
}

// dropNames forgets the names of a memory that goes.
func dropNames(ctx context.Context, tx *sql.Tx, id fold.ID) error {
	for _, query := range []string{`delete from memory_names where memory_id = ?`, `delete from memory_linking where memory_id = ?`} {
		if _, err := tx.ExecContext(ctx, query, string(id)); err != nil {
			return err
		}
	}
	return nil
}
