package index

import (
	"context"
	"database/sql"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// EachAsked calls fn with what each description asked of the tree, see [Change.Asked]; the
// record is valid until fn returns.
func (x *DB) EachAsked(ctx context.Context, fn func(id fold.ID, record []byte) error) error {
	return x.db.Each(ctx, "read what descriptions asked", func(scan func(...any) error) error {
		var id fold.ID
		var record sql.RawBytes
		if err := scan(&id, &record); err != nil {
			return err
		}
		return fn(id, record)
	}, `select memory_id, record from asked order by memory_id`)
}
