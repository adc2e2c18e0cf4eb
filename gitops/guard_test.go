package gitops_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// fill puts and commits n memories and returns their paths, sorted.
func fill(t testing.TB, s *gitops.Store, n int) []string {
	t.Helper()
	var ws []gitops.Write
	var paths []string
	for i := range n {
		id, b := memoryFile(fmt.Sprintf("memory %d", i), "x")
		ws, paths = append(ws, gitops.Write{ID: id, New: b}), append(paths, id.Path())
	}
	if got, skipped, err := s.PutMany(t.Context(), ws); got != n || len(skipped) > 0 || err != nil {
		t.Fatalf("PutMany = %d, %v, %v", got, skipped, err)
	}
	slices.Sort(paths)
	return paths
}

func TestVanishGuard(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	clock := later()
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return clock } })
	ctx := t.Context()
	paths := fill(t, s, 30)

	// A few files deleted by hand are deletions.
	must(t, os.Remove(filepath.Join(dir, "fold", paths[0])))
	rec, err := s.Commit(ctx, paths[:1], "")
	must(t, err)
	if !slices.Equal(rec.Removed, paths[:1]) {
		t.Fatalf("Commit of one deletion = %+v", rec)
	}
	tip := s.Tip()

	// The whole folder is not.
	must(t, os.RemoveAll(filepath.Join(dir, "fold")))
	rec, err = s.Commit(ctx, paths, "")
	must(t, err)
	if !rec.Guarded || s.Tip() != tip || !s.Status().Guarded {
		t.Fatalf("Commit without fold/ = %+v", rec)
	}
	v, err := s.Guard(ctx)
	must(t, err)
	if !slices.Equal(v.Missing, paths[1:]) || !strings.Contains(v.Waits, "quiet") {
		t.Fatalf("Guard = %+v", v)
	}
	if got, err := s.RestoreVanished(ctx); err != nil || got != nil {
		t.Fatalf("RestoreVanished at once = %v, %v", got, err)
	}
	// A write meanwhile is acknowledged, and does not make the rest deleted.
	id, b := memoryFile("written meanwhile", "y")
	_, err = s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	if rec, err = s.CommitAll(ctx); err != nil || !rec.Guarded {
		t.Fatalf("CommitAll under guard = %+v, %v", rec, err)
	}
	// The folder that came back hides itself from git, whatever the removal took.
	must(t, os.Remove(filepath.Join(dir, "fold", ".gitignore")))
	if _, err := s.Guard(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "fold", ".gitignore")); err != nil {
		t.Errorf("fold/ is not hidden from git: %v", err)
	}
	// The guard outlives a restart.
	must(t, s.Close())
	s = openStore(t, dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return clock } })
	if !s.Status().Guarded {
		t.Fatal("guard is down after a restart")
	}
	clock = clock.Add(61 * time.Second)
	got, err := s.RestoreVanished(ctx)
	must(t, err)
	if !slices.Equal(got, paths[1:]) {
		t.Fatalf("RestoreVanished = %q, want %q", got, paths[1:])
	}
	rec, err = s.CommitAll(ctx)
	must(t, err)
	if rec.Guarded || !slices.Equal(rec.Written, []string{id.Path()}) || len(rec.Removed) > 0 {
		t.Errorf("CommitAll after restore = %+v", rec)
	}

	// More than ten of thirty at once: held, until the user says so.
	for _, p := range paths[1:15] {
		must(t, os.Remove(filepath.Join(dir, "fold", p)))
	}
	// Events come in pieces; the rest is counted too.
	if rec, err = s.Commit(ctx, paths[1:4], ""); err != nil || !rec.Guarded {
		t.Fatalf("Commit of a mass deletion = %+v, %v", rec, err)
	}
	gone, err := s.ConfirmMissing(ctx, nil)
	must(t, err)
	if !slices.Equal(gone, paths[1:15]) || s.Status().Guarded {
		t.Errorf("ConfirmMissing = %q, status %+v", gone, s.Status())
	}
	if rec, err = s.CommitAll(ctx); err != nil || rec.Oid != "" || rec.Guarded {
		t.Errorf("CommitAll after ConfirmMissing = %+v, %v", rec, err)
	}
	// Deleting through the API is explicit and exempt.
	for _, p := range paths[15:29] {
		have, err := s.Read(p)
		must(t, err)
		_, err = s.Put(ctx, gitops.Write{Path: p, Base: have})
		must(t, err)
	}
	if rec, err = s.Commit(ctx, nil, ""); err != nil || rec.Guarded || len(rec.Removed) != 14 {
		t.Errorf("Commit of API deletes = %+v, %v", rec, err)
	}
	fsck(t, dir)
}

