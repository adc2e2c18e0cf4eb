package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

const (
	// maxReceived bounds what one fetch may bring, in bytes (F37): a hundred
	// thousand memories are some 100 MB.
	maxReceived = 512 << 20
	// transferLimit and askLimit end a fetch or push, and a question, that
	// hangs (F35). http ends sooner, by http.lowSpeedTime.
	transferLimit = 10 * time.Minute
	askLimit      = time.Minute
	// watchEvery is how often what has been received is measured.
	watchEvery = 50 * time.Millisecond
)

// transportConfig overrides what could lead a transfer elsewhere, ask the user,
// or do more than move one branch (G15). The user's own configuration counts
// for the rest: proxies, certificates, credential helpers, insteadOf.
var transportConfig = []string{
	"-c", "http.followRedirects=false",
	"-c", "http.lowSpeedLimit=1000",
	"-c", "http.lowSpeedTime=20",
	"-c", "core.askPass=",
	"-c", "core.bigFileThreshold=8m",
	"-c", "core.fsync=all",
	"-c", "transfer.fsckObjects=true",
	"-c", "fetch.fsckObjects=true",
	"-c", "transfer.bundleURI=false",
	"-c", "fetch.recurseSubmodules=false",
	"-c", "fetch.unpackLimit=1", // packs are synced by every version of git
	"-c", "fetch.writeCommitGraph=false",
	"-c", "push.gpgSign=false",
	"-c", "push.followTags=false",
	"-c", "push.recurseSubmodules=no",
}

// A Remote is a remote, spoken to by the user's git program, which runs in a
// repository of our own. It reads and writes the remote's branch foldwatch and nothing
// else of it. Errors are *Error.
type Remote struct {
	exe string
	Obj *objdb.Repo
	at  address
	opt Options

	moved bool // a redirect on the same host was followed
}

// tipOf is transport.tip of any branch; names of commits are hex, "" is none.
func (g *Remote) tipOf(ctx context.Context, ref string) (string, error) {
	r := g.run(ctx, min(askLimit, g.opt.Timeout), "ls-remote", "--quiet", "--", g.at.url, ref)
	if r.err != nil {
		return "", g.fail(ctx, r)
	}
	for line := range strings.Lines(r.stdout) {
		oid, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		// ls-remote also answers with refs whose name ends like ours.
		if ok && name == ref && IsObjectName(oid) {
			return oid, nil
		}
	}
	return "", nil
}

// FetchRef is transport.fetch of any branch.
func (g *Remote) FetchRef(ctx context.Context, ref string) (string, error) {
	const head = "FETCH_HEAD" // of our own repository, not of the user's
	if err := g.Obj.RemoveFile(head); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", Errorf(Offline, g.at.host, "", "prepare to fetch: %v", err)
	}
	r := g.run(ctx, g.opt.Timeout, "fetch", "--quiet", "--no-tags", "--no-auto-gc", "--no-recurse-submodules",
		"--refmap=", "--", g.at.url, ref)
	if r.err != nil {
		g.Obj.SweepPacks()
		if strings.Contains(r.stderr, "couldn't find remote ref") {
			return "", nil
		}
		return "", g.fail(ctx, r)
	}
	// Git syncs the pack and not its name: a reference is to follow that must not
	// outlive it.
	if err := g.Obj.SyncPacks(); err != nil {
		return "", Errorf(Offline, g.at.host, "", "keep what was fetched: %v", err)
	}
	g.Obj.Refresh()
	b, err := g.Obj.ReadFile(head)
	oid, _, _ := strings.Cut(string(b), "\t")
	if err != nil || !IsObjectName(oid) {
		return "", Errorf(Refused, g.at.host, "", "git fetched nothing that can be named")
	}
	return oid, nil
}

// IsObjectName reports whether s is the name of an object, SHA-1 or SHA-256.
func IsObjectName(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && (len(s) == 40 || len(s) == 64)
}

// pushRef is transport.push of any branch.
func (g *Remote) pushRef(ctx context.Context, ref, was, is string) error {
	// With a lease on the commit that is the parent of what is pushed nothing
	// is ever overwritten: the remote has that parent, or rejects.
	r := g.run(ctx, g.opt.Timeout, "push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags",
		"--recurse-submodules=no", "--force-with-lease="+ref+":"+was, "--", g.at.url, is+":"+ref)
	if err := pushRejected(g.at.host, ref, r); err != nil {
		return err
	}
	if r.err != nil {
		return g.fail(ctx, r)
	}
	return nil
}

// A ran is what a run of the git program came to.
type ran struct {
	stdout, stderr string // redacted; the first and the last of a long text
	http           httpAnswer
	err            error // nil if it ended with 0
	timedOut       bool
	tooLarge       bool
}

// run runs the git program in our repository, until limit at most. A redirect
// that stays on the host, as forges send for an address without .git, is
// followed once; git itself would follow any, with the login (F37).
func (g *Remote) run(ctx context.Context, limit time.Duration, args ...string) ran {
	r := g.runOnce(ctx, limit, args)
	to, ok := sameHost(g.at.url, r.http)
	if r.err == nil || !ok || g.moved {
		return r
	}
	args = slices.Clone(args)
	args[slices.Index(args, g.at.url)], g.at.url, g.moved = to, to, true
	return g.runOnce(ctx, limit, args)
}

// sameHost returns the address that a response redirects to, if it is on the
// same host and by the same protocol.
func sameHost(from string, a httpAnswer) (to string, ok bool) {
	if a.status < 300 || a.status >= 400 {
		return "", false
	}
	was, err := url.Parse(from)
	if err != nil {
		return "", false
	}
	is, err := was.Parse(a.location)
	if err != nil || is.Scheme != was.Scheme || is.Host != was.Host || is.User != nil {
		return "", false
	}
	path, ok := strings.CutSuffix(is.Path, "/info/refs")
	return is.Scheme + "://" + is.Host + path, ok && path != ""
}

