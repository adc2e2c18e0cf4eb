package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
)

// TestNoticesComeByTheWay: what a daemon wants known costs no request of its own, but of
// one that does not say it by the way.
func TestNoticesComeByTheWay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: a socket of unix is made here")
	}
	w := newWard(t)
	dir := w.shortHome()
	want := []string{"sync of zoo is paused: naïve; 100 %", "and another"}
	for _, older := range []bool{false, true} {
		var mu sync.Mutex
		var asked []string
		ln, err := sock.Listen(filepath.Join(dir, "foldwatch.sock"), sock.Options{})
		w.must(err)
		srv := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			rw.Header().Set("X-Foldwatch-Version", fullVersion())
			rw.Header().Set("Content-Type", "application/json")
			if !older && r.Header.Get(wire.NoticesHeader) != "" {
				rw.Header().Set(wire.NoticesHeader, wire.EncodeNotices(want))
			}
			_ = json.NewEncoder(rw).Encode(wire.Status{Notices: want})
		})}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(ln) }()
		var errs bytes.Buffer
		app := newApp(strings.NewReader(""), &bytes.Buffer{}, &errs)
		app.Getenv, app.config.Environ = w.app.Getenv, nil
		_, err = app.daemon.Connect(t.Context())
		w.must(err)
		w.must(srv.Close())
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		for _, n := range want {
			if !strings.Contains(errs.String(), "foldwatch: "+n+"\n") {
				t.Errorf("older %v: it does not say %q: %s", older, n, errs.String())
			}
		}
		paths := []string{"/health/live"}
		if older {
			paths = append(paths, "/status")
		}
		if !slices.Equal(asked, paths) {
			t.Errorf("older %v: asked for %q, want %q", older, asked, paths)
		}
	}
}
