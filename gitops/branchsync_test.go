package gitops_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// A clone is a checkout whose branch holds fold/, of a remote that others push to.
type clone struct {
	t   testing.TB
	dir string
	s   *gitops.Store
	opt gitops.SyncOptions
}

// sharedRemote makes a remote with one commit, by a user, and no memory.
func sharedRemote(t testing.TB) string {
	t.Helper()
	remote := bareRemote(t)
	dir := realDir(t)
	git(t, dir, "init", "-q", "--template=", ".")
	write(t, filepath.Join(dir, "a.go"), "package a\n")
	write(t, filepath.Join(dir, "dir/b.go"), "package b\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	git(t, dir, "push", "-q", remote, "main")
	return remote
}

func newClone(t testing.TB, remote string, args ...string) *clone {
	t.Helper()
	dir := filepath.Join(realDir(t), "clone")
	git(t, filepath.Dir(dir), append(append([]string{"clone", "-q", "--template="}, args...), remote, dir)...)
	c := &clone{t: t, dir: dir, opt: gitops.SyncOptions{
		Remote: remote, Local: true, Publish: true, Rand: func() float64 { return 0 },
	}}
	c.s = branchStore(t, dir, nil)
	return c
}

// remember writes a memory and has it committed onto the branch.
func (c *clone) remember(title, body string) string {
	c.t.Helper()
	p := remember(c.t, c.s, title, body)
	onto(c.t, c.s)
	return p
}

// edit changes a memory and has it recorded; onto says whether it is committed too.
func (c *clone) edit(path, old, now string, commit bool) {
	c.t.Helper()
	b, err := c.s.Read(path)
	must(c.t, err)
	id, _ := fold.OwnPath(path)
	_, err = c.s.Put(c.t.Context(), gitops.Write{ID: id, Base: b, New: edited(string(b), old, now)})
	must(c.t, err)
	_, err = c.s.Commit(c.t.Context(), nil, "")
	must(c.t, err)
	if commit {
		onto(c.t, c.s)
	}
}

func (c *clone) sync() gitops.BranchSynced {
	c.t.Helper()
	got, err := c.s.SyncBranch(c.t.Context(), c.opt)
	if err != nil {
		c.t.Fatalf("SyncBranch = %v", err)
	}
	return got
}

// synced syncs and expects that nothing is in the way.
func (c *clone) synced() gitops.BranchSynced {
	c.t.Helper()
	got := c.sync()
	if got.Wait.Waits() || got.Remote != got.Local || got.Local != git(c.t, c.dir, "rev-parse", "main") {
		c.t.Fatalf("SyncBranch = %+v, HEAD %s", got, git(c.t, c.dir, "rev-parse", "main"))
	}
	return got
}

// waits syncs and expects that it does nothing, for a reason that only the user ends.
func (c *clone) waits(why string) {
	c.t.Helper()
	before := git(c.t, c.dir, "rev-parse", "HEAD") + git(c.t, c.dir, "status", "--porcelain=v2")
	got := c.sync()
	if !strings.Contains(got.Wait.Reason, why) || !got.Yours || got.Wait.Hint == "" || got.Pushed || len(got.Paths) > 0 {
		c.t.Errorf("SyncBranch = %+v, want it to wait: %s", got, why)
	}
	if after := git(c.t, c.dir, "rev-parse", "HEAD") + git(c.t, c.dir, "status", "--porcelain=v2"); after != before {
		c.t.Errorf("status =\n%s\nwas\n%s", after, before)
	}
}

// clean expects that git sees no difference below fold/, finds nothing wrong, and that
// history is one line.
func (c *clone) clean() {
	c.t.Helper()
	if got := git(c.t, c.dir, "--no-optional-locks", "status", "--porcelain", "--untracked-files=all", "--", "fold"); got != "" {
		c.t.Errorf("status of fold/ =\n%s", got)
	}
	git(c.t, c.dir, "fsck", "--strict", "--no-dangling")
	if got := git(c.t, c.dir, "rev-list", "--merges", "main"); got != "" {
		c.t.Errorf("merge commits: %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, ".git/foldwatch/branch.*")); len(left) > 0 {
		c.t.Errorf("left behind: %q", left)
	}
	noLocks(c.t, c.dir)
}

func (c *clone) read(path string) string {
	c.t.Helper()
	b, err := c.s.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	must(c.t, err)
	return string(b)
}

func tipOf(t testing.TB, remote string) string {
	t.Helper()
	return git(t, remote, "rev-parse", "main")
}

// TestSyncBranch: memories travel by the branch that users work on (B7).
func TestSyncBranch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		test func(*testing.T)
	}{
		{"PushAndTake", branchPushAndTake},
		{"Diverged", branchDiverged},
		{"UsersCommits", branchUsersCommits},
		{"MoreThanFold", branchMoreThanFold},
		{"PushedStays", branchPushedStays},
		{"Local", branchLocalEdits},
		{"Staged", branchStaged},
		{"LostRace", branchLostRace},
		{"Policy", branchPolicy},
		{"Rewritten", branchRewritten},
		{"NoBranch", branchNoBranch},
		{"Odd", branchOddFiles},
		{"Formats", branchFormats},
		{"StopsAtEveryStep", branchStopsAtEveryStep},
		{"Secret", branchSecret},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.test(t)
		})
	}
}

