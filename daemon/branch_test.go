package daemon_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// rested makes git of the checkout look as if nobody had used it for an hour.
func rested(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(filepath.Join(dir, ".git"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(p, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestABranchThatTracksFold: where HEAD tracks a fold/ of ours, memories are
// committed onto it by themselves, once git rests (git.md, Branch mode).
func TestABranchThatTracksFold(t *testing.T) {
	t.Parallel()
	first := newProject(t, map[string]string{"main.go": mainGo})
	r := first.addMemory(wire.MemoryCreate{Title: "Shared decision", Content: "The emu is fed at nine."})
	first.committed(r.Path)
	first.stop()
	dir := newCheckout(t, map[string]string{"main.go": mainGo})
	copyTree(t, first.file("fold"), filepath.Join(dir, "fold"))
	if err := os.Remove(filepath.Join(dir, "fold", ".gitignore")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "gnu.go"), "// Package gnu grazes.\npackage gnu\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "Track fold")
	m := newMachine(t)
	p := m.add(dir, wire.ProjectCreate{})
	if !p.found("emu fed at nine", "Shared decision") || !p.found("quokka smiles", "main.go") {
		t.Error("what is tracked is not found")
	}
	// The user has committed a moment ago: what is written is on disk and waits.
	head := p.git("rev-parse", "HEAD")
	w := p.addMemory(wire.MemoryCreate{Title: "Second decision", Content: "The ibis is fed at ten."})
	if !p.exists("fold/" + strings.TrimPrefix(w.Path, "fold/")) {
		t.Errorf("%s is not on disk", w.Path)
	}
	p.eventually("status says why it waits", func() bool {
		st := p.status()
		return st.State == "ready" && st.CommitTo == "branch" && st.Branch != nil && st.Branch.Waits != "" && st.Branch.WaitsSince != nil
	})
	file := p.fileID("gnu.go")
	if m := p.mustGet(file); m.Path != "" || !strings.Contains(m.State.BlockedReason, "made when it can be committed onto the branch, which waits: ") {
		t.Errorf("the description of gnu.go, at %q, says %q of its file", m.Path, m.State.BlockedReason)
	}
	reply, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, file, wire.MemoryUpdate{Append: "\nAsk Ann about it.\n"})
	if err != nil || !strings.Contains(reply.BlockedReason, "comes with its commit onto the branch, which waits: ") {
		t.Errorf("UpdateMemory of it: %q, %v", reply.BlockedReason, err)
	}
	if now := p.git("rev-parse", "HEAD"); now != head {
		t.Errorf("HEAD moved from %s to %s a moment after the user's commit", head, now)
	}
	m.stop()
	// An hour later.
	commitLongAgo(t, dir, "--amend", "--no-edit")
	write := filepath.Join(dir, "main.go")
	writeFile(t, write, mainGo+"\n// staged\n")
	git(t, dir, "add", "main.go")
	rested(t, dir)
	head = strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))
	m.start()
	p.eventually("the memory is on the branch", func() bool {
		return strings.Contains(p.git("log", "-1", "--format=%cn"), "foldwatch") && strings.Contains(p.git("ls-tree", "-r", "--name-only", "HEAD"), strings.TrimPrefix(w.Path, "fold/"))
	})
	if got := strings.TrimSpace(p.git("rev-parse", "HEAD~")); got != head {
		t.Errorf("our commit stands on %s, want %s", got, head)
	}
	if got := p.git("diff", "--name-only", "HEAD~", "HEAD"); strings.Contains(got, "main.go") {
		t.Errorf("our commit changes %q", got)
	}
	if got := strings.TrimSpace(p.git("status", "--porcelain")); got != "M  main.go" {
		t.Errorf("status = %q, want what was staged", got)
	}
	p.eventually("nothing waits", func() bool { return p.status().Branch.Waits == "" })
}

// commitLongAgo commits what is staged as of an hour ago.
func commitLongAgo(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"commit", "-q"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+time.Now().Add(-time.Hour).Format(time.RFC3339))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git commit: %v\n%s", err, out)
	}
}
