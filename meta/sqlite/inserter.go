package sqlite

import (
	"context"
	"database/sql"
	"strings"
)

// An Inserter gathers rows and writes many by one statement: a statement of a
// hundred rows costs a third of a hundred statements. It is used within one
// transaction, by one goroutine.
type Inserter struct {
	head    string // before the rows
	columns int
	rows    int // of a full statement
	args    []any
	full    *sql.Stmt // of that many rows, prepared when first needed
}

// NewInserter makes an inserter of so many columns. Head is all before the rows,
// such as "insert into t (a, b) values "; rows is how many a statement carries.
func NewInserter(head string, columns, rows int) *Inserter {
	return &Inserter{head: head, columns: columns, rows: rows, args: make([]any, 0, columns*rows)}
}

// Add takes one row; args has as many values as there are columns.
func (in *Inserter) Add(ctx context.Context, tx *sql.Tx, args ...any) error {
	in.args = append(in.args, args...)
	if len(in.args) < in.columns*in.rows {
		return nil
	}
	if in.full == nil {
		stmt, err := tx.PrepareContext(ctx, in.query(in.rows))
		if err != nil {
			return err
		}
		in.full = stmt
	}
	_, err := in.full.ExecContext(ctx, in.args...)
	in.args = in.args[:0]
	return err
}

// Flush writes what is left.
func (in *Inserter) Flush(ctx context.Context, tx *sql.Tx) error {
	if len(in.args) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, in.query(len(in.args)/in.columns), in.args...)
	in.args = in.args[:0]
	return err
}

// Close lets go of the statement. Its error would repeat one already seen.
func (in *Inserter) Close() {
	if in.full != nil {
		_ = in.full.Close()
		in.full = nil
	}
	in.args = in.args[:0]
}

func (in *Inserter) query(rows int) string {
	row := Marks(in.columns)
	return in.head + strings.Repeat(row+", ", rows-1) + row
}

// Marks returns "(?, ?, ?)" with n marks.
func Marks(n int) string { return "(" + strings.Repeat("?, ", n-1) + "?)" }
