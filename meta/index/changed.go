package index

import (
	"context"
	"database/sql"
	"errors"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// Seq returns the number of the last change.
func (x *DB) Seq(ctx context.Context) (seq int64, err error) {
	err = x.db.Row(ctx, "read seq", selectSeq).Scan(&seq)
	return seq, err
}

const selectSeq = `select value from meta where key = 'seq'`

// ChangedPage returns the first n or so memories that changed after seq, the keys that
// were removed meanwhile ("m:<memory id>", "c:<chunk id>"), the number up to which the
// caller has caught up once it has dealt with them, and whether more changed after that.
func (x *DB) ChangedPage(ctx context.Context, seq int64, n int) (ids []fold.ID, removed []string, upTo int64, more bool, err error) {
	err = x.db.Read(ctx, "changed part", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `select seq from memories where seq > ? order by seq limit 1 offset ?`, seq, n-1).Scan(&upTo)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			err = tx.QueryRowContext(ctx, selectSeq).Scan(&upTo)
		case err == nil:
			err = tx.QueryRowContext(ctx, `select exists (select 1 from memories where seq > ?1) or exists (select 1 from gone where seq > ?1)`, upTo).Scan(&more)
		}
		if err == nil {
			ids, err = sqlite.Column[fold.ID](ctx, tx, `select id from memories where seq > ? and seq <= ? order by seq, id`, seq, upTo)
		}
		if err == nil {
			removed, err = sqlite.Column[string](ctx, tx, `select key from gone where seq > ? and seq <= ? order by key`, seq, upTo)
		}
		return err
	})
	return ids, removed, upTo, more, err
}

// WrittenPage returns memories that agents and people wrote, notes apart, and that
// changed after seq and not after until, in the order of their changes: some n of
// them. The caller has then caught up to upTo; more says that others follow.
func (x *DB) WrittenPage(ctx context.Context, seq, until int64, n int) (ids []fold.ID, upTo int64, more bool, err error) {
	const written = ` from memories where seq > ? and seq <= ? and source = 'agent' and described = 'fold' and note = 0 and deleted = 0`
	err = x.db.Read(ctx, "written part", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `select seq`+written+` order by seq limit 1 offset ?`, seq, until, n-1).Scan(&upTo)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			upTo, err = until, nil
		case err == nil:
			err = tx.QueryRowContext(ctx, `select exists (select 1`+written+`)`, upTo, until).Scan(&more)
		}
		if err == nil {
			ids, err = sqlite.Column[fold.ID](ctx, tx, `select id`+written+` order by seq, id`, seq, upTo)
		}
		return err
	})
	return ids, upTo, more, err
}

// CountChanged returns how many memories changed after seq.
func (x *DB) CountChanged(ctx context.Context, seq int64) (n int, err error) {
	err = x.db.Row(ctx, "count changed", `select count(*) from memories where seq > ?`, seq).Scan(&n)
	return n, err
}

// A TextChange says when the text of a memory changed last: title, file path,
// body, context, tags or keywords.
type TextChange struct {
	FilePath string // of the source file; "" if it is of none
	Seq      int64  // of the change; vectors of the memory that are older are out of date
}

// TextChanges returns when the texts of those of ids that exist changed. A branch
// switch changes little but times and blobs, and this is much less than to read
// the memories.
func (x *DB) TextChanges(ctx context.Context, ids []fold.ID) (map[fold.ID]TextChange, error) {
	all := make(map[fold.ID]TextChange, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	err := x.db.Each(ctx, "text changed", func(scan func(...any) error) error {
		var id fold.ID
		var c TextChange
		err := scan(&id, &c.FilePath, &c.Seq)
		all[id] = c
		return err
	}, `select id, file_path, said_seq from memories where id in (select value from json_each(?))`, sqlite.List(ids))
	return all, err
}
