package daemon_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestAStopAmongWritesAndRebuilds has writers, readers and a loop of rebuilds,
// and then a stop in the middle of all of them: nobody waits for ever, the stop
// keeps to its five seconds, and every acknowledged write is there afterwards.
func TestAStopAmongWritesAndRebuilds(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	d := p.d
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	over := make(chan struct{})
	var mu sync.Mutex
	var acked []string
	failures := map[string]int{} // a reopened index refuses what was under way
	var wg sync.WaitGroup
	forever := func(do func(i int) error) {
		wg.Go(func() {
			for i := 0; ; i++ {
				err := do(i)
				select {
				case <-over:
					return
				default:
				}
				if err != nil {
					mu.Lock()
					failures[err.Error()]++
					mu.Unlock()
				}
				if ctx.Err() != nil {
					t.Error("somebody waits for ever")
					return
				}
			}
		})
	}
	for w := range 3 {
		forever(func(i int) error {
			r, err := d.AddMemory(ctx, local(), p.slug, wire.MemoryCreate{Content: fmt.Sprintf("Number %d of writer %d.", i, w)})
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				acked = append(acked, r.ID)
			}
			return err
		})
	}
	rebuilt := make(chan struct{}, 1)
	forever(func(int) error {
		_, err := d.Reindex(ctx, local(), p.slug, wire.Reindex{Rebuild: true})
		select {
		case rebuilt <- struct{}{}:
		default:
		}
		return err
	})
	forever(func(int) error {
		_, err := d.Search(ctx, local(), p.slug, wire.SearchRequest{Query: "number"})
		return err
	})
	for range 3 {
		<-rebuilt
	}
	start := time.Now()
	close(over)
	p.stop()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the stop took %v, want at most 5 s", took)
	}
	wg.Wait()
	if len(acked) == 0 {
		t.Error("nothing was written")
	}
	for text, n := range failures {
		t.Logf("%d times: %s", n, text)
	}
	p.start()
	p.settle()
	for _, id := range acked {
		if _, err := p.get(id); err != nil {
			t.Errorf("acknowledged, and not there: %v", err)
		}
	}
}

// TestAStopInABigCommit tells the daemon to stop in the middle of a commit of many
// files, of which each takes long, as on a disk that hardly answers: the commit
// ends with its context, so does the one that a stop makes itself, and the next
// start commits the rest.
func TestAStopInABigCommit(t *testing.T) {
	t.Parallel()
	const notes, reached, slow = 400, 25, 100 * time.Millisecond
	var looked, after atomic.Int64
	var stopped atomic.Pointer[<-chan struct{}]
	inside := make(chan struct{})
	m := newMachineWith(t, t.TempDir(), func(m *machine) {
		m.faults = func(op string) error {
			end := stopped.Load()
			if op != "check" || end == nil {
				return nil
			}
			select {
			case <-*end: // all of them would take 40 seconds
				after.Add(1)
				time.Sleep(slow)
				return nil
			default:
			}
			if looked.Add(1) == reached {
				close(inside)
				<-*end
			}
			return nil
		}
	})
	p := m.add(New(t, map[string]string{"main.go": mainGo}), wire.ProjectCreate{Slug: "app"})
	p.committed("project.toml")
	end := p.d.Stopped()
	stopped.Store(&end)
	for i := range notes {
		p.write(fmt.Sprintf("fold/note%d.md", i), fmt.Sprintf("# Note %d\n\nOne of many.\n", i))
	}
	select {
	case <-inside:
	case <-time.After(patience):
		t.Fatal("no big commit began")
	}
	start := time.Now()
	p.stop()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the stop took %v, want at most 5 s", took)
	}
	if n := after.Load(); n >= notes-reached {
		t.Errorf("after the stop %d files were looked at: the commit went on to its end", n)
	}
	t.Logf("%d files looked at before the stop, %d after it", looked.Load(), after.Load())
	stopped.Store(nil)
	p.start()
	p.eventually("the next start commits all of them", func() bool {
		return strings.Count(git(t, p.dir, "--git-dir="+p.file(".git/foldwatch/repo.git"), "ls-tree", "-r", "--name-only", "refs/foldwatch/journal"), "note") == notes
	})
}
