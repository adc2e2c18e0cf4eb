package daemon

import (
	"testing"
	"time"
)

// TestARestIsNotEndedToMakeSure: a sweep for which nothing was seen to change waits
// until the stores are opened for something else, but not for ever.
func TestARestIsNotEndedToMakeSure(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	co := &checkout{parts: &parts{now: func() time.Time { return now }}}
	if co.putsOffSweep() {
		t.Error("put off before the stores were ever open")
	}
	co.st = &stores{}
	if co.putsOffSweep() {
		t.Error("put off while the stores are open")
	}
	co.st, co.rested, co.restedAt = nil, true, now
	now = now.Add(sweepAtLeast)
	if !co.putsOffSweep() || !co.sweepDue {
		t.Error("a rest is ended by a sweep that nothing asks for")
	}
	now = now.Add(time.Minute)
	if co.putsOffSweep() {
		t.Error("put off for ever")
	}
}
