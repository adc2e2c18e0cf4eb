package daemon_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestMain gives git an identity and keeps it away from the user's
// configuration.
func TestMain(m *testing.M) {
	if len(os.Args) >= 2 && os.Args[1] == workerArg {
		in := &poisoned{in: os.Stdin, poison: strings.Join(os.Args[2:], " ")}
		if err := chunker.ServeWorker(in, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "fw-git")
	if err != nil {
		panic(err)
	}
	config := filepath.Join(dir, "gitconfig")
	text := "[user]\n\tname = Ada Dev\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"HOME": dir, "GIT_CONFIG_GLOBAL": config, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"} {
		os.Setenv(name, value)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// workerArg makes the test binary a parser process, one that crashes on text with
// the words that follow, if any do.
const workerArg = "parse-for-test"

type poisoned struct {
	in     io.Reader
	poison string
	seen   string // the end of what was read
}

func (p *poisoned) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if p.seen += string(b[:n]); p.poison != "" && strings.Contains(p.seen, p.poison) {
		os.Exit(3)
	}
	p.seen = p.seen[max(0, len(p.seen)-len(p.poison)):]
	return n, err
}

// patience is how long a condition may take that comes true by itself. Machines
// under test are slow; what takes long is measured elsewhere.
const patience = 30 * time.Second

// local is the scope of the user who owns the daemon.
func local() fold.Scope { return fold.LocalScope() }

// testClock is a clock that can be set forward.
type testClock struct {
	mu  sync.Mutex
	off time.Duration
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.off)
}

func (c *testClock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off += d
}

// logBuffer takes what the daemon logs.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A machine is one user's machine: the directories of foldwatch, and a daemon
// that can be stopped and started.
type machine struct {
	t     *testing.T
	home  string
	clock *testClock
	log   *logBuffer
	cfg   conf.Config
	d     *daemon.Daemon
	end   func() // stops the daemon and waits

	faults func(op string) error // what fails; nil for nothing
	worker []string              // command line of a parser process; nil for none
	reload func() (conf.Config, error)
	most   int           // daemon.Options.MostOpen
	rest   time.Duration // daemon.Options.RestAfter
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	return newMachineAt(t, t.TempDir())
}

func newMachineAt(t *testing.T, home string) *machine {
	t.Helper()
	return newMachineWith(t, home, func(*machine) {})
}

// newMachineWith is newMachineAt, with what set does before the daemon starts.
func newMachineWith(t *testing.T, home string, set func(m *machine)) *machine {
	t.Helper()
	m := &machine{t: t, home: home, clock: &testClock{}, log: &logBuffer{}, cfg: conf.Default()}
	set(m)
	m.start()
	t.Cleanup(func() { m.stop() })
	return m
}

