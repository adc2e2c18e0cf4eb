package events

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

func all(wire.Event) bool { return true }

// take returns what is in a channel now, and whether it was closed.
func take(ch <-chan wire.Event) (kinds []string, ids []uint64, closed bool) {
	for {
		select {
		case e, ok := <-ch:
			if !ok {
				return kinds, ids, true
			}
			kinds, ids = append(kinds, e.Type), append(ids, e.ID)
		default:
			return kinds, ids, false
		}
	}
}

func TestBusReplaysWhatIsKept(t *testing.T) {
	t.Parallel()
	b := New(time.UnixMicro(100))
	for range 3 {
		b.Publish("a", "", nil)
	}
	for after, want := range map[uint64][]uint64{
		0: nil, 103: nil, 102: {103}, 100: {101, 102, 103}, // from where it stopped
		99:  {100, 101, 102, 103}, // of the daemon before: told that events are missing
		500: {100, 101, 102, 103}, // of one whose clock was ahead
	} {
		kinds, ids, _ := take(b.Subscribe(t.Context(), after, all))
		if !slices.Equal(ids, want) || slices.Contains(kinds, eventsMissed) != (len(ids) == 4) {
			t.Errorf("after %d: %v %v, want %v", after, kinds, ids, want)
		}
	}
	for range 2 * busKeep {
		b.Publish("b", "", nil)
	}
	kinds, ids, _ := take(b.Subscribe(t.Context(), 103, all))
	if kinds[0] != eventsMissed || ids[1] != ids[0]+1 || ids[len(ids)-1] != b.last || slices.Contains(kinds[1:], eventsMissed) {
		t.Errorf("after a gap: %d events, %s %d, then %d", len(ids), kinds[0], ids[0], ids[1])
	}
	if now := New(time.Now()); now.last < 1e15 || now.last > 1<<53 {
		t.Errorf("numbers begin at %d", now.last)
	}
}

// TestBusDropsSlowListeners stops reading, comes back, and misses nothing.
func TestBusDropsSlowListeners(t *testing.T) {
	t.Parallel()
	b := New(time.UnixMicro(100))
	slow, other := b.Subscribe(t.Context(), 0, all), b.Subscribe(t.Context(), 0, func(e wire.Event) bool { return e.Type == "last" })
	for range busAhead {
		b.Publish("a", "", nil)
	}
	b.Publish("last", "", nil)
	kinds, ids, closed := take(slow)
	n := len(kinds) - 1
	if !closed || n != busAhead || kinds[n] != eventsDropped || ids[n] != ids[n-1] {
		t.Fatalf("slow listener got %d events, the last %s %d, closed %v", len(kinds), kinds[n], ids[n], closed)
	}
	if kinds, _, closed := take(other); closed || !slices.Equal(kinds, []string{"last"}) {
		t.Errorf("the other got %v, closed %v", kinds, closed)
	}
	if kinds, _, _ := take(b.Subscribe(t.Context(), ids[n], all)); !slices.Equal(kinds, []string{"last"}) {
		t.Errorf("when it came back it got %v", kinds)
	}
	if sent, listeners, dropped := b.Counts(); sent != busAhead+1 || listeners != 2 || dropped != 1 {
		t.Errorf("counts = %d, %d, %d", sent, listeners, dropped)
	}
}

func TestBusEndsWithItsListener(t *testing.T) {
	t.Parallel()
	b := New(time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	ch := b.Subscribe(ctx, 0, all)
	cancel()
	if _, ok := <-ch; ok {
		t.Error("an event after the end")
	}
	b.Publish("a", "", nil) // finds nobody
}
