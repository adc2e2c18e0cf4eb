package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// As many searches work as there are cores, one less during a save, in the order
// they came.
func TestSearchesStandBackForASave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{cores: 2}
		var mu sync.Mutex
		var began []int
		ends := make([]func(), 6)
		for i := range ends {
			go func() {
				end, err := d.begin(t.Context())
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
		done := d.save()
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
		d := &desk{cores: 2}
		defer d.save()()
		ends := make(chan func(), 32)
		for n := range 2*crowdAt + 2 {
			go func() {
				end, err := d.begin(t.Context())
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
		d := &desk{cores: 1}
		end, err := d.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error)
		go func() {
			_, err := d.begin(ctx)
			given <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Errorf("begin = %v", err)
		}
		end()
		if end, err = d.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		end()
	})
}
