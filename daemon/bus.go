package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// busKeep is how many past events a client that comes back can still be given.
const busKeep = 1024

// A bus hands live events to whoever listens. A listener that does not keep up
// loses the oldest events, never holds up the sender. It is safe for
// concurrent use.
type bus struct {
	mu   sync.Mutex // guards the fields below
	last uint64
	past []wire.Event
	subs map[*subscriber]struct{}
}

type subscriber struct {
	ch   chan wire.Event
	want func(wire.Event) bool
}

func newBus() *bus { return &bus{subs: map[*subscriber]struct{}{}} }

// publish sends an event to all listeners. Data must not be changed afterwards.
func (b *bus) publish(kind, project string, data map[string]any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	e := wire.Event{ID: b.last, Type: kind, Project: project, Time: time.Now().UTC(), Data: data}
	b.past = append(b.past, e)
	if len(b.past) > busKeep {
		b.past = append(b.past[:0:0], b.past[len(b.past)-busKeep/2:]...)
	}
	for s := range b.subs {
		if !s.want(e) {
			continue
		}
		select {
		case s.ch <- e:
		default:
			select { // full: the oldest goes
			case <-s.ch:
			default:
			}
			select {
			case s.ch <- e:
			default:
			}
		}
	}
}

// subscribe returns the events after the one numbered after, as far as they are
// still kept, and then all that come, until ctx ends and the channel is closed.
// After 0 is from now on.
func (b *bus) subscribe(ctx context.Context, after uint64, want func(wire.Event) bool) <-chan wire.Event {
	s := &subscriber{ch: make(chan wire.Event, busKeep), want: want}
	b.mu.Lock()
	if after > 0 {
		for _, e := range b.past {
			if e.ID > after && want(e) {
				s.ch <- e
			}
		}
	}
	b.subs[s] = struct{}{}
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, s)
		close(s.ch)
	})
	return s.ch
}
