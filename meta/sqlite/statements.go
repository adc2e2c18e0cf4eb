package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"modernc.org/sqlite"

	"github.com/foldwatch/foldwatch/meta/lru"
)

const (
	driverName = "sqlite" // under which the driver registers itself

	// maxStatements is how many statements a connection keeps prepared: more than
	// a save or a search asks.
	maxStatements = 48
	// maxStatementBytes is the longest text whose statement is kept. Longer ones
	// are inserts of many rows, each number of rows a text of its own.
	maxStatementBytes = 2 << 10
)

// A connector opens connections that keep their statements prepared. The driver
// parses anew what it is given as text, and that took more than the work for
// most of what is asked here.
type connector struct{ dsn string }

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{driverConn: opened.(driverConn), idle: lru.Cache[string, *statement]{MaxLen: maxStatements}}, nil
}

// driverConn is what a connection of the driver can do and database/sql asks for.
type driverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
	driver.Pinger
}

// A conn is a connection that keeps the statements used last. As any driver.Conn
// it is used by one goroutine at a time. A statement whose rows are still read is
// not idle: the same text is then prepared a second time.
type conn struct {
	driverConn

	idle lru.Cache[string, *statement] // by their texts
}

type statement struct {
	driverStatement

	text string
}

type driverStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// worthKeeping reports whether the statement of text is to be kept. A script is
// prepared part by part each time, and some pragmas take effect when they are
// prepared.
func worthKeeping(text string) bool {
	return len(text) <= maxStatementBytes && !strings.Contains(text, ";") && !strings.HasPrefix(text, "pragma")
}

// acquire returns the statement of text, an idle one or a new one. It is the
// caller's until it is released.
func (c *conn) acquire(ctx context.Context, text string) (*statement, error) {
	if s, ok := c.idle.Remove(text); ok {
		return s, nil
	}
	s, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &statement{s.(driverStatement), text}, nil
}

// release keeps s, which is reset, for the next time.
func (c *conn) release(s *statement) error {
	if _, twice := c.idle.Get(s.text); twice {
		return s.Close()
	}
	var errs []error
	for _, oldest := range c.idle.Put(s.text, s) {
		errs = append(errs, oldest.Close())
	}
	return errors.Join(errs...)
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if !worthKeeping(text) {
		return c.driverConn.ExecContext(ctx, text, args)
	}
	s, err := c.acquire(ctx, text)
	if err != nil {
		return nil, err
	}
	r, err := s.ExecContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return r, c.release(s)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if !worthKeeping(text) {
		return c.driverConn.QueryContext(ctx, text, args)
	}
	s, err := c.acquire(ctx, text)
	if err != nil {
		return nil, err
	}
	r, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &rows{r, c, s}, nil
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	var errs []error
	for _, s := range c.idle.All() {
		errs = append(errs, s.Close())
	}
	c.idle = lru.Cache[string, *statement]{}
	return errors.Join(append(errs, c.driverConn.Close())...)
}

// rows release their statement when they are closed.
type rows struct {
	driver.Rows

	conn *conn
	s    *statement // nil once released
}

// Close implements driver.Rows; it resets the statement.
func (r *rows) Close() error {
	err := r.Rows.Close()
	if r.s == nil {
		return err
	}
	s := r.s
	r.s = nil
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return r.conn.release(s)
}
