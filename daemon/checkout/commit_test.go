package checkout

import (
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/work"
)

// The journal gets fewer commits where a crowd of searches waits, and as many again
// when it has gone.
func TestACrowdMakesCommitsRarer(t *testing.T) {
	d := limiter.New(1)
	d.Pretend(1000)
	now := time.Now()
	co := &Checkout{commitWake: make(chan struct{}, 1), Shared: &Shared{Limiter: d}, cond: Condition{work: work.New(nil), settled: make(chan struct{})}}
	co.cond.history = uncommitted{paths: map[string]bool{"0/1/0123456789abcdef.md": true}, first: now.Add(-settleMost), last: now}
	c, quiet := committer{co}, 300*time.Millisecond
	if at, ok := c.due(); !ok || !at.Equal(now.Add(quiet)) {
		t.Errorf("beside a crowd due in %v, want when it has been quiet for %v", at.Sub(now), quiet)
	}
	co.cond.history.first = now.Add(-crowdMost)
	if at, ok := c.due(); !ok || !at.Equal(now) {
		t.Errorf("after %v beside a crowd due in %v, want now", crowdMost, at.Sub(now))
	}
	d.Pretend(-1000)
	co.cond.history.first = now.Add(-settleMost)
	if at, ok := c.due(); !ok || !at.Equal(now) {
		t.Errorf("without a crowd due in %v, want now", at.Sub(now))
	}
}
