package gitops_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// later is a clock far enough ahead that every file counts as settled.
func later() time.Time { return time.Now().Add(time.Hour) }

func openStore(t testing.TB, dir string, edit func(*gitops.StoreOptions)) *gitops.Store {
	t.Helper()
	opt := gitops.StoreOptions{Repo: locate(t, dir), Slug: "app", Now: later}
	if edit != nil {
		edit(&opt)
	}
	s, err := gitops.OpenStore(t.Context(), opt)
	if err != nil {
		t.Fatalf("OpenStore = %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

// memoryFile returns a memory file and its id.
func memoryFile(title, body string) (fold.ID, []byte) {
	id := fold.SlugID("app", title)
	m := &fold.Memory{
		ID: id, Path: id.Path(), Title: title, Aliases: []string{title}, Type: "decision", Source: fold.SourceAgent, Author: "ann",
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Body: "# " + title + "\n\n" + body + "\n",
	}
	return id, fold.Encode(m, nil)
}

// repoGit runs git in the sidecar.
func repoGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return git(t, dir, append([]string{"--git-dir=" + filepath.Join(dir, ".git/foldwatch/repo.git")}, args...)...)
}

func fsck(t testing.TB, dir string) {
	t.Helper()
	if out := repoGit(t, dir, "fsck", "--full", "--strict", "--no-dangling"); strings.TrimSpace(out) != "" && !strings.Contains(out, "notice") {
		t.Errorf("git fsck of the sidecar:\n%s", out)
	}
}

func TestPutCommitLog(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	before := git(t, dir, "status", "--porcelain", "--ignored=no")
	s := openStore(t, dir, nil)
	ctx := t.Context()
	id, b := memoryFile("Session timeout policy", "Thirty minutes.")
	p, err := s.Put(ctx, gitops.Write{ID: id, New: b, Author: "claude"})
	must(t, err)
	if string(p.Bytes) != string(b) || p.Path != id.Path() {
		t.Errorf("Put = %+v", p)
	}
	if st := s.Status(); st.WalEntries != 1 {
		t.Errorf("Status before commit = %+v", st)
	}
	rec, err := s.Commit(ctx, nil, "")
	must(t, err)
	if rec.Oid == "" || !slices.Equal(rec.Written, []string{id.Path()}) || len(rec.SetAside) > 0 {
		t.Errorf("Commit = %+v", rec)
	}
	if st := s.Status(); st.WalEntries != 0 || st.Tip != rec.Oid {
		t.Errorf("Status after commit = %+v", st)
	}
	sameNewest(t, s)
	log, err := s.History().Log(ctx, "", 0)
	must(t, err)
	if len(log) != 1 || log[0].Subject != `fold: Add decision "Session timeout policy"` || log[0].Author != "Ann" {
		t.Fatalf("Log = %+v", log)
	}
	if !strings.Contains(log[0].Body, string(id)) || !strings.Contains(log[0].Body, "Foldwatch-Commit: v1\nFoldwatch-Count: 1\nCo-authored-by: claude") {
		t.Errorf("body of the commit = %q", log[0].Body)
	}
	// Plain git reads the journal.
	if got := repoGit(t, dir, "show", "refs/foldwatch/journal:"+id.Path()); got != strings.TrimSpace(string(b)) {
		t.Errorf("git show = %q", got)
	}
	if got := repoGit(t, dir, "log", "-1", "--format=%an %ae %cn", "refs/foldwatch/journal"); got != "Ann ann@example.org foldwatch" {
		t.Errorf("author and committer = %q", got)
	}
	fsck(t, dir)

	_, b2 := memoryFile("Session timeout policy", "Fifteen minutes.")
	_, err = s.Put(ctx, gitops.Write{ID: id, Base: b, New: b2})
	must(t, err)
	_, err = s.Commit(ctx, nil, "")
	must(t, err)
	_, err = s.Put(ctx, gitops.Write{ID: id, Base: b2})
	must(t, err)
	rec, err = s.Commit(ctx, nil, "")
	must(t, err)
	if !slices.Equal(rec.Removed, []string{id.Path()}) {
		t.Errorf("Commit of a delete = %+v", rec)
	}
	log, err = s.History().Log(ctx, id.Path(), 0)
	must(t, err)
	var subjects []string
	for _, r := range log {
		subjects = append(subjects, r.Subject)
	}
	if want := []string{`fold: Remove decision "Session timeout policy"`, `fold: Update decision "Session timeout policy"`, `fold: Add decision "Session timeout policy"`}; !slices.Equal(subjects, want) {
		t.Errorf("Log = %q, want %q", subjects, want)
	}
	sameNewest(t, s)
	d, from, to, err := s.History().Show(ctx, log[1].Oid[:8])
	must(t, err)
	if from != log[2].Oid || to != log[1].Oid {
		t.Errorf("Show compares %s with %s", from, to)
	}
	if since, _, _, err := s.History().Diff(ctx, log[2].Oid); err != nil || !strings.Contains(since, "deleted file mode") {
		t.Errorf("Diff since the first = %s, %v", since, err)
	}
	if !strings.Contains(d, "-Thirty minutes.\n+Fifteen minutes.\n") {
		t.Errorf("Diff = %s", d)
	}
	if got, err := s.History().At(ctx, log[1].Oid, id.Path()); err != nil || string(got) != string(b2) {
		t.Errorf("At = %q, %v", got, err)
	}
	if _, err := s.History().At(ctx, "", id.Path()); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("At of a deleted memory = %v", err)
	}
	if got, rev, err := s.History().LastBlob(ctx, id.Path()); err != nil || string(got) != string(b2) || rev != log[1].Oid {
		t.Errorf("LastBlob = %q %s %v", got, rev, err)
	}
	if p, err := s.Restore(ctx, id.Path(), "", nil); err != nil || string(p.Bytes) != string(b2) {
		t.Errorf("Restore of the last version = %q, %v", p.Bytes, err)
	}
	_, err = s.Restore(ctx, id.Path(), log[2].Oid, nil)
	must(t, err)
	if got, err := s.Read(id.Path()); err != nil || string(got) != string(b) {
		t.Errorf("Read after Restore = %q, %v", got, err)
	}
	if _, err := s.History().At(ctx, "ffffffff", id.Path()); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("At of an unknown revision = %v", err)
	}

	// The user's repository has not noticed.
	if after := git(t, dir, "status", "--porcelain"); after != before {
		t.Errorf("git status = %q, was %q", after, before)
	}
	git(t, dir, "fsck", "--strict")
}

