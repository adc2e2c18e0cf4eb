package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/daemon/jobs"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// A hold keeps the stores of a checkout open until it is let go: what goes on in
// them never sees them closed.
type hold struct {
	*stores
	co  *checkout
	end func()
}

// letGo ends the hold. The second call does nothing.
func (h *hold) letGo() { h.end() }

// holdOpen returns the opened stores, waiting until they are. Stores that rest are
// opened for it. The caller lets go of them, soon, and waits for no other hold
// meanwhile.
func (co *checkout) holdOpen(ctx context.Context) (*hold, error) {
	co.mu.Lock()
	co.holds++ // from now on they do not come to rest
	co.lastUse = time.Now()
	co.tellUse()
	opened := co.opened
	co.mu.Unlock()
	co.sync.used()
	h, err := co.waitOpen(ctx, opened)
	if err != nil {
		co.mu.Lock()
		co.holds--
		co.tellUse()
		co.mu.Unlock()
	}
	return h, err
}

func (co *checkout) waitOpen(ctx context.Context, opened <-chan struct{}) (*hold, error) {
	select {
	case <-opened:
	default:
		jobs.Poke(co.rouse)
		co.seats.hurry(co)
	}
	for {
		over := false
		select {
		case <-opened:
		case <-co.ended:
			over = true
		case <-co.stopped: // what is open may still be used, but nothing is opened any more
			over = true
		case <-ctx.Done():
			return nil, fmt.Errorf("project %s is starting: %w", co.rec.Slug, fold.ErrUnavailable)
		}
		co.mu.Lock()
		st, failed := co.st, co.failed
		opened = co.opened
		if st != nil {
			co.users.Add(1)
		}
		co.mu.Unlock()
		switch {
		case st != nil:
			return co.newHold(st, true), nil
		case failed != nil:
			return nil, fmt.Errorf("project %s: %w", co.rec.Slug, failed)
		case over:
			return nil, fmt.Errorf("project %s is stopping: %w", co.rec.Slug, fold.ErrUnavailable)
		}
		// Closed again before this one looked: what is kept is opened anew.
	}
}

func (co *checkout) newHold(st *stores, use bool) *hold {
	return &hold{stores: st, co: co, end: sync.OnceFunc(func() {
		co.mu.Lock()
		co.holds--
		if use {
			co.lastUse = time.Now()
		}
		co.tellUse()
		co.mu.Unlock()
		co.users.Add(-1)
		select {
		case co.unused <- struct{}{}:
		default:
		}
	})}
}

// holdAny holds the stores of the first of the checkouts whose stores can be opened.
func holdAny(ctx context.Context, cos []*checkout) (*hold, error) {
	var first error
	for _, co := range cos {
		h, err := co.holdOpen(ctx)
		if err == nil {
			return h, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// lend hands out the way to search the stores, which stay held.
func (h *hold) lend(context.Context) (*recall.Door, func(), error) {
	return h.recall, func() {}, nil
}

// holdIfOpen holds the stores if they are open, and returns nil if they are not. It
// does not count as a use, after which they stay open for a while.
func (co *checkout) holdIfOpen() *hold {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.st == nil {
		return nil
	}
	co.holds++
	co.users.Add(1)
	co.tellUse()
	return co.newHold(co.st, false)
}

// isOpen reports whether the stores are open now.
func (co *checkout) isOpen() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.st != nil
}

// tellUse tells what the stores are open for. co.mu is held.
func (co *checkout) tellUse() { co.seats.used(co, co.inUse()) }

// inUse is what the stores are open for. co.mu is held.
func (co *checkout) inUse() use {
	return use{holds: co.holds, work: co.openJobs > 0 || len(co.owed) > 0 || co.unswept || co.paying, last: co.lastUse}
}

// An owedJob is work that is queued when the stores are opened the next time.
type owedJob struct {
	kind    string
	prio    int
	payload []byte
	dedupe  string
}

// later queues work that nobody waits for. Stores that rest are opened for it when
// there is room: the caller does not wait for that.
func (co *checkout) later(ctx context.Context, kind string, prio int, payload any, dedupe string) error {
	if h := co.holdIfOpen(); h != nil {
		defer h.letGo()
		_, err := co.enqueueIn(ctx, h.stores, kind, prio, payload, dedupe)
		return err
	}
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	co.mu.Lock()
	co.owe(owedJob{kind, prio, b, dedupe})
	co.mu.Unlock()
	jobs.Poke(co.rouse)
	return nil
}

// owe notes work that is to be queued. What is of the same key is done once, the
// way the queue does it: by the newest payload. co.mu is held.
func (co *checkout) owe(j owedJob) {
	same := func(o owedJob) bool { return j.dedupe != "" && o.kind == j.kind && o.dedupe == j.dedupe }
	if i := slices.IndexFunc(co.owed, same); i >= 0 {
		j.prio = max(j.prio, co.owed[i].prio)
		co.owed[i] = j
	} else {
		co.owed = append(co.owed, j)
	}
	co.recount()
}

// payOwed queues what is owed.
func (co *checkout) payOwed(ctx context.Context, st *stores) error {
	co.mu.Lock()
	owed := co.owed
	co.owed = nil
	co.paying = true // recount goes on counting them
	co.mu.Unlock()
	var err error
	for i, j := range owed {
		if _, err = st.index.Enqueue(ctx, index.NewJob{Type: j.kind, Project: co.rec.Slug, Priority: j.prio, Payload: j.payload, DedupeKey: j.dedupe}); err != nil {
			err = fmt.Errorf("queue %s: %w", j.kind, err)
			owed = owed[i:]
			break
		}
	}
	co.mu.Lock()
	co.paying = false
	if err != nil {
		co.owed = append(owed, co.owed...)
	}
	co.mu.Unlock()
	co.countPending(ctx, st)
	jobs.Poke(co.wake)
	return err
}

// countsForSearch reports whether jobs of that kind change what search finds by
// words.
func countsForSearch(kind string) bool { return !slices.Contains(behind[:], kind) }

// behind are the jobs that do not.
var behind = [...]string{jobEmbed, jobMeasure, jobDescribe, jobConsolidate}

// recount keeps how much will still change what search finds by words, and wakes
// who waits for none. co.mu is held.
func (co *checkout) recount() {
	n := co.searchJobs
	if co.unswept || co.paying {
		n++
	}
	if len(co.wrote) > 0 || co.queueing {
		n++
	}
	for _, j := range co.owed {
		if countsForSearch(j.kind) {
			n++
		}
	}
	was := co.pending
	co.pending = n
	switch {
	case was == 0 && n > 0:
		co.idle = make(chan struct{})
	case was > 0 && n == 0:
		close(co.idle)
	}
}
