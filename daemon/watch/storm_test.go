package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// TestStormIsOneBatch is goal 15: 10,000 files in 2 s.
func TestStormIsOneBatch(t *testing.T) {
	root := t.TempDir()
	mkdirs(t, root, "a", "b")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		out := runFake(t, New(Options{Root: root}), func() (notifier, error) { return f, nil })
		start := time.Now()
		for i := range 10_000 {
			name := filepath.Join(root, []string{"a", "b"}[i%2], fmt.Sprint("f", i))
			f.events <- fsnotify.Event{Name: name, Op: fsnotify.Create}
			f.events <- fsnotify.Event{Name: name, Op: fsnotify.Write}
			time.Sleep(200 * time.Microsecond)
		}
		last := time.Now()
		b := <-out
		if len(b.Paths) != 10_000 || b.Reconcile {
			t.Errorf("the batch names %d paths, reconcile %v %q", len(b.Paths), b.Reconcile, b.Reason)
		}
		if wait := time.Since(last); wait > 500*time.Millisecond+stormRest || time.Since(start) > 3*time.Second {
			t.Errorf("the batch came %v after the last event", wait)
		}
		select {
		case b := <-out:
			t.Errorf("another batch: %d paths, %q", len(b.Paths), b.Reason)
		case <-time.After(time.Minute):
		}
	})
}

// TestOverflowOfManyEvents is F26: 200,000 events in 5 s, of which the system
// loses some again and again.
func TestOverflowOfManyEvents(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		w := New(Options{Root: root})
		out := runFake(t, w, func() (notifier, error) { return f, nil })
		for i := range 200_000 {
			f.events <- fsnotify.Event{Name: filepath.Join(root, fmt.Sprint("f", i%50_000)), Op: fsnotify.Write}
			if i%16_384 == 16_383 {
				f.errs <- fsnotify.ErrEventOverflow
			}
			if i%40 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		last := time.Now()
		b := <-out
		if !b.Reconcile || time.Since(last) > 500*time.Millisecond+stormRest {
			t.Errorf("batch = reconcile %v, %d paths, %v after the last event", b.Reconcile, len(b.Paths), time.Since(last))
		}
		if len(b.Paths) > w.opt.MaxPaths {
			t.Errorf("%d paths were kept", len(b.Paths))
		}
		select {
		case b := <-out:
			t.Errorf("another batch: %+v", b)
		case <-time.After(time.Minute):
		}
	})
}

// TestSaveLoopIsAFewBatches is goal 16: 100 saves of one file in 5 s.
func TestSaveLoopIsAFewBatches(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		out := runFake(t, New(Options{Root: root}), func() (notifier, error) { return f, nil })
		var last atomic.Int64 // ns
		go func() {
			for range 100 {
				f.events <- fsnotify.Event{Name: filepath.Join(root, "a.go"), Op: fsnotify.Write}
				last.Store(time.Now().UnixNano())
				time.Sleep(50 * time.Millisecond)
			}
		}()
		n := 0
		var at time.Time
		for quiet := false; !quiet; {
			select {
			case b := <-out:
				if n, at = n+1, time.Now(); !slices.Equal(b.Paths, []string{"a.go"}) {
					t.Errorf("batch = %+v", b)
				}
			case <-time.After(30 * time.Second):
				quiet = true
			}
		}
		if wait := time.Duration(at.UnixNano() - last.Load()); n > 3 || wait < 0 {
			t.Errorf("%d batches, the last %v after the last save", n, wait)
		}
	})
}

// TestIgnoredDirectoriesAreAskedAboutTogether: what comes up is asked about
// before it is watched, many directories at once, and none below an ignored one.
func TestIgnoredDirectoriesAreAskedAboutTogether(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10_000)
		var asks, names atomic.Int64
		w := New(Options{
			Root: root, Dirs: func(context.Context) ([]string, error) { return []string{"."}, nil },
			Ignored: func(_ context.Context, dirs []string) (map[string]bool, error) {
				asks.Add(1)
				names.Add(int64(len(dirs)))
				time.Sleep(5 * time.Millisecond) // a run of git
				out := map[string]bool{}
				for _, d := range dirs {
					out[d] = d == "target"
				}
				return out, nil
			},
		})
		out := runFake(t, w, func() (notifier, error) { return f, nil })
		mkdirs(t, root, "target/a/b", "target/c", "src/in")
		for i := range 500 {
			d := fmt.Sprint("pkg", i)
			mkdirs(t, root, d)
			f.events <- fsnotify.Event{Name: filepath.Join(root, d), Op: fsnotify.Create}
		}
		for _, d := range []string{"target", "src"} {
			f.events <- fsnotify.Event{Name: filepath.Join(root, d), Op: fsnotify.Create}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := w.State(); s.Watched != 1+500+2 { // the root, what came up, src and src/in
			t.Errorf("%d directories are watched", s.Watched)
		}
		if a, n := asks.Load(), names.Load(); a > 10 || n > 510 {
			t.Errorf("%d questions about %d directories", a, n)
		}
		select {
		case b := <-out:
			t.Errorf("batch = %+v although no file came", b)
		default:
		}
	})
}
