package meta

import (
	linked "container/list"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"modernc.org/sqlite"
)

const (
	// keptStatements is how many statements a connection keeps parsed: more than
	// a save or a search asks.
	keptStatements = 48
	// keptLength is the longest text kept, in bytes. Longer ones are inserts of so
	// and so many rows, each number of rows a text of its own.
	keptLength = 2 << 10
)

// openKept is sql.Open for SQLite, with connections that keep their statements
// parsed. SQLite parses anew what it is given as text, and that took more than
// the work for most of what is asked here.
func openKept(name string) *sql.DB { return sql.OpenDB(keptConnector{name}) }

type keptConnector struct{ name string }

func (k keptConnector) Driver() driver.Driver { return &sqlite.Driver{} }

func (k keptConnector) Connect(context.Context) (driver.Conn, error) {
	c, err := k.Driver().Open(k.name)
	if err != nil {
		return nil, err
	}
	return &keptConn{sqliteConn: c.(sqliteConn), byText: map[string]*linked.Element{}}, nil
}

// sqliteConn is what a connection of the driver can do and database/sql asks for.
type sqliteConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
	driver.Pinger
}

// A keptConn is a connection that keeps the statements used last. As any
// driver.Conn it is used by one goroutine at a time; a statement whose rows are
// still read is not among those kept.
type keptConn struct {
	sqliteConn

	idle   linked.List // of *keptStatement, used last in front
	byText map[string]*linked.Element
}

type keptStatement struct {
	text string
	stmt sqliteStatement
}

type sqliteStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// keeps reports whether a statement is worth keeping. A script is parsed part by
// part each time, and some pragmas take effect when they are parsed.
func keeps(text string) bool {
	return len(text) <= keptLength && !strings.Contains(text, ";") && !strings.HasPrefix(text, "pragma")
}

// take returns the statement of text, kept or parsed now. It is the caller's
// until it is given back.
func (c *keptConn) take(ctx context.Context, text string) (*keptStatement, error) {
	if e := c.byText[text]; e != nil {
		c.idle.Remove(e)
		delete(c.byText, text)
		return e.Value.(*keptStatement), nil
	}
	stmt, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &keptStatement{text, stmt.(sqliteStatement)}, nil
}

// give keeps s, which was taken and is reset, for the next time.
func (c *keptConn) give(s *keptStatement) error {
	if c.byText[s.text] != nil { // asked again while its rows were read
		return s.stmt.Close()
	}
	c.byText[s.text] = c.idle.PushFront(s)
	if c.idle.Len() <= keptStatements {
		return nil
	}
	oldest := c.idle.Remove(c.idle.Back()).(*keptStatement)
	delete(c.byText, oldest.text)
	return oldest.stmt.Close()
}

// ExecContext implements driver.ExecerContext.
func (c *keptConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if !keeps(text) {
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	r, err := s.stmt.ExecContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.stmt.Close())
	}
	return r, c.give(s)
}

// QueryContext implements driver.QueryerContext.
func (c *keptConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if !keeps(text) {
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.stmt.Close())
	}
	return &keptRows{rows, c, s}, nil
}

// Close implements driver.Conn.
func (c *keptConn) Close() error {
	var errs []error
	for e := c.idle.Front(); e != nil; e = e.Next() {
		errs = append(errs, e.Value.(*keptStatement).stmt.Close())
	}
	c.idle.Init()
	clear(c.byText)
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// keptRows are rows that give their statement back.
type keptRows struct {
	driver.Rows

	conn *keptConn
	s    *keptStatement // nil once given back
}

// Close implements driver.Rows; it resets the statement.
func (r *keptRows) Close() error {
	err := r.Rows.Close()
	if r.s == nil {
		return err
	}
	s := r.s
	r.s = nil
	if err != nil {
		return errors.Join(err, s.stmt.Close())
	}
	return r.conn.give(s)
}
