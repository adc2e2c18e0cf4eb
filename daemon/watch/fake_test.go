package watch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// fakeNotifier is a notifier whose events, limits and death a test decides. It
// holds events that are not taken yet, as many as the kernel does.
type fakeNotifier struct {
	events chan fsnotify.Event
	errs   chan error

	mu    sync.Mutex
	limit int // watches; more are refused as the kernel does
	dirs  map[string]bool
}

func newFake(limit int) *fakeNotifier {
	return &fakeNotifier{events: make(chan fsnotify.Event, 16384), errs: make(chan error), limit: limit, dirs: map[string]bool{}}
}

func (f *fakeNotifier) Add(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirs) >= f.limit {
		return &os.PathError{Op: "inotify_add_watch", Path: dir, Err: syscall.ENOSPC}
	}
	f.dirs[dir] = true
	return nil
}

func (f *fakeNotifier) Remove(dir string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.dirs, dir)
	return nil
}

func (f *fakeNotifier) raise(limit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = limit
}

func (f *fakeNotifier) Events() <-chan fsnotify.Event { return f.events }
func (f *fakeNotifier) Errors() <-chan error          { return f.errs }
func (f *fakeNotifier) Close() error                  { return nil }

// runFake starts a watcher on root over the notifiers that next gives, inside a
// bubble, takes its first batch, and returns the channel of the others.
func runFake(t *testing.T, w *Watcher, next func() (notifier, error)) <-chan Batch {
	t.Helper()
	w.make = next
	w.opt.Log = slog.New(slog.DiscardHandler)
	out := make(chan Batch)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v", err)
		}
	})
	if b := <-out; !b.Reconcile || b.Reason != "start" {
		t.Errorf("first batch = %+v, want a reconcile", b)
	}
	return out
}

func mkdirs(t *testing.T, root string, dirs ...string) {
	t.Helper()
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIdleTicksOnlyForTheSweep(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		out := runFake(t, New(Options{Root: root, Sweep: time.Second}), func() (notifier, error) { return f, nil })
		start := time.Now()
		b := <-out
		if took := time.Since(start); took < 5*time.Minute || b.Reason != "sweep" || !b.Reconcile {
			t.Errorf("batch %+v after %v, want a sweep after 5 min at the earliest", b, took)
		}
	})
}

func TestOverflowBecomesOneReconcile(t *testing.T) {
	root := t.TempDir()
	mkdirs(t, root, "a")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		out := runFake(t, New(Options{Root: root}), func() (notifier, error) { return f, nil })
		mkdirs(t, root, "a/unseen")
		for range 100 {
			f.errs <- fsnotify.ErrEventOverflow
			f.events <- fsnotify.Event{Name: filepath.Join(root, "a", "x"), Op: fsnotify.Write}
		}
		start := time.Now()
		b := <-out
		if !b.Reconcile || !strings.Contains(b.Reason, "overflow") {
			t.Errorf("batch = %+v, want a reconcile", b)
		}
		if took := time.Since(start); took < 500*time.Millisecond || took > 500*time.Millisecond+stormRest {
			t.Errorf("the storm was reported after %v of quiet, want 500ms", took)
		}
		synctest.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.dirs[filepath.Join(root, "a", "unseen")] {
			t.Error("a directory that came up during the overflow is not watched")
		}
	})
}

func TestTooFewWatchesBecomeASweep(t *testing.T) {
	root := t.TempDir()
	mkdirs(t, root, "a", "b", "c")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		w := New(Options{Root: root, Files: func() int { return 10 }})
		out := runFake(t, w, func() (notifier, error) { return f, nil })
		if s := w.State(); !s.Polling || s.Polled != 2 || s.Watched != 2 || !strings.Contains(s.Reason, "max_user_watches") || s.Hint == "" {
			t.Errorf("State() = %+v", s)
		}
		start := time.Now()
		b := <-out
		if took := time.Since(start); took > 31*time.Second || b.Reason != "polling" || len(b.Dirs) != 2 {
			t.Errorf("batch %+v after %v", b, took)
		}
		f.raise(100)
		<-out
		synctest.Wait()
		if s := w.State(); s.Polling || s.Watched != 4 {
			t.Errorf("State() = %+v after the limit was raised", s)
		}
		start = time.Now()
		if b := <-out; time.Since(start) < 5*time.Minute {
			t.Errorf("batch %+v although nothing is swept any more", b)
		}
	})
}

func TestBigCheckoutsAreSweptEveryMinute(t *testing.T) {
	root := t.TempDir()
	mkdirs(t, root, "a")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		out := runFake(t, New(Options{Root: root, Files: func() int { return 60_000 }}), func() (notifier, error) { return f, nil })
		<-out
		start := time.Now()
		<-out
		if took := time.Since(start); took < 59*time.Second || took > 61*time.Second {
			t.Errorf("swept after %v, want a minute", took)
		}
	})
}