// everything is what the user sees besides fold/ and the branch (I2, I4).
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := seen(t, dir)
	delete(out, "logs")
	for p := range out {
		if strings.HasPrefix(p, "file fold") {
			delete(out, p)
		}
	}
	return out
}

func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for what, was := range before {
		if is := after[what]; is != was {
			t.Errorf("%s =\n%s\nwas\n%s", what, is, was)
		}
	}
}

func branchPushAndTake(t *testing.T) {
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	// What users are about to do outside fold/ stays as it is, byte for byte.
	for _, c := range []*clone{a, b} {
		write(t, filepath.Join(c.dir, "staged.go"), "package s\n")
		git(t, c.dir, "add", "staged.go")
		write(t, filepath.Join(c.dir, "staged.go"), "package s // and more\n")
		write(t, filepath.Join(c.dir, "a.go"), "package a // edited\n")
		write(t, filepath.Join(c.dir, "new.txt"), "untracked\n")
	}
	beforeA, beforeB := everything(t, a.dir), everything(t, b.dir)
	p := a.remember("Session timeout policy", "Thirty minutes.")
	got := a.synced()
	if !got.Pushed || got.Sent != 1 || len(got.Paths) != 0 || tipOf(t, remote) != got.Local {
		t.Errorf("SyncBranch = %+v", got)
	}
	if log := git(t, remote, "log", "-1", "--format=%an/%cn/%s", "main"); log != `Ann/foldwatch/fold: Add decision "Session timeout policy"` {
		t.Errorf("the remote has %q", log)
	}
	same(t, beforeA, everything(t, a.dir))

	got = b.synced()
	if !got.Fetched || got.Pushed || len(got.Paths) != 1 || got.Paths[0] != p || got.Merged != 0 {
		t.Errorf("SyncBranch = %+v", got)
	}
	if b.read(p) != a.read(p) {
		t.Errorf("%s = %q", p, b.read(p))
	}
	if log := git(t, b.dir, "reflog", "-1", "--format=%gs"); log != "pull: Fast-forward" {
		t.Errorf("reflog says %q", log)
	}
	same(t, beforeB, everything(t, b.dir))
	// No file is to be looked at again: the index knows what git keeps of them.
	if dirty := git(t, b.dir, "diff-files", "--name-only", "--", "fold"); dirty != "" {
		t.Errorf("git takes %s for changed", dirty)
	}
	if log, err := b.s.Log(t.Context(), p, 0); err != nil || len(log) != 1 || log[0].From != gitops.FromSync {
		t.Errorf("Log = %+v, %v", log, err)
	}
	// A change and a deletion come back the other way.
	q := b.remember("Retry policy", "Three times.")
	b.edit(p, "Thirty", "Forty", true)
	b.synced()
	id, _ := fold.OwnPath(q)
	a.synced()
	if !strings.Contains(a.read(p), "Forty") || a.read(q) != b.read(q) {
		t.Errorf("what came is\n%s\n%s", a.read(p), a.read(q))
	}
	_, err := a.s.Put(t.Context(), gitops.Write{ID: id, Base: []byte(a.read(q))})
	must(t, err)
	_, err = a.s.Commit(t.Context(), nil, "")
	must(t, err)
	onto(t, a.s)
	a.synced()
	b.synced()
	if b.read(q) != "" {
		t.Errorf("%s is still there", q)
	}
	for _, c := range []*clone{a, b} {
		if got := c.sync(); got.Fetched || got.Pushed || len(got.Paths) > 0 || got.Wait.Waits() {
			t.Errorf("with nothing new: %+v", got)
		}
		c.clean()
	}
	same(t, beforeA, everything(t, a.dir))
	same(t, beforeB, everything(t, b.dir))
}

