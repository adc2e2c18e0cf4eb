package gitops_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// withoutGit makes an open replica work without a git program, as on a machine
// that has none.
func (r *replica) withoutGit(f func()) {
	r.t.Helper()
	path := os.Getenv("PATH")
	must(r.t, os.Setenv("PATH", ""))
	defer func() { must(r.t, os.Setenv("PATH", path)) }()
	f()
}

// TestSyncWithoutGit: G15, where the PATH has no git: the same remote, the same
// bytes, the same history.
func TestSyncWithoutGit(t *testing.T) {
	isolate(t)
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, "file://"+remote, nil)
	id, text := memoryFile("One", "one\ntwo\nthree")
	a.put(id, text)
	a.withoutGit(func() {
		if got := a.sync(); !got.Pushed {
			t.Errorf("Sync = %+v", got)
		}
		b.sync()
		if got := b.sync(); got.Pushed || got.Fetched || len(got.Paths) > 0 {
			t.Errorf("Sync of nothing = %+v", got)
		}
	})
	b.put(id, edited(string(text), "one\n", "one of b\n"))
	b.sync() // with git
	a.put(id, edited(string(text), "three\n", "three of a\n"))
	a.withoutGit(func() { a.sync() })
	converge(t, b, a)
	if got := b.read(id.Path()); !strings.Contains(got, "one of b") || !strings.Contains(got, "three of a") {
		t.Errorf("merged to %q", got)
	}
	linear(t, remote)
	git(t, remote, "fsck", "--full", "--strict")
	// Somebody else holds the branch, or runs a hook on it.
	a.put(id, edited(a.read(id.Path()), "two\n", "two of a\n"))
	lock := filepath.Join(remote, "refs/heads/foldwatch.lock")
	write(t, lock, "")
	a.withoutGit(func() { a.wantKind(gitops.SyncLost) })
	must(t, os.Remove(lock))
	write(t, filepath.Join(remote, "hooks/update"), "#!/bin/sh\n")
	a.withoutGit(func() {
		a.wantKind(gitops.SyncPolicy)
		a.opt.Remote = remote + "x"
		a.wantKind(gitops.SyncMissing)
	})
}

// TestSyncHTTPSWithoutGit: https by go-git. It has no helpers, and so no login.
func TestSyncHTTPSWithoutGit(t *testing.T) {
	isolate(t)
	w := newWebRemote(t)
	a, b := newReplica(t, w.url(), nil), newReplica(t, w.url(), nil)
	id, text := memoryFile("One", "x")
	a.put(id, text)
	a.withoutGit(func() { a.wantKind(gitops.SyncAuth) })
	// From here the remote lets everybody in, as one in a private network may.
	open := func(_ http.ResponseWriter, r *http.Request) bool {
		r.SetBasicAuth(webUser, webPass)
		return false
	}
	w.answer(open)
	sync := func(r *replica) (got gitops.Synced) {
		t.Helper()
		r.withoutGit(func() {
			var err error
			if got, err = r.s.Sync(t.Context(), r.opt); err != nil {
				t.Fatalf("Sync = %v", err)
			}
		})
		return got
	}
	sync(a)
	sync(b)
	b.put(id, edited(string(text), "x\n", "y\n"))
	if got := sync(b); !got.Pushed {
		t.Errorf("Sync = %+v", got)
	}
	if got := sync(a); !got.Fetched || a.read(id.Path()) != b.read(id.Path()) {
		t.Errorf("Sync = %+v, files %v", got, a.files())
	}
	linear(t, filepath.Join(w.dir, "remote.git"))
	fsck(t, a.dir)

	w.answer(func(rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Retry-After", "9")
		rw.WriteHeader(429)
		return true
	})
	a.withoutGit(func() {
		if e := a.wantKind(gitops.SyncLimited); e.RetryAfter != 9*time.Second {
			t.Errorf("error is %+v", e)
		}
	})
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		http.Redirect(rw, r, "https://elsewhere.invalid"+r.URL.String(), http.StatusFound)
		return true
	})
	a.withoutGit(func() {
		if e := a.wantKind(gitops.SyncRefused); !strings.Contains(e.Error(), "https://elsewhere.invalid") {
			t.Errorf("error is %v", &e)
		}
	})
	var sent atomic.Int64
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool { return endlessPack(rw, r, &sent) })
	a.opt.MaxBytes = 4 << 20
	a.withoutGit(func() {
		if e := a.wantKind(gitops.SyncRefused); !strings.Contains(e.Error(), "more than 4 MB") {
			t.Errorf("error is %v", &e)
		}
	})
	fsck(t, a.dir)
}