func TestVanishWaitsForGitAndBranches(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	clock := later()
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return clock } })
	ctx := t.Context()
	paths := fill(t, s, 12)
	must(t, os.RemoveAll(filepath.Join(dir, "fold")))
	_, err := s.CommitAll(ctx)
	must(t, err)
	clock = clock.Add(2 * time.Minute)
	write(t, filepath.Join(dir, ".git/MERGE_HEAD"), "x")
	if v, err := s.Guard(ctx); err != nil || !strings.Contains(v.Waits, "merge") {
		t.Errorf("Guard during a merge = %+v, %v", v, err)
	}
	must(t, os.Remove(filepath.Join(dir, ".git/MERGE_HEAD")))
	// A fetch moves nothing in the checkout, and editors make one every minute.
	write(t, filepath.Join(dir, ".git/FETCH_HEAD"), "x")
	must(t, os.Chtimes(filepath.Join(dir, ".git/FETCH_HEAD"), clock, clock))
	if v, err := s.Guard(ctx); err != nil || !v.Guarded || v.Waits != "" {
		t.Errorf("Guard just after a fetch = %+v, %v, want no wait", v, err)
	}
	must(t, os.Chtimes(filepath.Join(dir, ".git/index"), clock, clock))
	if v, err := s.Guard(ctx); err != nil || !strings.Contains(v.Waits, "quiet") {
		t.Errorf("Guard just after git moved files = %+v, %v", v, err)
	}
	// A branch of the user's that tracks fold/: git moves these files itself.
	git(t, dir, "checkout", "-q", "-b", "tracks")
	write(t, filepath.Join(dir, "fold/project.toml"), "x")
	git(t, dir, "add", "-f", "fold")
	git(t, dir, "commit", "-qm", "fold")
	git(t, dir, "checkout", "-q", "main")
	clock = clock.Add(2 * time.Hour)
	if v, err := s.Guard(ctx); err != nil || !strings.Contains(v.Waits, "tracks") {
		t.Errorf("Guard with a tracking branch = %+v, %v", v, err)
	}
	git(t, dir, "branch", "-q", "-D", "tracks")
	// The checkout itself is missing.
	moved := filepath.Join(realDir(t), "moved")
	must(t, os.Rename(filepath.Join(dir, ".git"), moved))
	if _, err := s.Guard(ctx); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Guard without .git = %v", err)
	}
	id, b := memoryFile("no place", "y")
	if _, err := s.Put(ctx, gitops.Write{ID: id, New: b}); !errors.Is(err, fold.ErrUnavailable) || fold.Hint(err) == "" {
		t.Errorf("Put without .git = %v", err)
	}
	must(t, os.Rename(moved, filepath.Join(dir, ".git")))
	if got, err := s.RestoreVanished(ctx); err != nil || !slices.Equal(got, paths) {
		t.Errorf("RestoreVanished = %v, %v", got, err)
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, func(o *gitops.StoreOptions) {
		o.Check = func(path string, b []byte) error {
			if strings.Contains(string(b), "hush-hush") {
				return fmt.Errorf("%s:3: test-rule: %w", path, fold.ErrSecret)
			}
			_, err := fold.Decode("app", path, b)
			return err
		}
	})
	ctx := t.Context()
	at := func(p string) string { return filepath.Join(dir, "fold", p) }
	write(t, at("good.md"), "# Good\n\ntext\n")
	write(t, at("folder/deep note.md"), "no heading\n")
	write(t, at("secret.md"), "# S\n\nhush-hush\n")
	write(t, at("conflict.md"), "# C\n\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
	write(t, at("a/b/abcdef0123456789.md"), "---\nid: 0000000000000000\n---\nx\n")
	write(t, at("big.md"), strings.Repeat("x", 1<<20+1))
	write(t, at("picture.png"), "x")
	write(t, at(".obsidian/app.md"), "x")
	write(t, at("1/2/3/4/5/6/7/8/nine.md"), "x")
	must(t, os.MkdirAll(at("dir.md"), 0o755))
	if err := os.Symlink(filepath.Join(dir, "a.go"), at("link.md")); err != nil {
		t.Skip(err)
	}
	rec, err := s.CommitAll(ctx)
	must(t, err)
	if want := []string{"folder/deep note.md", "good.md"}; !slices.Equal(rec.Written, want) {
		t.Errorf("Written = %q, want %q", rec.Written, want)
	}
	var apart []string
	for _, a := range rec.SetAside {
		apart = append(apart, a.Path)
		if strings.Contains(a.Err.Error(), "hush") {
			t.Errorf("the reason repeats the secret: %v", a.Err)
		}
	}
	slices.Sort(apart)
	if want := []string{"a/b/abcdef0123456789.md", "big.md", "conflict.md", "link.md", "secret.md"}; !slices.Equal(apart, want) {
		t.Errorf("SetAside = %q, want %q", apart, want)
	}
	if r := s.Status().SetAside["secret.md"]; !strings.Contains(r, "test-rule") || !strings.Contains(r, ":3") {
		t.Errorf("reason of the secret = %q", r)
	}
	// Mended files go in, and their reason goes away.
	write(t, at("secret.md"), "# S\n\nnothing\n")
	rec, err = s.Commit(ctx, []string{"secret.md"}, "")
	must(t, err)
	if !slices.Equal(rec.Written, []string{"secret.md"}) || s.Status().SetAside["secret.md"] != "" {
		t.Errorf("Commit of the mended file = %+v", rec)
	}
	// A committed file that breaks keeps its last good version.
	write(t, at("good.md"), "# Good\n\n>>>>>>> theirs\n")
	if rec, err = s.CommitAll(ctx); err != nil || rec.Oid != "" {
		t.Errorf("CommitAll of a broken file = %+v, %v", rec, err)
	}
	if b, err := s.History().At(ctx, "", "good.md"); err != nil || string(b) != "# Good\n\ntext\n" {
		t.Errorf("At = %q, %v", b, err)
	}
	fsck(t, dir)
}