// branchDiverged: both sides have commits of memories. Ours are made again on the
// remote's tip, one line of history, and one memory that both changed is merged.
func branchDiverged(t *testing.T) {
	remote := sharedRemote(t)
	a := newClone(t, remote)
	p := a.remember("Session timeout policy", "one\n\ntwo\n\nthree")
	a.synced()
	b := newClone(t, remote)
	_, err := b.s.CommitAll(t.Context())
	must(t, err)
	a.edit(p, "one", "ONE", true)
	q := a.remember("Only of a", "x")
	a.synced()
	b.edit(p, "three", "THREE", true)
	r := b.remember("Only of b", "y")
	was := git(t, b.dir, "rev-parse", "HEAD")
	got := b.synced()
	if !got.Pushed || got.Merged != 1 || got.Sent != 2 {
		t.Errorf("SyncBranch = %+v", got)
	}
	if parent := git(t, b.dir, "rev-parse", "HEAD~"); parent != a.sync().Remote && parent != git(t, a.dir, "rev-parse", "HEAD~") {
		t.Errorf("our commit stands on %s", parent)
	}
	if git(t, b.dir, "rev-parse", "HEAD") == was {
		t.Error("HEAD did not move")
	}
	if trailers := git(t, b.dir, "log", "-1", "--format=%(trailers)"); !strings.Contains(trailers, "Foldwatch-Commit: v1") || !strings.Contains(trailers, "Co-authored-by: claude") {
		t.Errorf("trailers = %q", trailers)
	}
	a.synced()
	for _, path := range []string{p, q, r} {
		if a.read(path) != b.read(path) || a.read(path) == "" {
			t.Errorf("%s differs:\n%s\n%s", path, a.read(path), b.read(path))
		}
	}
	if text := a.read(p); !strings.Contains(text, "ONE") || !strings.Contains(text, "THREE") {
		t.Errorf("the merge lost something:\n%s", text)
	}
	a.clean()
	b.clean()
	if n := git(t, remote, "rev-list", "--count", "main"); n != "4" {
		t.Errorf("the remote has %s commits, want 4", n)
	}
}

// branchUsersCommits: nothing of the user's is pushed, nor taken back (I5).
func branchUsersCommits(t *testing.T) {
	remote := sharedRemote(t)
	a := newClone(t, remote)
	write(t, filepath.Join(a.dir, "a.go"), "package a // mine\n")
	git(t, a.dir, "commit", "-qam", "mine")
	a.remember("One", "x")
	tip := tipOf(t, remote)
	a.waits("commits of yours that the remote has not")
	if tipOf(t, remote) != tip {
		t.Error("the user's commit was pushed")
	}
	// A commit that says it is ours and is not.
	git(t, a.dir, "reset", "-q", "--soft", "origin/main")
	git(t, a.dir, "reset", "-q", ".")
	write(t, filepath.Join(a.dir, "a.go"), "package a // forged\n")
	git(t, a.dir, "add", "a.go")
	git(t, a.dir, "-c", "user.name=foldwatch", "commit", "-qm", "fold: Index\n\nFoldwatch-Commit: v1")
	a.waits("commits of yours")
	git(t, a.dir, "push", "-q")
	if got := a.sync(); got.Wait.Waits() || got.Pushed {
		t.Errorf("after the user's push: %+v", got)
	}
}

