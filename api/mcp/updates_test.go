package mcp

import (
	"slices"
	"testing"
	"time"
)

func TestAResourceIsToldOfOnceASecond(t *testing.T) {
	p, begin := newThrottle(), time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	if !p.changed("a", at(0)) || !p.changed("b", at(500)) {
		t.Error("the first change of each is not told at once")
	}
	for ms := 1; ms < 1000; ms += 100 {
		if p.changed("a", at(ms)) {
			t.Errorf("a is told again after %d ms", ms)
		}
	}
	if got := p.takeDue(at(999)); len(got) > 0 {
		t.Errorf("after 999 ms: %q", got)
	}
	if got := p.takeDue(at(1000)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after a second: %q, want a", got)
	}
	if got := p.takeDue(at(1999)); len(got) > 0 {
		t.Errorf("nothing happened since, and %q is told", got)
	}
	if p.takeDue(at(2000)); len(p.notified)+len(p.due) > 0 {
		t.Errorf("kept without need: %v %v", p.notified, p.due)
	}
	if !p.changed("a", at(2001)) {
		t.Error("a later change is not told at once")
	}
}
