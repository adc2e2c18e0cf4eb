package recall

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestDoorsAreOpenedSomeAtATime: a search of many checkouts asks first for those
// that are open, and opens the others side by side, but never more than a few.
func TestDoorsAreOpenedSomeAtATime(t *testing.T) {
	t.Parallel()
	const many = 17
	ready := []int{2, 5, 11, 16} // as many as are asked for at a time
	var mu sync.Mutex
	var asked []int
	inside, most := 0, 0
	full := make(chan struct{})
	var checkouts []Checkout
	for i := range many {
		checkouts = append(checkouts, Checkout{
			Ready: func() bool { return slices.Contains(ready, i) },
			Acquire: func(context.Context) (*Service, func(), error) {
				mu.Lock()
				asked = append(asked, i)
				inside++
				most = max(most, inside)
				if inside == maxLeases && len(asked) == maxLeases {
					close(full)
				}
				mu.Unlock()
				select {
				case <-full:
				case <-time.After(20 * time.Second):
					t.Error("they are opened one after the other")
				}
				mu.Lock()
				inside--
				mu.Unlock()
				return nil, nil, errors.New("not to be opened")
			},
		})
	}
	reply, err := SearchAll(t.Context(), checkouts, wire.SearchRequest{Query: "emu"}, nil, nil)
	if err != nil || len(reply.Results) != 0 {
		t.Errorf("a search of what cannot be opened: %+v, %v", reply, err)
	}
	if most != maxLeases {
		t.Errorf("%d checkouts were open at once, want %d", most, maxLeases)
	}
	first := slices.Sorted(slices.Values(asked[:len(ready)]))
	if !slices.Equal(first, ready) {
		t.Errorf("%v were asked first, want those that are open, %v", first, ready)
	}
	if slices.Sort(asked); len(asked) != many || len(slices.Compact(asked)) != many {
		t.Errorf("%v were asked, want each of %d once", asked, many)
	}
}

// TestASearchThatEndsOpensNoMoreDoors: an error at one, or the caller's end, is the
// search's.
func TestASearchThatEndsOpensNoMoreDoors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var checkouts []Checkout
	for range 3 * maxLeases {
		checkouts = append(checkouts, Checkout{Acquire: func(ctx context.Context) (*Service, func(), error) {
			cancel()
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}})
	}
	if _, err := SearchAll(ctx, checkouts, wire.SearchRequest{Query: "emu"}, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that was given up returns %v", err)
	}
}