func (g *Remote) runOnce(ctx context.Context, limit time.Duration, args []string) ran {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	full := append([]string{"--no-pager"}, usergit.SafeConfig...)
	full = append(full, transportConfig...)
	full = append(full, "--git-dir="+g.Obj.Dir())
	usergit.CountStart(ctx)
	cmd := exec.CommandContext(ctx, g.exe, append(full, args...)...)
	ownGroup(cmd)
	cmd.Dir = g.Obj.Dir()
	cmd.WaitDelay = 2 * time.Second
	cmd.Env = append(usergit.CleanEnv(os.Environ()),
		"GIT_ALLOW_PROTOCOL="+g.at.allow,
		"GCM_INTERACTIVE=never",
		"SSH_ASKPASS_REQUIRE=never",
		"GIT_SSH_COMMAND="+g.opt.SSH.command(ctx, g.Obj.Dir(), g.at.scheme),
	)
	stdout, stderr := &endsBuffer{max: 32 << 10}, &endsBuffer{max: 16 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	listen, heard := hearHTTP(cmd, g.at.scheme)
	if err := cmd.Start(); err != nil {
		heard()
		return ran{err: err}
	}
	listen()
	tooLarge := g.watch(stop)
	err := cmd.Wait()
	r := ran{
		stdout: usergit.Redact(stdout.String()), stderr: usergit.Redact(stderr.String()), http: heard(), err: err,
		tooLarge: tooLarge(), timedOut: errors.Is(ctx.Err(), context.DeadlineExceeded),
	}
	if errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		r.err = nil // a helper that stays, such as a credential cache, holds the pipe
	}
	return r
}

// watch ends the program when more has been received than is allowed: git
// itself has no bound for it. The returned function ends the watch and reports
// whether that was so.
func (g *Remote) watch(stop func()) (ended func() bool) {
	before := g.Obj.PackBytes()
	done := make(chan struct{})
	var wg sync.WaitGroup
	tooLarge := false
	wg.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if g.Obj.PackBytes()-before > g.opt.MaxBytes {
					tooLarge = true
					stop()
					return
				}
			}
		}
	})
	return func() bool {
		close(done)
		wg.Wait()
		return tooLarge || g.Obj.PackBytes()-before > g.opt.MaxBytes
	}
}

// fail makes the error of a run.
func (g *Remote) fail(ctx context.Context, r ran) error {
	switch {
	case r.tooLarge:
		return Errorf(Refused, g.at.host, "look at what the branch foldwatch of the remote holds",
			"the remote sent more than %d MB", g.opt.MaxBytes>>20)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case r.timedOut, ctx.Err() != nil:
		return Errorf(Offline, g.at.host, "", "no answer in time")
	}
	return transferError(g.at.host, r)
}

// An endsBuffer keeps the first and the last max/2 bytes written to it.
type endsBuffer struct {
	mu         sync.Mutex
	max        int
	head, tail []byte
}

func (e *endsBuffer) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	if room := e.max/2 - len(e.head); room > 0 {
		k := min(room, len(p))
		e.head, p = append(e.head, p[:k]...), p[k:]
	}
	e.tail = append(e.tail, p...)
	if over := len(e.tail) - e.max/2; over > 0 {
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	return n, nil
}

func (e *endsBuffer) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.head) + string(e.tail)
}

// An httpAnswer is what the headers of the last response said.
type httpAnswer struct {
	status     int
	retryAfter string
	location   string
}

// hearHTTP lets git tell us the headers of the responses it gets, which it does
// not print otherwise: Retry-After above all. They go through a pipe and are
// kept nowhere; git takes the credentials out of them. Listen is called once
// the program runs, heard once it has ended or could not be started.
func hearHTTP(cmd *exec.Cmd, scheme string) (listen func(), heard func() httpAnswer) {
	if !passesFiles || scheme != "https" && scheme != "http" {
		return func() {}, func() httpAnswer { return httpAnswer{} }
	}
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}, func() httpAnswer { return httpAnswer{} }
	}
	cmd.ExtraFiles = []*os.File{w} // file 3 of the child
	cmd.Env = append(cmd.Env, "GIT_TRACE_CURL=3", "GIT_TRACE_CURL_NO_DATA=1", "GIT_TRACE_REDACT=1")
	var a httpAnswer
	var wg sync.WaitGroup
	listen = func() {
		_ = w.Close() // the child has its own
		wg.Go(func() { a = readAnswers(r) })
	}
	return listen, func() httpAnswer {
		_ = w.Close() // again, if it was never started
		// What a helper that stays might still write is of no interest.
		_ = r.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		wg.Wait()
		_ = r.Close()
		return a
	}
}

// readAnswers keeps the last response of a trace.
func readAnswers(r io.Reader) (a httpAnswer) {
	in := bufio.NewReaderSize(r, 16<<10)
	for {
		line, err := in.ReadSlice('\n')
		if _, head, ok := bytes.Cut(line, []byte("<= Recv header: ")); ok {
			key, value, _ := strings.Cut(strings.TrimSpace(string(head)), ":")
			switch key = strings.ToLower(key); {
			case strings.HasPrefix(key, "http/"):
				a = httpAnswer{}
				if f := strings.Fields(key); len(f) > 1 {
					a.status, _ = strconv.Atoi(f[1])
				}
			case key == "retry-after":
				a.retryAfter = strings.TrimSpace(value)
			case key == "location":
				a.location = strings.TrimSpace(value)
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return a
		}
	}
}