// branchMoreThanFold: behind with commits that change more than fold/, nothing of the
// checkout is touched; journalling goes on.
func branchMoreThanFold(t *testing.T) {
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	write(t, filepath.Join(a.dir, "a.go"), "package a // by a user\n")
	git(t, a.dir, "commit", "-qam", "source")
	git(t, a.dir, "push", "-q")
	p := a.remember("With the source", "x")
	a.synced()
	refs := git(t, b.dir, "for-each-ref")
	b.waits("change more than fold/")
	theirs := func(want int) {
		t.Helper()
		st, err := b.s.BranchState(t.Context())
		must(t, err)
		var text []string
		must(t, b.s.EachTheirs(t.Context(), st.Theirs, func(path string, b []byte) { text = append(text, path+string(b)) }))
		if len(st.Theirs) != want || want > 0 && (len(text) != 1 || text[0] != p+a.read(p)) || st.Branch != "main" || st.RemoteTip != tipOf(t, remote) {
			t.Errorf("BranchState = %+v, %q; want %d memories of theirs", st, text, want)
		}
	}
	theirs(1)
	b.remember("Meanwhile", "y")
	b.waits("change more than fold/")
	if got := git(t, b.dir, "for-each-ref", "refs/remotes", "refs/tags"); !strings.Contains(refs, got) {
		t.Errorf("references =\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, ".git/FETCH_HEAD")); err == nil {
		t.Error("FETCH_HEAD was written")
	}
	if b.read(p) != "" {
		t.Errorf("%s was taken in", p)
	}
	git(t, b.dir, "pull", "-q", "--rebase")
	if got := b.synced(); !got.Pushed {
		t.Errorf("after the user's pull: %+v", got)
	}
	_, err := b.s.CommitAll(t.Context())
	must(t, err)
	theirs(0)
	b.clean()
}

// branchPushedStays: a commit that the remote has is not replaced by the next (B6),
// although no reference of the user's says that it was pushed.
func branchPushedStays(t *testing.T) {
	remote := sharedRemote(t)
	a := newClone(t, remote)
	a.remember("One", "x")
	first := a.synced().Local
	a.remember("Two", "x")
	if parent := git(t, a.dir, "rev-parse", "HEAD~"); parent != first {
		t.Errorf("the pushed commit %s was replaced", first)
	}
	second := git(t, a.dir, "rev-parse", "HEAD")
	a.remember("Three", "x")
	if parent := git(t, a.dir, "rev-parse", "HEAD~"); parent != first || git(t, a.dir, "rev-parse", "HEAD") == second {
		t.Errorf("the commit that nobody has was not replaced: HEAD~ = %s", parent)
	}
	// A push that the remote took, and of which we never heard.
	a.opt.Step = func(step string) error {
		if step == "pushed" {
			return errors.New("the line is cut")
		}
		return nil
	}
	if _, err := a.s.SyncBranch(t.Context(), a.opt); err == nil {
		t.Fatal("the step did not fail")
	}
	a.opt.Step = nil
	third := tipOf(t, remote)
	a.remember("Four", "x")
	if parent := git(t, a.dir, "rev-parse", "HEAD~"); parent != third {
		t.Errorf("HEAD~ = %s, want what the remote has", parent)
	}
	a.synced()
	a.clean()
}

// branchLocalEdits: what is in the files and not committed is merged, not overwritten.
func branchLocalEdits(t *testing.T) {
	remote := sharedRemote(t)
	a := newClone(t, remote)
	p := a.remember("Session timeout policy", "one\n\ntwo\n\nthree")
	q := a.remember("Deleted there", "x\n\ny")
	a.synced()
	b := newClone(t, remote)
	_, err := b.s.CommitAll(t.Context())
	must(t, err)
	a.edit(p, "one", "ONE", false)
	id, _ := fold.OwnPath(q)
	_, err = a.s.Put(t.Context(), gitops.Write{ID: id, Base: []byte(a.read(q))})
	must(t, err)
	_, err = a.s.Commit(t.Context(), nil, "")
	must(t, err)
	onto(t, a.s)
	a.synced()
	// One edit is only on disk, as from an editor, the other in the journal too.
	write(t, filepath.Join(b.dir, "fold", p), strings.Replace(b.read(p), "three", "THREE", 1))
	b.edit(q, "y", "Y", false)
	got := b.sync()
	if got.Wait.Waits() || got.Merged != 2 {
		t.Errorf("SyncBranch = %+v", got)
	}
	if text := b.read(p); !strings.Contains(text, "ONE") || !strings.Contains(text, "THREE") {
		t.Errorf("%s =\n%s", p, text)
	}
	if text := b.read(q); !strings.Contains(text, "Y") {
		t.Errorf("an edit was lost to a deletion: %q", text)
	}
	if st := git(t, b.dir, "status", "--porcelain", "-uall"); !strings.Contains(st, "M fold/"+p) || !strings.Contains(st, "M fold/"+q) {
		t.Errorf("status =\n%s", st)
	}
	onto(t, b.s)
	b.synced()
	a.synced()
	if a.read(p) != b.read(p) || a.read(q) != b.read(q) {
		t.Error("the clones differ")
	}
	a.clean()
	b.clean()
}

// branchStaged: with something of fold/ staged, or git at work, nothing moves.
func branchStaged(t *testing.T) {
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	a.remember("One", "x")
	a.synced()
	for _, st := range []struct{ set, undo []string }{
		{[]string{"add", "-f", "fold/note.md"}, []string{"rm", "-q", "--cached", "fold/note.md"}},
		{[]string{"bisect", "start"}, []string{"bisect", "reset"}},
		{[]string{"checkout", "-q", "-b", "side"}, []string{"checkout", "-q", "main"}},
		{[]string{"checkout", "-q", "--detach"}, []string{"checkout", "-q", "main"}},
	} {
		write(t, filepath.Join(b.dir, "fold/note.md"), "# Note\n")
		git(t, b.dir, st.set...)
		head := git(t, b.dir, "rev-parse", "main")
		if got := b.sync(); !got.Wait.Waits() || got.Yours || len(got.Paths) > 0 || git(t, b.dir, "rev-parse", "main") != head {
			t.Errorf("after git %q: SyncBranch = %+v", st.set, got)
		}
		git(t, b.dir, st.undo...)
	}
	if got := b.sync(); len(got.Paths) != 1 {
		t.Errorf("afterwards: %+v", got)
	}
}

// branchLostRace: somebody else pushes between our look and our push.
func branchLostRace(t *testing.T) {
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	p := a.remember("Of a", "x")
	q := b.remember("Of b", "y")
	races := 0
	a.opt.Step = func(step string) error {
		if step == "push" && races == 0 {
			races++
			b.synced()
		}
		return nil
	}
	a.synced()
	b.synced()
	if races != 1 || a.read(q) == "" || b.read(p) == "" {
		t.Errorf("%d races; %q %q", races, a.read(q), b.read(p))
	}
	a.clean()
	b.clean()
}

// branchPolicy: a branch that takes no pushes ends publishing at once, and says what
// else can be done (B10).
func branchPolicy(t *testing.T) {
	remote := sharedRemote(t)
	hook := filepath.Join(remote, "hooks/pre-receive")
	program(t, hook, "#!/bin/sh\necho \"$$\" >> "+filepath.Join(remote, "asked")+"\necho 'GH006: protected branch update failed' >&2\nexit 1\n")
	a := newClone(t, remote)
	a.remember("One", "x")
	head := git(t, a.dir, "rev-parse", "HEAD")
	got, err := a.s.SyncBranch(t.Context(), a.opt)
	if kindOf(err) != gitops.SyncPolicy || !strings.Contains(err.Error(), "GH006") || got.Pushed {
		t.Fatalf("SyncBranch = %+v, %v", got, err)
	}
	if hint := fold.Hint(err); !strings.Contains(hint, "--commit-to sidecar") || !strings.Contains(hint, a.dir) {
		t.Errorf("hint = %q", hint)
	}
	if asked := strings.Count(string(read(t, filepath.Join(remote, "asked"))), "\n"); asked != 1 {
		t.Errorf("the remote was asked %d times", asked)
	}
	if git(t, a.dir, "rev-parse", "HEAD") != head {
		t.Error("HEAD moved")
	}
	// It was certainly not taken: the next commit takes its place.
	a.remember("Two", "x")
	if n := git(t, a.dir, "rev-list", "--count", "origin/main..main"); n != "1" {
		t.Errorf("%s commits, want 1", n)
	}
	must(t, os.Remove(hook))
	a.synced()
}

// branchRewritten: what the remote took from us and gave up is not pushed again, unless
// the user says so (G14). Where the user's own branch went the same way, all is well.
func branchRewritten(t *testing.T) {
	remote := sharedRemote(t)
	a := newClone(t, remote)
	first := tipOf(t, remote)
	a.remember("One", "x")
	a.synced()
	git(t, remote, "update-ref", "refs/heads/main", first)
	if _, err := a.s.SyncBranch(t.Context(), a.opt); kindOf(err) != gitops.SyncRewritten {
		t.Fatalf("SyncBranch = %v", err)
	}
	a.opt.Resync = true
	if got := a.synced(); !got.Pushed {
		t.Errorf("with Resync: %+v", got)
	}
	a.opt.Resync = false
	git(t, a.dir, "commit", "-q", "--amend", "-m", "mine now")
	git(t, a.dir, "push", "-q", "-f")
	a.synced()
}

func branchNoBranch(t *testing.T) {
	remote := sharedRemote(t)
	a := newClone(t, remote)
	a.remember("One", "x")
	git(t, remote, "branch", "-m", "main", "trunk")
	a.waits("has no branch main yet")
	git(t, a.dir, "config", "branch.main.merge", "refs/heads/trunk")
	a.waits("main follows trunk")
	git(t, a.dir, "config", "branch.main.merge", "refs/heads/main")
	git(t, remote, "branch", "-m", "trunk", "main")
	a.synced()
}

// branchOddFiles: what is no memory is not taken in by us, although it lies in fold/.
func branchOddFiles(t *testing.T) {
	remote := sharedRemote(t)
	a, b := newClone(t, remote), newClone(t, remote)
	for name, make := range map[string]func(path string){
		"picture.png": func(p string) { write(t, p, "x") },
		"link.md":     func(p string) { must(t, os.Symlink("picture.png", p)) },
		"run.md":      func(p string) { write(t, p, "x"); must(t, os.Chmod(p, 0o755)) },
		"large.md":    func(p string) { write(t, p, strings.Repeat("x", 1<<20+1)) },
	} {
		make(filepath.Join(a.dir, "fold", name))
		git(t, a.dir, "add", "-f", "fold/"+name)
		git(t, a.dir, "commit", "-qm", name)
		git(t, a.dir, "push", "-q")
		b.waits("fold/" + name)
		git(t, b.dir, "pull", "-q")
	}
}

// branchFormats: other forms of repository and index.
func branchFormats(t *testing.T) {
	remote := sharedRemote(t)
	git(t, remote, "config", "uploadpack.allowFilter", "true")
	a := newClone(t, remote)
	p := a.remember("Zero", "zero")
	a.synced()
	var all []*clone
	for _, args := range [][]string{{"--depth=1"}, {"--filter=blob:none"}, {"-c", "index.version=4"}} {
		if !strings.HasPrefix(args[0], "-c") {
			args = append(args, "--no-local")
		}
		c := newClone(t, remote, args...)
		_, err := c.s.CommitAll(t.Context())
		must(t, err)
		all = append(all, c)
	}
	git(t, all[2].dir, "update-index", "--split-index")
	for _, c := range all {
		a.edit(p, "zero", "zero and more", true)
		q := a.remember("Of a for "+c.dir, "x")
		a.synced()
		if got := c.synced(); len(got.Paths) == 0 || c.read(p) != a.read(p) || c.read(q) != a.read(q) {
			t.Errorf("%s: SyncBranch = %+v", c.dir, got)
		}
		r := c.remember("From "+c.dir, "x")
		c.synced()
		a.synced()
		if a.read(r) != c.read(r) {
			t.Errorf("%s did not come", r)
		}
		if got := git(t, c.dir, "--no-optional-locks", "status", "--porcelain", "-uall", "--", "fold"); got != "" {
			t.Errorf("status of fold/ =\n%s", got)
		}
	}
	a.clean()
}

// branchStopsAtEveryStep: a crash at each step of taking in what the remote has, where
// the branch is only behind and where it has a commit of ours too. After a restart no
// lock is left, git finds nothing wrong, and the next sync ends at the same (I7).
func branchStopsAtEveryStep(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		steps := fulltest.Some(4, gitops.TakeSteps())
		if !ahead {
			steps = []string{"files", "reference"} // the others are the same as with a commit of ours
		}
		for _, step := range steps {
			t.Run(fmt.Sprintf("%s ahead %t", step, ahead), func(t *testing.T) {
				t.Parallel()
				remote := sharedRemote(t)
				a := newClone(t, remote)
				p := a.remember("Both", "one\n\ntwo\n\nthree")
				a.synced()
				b := newClone(t, remote)
				_, err := b.s.CommitAll(t.Context())
				must(t, err)
				a.edit(p, "one", "ONE", true)
				q := a.remember("Of a", "x")
				a.synced()
				if ahead {
					b.edit(p, "three", "THREE", true)
				}
				write(t, filepath.Join(b.dir, "staged.go"), "package s\n")
				git(t, b.dir, "add", "staged.go")
				before := everything(t, b.dir)
				crashed := false
				b.s.OnBranchStep(func(at string) error {
					if at == step && !crashed {
						crashed = true
						return gitops.ErrCrashed
					}
					return nil
				})
				if _, err := b.s.SyncBranch(t.Context(), b.opt); !errors.Is(err, gitops.ErrCrashed) {
					t.Fatalf("SyncBranch = %v, want it to crash", err)
				}
				must(t, b.s.Close())
				b.s = branchStore(t, b.dir, nil)
				noLocks(t, b.dir)
				git(t, b.dir, "fsck", "--strict", "--no-dangling")
				_, err = b.s.CommitAll(t.Context())
				must(t, err)
				_, err = b.s.CommitBranch(t.Context()) // as before each sync
				must(t, err)
				b.synced()
				a.synced()
				text := a.read(p)
				if text != b.read(p) || !strings.Contains(text, "ONE") || strings.Contains(text, "THREE") != ahead || b.read(q) == "" {
					t.Errorf("a has\n%s\nb has\n%s", text, b.read(p))
				}
				same(t, before, everything(t, b.dir))
				a.clean()
				b.clean()
			})
		}
	}
}

// branchSecret: what counts as a secret may be learned after the commit; then it is
// not pushed.
func branchSecret(t *testing.T) {
	remote := sharedRemote(t)
	a := newClone(t, remote)
	a.remember("One", "sesame")
	must(t, a.s.Close())
	a.s = branchStore(t, a.dir, func(o *gitops.StoreOptions) {
		o.Scan = func(b []byte) []gitops.Finding {
			if strings.Contains(string(b), "sesame") {
				return []gitops.Finding{{Rule: "password", Line: 3}}
			}
			return nil
		}
	})
	tip := tipOf(t, remote)
	if got := a.sync(); got.Pushed || !strings.Contains(got.Wait.Reason, ":3: password") || strings.Contains(got.Wait.Reason, "sesame") || tipOf(t, remote) != tip {
		t.Errorf("SyncBranch = %+v", got)
	}
}
