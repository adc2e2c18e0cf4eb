package ingest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A committed is an Ingester over a repository, with a store of its own.
type committed struct {
	*Ingester

	t   *testing.T
	dir string
	day int // of the last commit
}

func committing(t *testing.T) *committed {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	c := &committed{t: t}
	c.Ingester, c.dir = switching(t)
	c.git("init", "-q", "-b", "main")
	for _, kv := range [][2]string{{"user.name", "Ann"}, {"user.email", "ann@example.org"}} {
		c.git("config", kv[0], kv[1])
	}
	c.commit("Begin", "a.go", "b.go")
	c.open()
	return c
}

// open gives the ingester the stores that lie in the repository, as if on a
// machine of its own.
func (c *committed) open() {
	c.t.Helper()
	ctx := c.t.Context()
	var err error
	if c.Repo, err = usergit.Locate(ctx, c.dir); err != nil {
		c.t.Fatal(err)
	}
	if c.Store, err = gitops.OpenStore(ctx, gitops.StoreOptions{Repo: c.Repo, Slug: c.Slug}); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = c.Store.Close() })
	if c.State, err = state.Open(ctx, c.t.TempDir()); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = c.State.Close() })
	c.Key = c.Repo.Key()
	if err := c.State.PutCheckout(ctx, state.Checkout{Key: c.Key, Path: c.dir, Slug: c.Slug}); err != nil {
		c.t.Fatal(err)
	}
	c.Options.Fold = disk.Folder{Dir: filepath.Join(c.dir, "fold")}
	c.readFrom(c.root, selection.Rules{})
}

func (c *committed) git(args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", args...)
	cmd.Dir = c.dir
	at := fmt.Sprintf("2026-03-%02dT12:00:00+02:00", c.day+1)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+strings.Replace(at, "12:00", "13:30", 1))
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit changes files and commits them, and returns the commit.
func (c *committed) commit(message string, files ...string) string {
	c.t.Helper()
	c.day++
	for _, f := range files {
		at := filepath.Join(c.dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			c.t.Fatal(err)
		}
		if err := os.WriteFile(at, fmt.Appendf(nil, "package p // %s %d\n", f, c.day), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	c.git("add", "--", ".", ":!fold")
	c.git("commit", "-q", "-m", message)
	return c.git("rev-parse", "HEAD")
}

// look remembers commits, and returns how many memories of commits there are.
func (c *committed) look(opt CommitOptions) int {
	c.t.Helper()
	if _, err := c.RememberCommits(c.t.Context(), opt, nil); err != nil {
		c.t.Fatal(err)
	}
	rows, _, _, err := c.Index.List(c.t.Context(), index.Filter{Source: fold.SourceGit, Limit: 100})
	if err != nil {
		c.t.Fatal(err)
	}
	return len(rows)
}

// file is the memory of a commit as it lies in fold/, "" if there is none.
func (c *committed) file(oid string) string {
	b, err := os.ReadFile(filepath.Join(c.dir, "fold", filepath.FromSlash(fold.CommitID(c.Slug, oid).Path())))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return string(b)
}

func TestNewCommitsBecomeMemories(t *testing.T) {
	c := committing(t)
	if n := c.look(CommitOptions{}); n != 0 {
		t.Fatalf("%d commits from before the checkout was added", n)
	}
	fix := c.commit("fix(auth): Close the \"door\": it was open\n\nIt let quokkas in.\n<<<<<<< HEAD\n\n  indented", "auth/door.go", "b.go")
	c.git("rm", "-q", "a.go")
	many := []string{}
	for i := range 50 + 5 {
		many = append(many, fmt.Sprintf("many/f%02d.go", i))
	}
	wide := c.commit("Widen "+strings.Repeat("word ", 40), many...)
	ours := c.commit("Publish\n\nFoldwatch-Commit: v1", "c.go")
	secret := c.commit("Rotate AKIA"+"Z7QLMX4RTNV2WYKD", "c.go")
	c.git("switch", "-q", "-c", "side", "HEAD~1")
	side := c.commit("Work aside", "side.go")
	if n := c.look(CommitOptions{}); n != 2 {
		t.Errorf("%d memories, want two", n)
	}
	c.git("switch", "-q", "main")
	c.git("merge", "-q", "--no-ff", "-m", "Merge side", "side")
	if n := c.look(CommitOptions{}); n != 3 || c.file(side) == "" {
		t.Errorf("%d memories after the merge, want three", n)
	}
	for _, oid := range []string{ours, secret, c.git("rev-parse", "HEAD")} {
		if c.file(oid) != "" {
			t.Errorf("a memory of %s", c.git("log", "-1", "--format=%s", oid))
		}
	}
	text := c.file(fix)
	for _, want := range []string{
		"memory_type: commit\n", "source: git\n", "author: Ann\n", "commit: " + fix + "\n", "tags: [fix, auth]\n",
		"created_at: 2026-03-03T10:00:00Z\n", "updated_at: 2026-03-03T11:30:00Z\n",
		"modifies: [\"" + string(fold.FileID("app", "auth/door.go")) + "\", \"" + string(fold.FileID("app", "b.go")) + "\"]\n",
		"# fix(auth): Close the \"door\": it was open\n", "It let quokkas in.", "<<<<<<< HEAD", "- `auth/door.go`\n",
		"|auth/door.go]]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the memory lacks %q:\n%s", want, text)
		}
	}
	if text := c.file(wide); !strings.Contains(text, "- and 6 more\n") || strings.Contains(text, string(fold.FileID("app", "a.go"))) || !strings.Contains(text, "- `a.go`\n") {
		t.Errorf("a wide commit:\n%.600s", text)
	}
	log, err := c.Store.History().Log(t.Context(), "", 0)
	if err != nil || len(log) != 2 || log[1].Subject != "fold: Add 2 commits of app" {
		t.Errorf("the journal: %+v, %v", log, err)
	}
	// Moved to and fro, also before the first commit that was seen, the branch
	// brings nothing new; and what a person deleted stays deleted.
	if err := c.State.SetGone(t.Context(), "app", fold.CommitID("app", fix), true); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(c.dir, "fold", filepath.FromSlash(fold.CommitID("app", fix).Path()))); err != nil {
		t.Fatal(err)
	}
	tip := c.git("rev-parse", "HEAD")
	c.git("reset", "-q", "--hard", c.git("rev-list", "--max-parents=0", "HEAD"))
	c.look(CommitOptions{})
	c.git("reset", "-q", "--hard", tip)
	if c.look(CommitOptions{}); c.file(fix) != "" {
		t.Error("a memory that was deleted is back")
	}
	if c.look(CommitOptions{History: 100}); c.file(fix) != "" {
		t.Error("a memory that was deleted is back by --history")
	}
	if n := c.look(CommitOptions{History: 100, Full: true}); n != 4 || c.file(fix) != text {
		t.Errorf("%d memories with all of history, want four", n)
	}
}