func TestPutConflict(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	id, v1 := memoryFile("T", "one\n\ntwo\n\nthree")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: v1})
	must(t, err)
	_, err = s.Put(ctx, gitops.Write{ID: id, New: []byte("x")})
	var ce *fold.ConflictError
	if !errors.As(err, &ce) || string(ce.Current) != string(v1) || string(ce.Yours) != "x" {
		t.Fatalf("Put over an unexpected file = %v", err)
	}
	file := filepath.Join(dir, "fold", id.Path())
	edited := strings.Replace(string(v1), "one", "one by hand", 1)
	write(t, file, edited)
	theirs := []byte(strings.Replace(string(v1), "three", "three by agent", 1))
	_, err = s.Put(ctx, gitops.Write{ID: id, Base: v1, New: theirs})
	if !errors.Is(err, fold.ErrConflict) {
		t.Fatalf("Put over an edit = %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != edited {
		t.Errorf("refused Put changed the file: %q", got)
	}
	p, err := s.Put(ctx, gitops.Write{ID: id, Base: v1, New: theirs, Merge: true})
	must(t, err)
	if !p.Merged || !strings.Contains(string(p.Bytes), "one by hand") || !strings.Contains(string(p.Bytes), "three by agent") {
		t.Errorf("merged Put = %+v\n%s", p.Merged, p.Bytes)
	}
	if got, _ := os.ReadFile(file); string(got) != string(p.Bytes) {
		t.Errorf("file = %q, want %q", got, p.Bytes)
	}
	for _, w := range []gitops.Write{
		{ID: "../../x", New: v1},
		{Path: "../x.md", New: v1},
		{Path: ".git/x.md", New: v1},
		{ID: "0123456789abcdef", Path: id.Path(), New: v1},
		{Path: "a.txt", New: v1},
		{Path: "big.md", New: make([]byte, 1<<20+1)},
	} {
		if _, err := s.Put(ctx, w); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("Put(%q, %q) = %v, want ErrInvalid", w.ID, w.Path, err)
		}
	}
}

