package cut

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

func TestCutsAreMadeOnce(t *testing.T) {
	t.Parallel()
	var c Once
	var cache sync.Map
	var made, shared atomic.Int64
	const keys, callers = 500, 8
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := range keys {
				key := fmt.Sprint(i)
				again := func() ([]byte, error) {
					b, _ := cache.Load(key)
					v, _ := b.([]byte)
					return v, nil
				}
				b, mine, err := c.once(t.Context(), key, again, func() ([]byte, error) {
					made.Add(1)
					cache.Store(key, []byte(key))
					return []byte(key), nil
				})
				if err != nil || string(b) != key {
					t.Errorf("once(%s) = %q, %v", key, b, err)
				}
				if !mine {
					shared.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if made.Load() != keys || shared.Load() != keys*(callers-1) {
		t.Errorf("%d contents took %d cuts; %d were shared", keys, made.Load(), shared.Load())
	}
}

func TestCutsThatAreNotShared(t *testing.T) {
	t.Parallel()
	none := func() ([]byte, error) { return nil, nil }
	t.Run("a caller that gives up does not take others along", func(t *testing.T) {
		t.Parallel()
		var c Once
		began, end := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _, err := c.once(t.Context(), "k", none, func() ([]byte, error) {
				close(began)
				<-end
				return nil, context.Canceled
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the one that gave up: %v", err)
			}
		})
		<-began
		wg.Go(func() {
			b, mine, err := c.once(t.Context(), "k", none, func() ([]byte, error) { return []byte("x"), nil })
			if err != nil || !mine || string(b) != "x" {
				t.Errorf("the other: %q, %v, %v", b, mine, err)
			}
		})
		close(end)
		wg.Wait()
	})
	t.Run("a cut that may not be kept", func(t *testing.T) {
		t.Parallel()
		var c Once
		for range 2 {
			made := false
			b, mine, err := c.once(t.Context(), "k", none, func() ([]byte, error) {
				made = true
				return nil, nil
			})
			if err != nil || b != nil || !mine || !made {
				t.Errorf("once = %q, %v, %v; made %v", b, mine, err, made)
			}
		}
	})
	t.Run("one that is not trusted any more", func(t *testing.T) {
		t.Parallel()
		var c Once
		old := func() ([]byte, error) { return []byte("old"), nil }
		for _, want := range []bool{true, false, true} {
			_, mine, err := c.once(t.Context(), "k", old, func() ([]byte, error) { return []byte("new"), nil })
			if err != nil || mine != want {
				t.Errorf("once: made %v, %v; want %v", mine, err, want)
			}
			if !want {
				c.forget("k")
			}
		}
	})
	t.Run("one that left the cache", func(t *testing.T) {
		t.Parallel()
		var c Once
		n := 0
		for range 2 {
			if _, _, err := c.once(t.Context(), "k", none, func() ([]byte, error) {
				n++
				return []byte("x"), nil
			}); err != nil {
				t.Error(err)
			}
		}
		if n != 2 {
			t.Errorf("made %d times, want 2", n)
		}
	})
}
