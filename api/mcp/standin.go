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
	handlers *closedDoors
	http     *http.Server
	conns    chan net.Conn
	done     chan struct{}
	once     sync.Once
	wg       sync.WaitGroup
}

func newStandIn(opt ShimOptions) *standIn {
	s := &standIn{handlers: &closedDoors{}, conns: make(chan net.Conn), done: make(chan struct{})}
	mcp := Handler(s.handlers, Options{Version: opt.Version, Log: opt.Log, Caller: func(context.Context) auth.Caller { return auth.Owner() }})
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
	s.handlers.set(cause)
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

// closedDoors answer everything with why there is no daemon.
type closedDoors struct {
	mu  sync.Mutex
	why error
}

func (d *closedDoors) set(cause error) {
	err := cause
	if !errors.Is(err, wire.ErrNoDaemon) {
		err = fmt.Errorf("%w: %w", wire.ErrNoDaemon, cause)
	}
	if fold.Hint(err) == "" {
		err = fold.WithHint(err, "every tool works again as soon as it runs")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.why = err
}

func (d *closedDoors) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

func (d *closedDoors) Projects(context.Context, fold.Scope) (wire.ProjectList, error) {
	return wire.ProjectList{}, d.err()
}

func (d *closedDoors) Project(context.Context, fold.Scope, string) (wire.Project, error) {
	return wire.Project{}, d.err()
}

func (d *closedDoors) ProjectStatus(context.Context, fold.Scope, string) (wire.ProjectStatus, error) {
	return wire.ProjectStatus{}, d.err()
}

func (d *closedDoors) ProjectOfPath(context.Context, fold.Scope, string) (string, error) {
	return "", d.err()
}

func (d *closedDoors) Status(context.Context, fold.Scope) (wire.Status, error) {
	return wire.Status{}, d.err()
}

func (d *closedDoors) AddMemory(context.Context, fold.Scope, string, wire.MemoryCreate) (wire.WriteReply, error) {
	return wire.WriteReply{}, d.err()
}

func (d *closedDoors) GetMemory(context.Context, fold.Scope, string, string) (wire.Memory, error) {
	return wire.Memory{}, d.err()
}

func (d *closedDoors) ListMemories(context.Context, fold.Scope, string, wire.ListQuery) (wire.MemoryList, error) {
	return wire.MemoryList{}, d.err()
}

func (d *closedDoors) UpdateMemory(context.Context, fold.Scope, string, string, wire.MemoryUpdate) (wire.WriteReply, error) {
	return wire.WriteReply{}, d.err()
}

func (d *closedDoors) DeleteMemory(context.Context, fold.Scope, string, string, string) (wire.WriteReply, error) {
	return wire.WriteReply{}, d.err()
}

func (d *closedDoors) MemorySource(context.Context, fold.Scope, string, string, int, int) (wire.SourceText, error) {
	return wire.SourceText{}, d.err()
}

func (d *closedDoors) Links(context.Context, fold.Scope, string, string) (wire.LinkList, error) {
	return wire.LinkList{}, d.err()
}

func (d *closedDoors) AddLink(context.Context, fold.Scope, string, string, wire.LinkCreate) (wire.Link, error) {
	return wire.Link{}, d.err()
}

func (d *closedDoors) Upload(context.Context, fold.Scope, string, wire.FilesUpload) (wire.FilesUploaded, error) {
	return wire.FilesUploaded{}, d.err()
}

func (d *closedDoors) Search(context.Context, fold.Scope, string, wire.SearchRequest) (wire.SearchReply, error) {
	return wire.SearchReply{}, d.err()
}

func (d *closedDoors) SearchAll(context.Context, fold.Scope, wire.SearchRequest) (wire.SearchReply, error) {
	return wire.SearchReply{}, d.err()
}

func (d *closedDoors) Context(context.Context, fold.Scope, string, string, wire.ContextRequest) (wire.ContextReply, error) {
	return wire.ContextReply{}, d.err()
}

func (d *closedDoors) Reindex(context.Context, fold.Scope, string, wire.Reindex) (wire.JobRef, error) {
	return wire.JobRef{}, d.err()
}

func (d *closedDoors) Job(context.Context, fold.Scope, string) (wire.Job, error) {
	return wire.Job{}, d.err()
}

func (d *closedDoors) Subscribe(context.Context, fold.Scope, uint64) <-chan wire.Event {
	ch := make(chan wire.Event)
	close(ch)
	return ch
}

func (d *closedDoors) Prime(context.Context, fold.Scope, string, wire.PrimeQuery) (wire.Prime, error) {
	return wire.Prime{}, d.err()
}
