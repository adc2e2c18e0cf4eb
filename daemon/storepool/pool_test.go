package storepool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/daemon/storepool"
)

// A shelf has slots of one pool, in a bubble of synctest.
type shelf struct {
	t     *testing.T
	pool  *storepool.Pool
	slots []*storepool.Slot[string]

	mu   sync.Mutex
	open []string // the stores that are open, oldest first
	busy map[string]bool
}

// newShelf runs so many slots, which nobody needs once they were opened.
func newShelf(t *testing.T, n int, opt storepool.Options) *shelf {
	f := &shelf{t: t, pool: storepool.New(opt), busy: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	for i := range n {
		s := storepool.NewSlot[string](f.pool)
		f.slots = append(f.slots, s)
		wg.Go(func() {
			if err := s.Run(ctx, f.source(fmt.Sprint(i))); !errors.Is(err, context.Canceled) {
				t.Errorf("slot %d: %v", i, err)
			}
		})
		synctest.Wait()
		f.task(i).Release() // as at a start, where each has something to do
	}
	time.Sleep(time.Second)
	return f
}

func (f *shelf) source(name string) storepool.Source[string] {
	return storepool.Source[string]{
		Open: func(context.Context) (string, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.open = append(f.open, name)
			return name, nil
		},
		Close: func(name string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.open = slices.DeleteFunc(f.open, func(o string) bool { return o == name })
			return nil
		},
		Busy: func(name string) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.busy[name]
		},
	}
}

func (f *shelf) acquire(i int, use storepool.Use) *storepool.Lease[string] {
	f.t.Helper()
	l, err := f.slots[i].Acquire(f.t.Context(), use)
	if err != nil || l.Stores != fmt.Sprint(i) {
		f.t.Fatalf("slot %d: %v, %v", i, l, err)
	}
	return l
}

func (f *shelf) call(i int) *storepool.Lease[string] {
	f.t.Helper()
	return f.acquire(i, storepool.Call)
}

func (f *shelf) task(i int) *storepool.Lease[string] {
	f.t.Helper()
	return f.acquire(i, storepool.Task)
}

// later acquires in the background.
func (f *shelf) later(i int, use storepool.Use) <-chan *storepool.Lease[string] {
	got := make(chan *storepool.Lease[string], 1)
	go func() {
		if l, err := f.slots[i].Acquire(f.t.Context(), use); err == nil {
			got <- l
		}
	}()
	synctest.Wait()
	return got
}

func (f *shelf) isOpen(want ...string) {
	f.t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := slices.Sorted(slices.Values(f.open)); !slices.Equal(got, want) {
		f.t.Errorf("open are %q, want %q", got, want)
	}
}

func has(got <-chan *storepool.Lease[string]) bool {
	synctest.Wait()
	return len(got) > 0
}

func wanted(l *storepool.Lease[string]) bool {
	synctest.Wait()
	select {
	case <-l.Wanted():
		return true
	default:
		return false
	}
}

// TestTheLeastRecentlyUsedGivesWay to who comes, and is opened again when it is asked.
func TestTheLeastRecentlyUsedGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newShelf(t, 3, storepool.Options{Most: 2})
		f.isOpen("1", "2")
		f.call(1).Release()
		held := f.call(0)
		f.isOpen("0", "1")
		f.call(2).Release() // 0 is in use
		f.isOpen("0", "2")
		held.Release()
		held.Release() // does nothing
		time.Sleep(time.Second)
		f.call(2).Release()
		f.call(1).Release()
		f.isOpen("1", "2")
		if now, most, ever := f.pool.Open(); now != 2 || most != 2 || ever != 6 {
			t.Errorf("%d open, %d at most, %d ever", now, most, ever)
		}
	})
}

// TestACallEndsATask where no place is free, after a while; the task goes on later.
func TestACallEndsATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newShelf(t, 2, storepool.Options{Most: 1})
		task := f.task(0)
		call := f.later(1, storepool.Call)
		time.Sleep(1500 * time.Millisecond)
		if wanted(task) || has(call) {
			t.Fatal("the task is ended at once")
		}
		time.Sleep(time.Second)
		if !wanted(task) || has(call) {
			t.Fatal("the task is not ended, or its stores were taken")
		}
		task.Release()
		if !has(call) {
			t.Fatal("the call waits")
		}
		again := f.later(0, storepool.Task)
		if has(again) {
			t.Fatal("a task ends a call")
		}
		(<-call).Release()
		if !has(again) {
			t.Error("the task does not go on")
		}
		(<-again).Release()
	})
}

