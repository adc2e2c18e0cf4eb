package gitops_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// opCounter counts steps by their kind.
type opCounter struct {
	mu sync.Mutex
	n  map[disk.Op]int
}

func (c *opCounter) Before(op disk.Op, _ string, size int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[disk.Op]int{}
	}
	c.n[op]++
	return size, nil
}

func (c *opCounter) syncs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[disk.OpSync] + c.n[disk.OpSyncDir]
}

// writesOf makes n memories that describe sources.
func writesOf(n int) []gitops.Write {
	ws := make([]gitops.Write, n)
	for i := range ws {
		id, b := memoryFile("Memory "+string(rune('a'+i%26))+" "+strings.Repeat("x", i%7)+" "+strconv.Itoa(i), strings.Repeat("Some words of it. ", 40))
		ws[i] = gitops.Write{ID: id, Path: id.Path(), New: b, Described: b}
	}
	return ws
}

func packs(t *testing.T, dir string) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, ".git/foldwatch/repo.git/objects/pack/*.pack"))
	must(t, err)
	return len(list)
}

// TestManyWritesCostFewSyncs holds performance.md 6, rows 10 and 11: thousands
// of new memories are one commit and one pack, and are durable without a sync
// for each.
func TestManyWritesCostFewSyncs(t *testing.T) {
	syncs := map[int]int{}
	for _, n := range []int{600, 3000} {
		dir := checkout(t)
		c := &opCounter{}
		s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = c })
		before := c.syncs()
		wrote, skipped, err := s.PutMany(t.Context(), writesOf(n))
		if err != nil || wrote != n || len(skipped) > 0 {
			t.Fatalf("PutMany = %d, %v, %v", wrote, skipped, err)
		}
		syncs[n] = c.syncs() - before
		t.Logf("%d memories: %d syncs (%v)", n, syncs[n], c.n)
		if got := strings.TrimSpace(repoGit(t, dir, "rev-list", "--count", "refs/foldwatch/journal")); got != "1" {
			t.Errorf("%d memories are %s commits, want 1", n, got)
		}
		if p := packs(t, dir); p > 2 {
			t.Errorf("%d memories are %d packs, want at most 2", n, p)
		}
		if st := s.Status(); st.WalEntries != 0 || st.Loose > 20 {
			t.Errorf("%d memories: %+v", n, st)
		}
		fsck(t, dir)
	}
	if syncs[3000] > 40 || syncs[3000] > syncs[600]+10 {
		t.Errorf("syncs grow with what is written: %v", syncs)
	}
}

// TestUnchangedFilesAreNeverRewritten looks at the inodes and times of memory
// files that are written again as they are.
func TestUnchangedFilesAreNeverRewritten(t *testing.T) {
	dir := checkout(t)
	c := &opCounter{}
	s := openStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = c })
	ws := writesOf(700)
	_, _, err := s.PutMany(t.Context(), ws)
	must(t, err)
	look := func() map[string]os.FileInfo {
		out := map[string]os.FileInfo{}
		for _, w := range ws {
			fi, err := os.Lstat(filepath.Join(dir, "fold", w.Path))
			must(t, err)
			out[w.Path] = fi
		}
		return out
	}
	before, tip := look(), s.Tip()
	c.n = nil
	if n, skipped, err := s.PutMany(t.Context(), ws); err != nil || n != len(ws) || len(skipped) > 0 {
		t.Fatalf("PutMany again = %d, %v, %v", n, skipped, err)
	}
	_, err = s.CommitAll(t.Context())
	must(t, err)
	for p, now := range look() {
		if was := before[p]; !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) {
			t.Fatalf("%s was rewritten", p)
		}
	}
	if s.Tip() != tip {
		t.Error("a commit was made of what did not change")
	}
	if c.n[disk.OpCreate] > 0 {
		t.Errorf("%d files were created", c.n[disk.OpCreate])
	}
}
