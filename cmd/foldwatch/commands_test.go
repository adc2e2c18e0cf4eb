package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A fakeDaemon answers as a daemon with some projects would. Methods that no
// test uses are those of the nil interface.
type fakeDaemon struct {
	local.Client
	version  string
	notices  []string
	projects map[string]string // slug → checkout
	memory   wire.Memory
	jobs     []wire.Job // answers to Job, in turn; the last stays
	asked    []string   // what was called, with its arguments
	search   wire.SearchReply
	state    wire.ProjectStatus
	whole    wire.Status // answers to Status, but for what is set above
	drift    wire.Drift
	pid      int // 0 is that of the first process, which nothing here ends
}

func (f *fakeDaemon) called(format string, args ...any) {
	f.asked = append(f.asked, fmt.Sprintf(format, args...))
}

func (f *fakeDaemon) Health(context.Context) (wire.Health, error) {
	return wire.Health{Status: "ok", Version: f.version}, nil
}

func (f *fakeDaemon) Status(context.Context) (wire.Status, error) {
	st := f.whole
	st.Version, st.PID, st.Ready, st.Notices, st.Projects = f.version, max(1, f.pid), true, f.notices, []wire.ProjectStatus{f.state}
	if st.Socket == "" {
		st.Socket = "/run/fw.sock"
	}
	return st, nil
}

func (f *fakeDaemon) ProjectStatus(_ context.Context, slug string) (wire.ProjectStatus, error) {
	st := f.state
	st.Slug = slug
	return st, nil
}

func (f *fakeDaemon) Projects(context.Context) (wire.ProjectList, error) {
	var l wire.ProjectList
	for slug, path := range f.projects {
		l.Items = append(l.Items, wire.Project{Slug: slug, Checkouts: []wire.Checkout{{Path: path}}})
	}
	slices.SortFunc(l.Items, func(a, b wire.Project) int { return strings.Compare(a.Slug, b.Slug) })
	return l, nil
}

func (f *fakeDaemon) ProjectOfPath(_ context.Context, path string) (wire.Project, error) {
	for slug, co := range f.projects {
		if path == co || strings.HasPrefix(path, co+string(filepath.Separator)) {
			return wire.Project{Slug: slug}, nil
		}
	}
	return wire.Project{}, fmt.Errorf("checkout of %s: %w", path, fold.ErrNotFound)
}

func (f *fakeDaemon) Project(_ context.Context, slug string) (wire.Project, error) {
	return wire.Project{Slug: slug}, nil
}

func (f *fakeDaemon) AddProject(_ context.Context, in wire.ProjectCreate) (wire.ProjectAdded, error) {
	f.called("add %s", in.Path)
	return wire.ProjectAdded{Project: wire.Project{Slug: "my-app"}, Created: true, JobID: "j1"}, nil
}

func (f *fakeDaemon) RemoveProject(_ context.Context, slug string, in wire.ProjectRemove) error {
	f.called("remove %s purge=%v", slug, in.Purge)
	return nil
}

func (f *fakeDaemon) Drift(context.Context, string) (wire.Drift, error) { return f.drift, nil }

func (f *fakeDaemon) Reindex(_ context.Context, slug string, in wire.Reindex) (wire.JobRef, error) {
	f.called("reindex %s rebuild=%v", slug, in.Rebuild)
	f.drift.Behind = nil
	if in.Rebuild {
		f.drift.Differences = nil
	}
	return wire.JobRef{JobID: "j1"}, nil
}

func (f *fakeDaemon) Job(context.Context, string) (wire.Job, error) {
	j := f.jobs[0]
	if len(f.jobs) > 1 {
		f.jobs = f.jobs[1:]
	}
	return j, nil
}

func (f *fakeDaemon) SearchAll(context.Context, wire.SearchRequest) (wire.SearchReply, error) {
	return f.search, nil
}

func (f *fakeDaemon) Search(_ context.Context, slug string, in wire.SearchRequest) (wire.SearchReply, error) {
	f.called("search %s %q tags=%v", slug, in.Query, in.Tags)
	return f.search, nil
}

