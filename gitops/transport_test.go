package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// wantKind syncs and expects it to end for that reason, with advice, with no
// password anywhere, and with the local work unharmed.
func (r *replica) wantKind(want transport.Kind) transport.Error {
	r.t.Helper()
	before := fmt.Sprint(r.files())
	_, err := r.s.Syncer().Sync(r.t.Context(), r.opt)
	if kindOf(err) != want {
		r.t.Fatalf("Sync = %v (%s), want %s", err, kindOf(err), want)
	}
	if fold.Hint(err) == "" {
		r.t.Errorf("%v: no hint", err)
	}
	if strings.Contains(err.Error()+fold.Hint(err), webPass) {
		r.t.Errorf("%v: holds the password", err)
	}
	if fmt.Sprint(r.files()) != before {
		r.t.Errorf("%v: files changed", err)
	}
	e, _ := errors.AsType[*transport.Error](err)
	return *e
}

// TestSyncHTTPS: a forge with a login, through the user's credential helper.
func TestSyncHTTPS(t *testing.T) {
	isolate(t)
	w := newWebRemote(t)
	a, b := newReplica(t, w.url(), nil), newReplica(t, w.url(), nil)
	a.opt.Local, b.opt.Local = false, false
	id, text := memoryFile("One", "x")
	a.put(id, text)

	// F35: no login, then a wrong one. It ends at once, without a question.
	if e := a.wantKind(transport.Auth); e.Host != strings.TrimPrefix(w.URL, "https://") || !e.Kind.Waits() {
		t.Errorf("error is %+v", e)
	}
	login(t, w.URL, "wrong")
	a.wantKind(transport.Auth)
	login(t, w.URL, webPass)
	a.sync()
	b.sync()
	b.put(id, edited(string(text), "x\n", "y\n"))
	converge(t, a, b)
	linear(t, filepath.Join(w.dir, "remote.git"))

	// F39: the checkout's own configuration runs nothing and gives nothing.
	ran := filepath.Join(t.TempDir(), "ran")
	git(t, a.dir, "config", "credential.helper", "!touch "+ran+"; echo username=x; echo password=y")
	git(t, a.dir, "config", "core.sshCommand", "touch "+ran)
	git(t, a.dir, "config", "core.askPass", "touch "+ran)
	git(t, a.dir, "config", "url.ext::touch "+ran+".insteadOf", w.URL)
	repo := filepath.Join(a.dir, ".git/foldwatch/repo.git")
	config, err := os.ReadFile(filepath.Join(repo, "config"))
	must(t, err)
	write(t, filepath.Join(repo, "config"), string(config)+"[credential]\n\thelper = !touch "+ran+"\n[core]\n\tsshCommand = touch "+ran+"\n")
	program(t, filepath.Join(repo, "hooks/pre-push"), "#!/bin/sh\ntouch "+ran+"\n")
	a.put(id, edited(a.read(id.Path()), "y\n", "z\n"))
	a.sync()
	if _, err := os.Stat(ran); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the checkout ran a program: %v", err)
	}
	write(t, filepath.Join(repo, "commondir"), "/tmp\n")
	a.wantKind(transport.Refused)
	must(t, os.Remove(filepath.Join(repo, "commondir")))

	// F36: a password in the address goes nowhere.
	a.opt.Remote = strings.Replace(w.url(), "https://", "https://"+webUser+":"+webPass+"@", 1)
	a.put(id, edited(a.read(id.Path()), "z\n", "w\n"))
	a.sync()
	must(t, filepath.WalkDir(filepath.Join(a.dir, ".git"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if strings.Contains(string(b), webPass) {
			t.Errorf("%s holds the password", p)
		}
		return err
	}))
}

