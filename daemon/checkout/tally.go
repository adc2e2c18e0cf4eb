package checkout

import (
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/embedding"
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