// TestEveryAcknowledgedWriteIsKept has somebody else overwrite a file between
// two writes to it, before the first is in the journal.
func TestEveryAcknowledgedWriteIsKept(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	path := ""
	var versions [][]byte
	for i := range 4 {
		id, b := memoryFile("Policy", fmt.Sprintf("Version %d.", i))
		path = id.Path()
		var base []byte
		if i > 0 { // a stale buffer of an editor goes over the version before
			_, base = memoryFile("Policy", fmt.Sprintf("Editor %d.", i))
			must(t, os.WriteFile(filepath.Join(dir, "fold", path), base, 0o644))
		}
		_, err := s.Put(ctx, gitops.Write{ID: id, Base: base, New: b})
		must(t, err)
		versions = append(versions, b)
	}
	rec, err := s.Commit(ctx, nil, "")
	must(t, err)
	if !slices.Equal(rec.Written, []string{path}) || s.Status().WalEntries != 0 {
		t.Errorf("Commit = %+v, %d in the log", rec, s.Status().WalEntries)
	}
	log, err := s.History().Log(ctx, path, 0)
	must(t, err)
	if len(log) != len(versions) {
		t.Fatalf("%d revisions, want %d", len(log), len(versions))
	}
	for i, want := range versions {
		if got, err := s.History().At(ctx, log[len(log)-1-i].Oid, path); err != nil || string(got) != string(want) {
			t.Errorf("revision %d holds %q, %v", i, got, err)
		}
	}
	fsck(t, dir)
}

func TestSecondStoreIsRefused(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	linked := filepath.Join(realDir(t), "wt")
	git(t, dir, "worktree", "add", "-q", linked)
	_, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: locate(t, linked)})
	var le *disk.LockedError
	if !errors.As(err, &le) || !strings.Contains(le.Info, fmt.Sprint(os.Getpid())) {
		t.Fatalf("second OpenStore = %v", err)
	}
	must(t, s.Close())
	s2 := openStore(t, linked, nil)
	id, b := memoryFile("From the linked tree", "x")
	_, err = s2.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	if _, err := os.Stat(filepath.Join(dir, "fold", id.Path())); err != nil {
		t.Errorf("a write from a linked work tree is not in the main one: %v", err)
	}
	if out := git(t, linked, "status", "--porcelain"); out != "" {
		t.Errorf("status of the linked work tree = %q", out)
	}
}

func TestEightWriters(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	const writers, each = 8, 12
	var wg sync.WaitGroup
	var mu sync.Mutex
	want := map[string]string{}
	stop := make(chan struct{})
	committed := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Commit(ctx, nil, ""); err != nil {
				committed <- err
				return
			}
			select {
			case <-stop:
				committed <- nil
				return
			default:
			}
		}
	}()
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id, b := memoryFile(fmt.Sprintf("memory %d of %d", i, w), fmt.Sprintf("token-%d-%d", w, i))
				if _, err := s.Put(ctx, gitops.Write{ID: id, New: b}); err != nil {
					t.Errorf("Put = %v", err)
					return
				}
				mu.Lock()
				want[id.Path()] = string(b)
				mu.Unlock()
			}
		})
	}
	// All of them also fight for one memory.
	shared, v := memoryFile("shared", "- 0")
	_, err := s.Put(ctx, gitops.Write{ID: shared, New: v})
	must(t, err)
	for w := range writers {
		wg.Go(func() {
			_, mine := memoryFile("shared", fmt.Sprintf("- 0\n- writer %d", w))
			if _, err := s.Put(ctx, gitops.Write{ID: shared, Base: v, New: mine, Merge: true}); err != nil {
				t.Errorf("Put of the shared memory = %v", err)
			}
		})
	}
	wg.Wait()
	close(stop)
	must(t, <-committed)
	_, err = s.Commit(ctx, nil, "")
	must(t, err)
	for p, b := range want {
		if got, err := s.History().At(ctx, "", p); err != nil || string(got) != b {
			t.Errorf("At(%s) = %q, %v", p, got, err)
		}
	}
	got, err := s.History().At(ctx, "", shared.Path())
	must(t, err)
	for w := range writers {
		if !strings.Contains(string(got), fmt.Sprintf("writer %d", w)) {
			t.Errorf("the shared memory lost writer %d:\n%s", w, got)
		}
	}
	if st := s.Status(); st.WalEntries != 0 {
		t.Errorf("wal has %d entries after the last commit", st.WalEntries)
	}
	fsck(t, dir)
}