// TestSyncTroubles: F35, F37. What a server can do to us.
func TestSyncTroubles(t *testing.T) {
	isolate(t)
	w := newWebRemote(t)
	login(t, w.URL, webPass)
	a := newReplica(t, w.url(), nil)
	id, text := memoryFile("One", "x")
	a.put(id, text)
	a.sync()
	status := func(code int, key, value string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			if key != "" {
				w.Header().Set(key, value)
			}
			w.WriteHeader(code)
			return true
		}
	}
	w.answer(status(429, "Retry-After", "77"))
	if e := a.wantKind(transport.Limited); e.RetryAfter != 77*time.Second || e.Kind.Waits() {
		t.Errorf("error is %+v", e)
	}
	w.answer(status(503, "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)))
	if e := a.wantKind(transport.Limited); e.RetryAfter < 50*time.Minute || e.RetryAfter > time.Hour {
		t.Errorf("error is %+v", e)
	}
	w.answer(status(500, "", ""))
	a.wantKind(transport.Offline)
	w.answer(status(404, "", ""))
	a.wantKind(transport.Missing)
	w.answer(status(403, "", ""))
	a.wantKind(transport.Auth)

	// A redirect is not followed, and no login goes with it.
	var other atomic.Int64
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer elsewhere.Close()
	for _, to := range []string{elsewhere.URL, w.URL + "/elsewhere"} {
		w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
			http.Redirect(rw, r, to+r.URL.String(), http.StatusMovedPermanently)
			return true
		})
		if e := a.wantKind(transport.Refused); !strings.Contains(e.Error(), to) {
			t.Errorf("%v: does not name %s", &e, to)
		}
	}
	if other.Load() != 0 {
		t.Errorf("%d requests went to another host", other.Load())
	}

	// One that stays on the host is what a forge sends for an address without
	// .git.
	a.opt.Remote = strings.TrimSuffix(w.url(), ".git")
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/remote/") {
			http.Redirect(rw, r, strings.Replace(r.URL.String(), "/remote/", "/remote.git/", 1), http.StatusMovedPermanently)
			return true
		}
		return false
	})
	a.sync()
	a.opt.Remote = w.url()

	// The connection is cut, in the question and in the push.
	cut := func(rw http.ResponseWriter, _ *http.Request) bool {
		c, _, err := rw.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.Close()
		}
		return true
	}
	w.answer(cut)
	a.wantKind(transport.Offline)
	a.put(id, edited(string(text), "x\n", "y\n"))
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/git-receive-pack") && cut(rw, r)
	})
	a.wantKind(transport.Offline)

	// A byte a second.
	a.opt.Timeout = time.Second
	hang := make(chan struct{})
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		rw.Header().Set("Content-Type", "application/x-git-receive-pack-advertisement")
		for {
			if _, err := rw.Write([]byte("0")); err != nil {
				return true
			}
			rw.(http.Flusher).Flush()
			select {
			case <-hang:
				return true
			case <-r.Context().Done():
				return true
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	began := time.Now()
	a.wantKind(transport.Offline)
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("a slow server held us %v", took)
	}
	close(hang)
	a.opt.Timeout = 0

	// It is there again, and all goes on.
	w.answer(nil)
	if got := a.sync(); !got.Pushed {
		t.Errorf("Sync after all that = %+v", got)
	}
	fsck(t, a.dir)

	// Nobody answers; nobody of that name.
	a.put(id, edited(a.read(id.Path()), "y\n", "z\n"))
	w.Close()
	a.wantKind(transport.Offline)
	a.opt.Remote = "https://no-such-host.invalid/x.git"
	a.wantKind(transport.Offline)
}

// TestSyncStrangeNames: F37. What else a remote advertises is nothing to us.
func TestSyncStrangeNames(t *testing.T) {
	isolate(t)
	w := newWebRemote(t)
	a := newReplica(t, w.url(), nil)
	before := stateFiles(t, a.dir)
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		rw.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		pkt(rw, "# service=git-upload-pack\n")
		_, _ = rw.Write([]byte("0000"))
		const oid = "1234567890123456789012345678901234567890 "
		pkt(rw, oid+"refs/heads/../../config\x00side-band-64k ofs-delta\n")
		for _, name := range []string{"refs/heads/x/refs/heads/foldwatch", "refs/heads/foldwatch/../foldwatch", "refs/foldwatch/journal", "HEAD"} {
			pkt(rw, oid+name+"\n")
		}
		_, _ = rw.Write([]byte("0000"))
		return true
	})
	if tip, err := a.s.Syncer().RemoteTip(t.Context(), a.opt); tip != "" {
		t.Errorf("RemoteTip = %q, %v", tip, err)
	}
	if after := stateFiles(t, a.dir); after != before {
		t.Errorf("a question wrote:\n%s", after)
	}
}

// TestSyncEndlessPack: F37. A pack beyond the bound is ended while it comes,
// and nothing of it stays.
func TestSyncEndlessPack(t *testing.T) {
	isolate(t)
	w := newWebRemote(t)
	a := newReplica(t, w.url(), nil)
	a.opt.MaxBytes = 4 << 20
	var sent atomic.Int64
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool { return endlessPack(rw, r, &sent) })
	if e := a.wantKind(transport.Refused); !strings.Contains(e.Error(), "more than 4 MB") {
		t.Errorf("error is %v", &e)
	}
	if sent.Load() < 1<<20 {
		t.Errorf("only %d bytes were sent: the test shows nothing", sent.Load())
	}
	packs, err := os.ReadDir(filepath.Join(a.dir, ".git/foldwatch/repo.git/objects/pack"))
	must(t, err)
	if len(packs) > 0 {
		t.Errorf("left %v", packs)
	}
}

// TestSyncUntrusted: a certificate that nobody vouches for.
func TestSyncUntrusted(t *testing.T) {
	isolate(t)
	w := newWebRemote(t)
	login(t, w.URL, webPass)
	t.Setenv("GIT_SSL_CAINFO", "")
	os.Unsetenv("GIT_SSL_CAINFO")
	a := newReplica(t, w.url(), nil)
	a.wantKind(transport.Untrusted)
}