// TestTheFirstCommitIsNew: in a repository that was added without any.
func TestTheFirstCommitIsNew(t *testing.T) {
	c := committing(t)
	c.git("update-ref", "-d", "refs/heads/main")
	c.look(CommitOptions{})
	oid := c.commit("Begin anew", "a.go")
	if n := c.look(CommitOptions{}); n != 1 || c.file(oid) == "" {
		t.Errorf("%d memories, want one", n)
	}
}

// TestTwoMachinesWriteOneMemory: the same commit, met in other ways on another
// machine, is the same bytes.
func TestTwoMachinesWriteOneMemory(t *testing.T) {
	a := committing(t)
	a.look(CommitOptions{})
	oid := a.commit("Feed the quokkas\n\nAt noon.", "zoo/feed.go", "a.go")
	a.look(CommitOptions{})
	b := committing(t)
	if err := b.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(b.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	b.git("clone", "-q", "--bare", a.dir, ".git")
	b.git("config", "core.bare", "false")
	b.git("config", "diff.orderFile", "order")
	if err := os.WriteFile(filepath.Join(b.dir, "order"), []byte("zoo/*\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.SetRules(selection.Rules{Exclude: []string{"zoo/**"}})
	if n := b.look(CommitOptions{History: 1}); n != 1 || !bytes.Equal([]byte(a.file(oid)), []byte(b.file(oid))) || a.file(oid) == "" {
		t.Errorf("one machine wrote\n%s\nthe other\n%s", a.file(oid), b.file(oid))
	}
}

// TestARebaseRefersToWhatItRewrote: of a commit that was only moved the message
// is kept once, however often it is.
func TestARebaseRefersToWhatItRewrote(t *testing.T) {
	c := committing(t)
	c.look(CommitOptions{})
	old, reworded := c.commit("Count the bilbies\n\nEach of them.", "bilby.go"), c.commit("Typo in wombat", "wombat.go")
	c.look(CommitOptions{})
	first := fold.CommitID("app", old)
	for range 2 {
		c.git("switch", "-q", "-c", "other", "HEAD~2")
		base := c.commit("Other work", "a.go")
		c.git("switch", "-q", "main")
		c.git("rebase", "-q", base)
		c.git("branch", "-q", "-D", "other")
		c.git("commit", "-q", "--amend", "-m", fmt.Sprintf("Wombats %d", c.day))
		c.look(CommitOptions{})
		text := c.file(c.git("rev-parse", "HEAD~1"))
		if !strings.Contains(text, "supersedes: [\""+string(first)+"\"]\n") || strings.Contains(text, "Each of them") || !strings.Contains(text, "# Count the bilbies\n") {
			t.Errorf("the memory of a commit that was moved:\n%s", text)
		}
		if text := c.file(c.git("rev-parse", "HEAD")); !strings.Contains(text, "supersedes: [") || !strings.Contains(text, "- `wombat.go`\n") {
			t.Errorf("the memory of a commit that was reworded, too:\n%s", text)
		}
	}
	if !strings.Contains(c.file(old), "Each of them") || c.file(reworded) == "" {
		t.Error("the first memories are gone")
	}
}

// TestAnAmendedCommitSupersedesWhatItWas: its change is another, and its author's
// time the same. Two of one time are not taken for each other.
func TestAnAmendedCommitSupersedesWhatItWas(t *testing.T) {
	c := committing(t)
	c.look(CommitOptions{})
	first := c.commit("Count the numbats", "numbat.go")
	c.look(CommitOptions{})
	amend := func(text string) string {
		if err := os.WriteFile(filepath.Join(c.dir, "numbat.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.git("commit", "-q", "--amend", "-a", "-m", "Count the numbats at dusk")
		return c.git("rev-parse", "HEAD")
	}
	now := amend("package p // amended\n")
	c.look(CommitOptions{})
	if text := c.file(now); !strings.Contains(text, "supersedes: [\""+string(fold.CommitID("app", first))+"\"]\n") || !strings.Contains(text, "- `numbat.go`\n") {
		t.Errorf("the memory of an amended commit:\n%s", text)
	}

	c.day-- // so that the next has the same time
	c.commit("Count them again", "again.go")
	c.look(CommitOptions{})
	c.git("reset", "-q", "--hard", "HEAD~2")
	c.day-- // and these two have it too
	one := c.commit("Count the potoroos", "potoroo.go")
	c.day--
	two := c.commit("Count the dunnarts", "dunnart.go")
	c.look(CommitOptions{})
	for _, oid := range []string{one, two} {
		if text := c.file(oid); text == "" || strings.Contains(text, "supersedes") {
			t.Errorf("the memory of a commit that is like two others:\n%s", text)
		}
	}
}

// TestAYearOfCommitsIsCapped: the rest is told, and had by asking for it.
func TestAYearOfCommitsIsCapped(t *testing.T) {
	c := committing(t)
	c.look(CommitOptions{})
	var in bytes.Buffer
	const most, n = 20, 50
	c.Follower.MostCommits = most
	for i := range n {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter Ann <ann@example.org> %d +0000\ndata <<E\nChange %d\nE\n", 1800000000+i, i)
		if i == 0 {
			fmt.Fprintf(&in, "from %s\n", c.git("rev-parse", "HEAD"))
		}
		fmt.Fprintf(&in, "M 100644 inline a.go\ndata <<E\npackage p // %d\nE\n", i)
	}
	cmd := exec.CommandContext(t.Context(), "git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = c.dir, &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v\n%s", err, out)
	}
	left := func(want int) {
		t.Helper()
		if got, err := c.CommitsLeft(t.Context()); err != nil || got != want {
			t.Errorf("CommitsLeft = %d, %v; want %d", got, err, want)
		}
	}
	var last Step
	if _, err := c.RememberCommits(t.Context(), CommitOptions{}, func(s Step) { last = s }); err != nil {
		t.Fatal(err)
	}
	if last.Stage != progress.StageCommits || last.Done != most || last.Total != most {
		t.Errorf("progress ended at %+v", last)
	}
	left(n)
	if got := c.look(CommitOptions{}); got != most {
		t.Errorf("%d memories, want %d", got, most)
	}
	c.git("reset", "-q", "--hard")
	c.commit("One more", "b.go")
	c.look(CommitOptions{})
	left(n + 1)
	c.look(CommitOptions{History: 10})
	left(n + 1)
	if got := c.look(CommitOptions{History: n + 1}); got != n+1 {
		t.Errorf("%d memories, want %d", got, n+1)
	}
	left(0)
	if log, err := c.Store.History().Log(t.Context(), "", 0); err != nil || len(log) != 3 {
		t.Errorf("%d revisions, want one a call that wrote: %v", len(log), err)
	}
	// Without the wish nothing comes by itself.
	c.Follower.NoCommits = true
	c.commit("Not wanted", "b.go")
	if got := c.look(CommitOptions{}); got != n+1 {
		t.Errorf("%d memories, want still %d", got, n+1)
	}
}

// TestTipWhoseCommitIsGone: the commit that was described last was replaced and pruned,
// while its list of files is still kept.
func TestTipWhoseCommitIsGone(t *testing.T) {
	c := committing(t)
	describe := func(opt TipOptions) {
		t.Helper()
		if _, err := c.DescribeTip(t.Context(), opt, nil); err != nil {
			t.Error(err)
		}
	}
	describe(TipOptions{Gaps: true})
	c.commit("Two", "two.go")
	describe(TipOptions{Gaps: true})
	c.git("commit", "-q", "--amend", "-m", "Two again")
	c.git("reflog", "expire", "--expire=now", "--all")
	c.git("gc", "-q", "--prune=now")
	describe(TipOptions{})
	describe(TipOptions{})
}
