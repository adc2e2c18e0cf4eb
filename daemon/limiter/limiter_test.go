package limiter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// As many searches work as there are cores, one less during a save, in the order
// they came.
func TestSearchesStandBackForASave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Limiter{cores: 2}
		var mu sync.Mutex
		var began []int
		ends := make([]func(), 6)
		for i := range ends {
			go func() {
				end, err := d.Search(t.Context())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				began, ends[i] = append(began, i), end
			}()
			synctest.Wait()
		}
		check := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(began) != want || slices.Max(began) != want-1 {
				t.Errorf("%s: searches %v began, want the first %d", what, began, want)
			}
		}
		check("two cores", 2)
		done := d.Save()
		ends[0]()
		check("during a save", 2)
		ends[1]()
		check("one ended", 3)
		done()
		check("after the save", 4)
		ends[2]()
		ends[3]()
		check("at the end", 6)
		ends[4]()
		ends[5]()
		if d.working != 0 || len(d.queue) != 0 {
			t.Errorf("%d work and %d wait at the end", d.working, len(d.queue))
		}
	})
}

// Where saves follow each other without end, a crowd of searches gets all cores.
func TestACrowdOfSearchesIsNotHeldUpBySaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Limiter{cores: 2}
		defer d.Save()()
		ends := make(chan func(), 32)
		for n := range 2*crowdAt + 2 {
			go func() {
				end, err := d.Search(t.Context())
				if err != nil {
					t.Error(err)
				}
				ends <- end
			}()
			synctest.Wait()
			if want := 1 + n/(2*crowdAt+1); len(ends) != want {
				t.Errorf("%d searches asked during a save: %d began, want %d", n+1, len(ends), want)
			}
		}
		for range cap(ends) {
			if synctest.Wait(); len(ends) > 0 {
				(<-ends)()
			}
		}
		if d.working != 0 || len(d.queue) != 0 {
			t.Errorf("%d work and %d wait at the end", d.working, len(d.queue))
		}
	})
}

// A search that is given up takes nobody's turn.
func TestASearchThatIsGivenUpFreesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Limiter{cores: 1}
		end, err := d.Search(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error)
		go func() {
			_, err := d.Search(ctx)
			given <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("begin = %v", err)
		}
		end()
		if end, err = d.Search(t.Context()); err != nil {
			t.Fatal(err)
		}
		end()
	})
}

// Where a crowd of searches waits, a write stands behind those that came before it,
// and takes no place of a search; where none does it waits for nobody.
func TestWritesQueueBehindACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Limiter{cores: 2}
		ends := make(chan func(), 64)
		search := func() {
			end, err := d.Search(t.Context())
			if err != nil {
				t.Error(err)
			}
			ends <- end
		}
		for range 2 + crowdAt*2 {
			go search()
			synctest.Wait()
		}
		if err := d.Write(t.Context()); err != nil || d.Crowded() {
			t.Errorf("write beside a few searches: %v, crowded: %v", err, d.Crowded())
		}
		go search() // a crowd
		synctest.Wait()
		wrote := make(chan struct{})
		go func() {
			if err := d.Write(t.Context()); err != nil {
				t.Error(err)
			}
			close(wrote)
		}()
		synctest.Wait()
		go search() // stands behind the write
		synctest.Wait()
		came := func() bool {
			synctest.Wait()
			select {
			case <-wrote:
				return true
			default:
				return false
			}
		}
		for n := range crowdAt * 2 {
			if came() {
				t.Fatalf("the write came before %d of the searches that stood before it", crowdAt*2+1-n)
			}
			(<-ends)()
		}
		(<-ends)()
		if !came() {
			t.Error("the write did not come when all that stood before it had begun")
		}
		if d.working != 2 || len(ends) != 2 {
			t.Errorf("%d searches work beside a write, want 2", d.working)
		}
		(<-ends)()
		(<-ends)()
		synctest.Wait()
		(<-ends)()
		if d.working != 0 || d.searches != 0 || len(d.queue) != 0 {
			t.Errorf("%d work, %d wait, queue %d at the end", d.working, d.searches, len(d.queue))
		}
	})
}

// However many searches are before it, a write goes on after some time, and one that
// is given up leaves the queue.
func TestAWriteWaitsSoLongAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Limiter{cores: 1}
		ctx, stop := context.WithCancel(t.Context())
		for range 1 + crowdAt + 1 {
			go func() {
				if end, err := d.Search(ctx); err == nil {
					<-ctx.Done()
					end()
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		if err := d.Write(t.Context()); err != nil || time.Since(began) != writeMost {
			t.Errorf("write = %v after %v, want it after %v", err, time.Since(began), writeMost)
		}
		short, end := context.WithTimeout(t.Context(), writeMost/2)
		defer end()
		if err := d.Write(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("write that is given up = %v", err)
		}
		stop()
		synctest.Wait()
		if d.working != 0 || d.searches != 0 || len(d.queue) != 0 {
			t.Errorf("%d work, %d wait, queue %d at the end", d.working, d.searches, len(d.queue))
		}
	})
}