func (f *fakeDaemon) GetMemory(_ context.Context, _, id string) (wire.Memory, error) {
	if id != f.memory.ID {
		return wire.Memory{}, fold.WithHint(fmt.Errorf("memory %s: %w", id, fold.ErrNotFound), "foldwatch memory list")
	}
	return f.memory, nil
}

func (f *fakeDaemon) UpdateMemory(_ context.Context, _, id string, in wire.MemoryUpdate) (wire.WriteReply, error) {
	if in.ExpectedHash != f.memory.ContentHash || strings.Contains(*in.Content, "stale") {
		return wire.WriteReply{}, &fold.ConflictError{ID: fold.ID(id), Want: in.ExpectedHash, Have: "h2"}
	}
	f.memory.Content = *in.Content
	return wire.WriteReply{ID: id, Title: f.memory.Title}, nil
}

func (f *fakeDaemon) AddMemory(_ context.Context, slug string, in wire.MemoryCreate) (wire.WriteReply, error) {
	f.called("remember %s %q", slug, in.Content)
	if strings.Contains(in.Content, "PRIVATE") {
		return wire.WriteReply{}, fold.WithHint(fmt.Errorf("rule private-key, line 1: %w", fold.ErrSecret), "foldwatch memory add --allow-secret private-key")
	}
	return wire.WriteReply{ID: "1f2e3d4c5b6a7988", Title: in.Content, Created: true}, nil
}

// A trial is a run of the program against a fake daemon.
type trial struct {
	app      *App
	out, err bytes.Buffer
}

func newTrial(t *testing.T, f *fakeDaemon, wd string) *trial {
	t.Helper()
	tr := &trial{}
	home := t.TempDir()
	app := newApp(strings.NewReader(""), &tr.out, &tr.err)
	vars := map[string]string{"FOLDWATCH_HOME": home}
	app.Getenv = func(name string) string { return vars[name] }
	app.config.Environ = nil
	app.workDir = func() (string, error) { return wd, nil }
	app.daemon.Dial = func(context.Context) (local.Client, error) { return f, nil }
	app.serve = func(context.Context, *App, serveOptions) error { return errors.New("not in this test") }
	tr.app = app
	return tr
}

func (tr *trial) run(args ...string) int {
	return tr.app.run(context.Background(), args)
}

// A trigger is a stream that calls fire when word has been written to it.
type trigger struct {
	mu    sync.Mutex
	seen  bytes.Buffer
	word  string
	fire  func()
	fired bool
}

func (w *trigger) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Write(b)
	if !w.fired && strings.Contains(w.seen.String(), w.word) {
		w.fired = true
		w.fire()
	}
	return len(b), nil
}

func twoProjects() *fakeDaemon {
	return &fakeDaemon{version: fullVersion(), projects: map[string]string{
		"my-app": filepath.FromSlash("/src/app"), "other": filepath.FromSlash("/src/other"),
	}}
}

func TestProjectOfTheCommand(t *testing.T) {
	one := &fakeDaemon{version: fullVersion(), projects: map[string]string{"only": filepath.FromSlash("/src/only")}}
	for _, tc := range []struct {
		name string
		fake *fakeDaemon
		wd   string
		args []string
		code int
		want string // called, or on stderr
	}{
		{"the flag", twoProjects(), "/", []string{"-p", "other", "search", "x"}, 0, `search other "x" tags=[]`},
		{"the folder", twoProjects(), "/src/app/deep", []string{"search", "x"}, 0, `search my-app "x" tags=[]`},
		{"the folder is not a prefix of the name", twoProjects(), "/src/application", []string{"search", "x"}, 2, "my-app, other"},
		{"words and tags", one, "/src/only", []string{"search", "two", "words", "--tag", "a", "--tag", "b"}, 0, `search only "two words" tags=[a b]`},
		{"not the only one there is", one, "/", []string{"search", "x"}, 2, "in no registered checkout; the projects are: only"},
		{"none to tell", twoProjects(), "/", []string{"search", "x"}, 2, "my-app, other"},
		{"none at all", &fakeDaemon{version: fullVersion()}, "/", []string{"search", "x"}, 4, "hint: foldwatch up"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := newTrial(t, tc.fake, filepath.FromSlash(tc.wd))
			if code := tr.run(tc.args...); code != tc.code {
				t.Errorf("exit code %d, want %d; stderr %s", code, tc.code, tr.err.String())
			}
			told := strings.Join(tc.fake.asked, "\n") + tr.err.String()
			if !strings.Contains(told, tc.want) {
				t.Errorf("got %q, want it to hold %q", told, tc.want)
			}
		})
	}
}

