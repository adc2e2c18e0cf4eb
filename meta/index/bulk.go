package index

import (
	"context"
	"database/sql"
	_ "embed"
	"strings"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

//go:embed deferred.sql
var deferredSQL string

// A deferredIndex is one of deferred.sql.
type deferredIndex struct{ name, create string }

// deferredIndexes are those of deferred.sql, one in a line.
func deferredIndexes() []deferredIndex {
	var all []deferredIndex
	for line := range strings.Lines(deferredSQL) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "create index if not exists "); ok {
			name, _, _ = strings.Cut(name, " ")
			all = append(all, deferredIndex{name, line})
		}
	}
	return all
}

// BeginBulk prepares for n new memories; EndBulk is to be called once they are
// there. Where they are many, and more than the index has, the deferred indexes are
// dropped until then: to sort all rows once costs a fraction of as many changes,
// each of another page. Reads are right meanwhile, only slower.
func (x *DB) BeginBulk(ctx context.Context, n int) error {
	if n < bulkMemories {
		return nil
	}
	var have int
	if err := x.db.Row(ctx, "begin bulk", `select count(*) from memories`).Scan(&have); err != nil {
		return err
	}
	if have > n {
		return nil
	}
	x.inBulk.Store(true)
	return x.db.Write(ctx, "begin bulk", func(tx *sql.Tx) error {
		for _, l := range deferredIndexes() {
			if _, err := tx.ExecContext(ctx, "drop index if exists "+l.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// bulkMemories is how many new memories make it worth to sort all rows again.
const bulkMemories = 4096

// EndBulk makes the indexes that BeginBulk dropped, also where a crash came
// between. Where all are there it does nothing.
func (x *DB) EndBulk(ctx context.Context) error {
	if !x.inBulk.Load() {
		return nil
	}
	for _, l := range deferredIndexes() { // each on its own: others write between
		if _, err := x.db.Exec(ctx, "end bulk", l.create); err != nil {
			return err
		}
	}
	x.inBulk.Store(false)
	return nil
}

// openBulk makes the deferred indexes of an index that is empty, and else finds out
// whether EndBulk has to.
func (x *DB) openBulk(ctx context.Context, created bool) error {
	x.inBulk.Store(created)
	if created {
		return x.EndBulk(ctx)
	}
	var names []string
	for _, l := range deferredIndexes() {
		names = append(names, l.name)
	}
	var have int
	err := x.db.Row(ctx, "open", `select count(*) from sqlite_schema where type = 'index' and name in (select value from json_each(?))`,
		sqlite.List(names)).Scan(&have)
	x.inBulk.Store(have < len(names))
	return err
}
