// Package events hands what happens in the daemon to whoever listens.
package events

import (
	"context"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

const (
	// busKeep is how many past events a listener that comes back can still be given.
	busKeep = 1024
	// busAhead is how many events a listener may be behind: all that are kept, and as
	// many while it reads those.
	busAhead = 2 * busKeep
)

// Kinds of events that the bus sends by itself.
const (
	// eventsMissed comes first where events between the last that the listener saw
	// and the next it gets are not kept any more: what it knows may be out of date.
	eventsMissed = "events:missed"
	// eventsDropped comes last to a listener that did not keep up. What it has not
	// got it gets when it comes back.
	eventsDropped = "events:dropped"
)

// A Bus hands live events to whoever listens, and never waits for them: a listener
// that does not keep up is told so and dropped. It is safe for concurrent use.
//
// Events are numbered from the time of the start in microseconds: those of a
// daemon that ran before have lower numbers, and none is above what a number of
// JSON can hold.
type Bus struct {
	mu      sync.Mutex // guards the fields below
	last    uint64
	past    []wire.Event
	subs    map[*subscriber]struct{}
	sent    int64 // events
	dropped int64 // listeners
}

type subscriber struct {
	ch   chan wire.Event
	want func(wire.Event) bool
	last uint64 // number of the last event in ch, or where it began
}

func New(start time.Time) *Bus {
	return &Bus{last: uint64(max(start.UnixMicro(), 1)), subs: map[*subscriber]struct{}{}}
}

// Publish sends an event to all listeners. Data must not be changed afterwards.
func (b *Bus) Publish(kind, project string, data map[string]any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	b.sent++
	e := wire.Event{ID: b.last, Type: kind, Project: project, Time: time.Now().UTC(), Data: data}
	b.past = append(b.past, e)
	if len(b.past) > busKeep {
		b.past = append(b.past[:0:0], b.past[len(b.past)-busKeep/2:]...)
	}
	for s := range b.subs {
		if s.want(e) {
			b.give(s, e)
		}
	}
}

// give hands e to s, or drops s where it has no room: one place is kept for
// telling it. It is called with mu held.
func (b *Bus) give(s *subscriber, e wire.Event) {
	if len(s.ch) < cap(s.ch)-1 {
		s.ch <- e
		s.last = e.ID
		return
	}
	s.ch <- wire.Event{ID: s.last, Type: eventsDropped, Time: e.Time}
	b.dropped++
	b.leave(s)
}

// leave ends a listener. It is called with mu held.
func (b *Bus) leave(s *subscriber) {
	if _, ok := b.subs[s]; ok {
		delete(b.subs, s)
		close(s.ch)
	}
}

// Subscribe returns the events after the one numbered after, as far as they are
// still kept, and then all that come, until ctx ends, or the listener does not
// keep up, and the channel is closed. After 0 is from now on.
func (b *Bus) Subscribe(ctx context.Context, after uint64, want func(wire.Event) bool) <-chan wire.Event {
	s := &subscriber{ch: make(chan wire.Event, busAhead+1), want: want}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[s] = struct{}{}
	s.last = b.last
	if after > 0 {
		b.replay(s, after)
	}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.leave(s)
	})
	return s.ch
}

// replay gives s what came after the event numbered after, and says so where that
// is not all. It is called with mu held.
func (b *Bus) replay(s *subscriber, after uint64) {
	before := b.last // the number before the oldest that is kept
	if len(b.past) > 0 {
		before = b.past[0].ID - 1
	}
	if after < before || after > b.last {
		s.last = before
		b.give(s, wire.Event{ID: before, Type: eventsMissed, Time: time.Now().UTC()})
	}
	for _, e := range b.past {
		if (e.ID > after || after > b.last) && s.want(e) {
			b.give(s, e)
		}
	}
}

// Counts are how many events were sent, how many listen, and how many listeners
// were dropped.
func (b *Bus) Counts() (sent, listeners, dropped int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent, int64(len(b.subs)), b.dropped
}
