package checkout

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"

	"github.com/foldwatch/foldwatch/api/wire"
)

// While a checkout is indexed, each batch changes what is counted, to count reads
// whole tables beside the one who writes them, and whoever watches asks several
// times a second. So status does not wait for it: it is counted beside, when somebody
// asks, and after a pause. How far the indexing is stands in Progress, which is always of
// now.
const (
	CountPause = time.Second
	// oldCounts is from when on counts are waited for: who looks once, after a while,
	// is not told of a time that has long gone. Who watches never comes to it.
	oldCounts = 3 * time.Second
	// countWait is how long one status waits for counts that are old, or were never
	// made, of all checkouts together. A command that asks has to be there within 100 ms.
	CountWait = 40 * time.Millisecond
)

// A tally is what was counted last in the stores of a checkout. It has neither clock nor
// lock.
type tally struct {
	last     *wire.ProjectStatus // nil before the first
	of       *embedding.Vectors  // whose vectors then answered, without them
	At       time.Time           // when that ended
	Times    int                 // how often it was counted, since start
	Counting bool                // it is being counted beside
	newer    chan struct{}       // closed when last is set, and then another
}

func newTally() tally { return tally{newer: make(chan struct{})} }

// set notes what was counted.
func (t *tally) set(now time.Time, p wire.ProjectStatus, of *embedding.Vectors) {
	m := *of
	m.Index = nil
	close(t.newer)
	t.newer = make(chan struct{})
	t.last, t.of, t.At = &p, &m, now
}

// ask reports whether what is known is old, or nothing, and whether it is to be counted
// beside now: not if it was lately, or is.
func (t *tally) ask(now time.Time) (old, count bool) {
	age := now.Sub(t.At)
	old = t.last == nil || age >= oldCounts
	count = (old || age >= CountPause) && !t.Counting
	t.Counting = t.Counting || count
	return old, count
}

// haveCounted has what the stores of a checkout that is indexed hold counted, unless that
// was done lately, and waits for it until ctx ends where what is known is old, or nothing.
func (co *Checkout) haveCounted(ctx context.Context) {
	newer, old := co.WantCounts()
	if !old {
		return
	}
	select {
	case <-newer:
	case <-ctx.Done():
	}
}

// WantCounts has it counted beside, unless that was done lately. It tells whether what is
// known is old, or nothing, and what is closed when there are other counts.
func (co *Checkout) WantCounts() (newer <-chan struct{}, old bool) {
	if co.View().state != "indexing" {
		return nil, false
	}
	var count bool
	co.Update(func(c *Condition) {
		old, count = c.Tally.ask(time.Now())
		newer = c.Tally.newer
	})
	if count {
		go co.countBeside()
	}
	return newer, old
}

// countBeside counts what the stores hold, if they are open.
func (co *Checkout) countBeside() {
	defer co.Update(func(c *Condition) { c.Tally.Counting = false })
	if st := co.Look(); st != nil {
		defer st.Release()
		p, _ := co.Brief()
		co.countsOf(context.Background(), st.Stores, &p)
	}
}