func TestPutManyMakesOnePack(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	var ws []gitops.Write
	for i := range 600 {
		id, b := memoryFile(fmt.Sprintf("bulk %d", i), "x")
		ws = append(ws, gitops.Write{ID: id, New: b})
	}
	taken := ws[7]
	write(t, filepath.Join(dir, "fold", taken.ID.Path()), "# somebody else's\n")
	n, skipped, err := s.PutMany(ctx, ws)
	must(t, err)
	if n != 599 || !slices.Equal(skipped, []string{taken.ID.Path()}) {
		t.Errorf("PutMany = %d, %q", n, skipped)
	}
	packs, _ := filepath.Glob(filepath.Join(dir, ".git/foldwatch/repo.git/objects/pack/*.pack"))
	if len(packs) != 1 || s.Status().Loose > 0 || s.Status().WalEntries != 0 {
		t.Errorf("packs %d, status %+v", len(packs), s.Status())
	}
	if got := repoGit(t, dir, "ls-tree", "-r", "--name-only", "refs/foldwatch/journal"); strings.Count(got, "\n")+1 != 599 {
		t.Errorf("journal has %d files", strings.Count(got, "\n")+1)
	}
	fsck(t, dir)
}

// sameNewest compares the newest revision, as it is kept, with the log.
func sameNewest(t *testing.T, s *gitops.Store) {
	t.Helper()
	log, err := s.History().Log(t.Context(), "", 1)
	must(t, err)
	for range 2 {
		rev, ok, err := s.History().Newest(t.Context())
		must(t, err)
		if !ok || len(log) != 1 || fmt.Sprint(rev) != fmt.Sprint(log[0]) {
			t.Errorf("Newest = %+v, %t; Log = %+v", rev, ok, log)
		}
	}
}

// TestCommitAfterClose: a commit that waited for its turn while the store was closed moves
// no reference: another store may be open by now.
func TestCommitAfterClose(t *testing.T) { //nolint:paralleltest // it counts goroutines
	dir := checkout(t)
	var armed atomic.Bool
	entered, goOn := make(chan struct{}), make(chan struct{})
	s := openStore(t, dir, func(o *gitops.StoreOptions) {
		o.Check = func(string, []byte) error {
			if armed.CompareAndSwap(true, false) {
				close(entered)
				<-goOn
			}
			return nil
		}
	})
	put := func(title string) string {
		id, b := memoryFile(title, "x")
		write(t, filepath.Join(dir, "fold", id.Path()), string(b))
		return id.Path()
	}
	first, second := put("First"), put("Second")
	armed.Store(true)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.Commit(t.Context(), []string{first}, ""); err != nil {
			t.Error(err)
		}
	})
	<-entered
	wg.Go(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	untilBlocked("gitops.(*Store).Close(", 1)
	var late error
	wg.Go(func() { _, late = s.Commit(t.Context(), []string{second}, "") })
	untilBlocked("gitops.(*Store).Commit(", 2)
	close(goOn)
	wg.Wait()
	if !errors.Is(late, fold.ErrUnavailable) {
		t.Errorf("a commit of a closed store = %v", late)
	}
	again := openStore(t, dir, nil)
	if _, err := again.History().At(t.Context(), "", second); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("a closed store committed: %v", err)
	}
}

// untilBlocked returns when n goroutines have frame on their stacks and wait.
func untilBlocked(frame string, n int) {
	buf := make([]byte, 1<<20)
	for {
		waiting := 0
		for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			head, _, _ := strings.Cut(g, "\n")
			if strings.Contains(g, frame) && (strings.Contains(head, "[sync.Mutex.Lock") || strings.Contains(head, "[chan receive")) {
				waiting++
			}
		}
		if waiting >= n {
			return
		}
		runtime.Gosched()
	}
}
