package gitops_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// branchStore opens a store that commits onto the branch.
func branchStore(t testing.TB, dir string, edit func(*gitops.StoreOptions)) *gitops.Store {
	t.Helper()
	return openStore(t, dir, func(o *gitops.StoreOptions) {
		o.CommitTo = "branch"
		if edit != nil {
			edit(o)
		}
	})
}

// remember writes a memory and has it recorded in the journal.
func remember(t testing.TB, s *gitops.Store, title, body string) (path string) {
	t.Helper()
	id, b := memoryFile(title, body)
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b, Author: "claude"})
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	return id.Path()
}

// onto commits onto the branch and expects that nothing is in the way.
func onto(t testing.TB, s *gitops.Store) gitops.Branched {
	t.Helper()
	b, err := s.CommitBranch(t.Context())
	must(t, err)
	if b.Wait.Reason != "" || b.Oid == "" || b.Pending {
		t.Fatalf("CommitBranch = %+v", b)
	}
	return b
}

func TestCommitBranch(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, "staged.go"), "package s\n")
	git(t, dir, "add", "staged.go")
	write(t, filepath.Join(dir, "a.go"), "package a // edited\n")
	head := git(t, dir, "rev-parse", "HEAD")
	s := branchStore(t, dir, nil)
	if _, err := os.Stat(filepath.Join(dir, "fold", ".gitignore")); err == nil {
		t.Error("fold/ hides itself although the branch is to track it")
	}
	status := git(t, dir, "status", "--porcelain=v2")
	before := git(t, dir, "ls-files", "--stage", "--debug")
	p := remember(t, s, "Session timeout policy", "Thirty minutes.")
	b := onto(t, s)
	if b.Count != 1 || b.Replaced != "" || b.Branch != "main" {
		t.Errorf("CommitBranch = %+v", b)
	}
	if got := git(t, dir, "rev-parse", "HEAD"); got != b.Oid {
		t.Errorf("HEAD = %s, want %s", got, b.Oid)
	}
	if got := git(t, dir, "log", "-1", "--format=%an %ae|%cn|%s|%P"); got != "Ann ann@example.org|foldwatch|fold: Add decision \"Session timeout policy\"|"+head {
		t.Errorf("commit = %q", got)
	}
	if got := git(t, dir, "log", "-1", "--format=%(trailers)"); !strings.Contains(got, "Foldwatch-Commit: v1\nFoldwatch-Count: 1\nCo-authored-by: claude") {
		t.Errorf("trailers = %q", got)
	}
	if got := git(t, dir, "diff", "--name-status", "HEAD~", "HEAD"); got != "A\tfold/"+p {
		t.Errorf("the commit changes %q", got)
	}
	if got := git(t, dir, "--no-optional-locks", "status", "--porcelain=v2"); strings.ReplaceAll(got, b.Oid, head) != status {
		t.Errorf("status =\n%s\nwas\n%s", got, status)
	}
	after := git(t, dir, "ls-files", "--stage", "--debug")
	if rest := withoutEntry(after, "fold/"+p); rest != before {
		t.Errorf("entries outside fold/ =\n%s\nwere\n%s", rest, before)
	}
	if got := git(t, dir, "reflog", "-1", "--format=%gd %gs"); got != "HEAD@{0} commit: fold: Add decision \"Session timeout policy\"" {
		t.Errorf("reflog = %q", got)
	}
	if _, err := git2(dir, "diff-files", "--quiet", "fold"); err != nil {
		t.Errorf("git takes the committed file for changed: %v", err)
	}
	// Nothing is left to do, and nothing is done.
	again, err := s.CommitBranch(t.Context())
	must(t, err)
	if again.Oid != "" || again.Pending || again.Wait.Reason != "" {
		t.Errorf("second CommitBranch = %+v", again)
	}
	// The next one takes its place, as long as nobody has seen it (B6).
	p2 := remember(t, s, "Second", "x")
	b2 := onto(t, s)
	if b2.Replaced != b.Oid || git(t, dir, "rev-parse", "HEAD~") != head {
		t.Errorf("CommitBranch = %+v on %s, want it to replace %s", b2, git(t, dir, "rev-parse", "HEAD~"), b.Oid)
	}
	if got := git(t, dir, "diff", "--name-only", "HEAD~", "HEAD"); len(strings.Split(got, "\n")) != 2 || !strings.Contains(got, p2) {
		t.Errorf("the commit changes %q", got)
	}
	git(t, dir, "tag", "seen")
	_, err = s.Put(t.Context(), gitops.Write{Path: p2, Base: read(t, filepath.Join(dir, "fold", p2))})
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	b3 := onto(t, s)
	if b3.Replaced != "" || git(t, dir, "rev-parse", "HEAD~") != b2.Oid {
		t.Errorf("CommitBranch = %+v replaced a commit that a tag names", b3)
	}
	if got := git(t, dir, "diff", "--name-status", "HEAD~", "HEAD"); got != "M\tfold/"+p2 {
		t.Errorf("the commit changes %q", got)
	}
	git(t, dir, "fsck", "--strict", "--no-dangling")
	fsck(t, dir)
	t.Logf("held %v", b3.Held)
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

