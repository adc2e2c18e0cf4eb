//go:build unix

package gitops_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestBranchCrashChild is the process that TestBranchKilledAtEveryStep kills: it
// commits onto the branch of a checkout and ends itself at one step.
func TestBranchCrashChild(t *testing.T) {
	dir, step := os.Getenv("FOLDWATCH_TEST_CRASH_DIR"), os.Getenv("FOLDWATCH_TEST_CRASH_STEP")
	if dir == "" {
		t.Skip("runs in a process of its own, started by TestBranchKilledAtEveryStep")
	}
	s := branchStore(t, dir, nil)
	s.OnBranchStep(func(at string) error {
		if at == step {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	})
	remember(t, s, "Second", "kept")
	_, err := s.CommitBranch(t.Context())
	must(t, err)
}

// TestBranchKilledAtEveryStep: kill -9 at each step of a commit onto the branch.
// After a restart there is no stale lock, git finds nothing wrong, nothing is lost,
// and what the user staged is as it was (I7, F05, F07).
func TestBranchKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"2", "4"} { // patched by us, and by git
		for _, step := range gitops.BranchSteps() {
			t.Run(index+" "+step, func(t *testing.T) {
				t.Parallel()
				dir := checkout(t)
				git(t, dir, "update-index", "--index-version", index)
				s := branchStore(t, dir, nil)
				first := remember(t, s, "First", "x")
				onto(t, s)
				git(t, dir, "tag", "seen") // the next is a commit of its own
				must(t, s.Close())
				write(t, filepath.Join(dir, "staged.go"), "package s\n")
				git(t, dir, "add", "staged.go")
				before := git(t, dir, "status", "--porcelain=v1")

				cmd := exec.Command(os.Args[0], "-test.run=^TestBranchCrashChild$", "-test.v")
				cmd.Env = append(os.Environ(), "FOLDWATCH_TEST_CRASH_DIR="+dir, "FOLDWATCH_TEST_CRASH_STEP="+step)
				out, err := cmd.CombinedOutput()
				if ee, ok := err.(*exec.ExitError); !ok || ee.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL { //nolint:errorlint // as Run returns it
					t.Fatalf("the child ended with %v, not killed:\n%s", err, out)
				}
				if moved := git(t, dir, "rev-parse", "HEAD") != git(t, dir, "rev-parse", "seen"); moved != (step == "reference" || step == "log" || step == "index" || step == "synced") {
					t.Errorf("branch moved: %t", moved)
				}

				s = branchStore(t, dir, nil)
				noLocks(t, dir)
				git(t, dir, "fsck", "--strict", "--no-dangling")
				if git(t, dir, "rev-parse", "HEAD") == git(t, dir, "rev-parse", "seen") {
					onto(t, s)
				}
				if got := git(t, dir, "log", "-1", "--format=%s", "HEAD"); got != `fold: Add decision "Second"` {
					t.Errorf("HEAD is %q", got)
				}
				if got := git(t, dir, "rev-list", "--count", "seen..HEAD"); got != "1" {
					t.Errorf("%s commits, want 1", got)
				}
				if got := git(t, dir, "status", "--porcelain=v1"); got != before {
					t.Errorf("status =\n%s\nwas\n%s", got, before)
				}
				if got := git(t, dir, "reflog", "-1", "--format=%H %gs"); got != git(t, dir, "rev-parse", "HEAD")+` commit: fold: Add decision "Second"` {
					t.Errorf("reflog = %q", got)
				}
				if got := git(t, dir, "ls-tree", "-r", "--name-only", "HEAD", "fold/"+first); got == "" {
					t.Error("the first memory is gone")
				}
				git(t, dir, "fsck", "--strict", "--no-dangling")
				if left, _ := filepath.Glob(filepath.Join(dir, ".git/foldwatch/branch.*")); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// TestForeignLockStays: a lock that git made is never removed, also not where one
// of ours was (F05).
func TestForeignLockStays(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, nil)
	remember(t, s, "First", "x")
	s.OnBranchStep(func(at string) error {
		if at == "intent" { // a crash, and git comes
			write(t, filepath.Join(dir, ".git/index.lock"), "")
			return gitops.ErrCrashed
		}
		return nil
	})
	if _, err := s.CommitBranch(t.Context()); err == nil {
		t.Fatal("CommitBranch went on after the crash")
	}
	must(t, s.Close())
	head := git(t, dir, "rev-parse", "HEAD")
	s = branchStore(t, dir, nil)
	if _, err := os.Lstat(filepath.Join(dir, ".git/index.lock")); err != nil {
		t.Errorf("a lock of git was removed: %v", err)
	}
	b, err := s.CommitBranch(t.Context())
	must(t, err)
	if b.Wait.Reason == "" || !b.Pending || git(t, dir, "rev-parse", "HEAD") != head {
		t.Errorf("CommitBranch with index.lock held = %+v", b)
	}
	must(t, os.Remove(filepath.Join(dir, ".git/index.lock")))
	onto(t, s)
}