// TestPlacesAreKeptFromTasks, so that a call need not wait for them.
func TestPlacesAreKeptFromTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newShelf(t, 3, storepool.Options{Most: 5, Rest: time.Minute})
		time.Sleep(2 * time.Minute)
		f.isOpen()
		first := f.task(0)
		second, third := f.later(1, storepool.Task), f.later(2, storepool.Task)
		f.isOpen("0")
		f.slots[2].Hurry() // somebody waits for it now
		if !has(third) || has(second) {
			t.Error("a task that somebody waits for is not done first")
		}
		first.Release()
		if !has(second) {
			t.Error("the other task waits for ever")
		}
		(<-second).Release()
		(<-third).Release()
	})
}

// TestWhoIsAskedAllTheTimeGivesWay: calls without a pause do not keep another slot from
// its turn.
func TestWhoIsAskedAllTheTimeGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newShelf(t, 2, storepool.Options{Most: 1})
		over := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					if l, err := f.slots[0].Acquire(t.Context(), storepool.Call); err == nil {
						time.Sleep(30 * time.Millisecond)
						l.Release()
					}
				}
			})
			time.Sleep(10 * time.Millisecond) // the one begins before the other ends
		}
		began := time.Now()
		f.call(1).Release()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the other one waits for %v", took)
		}
		close(over)
		wg.Wait()
	})
}

// TestWhatNobodyUsesIsClosed, unless it works by itself. To look is no use.
func TestWhatNobodyUsesIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newShelf(t, 1, storepool.Options{Rest: time.Minute})
		f.call(0).Release()
		time.Sleep(40 * time.Second)
		if l := f.slots[0].Look(); l == nil || !f.slots[0].IsOpen() {
			t.Fatal("closed too early")
		} else {
			l.Release()
		}
		time.Sleep(21 * time.Second)
		f.isOpen()
		if f.slots[0].Look() != nil || f.slots[0].IsOpen() {
			t.Fatal("a look opens it")
		}
		call := f.call(0)
		time.Sleep(5 * time.Minute)
		f.isOpen("0")
		f.busy["0"] = true
		call.Release()
		time.Sleep(5 * time.Minute)
		f.isOpen("0")
		f.mu.Lock()
		f.busy["0"] = false
		f.mu.Unlock()
		time.Sleep(2 * time.Minute)
		f.isOpen()
	})
}

// TestStoresThatCannotBeOpened: who waits is told why, or waits on.
func TestStoresThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan struct{})
		pool := storepool.New(storepool.Options{Stopped: stopped})
		s := storepool.NewSlot[string](pool)
		acquire := func(ctx context.Context) <-chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := s.Acquire(ctx, storepool.Call)
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		broken := errors.New("disk full")
		if err := s.Run(t.Context(), storepool.Source[string]{Open: func(context.Context) (string, error) { return "", broken }}); !errors.Is(err, broken) {
			t.Errorf("Run = %v", err)
		}
		if now, _, _ := pool.Open(); now != 0 {
			t.Errorf("%d places are taken", now)
		}
		waits := acquire(t.Context())
		if len(waits) > 0 {
			t.Fatal("it does not wait to be opened again")
		}
		s.Fail(broken)
		if err := <-waits; !errors.Is(err, broken) {
			t.Errorf("who waits: %v", err)
		}
		if err := <-acquire(t.Context()); !errors.Is(err, broken) {
			t.Errorf("who comes: %v", err)
		}
		s.Fail(nil)
		ctx, cancel := context.WithCancel(t.Context())
		waits = acquire(ctx)
		cancel()
		if err := <-waits; !errors.Is(err, context.Canceled) {
			t.Errorf("who goes: %v", err)
		}
		waits = acquire(t.Context())
		close(stopped)
		if err := <-waits; !errors.Is(err, storepool.ErrStopped) {
			t.Errorf("at the stop: %v", err)
		}
	})
}

// TestTheEndWaitsForWhoUsesThem: for calls within bounds, for tasks until they stop.
func TestTheEndWaitsForWhoUsesThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storepool.NewSlot[string](storepool.New(storepool.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		closed := errors.New("closed")
		ended := make(chan error, 1)
		go func() {
			ended <- s.Run(ctx, storepool.Source[string]{
				Open:  func(context.Context) (string, error) { return "", nil },
				Close: func(string) error { return closed },
				Busy:  func(string) bool { return false },
			})
		}()
		call, err := s.Acquire(ctx, storepool.Call)
		if err != nil {
			t.Fatal(err)
		}
		task, err := s.Acquire(ctx, storepool.Task)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(3 * time.Second) // the call does not end
		if !wanted(task) || len(ended) > 0 {
			t.Fatal("the task is not told, or not waited for")
		}
		task.Release()
		if err := <-ended; !errors.Is(err, closed) {
			t.Errorf("Run = %v", err)
		}
		call.Release()
	})
}
