package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestWhatIsReplacedIsHeldOpen: the system frees what a rename replaces, and waits for
// the disk with that where others write, only after git's index is let go (git.md B4).
func TestWhatIsReplacedIsHeldOpen(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := branchStore(t, dir, func(o *gitops.StoreOptions) {
		o.Now = func() time.Time { return time.Now().Add(time.Hour) }
	})
	remember(t, s, "First", "x")
	if onto(t, s).Oid == "" {
		t.Fatal("nothing was committed")
	}
	remember(t, s, "Second", "x")
	held := map[string]string{}
	s.OnBranchStep(func(step string) error {
		list, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		for _, e := range list {
			name, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
			if gone, ok := strings.CutSuffix(name, " (deleted)"); err == nil && ok && strings.HasPrefix(gone, dir) {
				held[step] += filepath.Base(gone) + " "
			}
		}
		return nil
	})
	if onto(t, s).Oid == "" {
		t.Fatal("nothing was committed")
	}
	for step, want := range map[string]string{"reference": "main", "index": "index"} {
		if !strings.Contains(held[step], want) {
			t.Errorf("at step %s these replaced files are open: %q; want %s", step, held[step], want)
		}
	}
}