func TestUnsettledFilesWait(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	now := time.Now()
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return now } })
	file := filepath.Join(dir, "fold/n.md")
	write(t, file, "# half writ")
	must(t, os.Chtimes(file, now, now.Add(-100*time.Millisecond)))
	rec, err := s.Commit(t.Context(), []string{"n.md"}, "")
	must(t, err)
	if rec.Oid != "" || !slices.Equal(rec.Unsettled, []string{"n.md"}) {
		t.Errorf("Commit of a young file = %+v", rec)
	}
	now = now.Add(300 * time.Millisecond)
	if rec, err = s.Commit(t.Context(), []string{"n.md"}, ""); err != nil || rec.Oid == "" {
		t.Errorf("Commit of a settled file = %+v, %v", rec, err)
	}
}

// TestOverwrittenWriteIsInTheJournal: a git operation or an editor may replace
// an acknowledged file before the next commit.
func TestOverwrittenWriteIsInTheJournal(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	id, b := memoryFile("T", "acknowledged words")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	_, b2 := memoryFile("T", "somebody else's words")
	write(t, filepath.Join(dir, "fold", id.Path()), string(b2))
	_, err = s.Commit(ctx, []string{id.Path()}, "")
	must(t, err)
	var got []string
	must(t, s.History().Versions(ctx, id.Path(), func(_ string, b []byte) bool {
		got = append(got, string(b))
		return true
	}))
	if !slices.Equal(got, []string{string(b2), string(b)}) {
		t.Errorf("versions = %q", got)
	}
	// Removed before the commit.
	id, b = memoryFile("U", "gone at once")
	_, err = s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "fold", id.Path())))
	_, err = s.Commit(ctx, []string{id.Path()}, "")
	must(t, err)
	if last, _, err := s.History().LastBlob(ctx, id.Path()); err != nil || string(last) != string(b) {
		t.Errorf("LastBlob = %q, %v", last, err)
	}
	if n := s.Status().WalEntries; n != 0 {
		t.Errorf("wal has %d entries", n)
	}
	fsck(t, dir)
}

