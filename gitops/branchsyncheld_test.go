package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// underLock notes which steps of files are done while git's index is locked.
type underLock struct {
	mu     sync.Mutex // guards the fields below
	locked time.Time  // zero while it is not
	held   time.Duration
	steps  map[disk.Op]int
	before func() // is called once, where the first file is about to be placed
}

func (u *underLock) Before(op disk.Op, _ string, size int) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.locked.IsZero() {
		return size, nil
	}
	u.steps[op]++
	if fn := u.before; fn != nil && op == disk.OpRename {
		u.before = nil
		fn()
	}
	return size, nil
}

func (u *underLock) step(at string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch at {
	case "locked index":
		u.locked, u.steps = time.Now(), map[disk.Op]int{}
	case "index":
		u.held, u.locked = time.Since(u.locked), time.Time{}
	}
	return nil
}

// heldRig is a clone that is behind by eight files: four were changed, three are new,
// one is gone.
func heldRig(t *testing.T) (a, b *clone, u *underLock, changed []string) {
	t.Helper()
	remote := sharedRemote(t)
	a = newClone(t, remote)
	for i := range 4 {
		changed = append(changed, a.remember(fmt.Sprintf("Changed %d", i), "one\n\ntwo\n\nthree"))
	}
	gone := a.remember("Gone", "x")
	a.synced()
	b = newClone(t, remote)
	_, err := b.s.CommitAll(t.Context())
	must(t, err)
	must(t, b.s.Close())
	u = &underLock{}
	b.s = branchStore(t, b.dir, func(o *gitops.StoreOptions) { o.Faults = u })
	for _, p := range changed {
		a.edit(p, "one", "ONE", false)
	}
	for i := range 3 {
		remember(t, a.s, fmt.Sprintf("New %d", i), "x")
	}
	onto(t, a.s)
	git(t, a.dir, "rm", "-q", "fold/"+gone)
	git(t, a.dir, "commit", "-qm", "gone")
	git(t, a.dir, "push", "-q", remote, "main")
	b.s.OnBranchStep(u.step)
	return a, b, u, append(changed, gone)
}

// TestTakingSyncsNothingUnderTheLock: while git's index is locked files only change their
// names: all that waits for the disk is done before or after (B4, B7).
func TestTakingSyncsNothingUnderTheLock(t *testing.T) {
	t.Parallel()
	_, b, u, paths := heldRig(t)
	got := b.synced()
	if len(got.Paths) != 8 {
		t.Fatalf("SyncBranch = %+v", got)
	}
	for _, op := range []disk.Op{disk.OpSync, disk.OpSyncDir, disk.OpWrite, disk.OpCreate, disk.OpMkdir} {
		if n := u.steps[op]; n > 0 {
			t.Errorf("%s: %d times while the index was locked", op, n)
		}
	}
	t.Logf("held %v, steps %v", u.held, u.steps)
	for _, p := range paths[:4] {
		if !strings.Contains(b.read(p), "ONE") {
			t.Errorf("%s holds %q", p, b.read(p))
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "fold", paths[4])); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is gone there is here: %v", err)
	}
	b.clean()
	if left, _ := filepath.Glob(filepath.Join(b.dir, ".git/foldwatch/.fw-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestTakingMeetsASave: a person saves a file, makes one where a new one is to come, and
// changes one that is to go, when all is ready: nothing of it is lost.
func TestTakingMeetsASave(t *testing.T) {
	t.Parallel()
	a, b, u, paths := heldRig(t)
	saved, gone, made := filepath.Join(b.dir, "fold", paths[0]), filepath.Join(b.dir, "fold", paths[4]), ""
	for i := range 3 {
		p := filepath.Join("fold", memoryPath(fmt.Sprintf("New %d", i)))
		if i == 1 {
			made = filepath.Join(b.dir, p)
		}
	}
	text, last := strings.Replace(string(read(t, saved)), "three", "THREE by hand", 1), string(read(t, gone))+"\nand more\n"
	_, other := memoryFile("New 1", "x by hand")
	u.before = func() {
		must(t, os.WriteFile(saved, []byte(text), 0o644))
		must(t, os.WriteFile(gone, []byte(last), 0o644))
		must(t, os.MkdirAll(filepath.Dir(made), 0o755))
		must(t, os.WriteFile(made, other, 0o644))
	}
	got := b.sync()
	if got.Wait.Waits() {
		t.Fatalf("SyncBranch = %+v", got)
	}
	for path, want := range map[string][]string{saved: {"ONE", "THREE by hand"}, gone: {"and more"}, made: {"by hand"}} {
		for _, w := range want {
			if have := string(read(t, path)); !strings.Contains(have, w) {
				t.Errorf("%s holds %q, want %q in it", path, have, w)
			}
		}
	}
	b.s.OnBranchStep(nil)
	_, err := b.s.CommitAll(t.Context())
	must(t, err)
	_, err = b.s.CommitBranch(t.Context())
	must(t, err)
	b.synced()
	git(t, a.dir, "pull", "-q")
	if !strings.Contains(a.read(paths[0]), "THREE by hand") {
		t.Errorf("a has %q", a.read(paths[0]))
	}
	b.clean()
}

// TestTakingWaitsWithNothingLeft: a command of the user takes the index when all is
// ready: nothing of what was made ready is left, on disk or in the log of writes.
func TestTakingWaitsWithNothingLeft(t *testing.T) {
	t.Parallel()
	_, b, _, paths := heldRig(t)
	lock := filepath.Join(b.dir, ".git/index.lock")
	b.s.OnBranchStep(func(at string) error {
		if at == "locked main" {
			write(t, lock, "")
		}
		return nil
	})
	got := b.sync()
	if !got.Wait.Waits() || len(got.Paths) > 0 {
		t.Errorf("SyncBranch = %+v, want it to wait", got)
	}
	must(t, os.Remove(lock))
	if n := b.s.Status().WalEntries; n != 0 {
		t.Errorf("%d writes are in the log", n)
	}
	if st := git(t, b.dir, "status", "--porcelain", "-uall"); st != "" {
		t.Errorf("status =\n%s", st)
	}
	if left, _ := filepath.Glob(filepath.Join(b.dir, ".git/foldwatch/.fw-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	b.s.OnBranchStep(nil)
	b.synced()
	if !strings.Contains(b.read(paths[0]), "ONE") {
		t.Errorf("afterwards it holds %q", b.read(paths[0]))
	}
	b.clean()
}

func memoryPath(title string) string {
	id, _ := memoryFile(title, "x")
	return id.Path()
}
