package daemon_test

import (
	"context"
	"fmt"
	"sync"
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