// withoutEntry cuts the entry at path, of one line and five of stat data, out of
// a listing.
func withoutEntry(listing, path string) string {
	lines := strings.Split(listing, "\n")
	for i, l := range lines {
		if strings.HasSuffix(l, "\t"+path) {
			return strings.Join(append(lines[:i:i], lines[i+6:]...), "\n")
		}
	}
	return listing
}

// TestCommitBranchOfMany goes in as one pack.
func TestCommitBranchOfMany(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	var ws []gitops.Write
	for i := range 700 {
		id, b := memoryFile(fmt.Sprintf("bulk %d", i), "x")
		ws = append(ws, gitops.Write{ID: id, New: b})
	}
	_, _, err := s.PutMany(t.Context(), ws)
	must(t, err)
	b := onto(t, s)
	if b.Count != 700 {
		t.Errorf("CommitBranch = %+v", b)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("status = %.200q", got)
	}
	packs, _ := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	if len(packs) != 1 {
		t.Errorf("%d packs", len(packs))
	}
	git(t, dir, "fsck", "--strict")
}

// noLocks expects that no lock of git is left.
func noLocks(t testing.TB, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(filepath.Join(dir, ".git"), func(p string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(p, ".lock") {
			t.Errorf("stale lock %s", p)
		}
		return err
	}))
}

// git2 runs git and hands back how it ended.
func git2(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestAllowedBranches: memories are committed onto the branches that the user named,
// and onto the default one only where it is among them (B1).
func TestAllowedBranches(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, func(o *gitops.StoreOptions) { o.Branches = []string{"develop", "release/*"} })
	remember(t, s, "Second", "x")
	for _, tc := range []struct {
		branch, wait string
	}{
		{"main", "HEAD is on main; memories are committed on develop, release/*"},
		{"release/1/fix", "HEAD is on release/1/fix"},
		{"develop", ""},
		{"release/2", ""},
	} {
		git(t, dir, "checkout", "-q", "-B", tc.branch)
		head := git(t, dir, "rev-parse", "HEAD")
		remember(t, s, "On "+tc.branch, "x")
		b, err := s.CommitBranch(t.Context())
		must(t, err)
		if !strings.HasPrefix(b.Wait.Reason, tc.wait) || (b.Wait.Reason == "") != (tc.wait == "") || (b.Oid == "") != (tc.wait != "") {
			t.Errorf("CommitBranch on %s = %+v, want it to wait: %q", tc.branch, b, tc.wait)
		}
		if moved := git(t, dir, "rev-parse", "HEAD") != head; moved != (tc.wait == "") {
			t.Errorf("%s moved: %t", tc.branch, moved)
		}
	}
}
