package checkout

import (
	"testing"
	"time"
)

// TestRetriesBackOff shows when files that failed are tried again.
func TestRetriesBackOff(t *testing.T) {
	t.Parallel()
	var r retries
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	wait := func(left int, tried bool) time.Duration {
		r.after(now, left, tried)
		if r.At.IsZero() {
			return 0
		}
		return r.At.Sub(now)
	}
	if got := wait(0, false); got != 0 {
		t.Errorf("nothing failed: in %v", got)
	}
	if got := wait(3, false); got != 30*time.Second {
		t.Errorf("after the first failure: in %v", got)
	}
	now = now.Add(10 * time.Second)
	if got := wait(4, false); got != 20*time.Second {
		t.Errorf("more failures put it off: in %v", got)
	}
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		if got := wait(1, true); got != want {
			t.Errorf("after attempt %d: in %v, want %v", i+1, got, want)
		}
	}
	if got := wait(0, true); got != 0 || r.tries != 0 {
		t.Errorf("after success: in %v, %d tries", got, r.tries)
	}
}
