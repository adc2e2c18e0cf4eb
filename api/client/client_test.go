package client_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// answer runs a daemon that gives one answer to everything.
func answer(t *testing.T, status int, header http.Header, body string) *client.Client {
	t.Helper()
	path := sock.Path(filepath.Join(t.TempDir(), "r", "s"))
	ln, err := sock.Listen(path, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(ln) }()
	t.Cleanup(func() {
		_ = hs.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return client.New(path)
}

func TestNoDaemon(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "no", "folder")} {
		c := client.New(path)
		_, err := c.Status(t.Context())
		if !errors.Is(err, client.ErrNoDaemon) || fold.Hint(err) == "" || wire.KindOf(err).Exit != 3 {
			t.Errorf("Status = %v", err)
		}
		if err := c.Ping(t.Context()); !errors.Is(err, client.ErrNoDaemon) {
			t.Errorf("Ping = %v", err)
		}
	}
}

// TestCallsShareAConnection: an answer that comes in chunks ends behind its last brace,
// and a connection is used again only if it was read to there.
func TestCallsShareAConnection(t *testing.T) {
	path := sock.Path(filepath.Join(t.TempDir(), "r", "s"))
	ln, err := sock.Listen(path, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	hs := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"query":"`+strings.Repeat("x", 10_000)+`"}`+"\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done(): // who has the last brace has left
			case <-time.After(10 * time.Millisecond):
			}
		}),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				made.Add(1)
			}
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(ln) }()
	c := client.New(path)
	for range 5 {
		if r, err := c.Search(t.Context(), "p", wire.SearchRequest{Query: "q"}); err != nil || len(r.Query) != 10_000 {
			t.Errorf("Search = %d bytes, %v", len(r.Query), err)
		}
	}
	_ = hs.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if n := made.Load(); n != 1 {
		t.Errorf("5 calls made %d connections, want 1", n)
	}
}

func TestDaemonVersion(t *testing.T) {
	c := answer(t, 200, http.Header{"X-Foldwatch-Version": {"2.0"}}, "{}")
	if v := c.DaemonVersion(); v != "" {
		t.Errorf("version %q before any answer", v)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := c.DaemonVersion(); v != "2.0" {
		t.Errorf("version %q, want 2.0", v)
	}
}

func TestAnswersThatAreNoProblems(t *testing.T) {
	for body, want := range map[string]string{"<html>": "500 Internal Server Error", `{"code":""}`: "500"} {
		c := answer(t, 500, http.Header{"Content-Type": {"application/problem+json"}}, body)
		if _, err := c.Status(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Status = %v", err)
		}
	}
	c := answer(t, 200, nil, "not json")
	if _, err := c.Status(t.Context()); err == nil {
		t.Error("garbage was read as a status")
	}
	moved := answer(t, 302, http.Header{"Location": {"http://elsewhere.example/"}}, "")
	if _, err := moved.Status(t.Context()); err == nil {
		t.Error("a redirect was followed")
	}
}

func TestCancelledCallSaysSo(t *testing.T) {
	path := sock.Path(filepath.Join(t.TempDir(), "r", "s"))
	ln, err := sock.Listen(path, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 1)
	go func() {
		if c, err := ln.Accept(); err == nil {
			conns <- c
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c := <-conns
		cancel()
		<-ctx.Done()
		_ = c.Close()
	}()
	if _, err := client.New(path).Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Status = %v", err)
	}
	_ = ln.Close()
}

// TestProblemsKeepTheirKinds sends every kind of error through a problem.
func TestProblemsKeepTheirKinds(t *testing.T) {
	for _, k := range wire.Kinds() {
		p := wire.NewProblem(fold.WithHint(k.Err, "do this"))
		if got := p.Err(); !errors.Is(got, k.Err) && wire.KindOf(got).Code != k.Code || fold.Hint(got) != "do this" || wire.KindOf(got).Exit != k.Exit {
			t.Errorf("%s came back as %v (%s)", k.Code, got, wire.KindOf(got).Code)
		}
	}
	want := &fold.ConflictError{ID: "0123456789abcdef", Want: "w", Have: "h", Current: []byte("a"), Yours: []byte("b")}
	p := wire.NewProblem(want)
	var got *fold.ConflictError
	if !errors.As(p.Err(), &got) || !reflect.DeepEqual(got, want) {
		t.Errorf("conflict came back as %+v", got)
	}
	if p := wire.NewProblem(errors.New("secret path")); p.Detail != "" || p.Code != "internal" {
		t.Errorf("internal error told as %+v", p)
	}
}
