package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// lockedFaults counts what is done to files of fold/ while git's index is locked.
type lockedFaults struct {
	lock   string
	under  atomic.Int64
	before atomic.Int64
}

func (f *lockedFaults) Before(_ disk.Op, path string, size int) (int, error) {
	if !strings.HasSuffix(path, ".md") {
		return size, nil
	}
	if _, err := os.Lstat(f.lock); errors.Is(err, fs.ErrNotExist) {
		f.before.Add(1)
	} else {
		f.under.Add(1)
	}
	return size, nil
}

// syncHeld has files of one clone changed and taken in by another, and returns for how
// long that held git's index locked.
func syncHeld(t testing.TB, a, b *clone, paths []string, old, now string) (held time.Duration) {
	t.Helper()
	for _, p := range paths {
		a.edit(p, old, now, false)
	}
	onto(t, a.s)
	a.synced()
	var since time.Time
	b.s.OnBranchStep(func(step string) error {
		switch step {
		case "locked index":
			since = time.Now()
		case "index":
			held = time.Since(since)
		}
		return nil
	})
	if got := b.synced(); len(got.Paths) != len(paths) || held == 0 {
		t.Fatalf("SyncBranch = %+v, held %v", got, held)
	}
	return held
}

// TestFilesBeforeTheLock: what comes from the remote is written before git's index is
// locked, so that this is locked no longer for many files than for one (git.md B4).
func TestFilesBeforeTheLock(t *testing.T) {
	isolate(t)
	remote := sharedRemote(t)
	a := newClone(t, remote)
	var paths []string
	for i := range 8 {
		paths = append(paths, remember(t, a.s, fmt.Sprintf("Memory %d", i), "as it was"))
	}
	onto(t, a.s)
	a.synced()
	b := newClone(t, remote)
	must(t, b.s.Close())
	faults := &lockedFaults{lock: filepath.Join(b.dir, ".git", "index.lock")}
	b.s = branchStore(t, b.dir, func(o *gitops.StoreOptions) { o.Faults = faults })
	_, err := b.s.CommitAll(t.Context())
	must(t, err)
	t.Logf("held %v", syncHeld(t, a, b, paths, "as it was", "as it is"))
	if faults.under.Load() > 0 || faults.before.Load() == 0 {
		t.Errorf("%d steps were done to files while the index was locked, %d before", faults.under.Load(), faults.before.Load())
	}
	if got := b.read(paths[7]); !strings.Contains(got, "as it is") {
		t.Errorf("the file holds %q", got)
	}
	b.clean()
}

// BenchmarkSyncBranchLock measures for how long git's index is locked where five files
// come from the remote: p99 is to be 10 ms at most.
func BenchmarkSyncBranchLock(b *testing.B) {
	isolate(b)
	remote := sharedRemote(b)
	one := newClone(b, remote)
	var paths []string
	for i := range 5 {
		paths = append(paths, remember(b, one.s, fmt.Sprintf("Memory %d", i), "round 0 of it"))
	}
	onto(b, one.s)
	one.synced()
	two := newClone(b, remote)
	_, err := two.s.CommitAll(b.Context())
	must(b, err)
	var all []time.Duration
	for i := 0; b.Loop(); i++ {
		all = append(all, syncHeld(b, one, two, paths, fmt.Sprintf("round %d of", i), fmt.Sprintf("round %d of", i+1)))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}
