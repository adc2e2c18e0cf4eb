//go:build accept

package rig

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// TestCrashSync: kill -9 at random moments of a sync by which two machines change the
// same memory. Nothing is lost, no lock is left, and git finds nothing wrong in the
// checkout, the sidecar, its mirror and the remote (I7, F04).
func TestCrashSync(t *testing.T) {
	began := time.Now()
	n, faults := crashSync(t, "", crashes, 0)
	for _, f := range faults {
		t.Error(f)
	}
	t.Logf("crash of a sync: n=%d bad=%d secs=%.0f", n, len(faults), time.Since(began).Seconds())
}

// A syncCrash is one run of two machines, of which the first is killed.
type syncCrash struct {
	*hammer
	shared string   // id of the memory that both change
	words  []string // that both are to have in the end
}

// crashSync kills n syncs, or as many as there is time for, or, if until is not 0, as
// many as it takes to find that many faults. It tells what was wrong afterwards.
func crashSync(t *testing.T, bin string, n, until int) (done int, faults []string) {
	t.Helper()
	c := &syncCrash{hammer: newHammer(t, hammerOptions{replicas: 2, sync: true, seed: 11}, bin)}
	c.serve()
	a := c.replicas[0]
	made, err := client.New(a.m.socket()).AddMemory(t.Context(), slug, wire.MemoryCreate{Title: "Shared", Content: "- both change this\n"})
	if err != nil {
		t.Fatal(err)
	}
	c.shared = made.ID
	c.words = append(c.words, "both change this")
	if why := c.meet(2 * time.Minute); why != "" {
		t.Fatalf("without a crash: %s", why)
	}
	whole := c.took()
	t.Logf("a sync with something to do takes %.0f ms", ms(whole))
	rnd := rand.New(rand.NewPCG(11, 0))
	limit := time.Now().Add(8 * time.Minute)
	for ; done < n && time.Now().Before(limit) && (until == 0 || len(faults) < until); done++ {
		if why := c.prepare(done); why != "" {
			faults = append(faults, fmt.Sprintf("crash %d: %s", done, why))
		}
		ended := make(chan error, 1)
		go func() { ended <- c.syncNow(a) }()
		<-time.After(time.Duration(rnd.Int64N(int64(whole))))
		c.crash(a)
		<-ended // it fails where the crash came first
		if why := c.meet(time.Minute); why != "" {
			faults = append(faults, fmt.Sprintf("crash %d: %s", done, why))
		}
		faults = append(faults, c.locked(done)...)
	}
	for _, r := range c.replicas {
		r.m.stop()
	}
	c.fsck()
	for _, f := range c.hammer.faults {
		faults = append(faults, f.text)
	}
	mirrors, _ := filepath.Glob(filepath.Join(a.m.home, "fw", "data", "mirrors", "*.git"))
	if len(mirrors) == 0 {
		faults = append(faults, "there is no mirror")
	}
	for _, dir := range mirrors {
		if out, code := a.quietly("--git-dir="+dir, "fsck", "--no-dangling", "--no-progress"); code != 0 {
			faults = append(faults, fmt.Sprintf("git fsck of the mirror: %s", out))
		}
	}
	return done, faults
}

// prepare gives the first replica something to send and something to take in. It returns
// what is wrong if the other one cannot send it.
func (c *syncCrash) prepare(round int) (why string) {
	c.t.Helper()
	for _, r := range c.replicas {
		c.change(r, round)
	}
	was := c.tips()
	eventually(20*time.Second, 50*time.Millisecond, func() bool {
		out, err := c.replicas[1].sync(c.t.Context())
		if why = ""; err != nil {
			why = "the other machine cannot sync: " + firstLine(out)
		}
		return err == nil && c.tips() != was
	})
	return why
}

// tips tells where the branches of the remote are.
func (c *syncCrash) tips() string {
	out, _ := c.replicas[0].quietly("--git-dir="+c.origin, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
	return out
}

// took returns for how long a sync works that has something to do, and a little more.
func (c *syncCrash) took() time.Duration {
	c.t.Helper()
	if why := c.prepare(-1); why != "" {
		c.t.Fatal(why)
	}
	began := time.Now()
	if err := c.syncNow(c.replicas[0]); err != nil {
		c.t.Fatal(err)
	}
	return time.Since(began) * 5 / 4
}

// syncNow has the daemon of a replica sync.
func (c *syncCrash) syncNow(r *replica) error {
	cl := client.New(r.m.socket())
	list, err := cl.Repositories(context.Background(), slug)
	if err != nil || len(list.Items) != 1 {
		return fmt.Errorf("%d repositories: %w", len(list.Items), err)
	}
	_, err = cl.Sync(context.Background(), slug, list.Items[0].ID, wire.SyncRequest{})
	return err
}

// change has an agent of a replica add a memory, and change the one that both have.
func (c *syncCrash) change(r *replica, round int) {
	c.t.Helper()
	cl := client.New(r.m.socket())
	word := fmt.Sprintf("word%sr%d.", r.name, round)
	if _, err := cl.AddMemory(c.t.Context(), slug, wire.MemoryCreate{Title: word, Content: "New " + word + "\n"}); err != nil {
		c.t.Fatal(err)
	}
	if _, err := cl.UpdateMemory(c.t.Context(), slug, c.shared, wire.MemoryUpdate{Append: "\n- shared " + word + "\n"}); err != nil {
		c.t.Fatal(err)
	}
	c.words = append(c.words, "New "+word, "shared "+word)
}

// meet syncs both machines until each has every word once, and returns what is wrong if
// they do not in limit.
func (c *syncCrash) meet(limit time.Duration) (why string) {
	eventually(limit, 50*time.Millisecond, func() bool {
		why = ""
		for _, r := range c.replicas {
			if out, err := r.sync(c.t.Context()); err != nil {
				why = fmt.Sprintf("replica %d cannot sync: %s", r.n, firstLine(out))
			}
		}
		for _, r := range c.replicas {
			if missing := c.missing(r); missing != "" {
				why = missing
			}
		}
		return why == ""
	})
	return why
}

// missing returns which word a replica has not once, "" if it has all.
func (c *syncCrash) missing(r *replica) string {
	text := ""
	err := filepath.WalkDir(filepath.Join(r.dir, "fold"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".md") {
			return nil //nolint:nilerr // taken away meanwhile
		}
		b, _ := os.ReadFile(p)
		text += string(b)
		return nil
	})
	if err != nil {
		return err.Error()
	}
	for _, w := range c.words {
		if n := strings.Count(text, w); n != 1 {
			return fmt.Sprintf("replica %d has %q %d times", r.n, w, n)
		}
	}
	return ""
}

// locked returns the locks of git that are left in the checkout that was killed, and in
// the repositories of ours.
func (c *syncCrash) locked(round int) (faults []string) {
	r := c.replicas[0]
	if !eventually(5*time.Second, 50*time.Millisecond, func() bool { // the next daemon is at work
		faults = nil
		_ = filepath.WalkDir(filepath.Join(r.dir, ".git"), func(p string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(p, ".lock") {
				faults = append(faults, fmt.Sprintf("crash %d: a lock is left: %s", round, p))
			}
			return nil
		})
		return len(faults) == 0
	}) {
		return faults
	}
	return nil
}
