package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"
)

// parsing counts what is parsed.
type parsing struct {
	driverConn

	parsed *int
}

func (c parsing) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	*c.parsed++
	return c.driverConn.PrepareContext(ctx, text)
}

type parsingConnector struct {
	connector

	parsed *int
}

func (k parsingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.connector.Connect(ctx)
	if err == nil {
		kept := c.(*conn)
		kept.driverConn = parsing{kept.driverConn, k.parsed}
	}
	return c, err
}

// TestStatementsAreParsedOnce counts what a connection parses, also while rows
// of the same statement are read and after the tables changed.
func TestStatementsAreParsedOnce(t *testing.T) {
	ctx := t.Context()
	var parsed int
	d := sql.OpenDB(parsingConnector{connector{dsn(filepath.Join(t.TempDir(), "x.db"), true)}, &parsed})
	d.SetMaxOpenConns(1)
	defer d.Close()
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := d.ExecContext(ctx, text, args...); err != nil {
			t.Fatal(err)
		}
	}
	want := func(n int) {
		t.Helper()
		if parsed != n {
			t.Errorf("parsed %d statements, want %d", parsed, n)
		}
	}
	exec("create table a (n integer, s text); create index b on a (n)") // a script is not kept
	want(0)
	for i := range 10 {
		exec("insert into a values (?, ?)", i, fmt.Sprint("s", i))
	}
	want(1)
	for i := range 10 {
		var s string
		if err := d.QueryRowContext(ctx, "select s from a where n = ?", i).Scan(&s); err != nil || s != fmt.Sprint("s", i) {
			t.Errorf("row %d = %q, %v", i, s, err)
		}
	}
	want(2)

	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	outer, err := tx.QueryContext(ctx, "select s from a where n >= ? order by n", 8)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	var got []string
	for outer.Next() {
		var s, inner string
		if err := outer.Scan(&s); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRowContext(ctx, "select s from a where n >= ? order by n", 0).Scan(&inner); err != nil {
			t.Fatal(err)
		}
		got = append(got, s, inner)
	}
	if err := outer.Err(); err != nil {
		t.Fatal(err)
	}
	if want := "[s8 s0 s9 s0]"; fmt.Sprint(got) != want {
		t.Errorf("rows = %v, want %s", got, want)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	want(4) // the outer one and, while it was read, the inner

	exec("alter table a add column more text default 'm'")
	exec("drop index b") // what is kept locks nothing
	exec("insert into a (n, s) values (?, ?)", 10, "s10")
	if _, err := d.ExecContext(ctx, "insert into a values (?, ?)", 11, "s11"); err == nil {
		t.Error("a kept statement does not see that its table changed")
	}
	for i := range 2 * maxStatements {
		exec(fmt.Sprintf("update a set s = 'x' where n = -%d", i))
	}
	if err := d.QueryRowContext(ctx, "select more from a where n = ?", 10).Scan(new(string)); err != nil {
		t.Error(err)
	}
}

// TestAFailedStatementIsNotKept: the next one of that text works.
func TestAFailedStatementIsNotKept(t *testing.T) {
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := t.Context()
	if _, err := d.Exec(ctx, "make", "create table a (n integer primary key)"); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		_, err := d.Exec(ctx, "put", "insert into a values (?)", i/2)
		if (err == nil) != (i%2 == 0) {
			t.Errorf("insert %d: %v", i/2, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := d.Each(gone, "read", func(func(...any) error) error { return nil }, "select n from a"); err == nil {
		t.Error("a read whose caller has gone succeeds")
	}
	n := 0
	if err := d.Each(ctx, "read", func(func(...any) error) error { n++; return nil }, "select n from a"); err != nil || n != 3 {
		t.Errorf("%d rows, %v", n, err)
	}
}
