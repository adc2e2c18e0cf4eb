package checkout

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/work"
)

// TestWhenItIsCounted: not more often than whoever watches can read, and one at a time; who
// looks once in a while waits for counts of now.
func TestWhenItIsCounted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		age        time.Duration
		never      bool
		counting   bool
		old, count bool
	}{
		"never counted":                 {never: true, old: true, count: true},
		"watched":                       {age: 500 * time.Millisecond},
		"watched for a while":           {age: 1500 * time.Millisecond, count: true},
		"looked at again":               {age: time.Minute, old: true, count: true},
		"looked at while it is counted": {age: time.Minute, counting: true, old: true},
	} {
		ta := newTally()
		if !tc.never {
			ta.last, ta.At = &wire.ProjectStatus{}, now.Add(-tc.age)
		}
		ta.Counting = tc.counting
		if old, count := ta.ask(now); old != tc.old || count != tc.count {
			t.Errorf("%s: old %v, count %v, want %v, %v", name, old, count, tc.old, tc.count)
		}
	}
}

// TestNobodyWaitsLongForCounts: a command has to be there within 100 ms, also where to
// count takes long.
func TestNobodyWaitsLongForCounts(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{5 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			co := &Checkout{cond: Condition{Opening: opening{State: "indexing"}, work: work.New(nil), settled: make(chan struct{}), Tally: newTally()}}
			co.Update(func(c *Condition) { c.Tally.Counting = true })
			go func() {
				time.Sleep(takes)
				co.Update(func(c *Condition) { c.Tally.set(time.Now(), wire.ProjectStatus{}, &embedding.Vectors{}) })
			}()
			began := time.Now()
			ctx, enough := context.WithTimeout(t.Context(), CountWait)
			defer enough()
			co.haveCounted(ctx)
			if waited := time.Since(began); waited != min(takes, CountWait) {
				t.Errorf("waits %v for what takes %v", waited, takes)
			}
			time.Sleep(takes)
		})
	}
}
