package meta

import (
	"context"
	"database/sql"
	"errors"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// WrittenPart returns memories that agents and people wrote, notes apart, and that
// changed after seq and not after until, in the order of their changes: some n of
// them. The caller has then caught up to upTo; more says that others follow.
func (x *Index) WrittenPart(ctx context.Context, seq, until int64, n int) (ids []fold.ID, upTo int64, more bool, err error) {
	tx, err := x.db.r.BeginTx(ctx, nil) // one state for all
	if err != nil {
		return nil, 0, false, x.db.wrap(err, "written part")
	}
	defer tx.Rollback()
	const written = ` from memories where seq > ? and seq <= ? and source = 'agent' and described = 'fold' and note = 0 and deleted = 0`
	err = tx.QueryRowContext(ctx, `select seq`+written+` order by seq limit 1 offset ?`, seq, until, n-1).Scan(&upTo)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		upTo, err = until, nil
	case err == nil:
		err = tx.QueryRowContext(ctx, `select exists (select 1`+written+`)`, upTo, until).Scan(&more)
	}
	if err == nil {
		ids, err = column[fold.ID](ctx, tx, `select id`+written+` order by seq, id`, seq, upTo)
	}
	return ids, upTo, more, x.db.wrap(err, "written part")
}
