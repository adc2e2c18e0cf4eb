package meta

import (
	"context"
	"database/sql"
	"strings"
)

// roomAt is how many changes are the part of a first index, or of a rebuild.
const roomAt = 1000

// makeRoom gives the writing connection a larger page cache, and a longer log,
// before a transaction of so many changes, and takes them back before the next
// small one: each of thousands of memories goes to other pages of the indexes of
// tags, links and titles, and what does not fit is written, and read again, for
// nearly every row. An error would only cost time.
func (d *db) makeRoom(ctx context.Context, changes int) {
	roomy := changes >= roomAt
	if d.roomy.Swap(roomy) == roomy {
		return
	}
	pragmas := `pragma cache_size = -8000; pragma wal_autocheckpoint = 4000; pragma shrink_memory`
	if roomy {
		pragmas = `pragma cache_size = -16000; pragma wal_autocheckpoint = 16000`
	}
	_, _ = d.w.ExecContext(ctx, pragmas)
}

// An inserter gathers rows and writes them many at a time: one statement of a
// hundred rows costs a third of a hundred statements.
type inserter struct {
	head string // before the rows
	cols int
	max  int // rows a statement
	args []any
	full *sql.Stmt // of max rows, prepared once a transaction
}

// newInserter makes an inserter for statements such as
// "insert into t (a, b) values (?, ?), (?, ?)".
func newInserter(head string, cols, max int) *inserter {
	return &inserter{head: head, cols: cols, max: max, args: make([]any, 0, cols*max)}
}

// add takes one row; args has as many values as the table has columns.
func (in *inserter) add(ctx context.Context, tx *sql.Tx, args ...any) error {
	in.args = append(in.args, args...)
	if len(in.args) < in.cols*in.max {
		return nil
	}
	if in.full == nil {
		stmt, err := tx.PrepareContext(ctx, in.query(in.max))
		if err != nil {
			return err
		}
		in.full = stmt
	}
	_, err := in.full.ExecContext(ctx, in.args...)
	in.args = in.args[:0]
	return err
}

// flush writes what is left.
func (in *inserter) flush(ctx context.Context, tx *sql.Tx) error {
	if len(in.args) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, in.query(len(in.args)/in.cols), in.args...)
	in.args = in.args[:0]
	return err
}

// close lets go of the statement. Its error would repeat one already seen.
func (in *inserter) close() {
	if in.full != nil {
		_ = in.full.Close()
		in.full = nil
	}
	in.args = in.args[:0]
}

func (in *inserter) query(rows int) string {
	row := "(" + strings.Repeat("?, ", in.cols-1) + "?)"
	return in.head + strings.Repeat(row+", ", rows-1) + row
}