func TestSearchPrintsWhatAPersonNeeds(t *testing.T) {
	f := twoProjects()
	f.search = wire.SearchReply{Results: []wire.SearchResult{{
		ID: "1f2e3d4c5b6a7988", Title: "Auth \x1b[31mService", Type: "codebase", Score: 0.912, Stale: true,
		Snippet:       "Handles JWT\nvalidation",
		Metadata:      wire.ResultMetadata{Source: "file", FilePath: "src/auth.rs"},
		MatchedChunks: []wire.MatchedChunk{{NodeType: "function", NodeName: "validate", StartLine: 12, EndLine: 30, Score: 0.8}},
		Why:           []wire.Reason{{Kind: wire.WhyChunk, Text: "function validate has x"}, {Kind: wire.WhyCommit, Text: "commit 1a2b3c4 \"Check \x1b[2Jtokens\" touched this file"}},
	}}, Total: 12, Cursor: "10-0-0", NextCursor: "11-0-0"}
	tr := newTrial(t, f, filepath.FromSlash("/src/app"))
	if code := tr.run("search", "x", "--chunks"); code != 0 {
		t.Fatalf("exit code %d: %s", code, tr.err.String())
	}
	want := "0.912  Auth Service\n" +
		"       src/auth.rs:12  function validate\n" +
		"       Handles JWT\n       validation\n" +
		"       why  function validate has x; commit 1a2b3c4 \"Check tokens\" touched this file\n" +
		"       1f2e3d4c5b6a7988  codebase, file  stale\n" +
		"       0.800  src/auth.rs:12-30  function validate\n"
	if got := tr.err.String(); !strings.Contains(got, "results 11 to 11 of 12; next page: --cursor 11-0-0\n") {
		t.Errorf("search says %q", got)
	}
	if got := tr.out.String(); got != want {
		t.Errorf("search prints %q, want %q", got, want)
	}
	tr.out.Reset()
	if code := tr.run("search", "x", "--json"); code != 0 || !strings.Contains(tr.out.String(), `"matched_chunks"`) {
		t.Errorf("search --json: code %d, %s", code, tr.out.String())
	}
	if strings.Contains(tr.out.String(), "\x1b") {
		t.Errorf("search --json prints an escape character: %q", tr.out.String())
	}
}

// TestNothingFoundNamesTheFilters shows that a filter which lets nothing through
// is not mistaken for source that says nothing.
func TestNothingFoundNamesTheFilters(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "nothing found for \"x\"\nhint: try another word"},
		{[]string{"--all-projects"}, "nothing found for \"x\"\nhint: try another word for it, or one that stands in the code; foldwatch projects"},
		{[]string{"--lang", "ts", "--tag", "a b"}, "nothing found for \"x\" with --lang ts --tag 'a b'\nhint: try it without filters: foldwatch search x\n"},
		{[]string{"--min-score", "0.5"}, "nothing found for \"x\" with --min-score 0.5\nhint: try it without"},
		{[]string{"--lang", "klingon"}, "nothing found for \"x\" with --lang klingon\nhint: no language is called \"klingon\""},
	} {
		tr := newTrial(t, twoProjects(), filepath.FromSlash("/src/app"))
		code := tr.run(append([]string{"search", "x"}, tc.args...)...)
		got := tr.err.String()
		if code != 0 || !strings.HasPrefix(got, tc.want) || strings.Count(got, "hint") != 1 {
			t.Errorf("%v: code %d, says %q, want %q", tc.args, code, got, tc.want)
		}
	}
}