func (m *machine) dirs() conf.Dirs {
	m.t.Helper()
	dirs, err := conf.Locate(func(name string) string {
		if name == "FOLDWATCH_HOME" {
			return m.home
		}
		return os.Getenv(name)
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return dirs
}

func (m *machine) options() daemon.Options {
	return daemon.Options{
		Dirs: m.dirs(), Config: m.cfg, Version: "test", Now: m.clock.now, Faults: m.faults, Worker: m.worker, Reload: m.reload, MostOpen: m.most, RestAfter: m.rest,
		Log: slog.New(slog.NewTextHandler(m.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

func (m *machine) start() {
	m.t.Helper()
	d, err := daemon.Open(context.Background(), m.options())
	if err != nil {
		m.t.Fatalf("open the daemon: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	m.d = d
	m.end = func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Errorf("run: %v", err)
		}
		if err := d.Close(); err != nil {
			m.t.Errorf("close: %v", err)
		}
	}
}

func (m *machine) stop() {
	if m.end != nil {
		m.end()
		m.end = nil
	}
}

func (m *machine) restart() {
	m.t.Helper()
	m.stop()
	m.start()
}

// add registers the checkout at dir and waits until it is indexed.
func (m *machine) add(dir string, in wire.ProjectCreate) *project {
	m.t.Helper()
	in.Path = dir
	added, err := m.d.AddProject(m.ctx(), local(), in)
	if err != nil {
		m.t.Fatalf("add %s: %v", dir, err)
	}
	p := &project{machine: m, dir: dir, slug: added.Project.Slug}
	p.settle()
	return p
}

// ctx is bounded, so that a test which hangs says where.
func (m *machine) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	m.t.Cleanup(cancel)
	return ctx
}

// eventually waits until ok is true, which happens by itself.
func (m *machine) eventually(what string, ok func() bool) {
	m.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			m.t.Fatalf("after %v, still not: %s\nlog:\n%s", patience, what, tail(m.log.String(), 30))
		}
		<-tick.C
	}
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// A project is a git checkout that the daemon of its machine keeps.
type project struct {
	*machine
	dir, slug string
}

// newProject makes a checkout with one commit of files and a daemon that keeps
// it, and waits until it is indexed.
func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	m := newMachine(t)
	return m.add(New(t, files), wire.ProjectCreate{Slug: "app"})
}

// newCheckout makes a git checkout with one commit of files.
func New(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := realDir(t)
	git(t, dir, "init", "-q")
	for name, text := range files {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	if len(files) > 0 {
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", "Begin")
	}
	return dir
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	return git(p.t, p.dir, args...)
}

func (p *project) write(name, text string) {
	p.t.Helper()
	writeFile(p.t, p.file(name), text)
}

func (p *project) file(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *project) read(name string) string {
	p.t.Helper()
	return readFile(p.t, p.file(name))
}

func (p *project) exists(name string) bool {
	_, err := os.Lstat(p.file(name))
	return err == nil
}

// commit commits everything of the work tree.
func (p *project) commit(message string) {
	p.t.Helper()
	p.git("add", "-A")
	p.git("commit", "-q", "-m", message)
}

// settle waits until nothing is queued, vectors included. What has not been
// noticed yet is not waited for.
func (p *project) settle() {
	p.t.Helper()
	p.eventually("nothing is queued", func() bool {
		if _, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "x", WaitForPending: true}); err != nil {
			p.t.Fatalf("settle: %v", err)
		}
		jobs, err := p.d.Jobs(p.ctx(), local(), p.slug, 100)
		if err != nil {
			p.t.Fatalf("settle: %v", err)
		}
		for _, j := range jobs.Items {
			switch j.Status {
			case "pending", "running", "retry":
				return false
			}
		}
		return true
	})
}

// sweep compares everything with disk now and waits for the end.
func (p *project) sweep(in wire.Reindex) {
	p.t.Helper()
	ref, err := p.d.Reindex(p.ctx(), local(), p.slug, in)
	if err != nil {
		p.t.Fatalf("index: %v", err)
	}
	p.eventually("the sweep ends", func() bool {
		j, err := p.d.Job(p.ctx(), local(), ref.JobID)
		if err != nil {
			p.t.Fatalf("index: %v", err)
		}
		if j.Status == "failed" || j.Status == "retry" {
			p.t.Fatalf("index: %s", j.Error)
		}
		return j.Status == "completed"
	})
	p.settle()
}

func (p *project) search(in wire.SearchRequest) []wire.SearchResult {
	p.t.Helper()
	reply, err := p.d.Search(p.ctx(), local(), p.slug, in)
	if err != nil {
		p.t.Fatalf("search %q: %v", in.Query, err)
	}
	return reply.Results
}

// found reports whether the first ten results of query include the memory with
// that title, source path or path below fold/.
func (p *project) found(query, name string) bool {
	p.t.Helper()
	for _, r := range p.search(wire.SearchRequest{Query: query, WaitForPending: true}) {
		if r.Title == name || r.Metadata.FilePath == name || r.Metadata.Path == name {
			return true
		}
	}
	return false
}

// fileID is the id of the memory that describes a source file.
func (p *project) fileID(name string) string { return string(fold.FileID(p.slug, name)) }

// described is the memory file of a source file, relative to the checkout.
func (p *project) described(name string) string {
	return "fold/" + fold.FileID(p.slug, name).Path()
}

func (p *project) get(id string) (wire.Memory, error) {
	return p.d.GetMemory(p.ctx(), local(), p.slug, id)
}

func (p *project) mustGet(id string) wire.Memory {
	p.t.Helper()
	m, err := p.get(id)
	if err != nil {
		p.t.Fatalf("get %s: %v", id, err)
	}
	return m
}

func (p *project) addMemory(in wire.MemoryCreate) wire.WriteReply {
	p.t.Helper()
	r, err := p.d.AddMemory(p.ctx(), local(), p.slug, in)
	if err != nil {
		p.t.Fatalf("add memory: %v", err)
	}
	return r
}

func (p *project) status() wire.ProjectStatus {
	p.t.Helper()
	s, err := p.d.ProjectStatus(p.ctx(), local(), p.slug)
	if err != nil {
		p.t.Fatalf("status: %v", err)
	}
	return s
}

func (p *project) counters() map[string]int64 {
	p.t.Helper()
	s, err := p.d.Status(p.ctx(), local())
	if err != nil {
		p.t.Fatalf("status: %v", err)
	}
	return s.Counters
}

// problem returns why path is set aside, "" if it is not.
func (p *project) problem(path string) string {
	p.t.Helper()
	list, err := p.d.Problems(p.ctx(), local(), p.slug, wire.ProblemQuery{Limit: 1000})
	if err != nil {
		p.t.Fatalf("problems: %v", err)
	}
	for _, f := range list.Items {
		if f.Path == path {
			return f.Reason
		}
	}
	return ""
}

// inLog reports whether a commit of the journal names the path below fold/.
func (p *project) inLog(path string) bool {
	p.t.Helper()
	log, err := p.d.Log(p.ctx(), local(), p.slug, "", 200)
	if err != nil {
		p.t.Fatalf("log: %v", err)
	}
	for _, c := range log.Items {
		if slices.Contains(c.Paths, path) {
			return true
		}
	}
	return false
}

// committed waits until the journal holds the file at path below fold/ as it
// is on disk.
func (p *project) committed(path string) {
	p.t.Helper()
	p.eventually(path+" is in the journal", func() bool { return p.inLog(path) })
}

func (p *project) dump() string {
	p.t.Helper()
	var b bytes.Buffer
	if err := p.d.Dump(p.ctx(), p.slug, &b); err != nil {
		p.t.Fatalf("dump: %v", err)
	}
	return b.String()
}

// tree returns path and content hash of every file below dir, but for the
// folders in skip, which are relative to it.
func tree(t *testing.T, dir string, skip ...string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != dir {
			return nil // gone since its folder was read, as temporary files go
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		for _, s := range skip {
			if filepath.ToSlash(rel) == s {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		switch {
		case d.IsDir():
			lines = append(lines, rel+"/")
		case d.Type().IsRegular():
			b, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("%s %x", rel, sha256.Sum256(b)))
		default:
			lines = append(lines, rel+" "+d.Type().String())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// differ returns the lines that only one of two texts has.
func differ(a, b string) string {
	var out []string
	in := func(text string) map[string]bool {
		set := map[string]bool{}
		for line := range strings.SplitSeq(text, "\n") {
			set[line] = true
		}
		return set
	}
	x, y := in(a), in(b)
	for line := range x {
		if !y[line] {
			out = append(out, "- "+line)
		}
	}
	for line := range y {
		if !x[line] {
			out = append(out, "+ "+line)
		}
	}
	sort.Strings(out)
	return strings.Join(out[:min(len(out), 20)], "\n")
}

// copyTree copies dir to a new place to, as a crash would leave it: files keep
// their times, which a source that is in no commit is dated by.
func copyTree(t *testing.T, dir, to string) {
	t.Helper()
	restore := copyJournals(t, dir, to)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	restore()
	err := filepath.WalkDir(to, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		was, err := os.Stat(filepath.Join(dir, strings.TrimPrefix(path, to)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that the daemon is done with
		}
		if err != nil {
			return err
		}
		return os.Chtimes(path, was.ModTime(), was.ModTime())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copyJournals copies what in the journals of the checkouts in dir refers to objects,
// which are copied later, as a daemon at work writes them first; and the log before
// that, as it is cut last. What it returns puts the copies in their places.
func copyJournals(t *testing.T, dir, to string) (restore func()) {
	t.Helper()
	states, err := filepath.Glob(filepath.Join(dir, "*/.git/foldwatch"))
	if err != nil {
		t.Fatal(err)
	}
	early := to + ".early"
	names := []string{"wal", "repo.git/packed-refs", "repo.git/refs"}
	for i, state := range states {
		for k, name := range names {
			kept, from := filepath.Join(early, fmt.Sprint(i), fmt.Sprint(k)), filepath.Join(state, name)
			err := os.MkdirAll(filepath.Dir(kept), 0o700)
			if b, readErr := os.ReadFile(from); err == nil && readErr == nil {
				err = os.WriteFile(kept, b, 0o600)
			} else if fi, statErr := os.Stat(from); err == nil && statErr == nil && fi.IsDir() {
				err = os.CopyFS(kept, os.DirFS(from))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return func() {
		t.Helper()
		for i, state := range states {
			for k, name := range names {
				as := filepath.Join(to, strings.TrimPrefix(state, dir), name)
				err := os.RemoveAll(as)
				if kept := filepath.Join(early, fmt.Sprint(i), fmt.Sprint(k)); err == nil {
					if err = os.Rename(kept, as); errors.Is(err, fs.ErrNotExist) {
						err = nil // it came up meanwhile
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// openAnother opens a second daemon on the state of m.
func openAnother(m *machine) (*daemon.Daemon, error) {
	return daemon.Open(context.Background(), m.options())
}
