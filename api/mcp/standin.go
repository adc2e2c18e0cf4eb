package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A standIn serves MCP inside the shim while no daemon can be reached: clients
// connect, see the tools, and every use of one says what is wrong.
type standIn struct {
	why   cause
	http  *http.Server
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
}

func newStandIn(opt ShimOptions) *standIn {
	s := &standIn{conns: make(chan net.Conn), done: make(chan struct{})}
	mcp := Handler(nil, Options{
		Version: opt.Version, Log: opt.Log, Unreachable: s.why.get,
		Caller: func(context.Context) auth.Caller { return auth.Owner() },
	})
	s.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			// Nothing ever happens here; a stream would keep the client from
			// the daemon that comes later.
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		mcp.ServeHTTP(w, r)
	})}
	s.http.SetKeepAlivesEnabled(false) // every request looks for a daemon first
	return s
}

// dial connects to the stand-in, which answers that the daemon cannot be
// reached because of cause.
func (s *standIn) dial(ctx context.Context, cause error) (net.Conn, error) {
	s.why.set(cause)
	s.once.Do(func() { s.wg.Go(func() { _ = s.http.Serve(s) }) })
	client, server := net.Pipe()
	select {
	case s.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Accept makes the stand-in the listener of its own server.
func (s *standIn) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// Close and Addr complete net.Listener.
func (s *standIn) Close() error   { return nil }
func (s *standIn) Addr() net.Addr { return &net.UnixAddr{Net: "pipe"} }

func (s *standIn) close() {
	close(s.done)
	_ = s.http.Close()
	s.wg.Wait()
}

// A cause is why no daemon can be reached. It is safe for concurrent use.
type cause struct {
	mu  sync.Mutex
	why error
}

func (c *cause) set(err error) {
	if !errors.Is(err, wire.ErrNoDaemon) {
		err = fmt.Errorf("%w: %w", wire.ErrNoDaemon, err)
	}
	if fold.Hint(err) == "" {
		err = fold.WithHint(err, "every tool works again as soon as it runs")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = err
}

func (c *cause) get() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}