func TestErrorsHaveCodeAndHint(t *testing.T) {
	f := twoProjects()
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"show", "0000000000000000"}, 4, "hint: foldwatch memory list"},
		{[]string{"memory", "add", "PRIVATE KEY"}, 6, "rule private-key, line 1"},
		{[]string{"show", "a/b"}, 2, "not 16 hex digits"},
	} {
		tr := newTrial(t, f, filepath.FromSlash("/src/app"))
		if code := tr.run(tc.args...); code != tc.code {
			t.Errorf("%v: exit code %d, want %d", tc.args, code, tc.code)
		}
		if !strings.Contains(tr.err.String(), tc.want) || tr.out.Len() > 0 {
			t.Errorf("%v: stderr %q, stdout %q; want %q on stderr only", tc.args, tr.err.String(), tr.out.String(), tc.want)
		}
	}
}

func TestVersionsThatDifferAreTold(t *testing.T) {
	f := twoProjects()
	f.version = "0.0.1"
	f.notices = []string{"my-app is paused; foldwatch resume"}
	tr := newTrial(t, f, filepath.FromSlash("/src/app"))
	if code := tr.run("projects"); code != 0 {
		t.Fatalf("exit code %d: %s", code, tr.err.String())
	}
	for _, want := range []string{"the daemon is 0.0.1, this is " + fullVersion(), "foldwatch doctor --fix", "my-app is paused"} {
		if !strings.Contains(tr.err.String(), want) {
			t.Errorf("stderr %q, want %q", tr.err.String(), want)
		}
	}
	quiet := newTrial(t, f, filepath.FromSlash("/src/app"))
	if quiet.run("projects", "-q"); quiet.err.Len() > 0 {
		t.Errorf("-q prints %q", quiet.err.String())
	}
}

// TestRestartIsOffered: a person is asked whether a daemon of another version shall
// be restarted, and nobody else is.
func TestRestartIsOffered(t *testing.T) {
	for _, tc := range []struct {
		name   string
		person bool
		args   []string
		asked  bool
	}{
		{"a person", true, nil, true},
		{"a program", false, nil, false},
		{"who wants no question", true, []string{"--no-input"}, false},
		{"who wants no message", true, []string{"-q"}, false},
	} {
		f := twoProjects()
		f.version = "0.0.1"
		tr := newTrial(t, f, filepath.FromSlash("/src/app"))
		tr.app.Stdin = strings.NewReader("n\n")
		tr.app.TTY = func(any) bool { return tc.person }
		if code := tr.run(append([]string{"projects"}, tc.args...)...); code != 0 {
			t.Errorf("%s: exit code %d: %s", tc.name, code, tr.err.String())
		}
		if got := strings.Contains(tr.err.String(), "Restart it now? [y/N]"); got != tc.asked {
			t.Errorf("%s is asked: %v, want %v", tc.name, got, tc.asked)
		}
	}
}

func TestEditKeepsTheTextOfAConflict(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the editor of this test is a shell script")
	}
	f := twoProjects()
	f.memory = wire.Memory{ID: "1f2e3d4c5b6a7988", Title: "T", Content: "old\n", ContentHash: "h1"}
	t.Setenv("TMPDIR", t.TempDir())
	editor := func(tr *trial, text string) {
		script := filepath.Join(t.TempDir(), "ed.sh")
		if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '"+text+"' > \"$1\"\n"), 0o700); err != nil { //nolint:gosec // it must run
			t.Fatal(err)
		}
		home := tr.app.Getenv("FOLDWATCH_HOME")
		tr.app.Getenv = func(name string) string {
			return map[string]string{"EDITOR": script, "FOLDWATCH_HOME": home}[name]
		}
	}

	tr := newTrial(t, f, filepath.FromSlash("/src/app"))
	editor(tr, "new")
	if code := tr.run("memory", "edit", f.memory.ID); code != 0 || f.memory.Content != "new" {
		t.Fatalf("edit: code %d, content %q, stderr %s", code, f.memory.Content, tr.err.String())
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("edit leaves %v behind", left)
	}

	tr = newTrial(t, f, filepath.FromSlash("/src/app"))
	editor(tr, "stale edit of mine")
	if code := tr.run("memory", "edit", f.memory.ID); code != 5 {
		t.Fatalf("conflict: exit code %d, want 5; %s", code, tr.err.String())
	}
	_, after, found := strings.Cut(tr.err.String(), "your text is kept in ")
	path, _, _ := strings.Cut(after, "\n")
	if b, err := os.ReadFile(path); !found || err != nil || string(b) != "stale edit of mine" {
		t.Errorf("kept text %q in %q: %v; stderr %s", b, path, err, tr.err.String())
	}
	if !strings.Contains(tr.err.String(), "hint: foldwatch show 1f2e3d4c5b6a7988") {
		t.Errorf("stderr %q has no hint", tr.err.String())
	}
}