func TestCommitAllReadsOnlyWhatMoved(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	paths := fill(t, s, 5)
	file := filepath.Join(dir, "fold", paths[2])
	b, err := os.ReadFile(file)
	must(t, err)
	write(t, file, strings.Replace(string(b), "\nx\n", "\ny\n", 1)) // same size
	rec, err := s.CommitAll(ctx)
	must(t, err)
	if !slices.Equal(rec.Written, []string{paths[2]}) {
		t.Errorf("CommitAll = %+v", rec)
	}
	must(t, s.Close())
	s = openStore(t, dir, nil)
	if rec, err = s.CommitAll(ctx); err != nil || rec.Oid != "" {
		t.Errorf("CommitAll of an unchanged folder = %+v, %v", rec, err)
	}
	write(t, file, string(b))
	if rec, err = s.CommitAll(ctx); err != nil || !slices.Equal(rec.Written, []string{paths[2]}) {
		t.Errorf("CommitAll after restart = %+v, %v", rec, err)
	}
}

func TestUndo(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	paths := fill(t, s, 3)
	for _, p := range paths {
		have, err := s.Read(p)
		must(t, err)
		_, err = s.Put(ctx, gitops.Write{Path: p, Base: have})
		must(t, err)
	}
	rec, err := s.Commit(ctx, nil, "fold: Archive 3 memories")
	must(t, err)
	got, err := s.Undo(ctx, rec.Oid)
	must(t, err)
	if !slices.Equal(got, paths) {
		t.Errorf("Undo = %q, want %q", got, paths)
	}
	for _, p := range paths {
		if _, err := s.Read(p); err != nil {
			t.Error(err)
		}
	}
}

// TestMovedFilesDidNotVanish: a person may sort memories and notes into folders; only what
// is nowhere in fold/ any more has vanished (G8).
func TestMovedFilesDidNotVanish(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Now = later })
	ctx := t.Context()
	var files []string
	for i := range 30 {
		path := fmt.Sprintf("note %d.md", i)
		b := []byte(fmt.Sprintf("# Note %d\n", i))
		if i%2 == 0 {
			var id fold.ID
			id, b = memoryFile(fmt.Sprint("Memory ", i), "text")
			path = id.Path()
		}
		write(t, filepath.Join(dir, "fold", path), string(b))
		files = append(files, path)
	}
	_, err := s.CommitAll(ctx)
	must(t, err)
	for i, path := range files {
		from, to := filepath.Join(dir, "fold", path), filepath.Join(dir, "fold", "sorted", fmt.Sprint(i), filepath.Base(path))
		must(t, os.MkdirAll(filepath.Dir(to), 0o777))
		must(t, os.Rename(from, to))
	}
	rec, err := s.CommitAll(ctx)
	must(t, err)
	if rec.Guarded || len(rec.Written) != 30 || len(rec.Removed) != 30 {
		t.Fatalf("after a move: guarded %v (%s), %d written, %d removed", rec.Guarded, rec.Reason, len(rec.Written), len(rec.Removed))
	}
	must(t, os.RemoveAll(filepath.Join(dir, "fold", "sorted")))
	if rec, err = s.CommitAll(ctx); err != nil || !rec.Guarded {
		t.Errorf("after all went: %+v, %v", rec, err)
	}
}
