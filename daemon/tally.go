package daemon

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// While a checkout is indexed, each batch changes what is counted, to count reads
// whole tables beside the one who writes them, and whoever watches asks several
// times a second. So status does not wait for it: keepCounts counts, when asked to
// and after a pause. How far the indexing is stands in Progress, which is always of now.
const (
	countPause = time.Second
	// oldCounts is from when on counts are waited for: who looks once, after a while,
	// is not told of a time that has long gone. Who watches never comes to it.
	oldCounts = 3 * time.Second
	// countWait is how long one status waits for counts that are old, or were never
	// made, of all checkouts together. A command that asks has to be there within 100 ms.
	countWait = 40 * time.Millisecond
)

// A tally is what was counted last in the stores of a checkout. checkout.mu guards it.
type tally struct {
	last   *wire.ProjectStatus // nil before the first
	of     *meaning            // whose vectors then answered, without them
	at     time.Time           // when that ended
	times  int                 // how often it was counted, since start
	wanted chan struct{}       // pokes keepCounts
	newer  chan struct{}       // closed when last is set, and then another
}

func newTally() tally { return tally{wanted: make(chan struct{}, 1), newer: make(chan struct{})} }

// set notes what was counted.
func (t *tally) set(now time.Time, p wire.ProjectStatus, of *meaning) {
	m := *of
	m.vectors = nil
	close(t.newer)
	t.newer = make(chan struct{})
	t.last, t.of, t.at = &p, &m, now
}

// ask reports whether what is known is old, or nothing, and whether it should be
// counted anew: not if it was lately.
func (t *tally) ask(now time.Time) (old, due bool) {
	age := now.Sub(t.at)
	old = t.last == nil || age >= oldCounts
	return old, old || age >= countPause
}

// haveCounted asks keepCounts to count, unless it did so lately, and waits for that
// until ctx ends where what is known is old, or nothing.
func (co *checkout) haveCounted(ctx context.Context) {
	newer, old := co.wantCounts()
	if !old {
		return
	}
	select {
	case <-newer:
	case <-ctx.Done():
	}
}

// wantCounts asks keepCounts to count, unless it did so lately. It tells whether what is
// known is old, or nothing, and what is closed when there are other counts.
func (co *checkout) wantCounts() (newer <-chan struct{}, old bool) {
	co.mu.Lock()
	defer co.mu.Unlock()
	old, due := co.tally.ask(time.Now())
	if due && co.state == "indexing" {
		poke(co.tally.wanted)
	}
	return co.tally.newer, old
}

// keepCounts counts what the stores hold when haveCounted asks for it, until ctx ends.
func (co *checkout) keepCounts(ctx context.Context) error {
	co.mu.Lock()
	wanted := co.tally.wanted
	co.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wanted:
		}
		if st := co.holdIfOpen(); st != nil {
			p, _ := co.brief()
			co.countsOf(ctx, st.stores, &p)
			st.letGo()
		}
	}
}