// TestSyncSSH: an sshd, the key in the agent, and the user's own ssh command.
func TestSyncSSH(t *testing.T) {
	isolate(t)
	r := newSSHRemote(t)
	a, b := newReplica(t, r.url(), nil), newReplica(t, r.url(), nil)
	a.opt.Local, b.opt.Local = false, false
	id, text := memoryFile("One", "x")
	a.put(id, text)
	a.sync()
	b.sync() // a connection takes a second
	if b.read(id.Path()) != string(text) {
		t.Errorf("the other has %v", b.files())
	}

	a.put(id, edited(a.read(id.Path()), "x\n", "w\n"))
	known := filepath.Join(r.home, "known")
	keys, err := os.ReadFile(known)
	must(t, err)
	write(t, known, "")
	a.wantKind(transport.Untrusted)
	write(t, known, string(keys))
	t.Setenv("SSH_AUTH_SOCK", "")
	a.wantKind(transport.Auth)
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(r.home, "agent"))
	a.opt.Remote += "x"
	a.wantKind(transport.Missing)
}

// syncPolicy: a hook of the remote rejects.
func syncPolicy(t *testing.T) {
	remote := bareRemote(t)
	hook := filepath.Join(remote, "hooks/pre-receive")
	program(t, hook, "#!/bin/sh\necho 'memories are not welcome here' >&2\nexit 1\n")
	a := newReplica(t, remote, nil)
	id, text := memoryFile("One", "x")
	a.put(id, text)
	if e := a.wantKind(transport.Policy); !strings.Contains(e.Error(), "not welcome here") {
		t.Errorf("error is %v", &e)
	}
	must(t, os.Remove(hook))
	a.sync()
}

// syncAddresses: what is refused before anything runs (G15).
func syncAddresses(t *testing.T) {
	a := newReplica(t, "", nil)
	for _, tc := range []struct {
		remote string
		local  bool
		want   transport.Kind
	}{
		{"", true, transport.Refused},
		{"ext::sh -c touch% /tmp/x", true, transport.Refused},
		{"fd::3", true, transport.Refused},
		{"git://127.0.0.1/x.git", true, transport.Refused},
		{"ftp://127.0.0.1/x.git", true, transport.Refused},
		{"http://example.invalid/x.git", true, transport.Refused},
		{"-oProxyCommand=touch /tmp/x", true, transport.Refused},
		{"ssh://-oProxyCommand=x/y", true, transport.Refused},
		{"-x@host:path", true, transport.Refused},
		{"x@-host:path", true, transport.Refused},
		{"https://host/a\nb", true, transport.Refused},
		{"/srv/x.git", false, transport.Refused},
		{"../x.git", false, transport.Refused},
		{"file:///srv/x.git", false, transport.Refused},
		{"file://other/srv/x.git", true, transport.Refused},
		{"/no/such/remote.git", true, transport.Missing},
		{"file:///no/such/remote.git", true, transport.Missing},
		{"http://127.0.0.1:1/x.git", true, transport.Offline},
	} {
		opt := a.opt
		opt.Remote, opt.Local = tc.remote, tc.local
		_, err := a.s.Syncer().RemoteTip(t.Context(), opt)
		if kindOf(err) != tc.want {
			t.Errorf("RemoteTip of %q = %v (%s), want %s", tc.remote, err, kindOf(err), tc.want)
		}
	}
}

// TestSyncOtherHash: a checkout that names objects by SHA-256 keeps its memories beside
// it, and syncs them with a remote of SHA-1. One of SHA-256 is refused at once, with
// what to do, and nothing is tried again by itself.
func TestSyncOtherHash(t *testing.T) {
	isolate(t)
	dir := realDir(t)
	if err := exec.Command("git", "init", "-q", "--object-format=sha256", "--template=", dir).Run(); err != nil {
		t.Skipf("SKIP: git knows no SHA-256: %v", err)
	}
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	r := &replica{t: t, dir: dir, opt: gitsync.SyncOptions{Remote: bareRemote(t), Local: true, Publish: true, Rand: func() float64 { return 0 }}}
	r.s = openStore(t, dir, nil)
	id, text := memoryFile("One", "x")
	r.put(id, text)
	if got := r.sync(); !got.Pushed {
		t.Errorf("Sync = %+v", got)
	}
	other := newReplica(t, r.opt.Remote, nil)
	other.sync()
	if got := other.read(id.Path()); got != string(text) {
		t.Errorf("the other has %q", got)
	}
	for _, state := range []string{"empty", "without the branch", "with the branch"} {
		remote := realDir(t)
		git(t, remote, "init", "-q", "--bare", "--object-format=sha256", ".")
		switch state {
		case "without the branch":
			git(t, dir, "push", "-q", remote, "HEAD:refs/heads/main")
		case "with the branch":
			git(t, dir, "push", "-q", remote, "HEAD:refs/heads/foldwatch")
		}
		r.opt.Remote = remote
		e := r.wantKind(transport.Refused)
		if !strings.Contains(e.Error(), "SHA-256") || !strings.Contains(fold.Hint(&e), "foldwatch track") || !e.Kind.Waits() {
			t.Errorf("%s: %v, hint %q", state, e.Err, fold.Hint(&e))
		}
	}
}