func TestADeadWatcherIsReplaced(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, second := newFake(100), newFake(100)
		made := 0
		w := New(Options{Root: root})
		out := runFake(t, w, func() (notifier, error) {
			made++
			switch made {
			case 1:
				return first, nil
			case 2, 3:
				return nil, syscall.EMFILE
			}
			return second, nil
		})
		close(first.events)
		b := <-out
		if !b.Reconcile || b.Reason != "restart" {
			t.Errorf("batch = %+v, want a reconcile", b)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := w.State(); s.Polling || s.Restarts != 1 {
			t.Errorf("State() = %+v", s)
		}
		<-out // of the restart
		second.events <- fsnotify.Event{Name: filepath.Join(root, "x"), Op: fsnotify.Write}
		if b := <-out; len(b.Paths) != 1 || b.Paths[0] != "x" {
			t.Errorf("batch = %+v, want x", b)
		}
	})
}

func TestNoWatcherAtAll(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := New(Options{Root: root})
		out := runFake(t, w, func() (notifier, error) { return nil, syscall.EMFILE })
		if s := w.State(); !s.Polling || !strings.Contains(s.Reason, "max_user_instances") {
			t.Errorf("State() = %+v", s)
		}
		if b := <-out; !b.Reconcile || b.Reason != "polling" || b.Dirs != nil {
			t.Errorf("batch = %+v, want everything polled", b)
		}
	})
}

func TestAnyErrorIsALoss(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		out := runFake(t, New(Options{Root: root}), func() (notifier, error) { return f, nil })
		f.errs <- errors.New("short read")
		if b := <-out; !b.Reconcile || b.Reason != "lost watch" {
			t.Errorf("batch = %+v, want a reconcile", b)
		}
	})
}

func TestABusyReceiverGetsTheRestInOne(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		out := runFake(t, New(Options{Root: root}), func() (notifier, error) { return f, nil })
		for _, name := range []string{"a", "b", "c"} {
			f.events <- fsnotify.Event{Name: filepath.Join(root, name), Op: fsnotify.Write}
			time.Sleep(time.Minute)
		}
		if b := <-out; len(b.Paths) != 1 || b.Paths[0] != "a" {
			t.Errorf("first batch = %v", b.Paths)
		}
		if b := <-out; strings.Join(b.Paths, " ") != "b c" {
			t.Errorf("second batch = %v", b.Paths)
		}
	})
}

func TestTheRootGoesAndComesBack(t *testing.T) {
	root := filepath.Join(t.TempDir(), "co")
	mkdirs(t, root, "a")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		w := New(Options{Root: root})
		out := runFake(t, w, func() (notifier, error) { return f, nil })
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		f.events <- fsnotify.Event{Name: root, Op: fsnotify.Remove}
		if b := <-out; !b.Reconcile {
			t.Errorf("batch = %+v, want a reconcile", b)
		}
		if s := w.State(); !s.Polling || !strings.Contains(s.Reason, "gone") {
			t.Errorf("State() = %+v", s)
		}
		mkdirs(t, root, "a/b")
		for w.State().Polling {
			<-out
		}
		synctest.Wait()
		if s := w.State(); s.Watched != 3 {
			t.Errorf("State() = %+v, want all directories watched again", s)
		}
	})
}

// TestAFolderThatBecomesARepository is looked at when its .git came up, and again,
// ever more rarely: git takes it for one from its first commit on, which may come
// minutes later.
func TestAFolderThatBecomesARepository(t *testing.T) {
	root := t.TempDir()
	mkdirs(t, root, "became")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		out := runFake(t, New(Options{Root: root}), func() (notifier, error) { return f, nil })
		start := time.Now()
		mkdirs(t, root, "became/.git")
		f.events <- fsnotify.Event{Name: filepath.Join(root, "became", ".git"), Op: fsnotify.Create}
		var looks []time.Duration
		for b := range out {
			if b.Reason == "sweep" {
				break
			}
			if slices.Contains(b.Paths, "became") {
				looks = append(looks, time.Since(start).Truncate(time.Second))
			}
		}
		want := []time.Duration{0, 2, 6, 14, 30, 62, 126, 254}
		for i := range want {
			want[i] *= time.Second
		}
		if len(looks) < len(want) || !slices.Equal(looks[:len(want)], want) || len(looks) > len(want)+1 {
			t.Errorf("looked at after %v, want %v and at most once more", looks, want)
		}
	})
}