func TestRemovePurgeAsks(t *testing.T) {
	for _, tc := range []struct {
		stdin string
		args  []string
		code  int
	}{
		{"", []string{"remove", "--purge"}, 1},
		{"no\n", []string{"remove", "--purge"}, 1},
		{"y\n", []string{"remove", "--purge"}, 0},
		{"", []string{"remove", "--purge", "--yes"}, 0},
		{"", []string{"remove", "--purge", "--no-input"}, 1},
		{"", []string{"remove", "--purge", "--no-input", "--yes"}, 0},
		{"", []string{"remove"}, 0},
	} {
		f := twoProjects()
		tr := newTrial(t, f, filepath.FromSlash("/src/app"))
		tr.app.Stdin = strings.NewReader(tc.stdin)
		if code := tr.run(tc.args...); code != tc.code || (len(f.asked) == 1) != (tc.code == 0) {
			t.Errorf("%v with stdin %q: code %d, asked %v; want code %d", tc.args, tc.stdin, code, f.asked, tc.code)
		}
	}
}

func TestUpWithARunningDaemon(t *testing.T) {
	repo := t.TempDir()
	if err := os.Mkdir(filepath.Join(repo, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := twoProjects()
	f.state = wire.ProjectStatus{State: "ready", Files: wire.FileCounts{Indexed: 3}, Memories: 4, Chunks: 12}
	f.jobs = []wire.Job{
		{ID: "j1", Status: "running", Progress: &wire.Progress{Stage: "indexing", Done: 1, Total: 3}},
		{ID: "j1", Status: "completed"},
	}
	tr := newTrial(t, f, repo)
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	tr.app.now = func() time.Time {
		at = at.Add(time.Second) // what is done at once is not told
		return at
	}
	f.state.Path = repo
	if code := tr.run("up"); code != 0 {
		t.Fatalf("up: code %d, %s", code, tr.err.String())
	}
	if strings.Contains(tr.out.String(), " -p my-app") {
		t.Errorf("up names the project where nobody needs it: %q", tr.out.String())
	}
	for _, want := range []string{"ready  my-app: 3 files, 4 memories, 12 chunks", "socket  /run/fw.sock", "foldwatch search", "foldwatch setup claude-code"} {
		if !strings.Contains(tr.out.String(), want) {
			t.Errorf("up prints %q, want %q in it", tr.out.String(), want)
		}
	}
	if !strings.Contains(tr.err.String(), "indexing 33%, 1 of 3 files") {
		t.Errorf("up shows no progress: %q", tr.err.String())
	}
	// What is found beside what is whole adds up, and while the job waits for
	// its turn the work before it is told.
	f.state.Path = filepath.FromSlash("/src/other") // not where the command runs
	f.state.Files.Skipped, f.state.ProblemCount = 2, 5
	f.state.Progress = &wire.Progress{Stage: "indexing text", Done: 2, Total: 4}
	f.jobs = []wire.Job{{ID: "j1", Status: "pending"}, {ID: "j1", Status: "completed"}}
	tr = newTrial(t, f, repo)
	tr.app.now = func() time.Time {
		at = at.Add(time.Second)
		return at
	}
	if code := tr.run("up"); code != 0 || !strings.Contains(tr.out.String(), "5 files not indexed, or not whole (0 failed, 2 skipped, 3 in part)") {
		t.Errorf("up: code %d, prints %q", code, tr.out.String())
	}
	for _, want := range []string{"why: foldwatch problems -p my-app\n", "handled\" -p my-app\n"} {
		if !strings.Contains(tr.out.String(), want) {
			t.Errorf("up for a checkout elsewhere prints %q, want %q in it", tr.out.String(), want)
		}
	}
	if !strings.Contains(tr.err.String(), "indexing text 50%, 2 of 4 files") || strings.Contains(tr.err.String(), "waiting") {
		t.Errorf("up behind other work shows %q", tr.err.String())
	}
	if !strings.Contains(tr.err.String(), "watched by the daemon that runs already") {
		t.Errorf("up does not say why it ends: %q", tr.err.String())
	}
	f.jobs = []wire.Job{{ID: "j1", Status: "failed", Error: "disk full"}}
	if code := newTrial(t, f, repo).run("up"); code != 1 {
		t.Errorf("up with a failed index: code %d, want 1", code)
	}
}

// Without a daemon, up is one: it ends with Ctrl-C, or by itself with --once.
func TestUpServesHere(t *testing.T) {
	repo := t.TempDir()
	if err := os.Mkdir(filepath.Join(repo, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := twoProjects()
	f.state = wire.ProjectStatus{State: "ready"}
	f.jobs = []wire.Job{{ID: "j1", Status: "completed"}}
	served := func(tr *trial) {
		up := false
		tr.app.daemon.Dial = func(context.Context) (local.Client, error) {
			if !up {
				return nil, nil
			}
			return f, nil
		}
		tr.app.serve = func(ctx context.Context, _ *App, opt serveOptions) error {
			up = true
			opt.OnReady("/run/fw.sock")
			<-ctx.Done()
			return nil
		}
	}
	tr := newTrial(t, f, repo)
	served(tr)
	if code := tr.run("up", "--once"); code != 0 || !strings.Contains(tr.out.String(), "ready") {
		t.Errorf("up --once: code %d, stdout %q, stderr %q", code, tr.out.String(), tr.err.String())
	}

	tr = newTrial(t, f, repo)
	served(tr)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// Ctrl-C comes when it says that it watches: before that it must not end.
	watching := &trigger{word: "watching; Ctrl-C stops", fire: cancel}
	tr.app.Stderr = watching
	if code := tr.app.run(ctx, []string{"up"}); code != 0 || !watching.fired {
		t.Errorf("up until Ctrl-C: code %d, watching %v, stderr %q", code, watching.fired, watching.seen.String())
	}

	tr = newTrial(t, f, repo)
	tr.app.daemon.Dial = func(context.Context) (local.Client, error) { return nil, nil }
	tr.app.serve = func(context.Context, *App, serveOptions) error {
		return fold.WithHint(fmt.Errorf("another daemon runs, pid 7: %w", fold.ErrUnavailable), "kill 7")
	}
	if code := tr.run("up"); code != 1 || !strings.Contains(tr.err.String(), "pid 7") {
		t.Errorf("up beside a second daemon: code %d, stderr %q", code, tr.err.String())
	}
}

func TestStatusCheck(t *testing.T) {
	f := twoProjects()
	f.state = wire.ProjectStatus{Slug: "my-app", State: "ready"}
	if code := newTrial(t, f, "/").run("status", "--check"); code != 0 {
		t.Errorf("status --check of a healthy daemon: code %d", code)
	}
	f.state.Problems = []wire.FileProblem{{Path: "fold/x.md", State: "quarantined", Reason: "line 3: no end of front matter"}}
	tr := newTrial(t, f, "/")
	if code := tr.run("status", "--check"); code != 7 || !strings.Contains(tr.out.String(), "line 3") {
		t.Errorf("status --check: code %d, stdout %q", code, tr.out.String())
	}
}

func TestReadinessNamesWhatIsNot(t *testing.T) {
	for want, states := range map[string][]string{
		"ready": {"ready", "ready"}, "a is paused": {"paused", "ready"}, "2 of 3 projects are not ready": {"indexing", "failed", "ready"},
	} {
		st := wire.Status{Ready: want == "ready"}
		for i, state := range states {
			st.Projects = append(st.Projects, wire.ProjectStatus{Slug: string(rune('a' + i)), State: state})
		}
		if got := readiness(st); got != want {
			t.Errorf("readiness of %v = %q, want %q", states, got, want)
		}
	}
}

func TestStatusShowsFewProblems(t *testing.T) {
	f := twoProjects()
	f.state = wire.ProjectStatus{Slug: "my-app", State: "ready", ProblemCount: 40}
	for i := range 8 {
		f.state.Problems = append(f.state.Problems, wire.FileProblem{Path: fmt.Sprintf("big%d.bin", i), State: "skipped", Reason: "no text"})
	}
	f.state.Problems = append(f.state.Problems, wire.FileProblem{Path: "fold/x.md", State: "quarantined", Reason: "line 3: no end of front matter"})
	tr := newTrial(t, f, "/")
	if code := tr.run("status", "-p", "my-app"); code != 0 {
		t.Fatalf("status: code %d, stderr %q", code, tr.err.String())
	}
	out := tr.out.String()
	if n := strings.Count(out, "skipped   big"); n != 4 || !strings.Contains(out, "quarantined  fold/x.md") {
		t.Errorf("status names %d skipped files, want 4 after the quarantined one:\n%s", n, out)
	}
	if want := "and 35 more: foldwatch problems -p my-app"; !strings.Contains(out, want) {
		t.Errorf("status has no %q:\n%s", want, out)
	}
	tr = newTrial(t, f, "/")
	if tr.run("status", "-p", "my-app", "--json"); strings.Count(tr.out.String(), `"skipped"`) < 8 {
		t.Errorf("status --json leaves some out:\n%s", tr.out.String())
	}
}

// TestWhatMendsIsSaidOnce shows that a folder of files that cannot be read does
// not repeat the same advice for each.
func TestWhatMendsIsSaidOnce(t *testing.T) {
	var out bytes.Buffer
	printProblems(terminal.Printer{W: &out}, "  ", 8, []wire.FileProblem{
		{Path: "a", State: "failed", Reason: "read: denied", Hint: "try again"},
		{Path: "b", State: "failed", Reason: "read: denied", Hint: "try again"},
		{Path: "c", State: "partial", Reason: "too large"},
	})
	want := "  failed    a: read: denied\n  failed    b: read: denied\n  mend      try again\n  partial   c: too large\n"
	if out.String() != want {
		t.Errorf("prints\n%s\nwant\n%s", out.String(), want)
	}
}

// TestLogIsShort shows that the commit of a first index does not fill the screen.
func TestLogIsShort(t *testing.T) {
	for n, want := range map[int]int{1: 2, 10: 11, 11: 11, 3000: 11} {
		var out bytes.Buffer
		printCommit(terminal.Printer{W: &out}, wire.CommitInfo{Rev: "b9d13ce7fa39", Message: "fold: Index", Paths: make([]string, n)})
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("a commit of %d files takes %d lines, want %d:\n%s", n, got, want, out.String())
		}
	}
}

// TestMoreOfAList shows that what shows the rest can be typed.
func TestMoreOfAList(t *testing.T) {
	short, long := wire.MemoryList{Total: 24, NextCursor: "abc"}, wire.MemoryList{Total: 2400, NextCursor: "abc"}
	for _, tc := range []struct {
		q    wire.ListQuery
		list wire.MemoryList
		want string
	}{{wire.ListQuery{}, short, "--limit 24"}, {wire.ListQuery{}, long, "--cursor abc"}, {wire.ListQuery{Cursor: "aaa"}, short, "--cursor abc"}} {
		if got := moreOf(tc.q, tc.list); got != tc.want {
			t.Errorf("moreOf(%+v, %d) = %q, want %q", tc.q, tc.list.Total, got, tc.want)
		}
	}
}

func TestMemoryID(t *testing.T) {
	for in, want := range map[string]string{
		"1f2e3d4c5b6a7988":                      "1f2e3d4c5b6a7988",
		"1F2E3D4C5B6A7988":                      "1f2e3d4c5b6a7988",
		"fold/1/f/1f2e3d4c5b6a7988.md":          "1f2e3d4c5b6a7988",
		"1/f/1f2e3d4c5b6a7988":                  "1f2e3d4c5b6a7988",
		"[[1/f/1f2e3d4c5b6a7988|Auth Service]]": "1f2e3d4c5b6a7988",
		"note_7":                                "note_7",
		"../../x":                               "",
		"a\x00b":                                "",
		"":                                      "",
		"/etc/pass":                             "",
	} {
		got, err := memoryID(in)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("memoryID(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}
