package gitops_test

import (
	"os"
	"path/filepath"
	"slices"
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
	t.Parallel()
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
	t.Parallel()
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

// TestBulkIsOneCommit writes in parts, as a first index does, with a write of
// an agent in between.
func TestBulkIsOneCommit(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	commits := func() string {
		return strings.TrimSpace(repoGit(t, dir, "rev-list", "--count", "refs/foldwatch/journal"))
	}
	ws := writesOf(900)
	end := s.Bulk()
	for part := range slices.Chunk(ws, 300) {
		if n, _, err := s.PutMany(ctx, part); err != nil || n != len(part) {
			t.Fatalf("PutMany = %d, %v", n, err)
		}
	}
	id, b := memoryFile("An agent's", "Said meanwhile.")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	for _, try := range []func() (gitops.Recorded, error){
		func() (gitops.Recorded, error) { return s.Commit(ctx, []string{id.Path()}, "") },
		func() (gitops.Recorded, error) { return s.CommitAll(ctx) },
	} {
		if rec, err := try(); err != nil || !rec.Later || rec.Oid != "" {
			t.Errorf("commit during a bulk = %+v, %v", rec, err)
		}
	}
	if st := s.Status(); st.WalEntries != 901 || st.Tip != "" {
		t.Errorf("Status during a bulk = %+v", st)
	}
	must(t, end(ctx))
	if st := s.Status(); st.WalEntries != 0 || st.Tip == "" {
		t.Errorf("Status after = %+v", st)
	}
	if got := commits(); got != "1" {
		t.Errorf("%s commits, want 1", got)
	}
	if p := packs(t, dir); p > 2 {
		t.Errorf("%d packs", p)
	}
	rec, err := s.CommitAll(ctx)
	if err != nil || rec.Later || rec.Oid != "" {
		t.Errorf("CommitAll after = %+v, %v: something was left out", rec, err)
	}
	fsck(t, dir)
}

// TestBulkSurvivesItsEnd closes the store in the middle of a bulk: what was
// written is durable, and the next start records it.
func TestBulkSurvivesItsEnd(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	ctx := t.Context()
	s := openStore(t, dir, nil)
	ws := writesOf(550)
	s.Bulk()
	if n, _, err := s.PutMany(ctx, ws); err != nil || n != len(ws) {
		t.Fatalf("PutMany = %d, %v", n, err)
	}
	must(t, s.Close())
	s = openStore(t, dir, nil)
	rec, err := s.CommitAll(ctx)
	if err != nil || len(rec.Written) < len(ws) || s.Status().WalEntries != 0 {
		t.Errorf("CommitAll = %d written, %v, %d in the log", len(rec.Written), err, s.Status().WalEntries)
	}
	if b, err := s.LastDescribed(ctx, ws[0].Path); err != nil || string(b) != string(ws[0].New) {
		t.Errorf("LastDescribed = %.40q, %v", b, err)
	}
	fsck(t, dir)
}
