package checkout

import (
	"slices"
	"testing"
	"time"
)

// TestWhenChangesAreDue: once they have settled, and not too late.
func TestWhenChangesAreDue(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	at := func(after time.Duration) time.Time { return start.Add(after) }
	const quiet, longest, never = 300 * time.Millisecond, time.Second, -1
	for name, tc := range map[string]struct {
		do   func(u *uncommitted)
		want time.Duration // after start
	}{
		"nothing": {func(*uncommitted) {}, never},
		"one":     {func(u *uncommitted) { u.add(start, "a.md") }, quiet},
		"no path": {func(u *uncommitted) { u.add(start) }, never},
		"a scan":  {func(u *uncommitted) { u.addAll(start) }, quiet},
		"the last one counts": {func(u *uncommitted) {
			u.add(start, "a.md")
			u.add(at(200*time.Millisecond), "b.md")
		}, 500 * time.Millisecond},
		"but no change waits for ever": {func(u *uncommitted) {
			for i := range 20 {
				u.add(at(time.Duration(i)*200*time.Millisecond), "a.md")
			}
		}, longest},
		"a file that went may be the first of many": {func(u *uncommitted) {
			u.sawGone(start)
			u.add(start, "a.md")
		}, goneQuiet},
		"files that go and go do not hold it for ever": {func(u *uncommitted) {
			for i := range 20 {
				u.sawGone(at(time.Duration(i) * time.Second))
				u.add(at(time.Duration(i)*time.Second), "a.md")
			}
		}, goneMost},
		"what could not be committed": {func(u *uncommitted) {
			u.add(start, "a.md")
			paths, all := u.take()
			u.putBack(start, paths, all, 10*time.Second)
		}, 10 * time.Second},
		"what was being written": {func(u *uncommitted) {
			u.add(start, "a.md")
			u.take()
			u.unsettled(at(time.Second), []string{"a.md"})
		}, time.Second + quiet},
		"what came meanwhile is not put off by it": {func(u *uncommitted) {
			u.add(start, "a.md")
			u.take()
			u.add(at(100*time.Millisecond), "b.md")
			u.unsettled(at(time.Second), []string{"a.md"})
		}, 400 * time.Millisecond},
		"taken": {func(u *uncommitted) {
			u.add(start, "a.md")
			u.take()
		}, never},
		"guarded": {func(u *uncommitted) {
			u.guarded = "2 of 3 memories vanished"
			u.lookAt(at(guardLook))
		}, guardLook + quiet},
		"the guard is lowered": {func(u *uncommitted) {
			u.add(start, "a.md")
			u.guarded = "2 of 3 memories vanished"
			u.lookAt(at(guardLook))
			u.lower()
		}, quiet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var u uncommitted
			tc.do(&u)
			got, ok := u.due(quiet, longest)
			if want := tc.want != never; ok != want || ok && !got.Equal(at(tc.want)) {
				t.Errorf("due %v after the start, %v, want %v", got.Sub(start), ok, tc.want)
			}
		})
	}
	var u uncommitted
	u.add(start, "b.md", "a.md")
	u.add(start, "b.md")
	u.guarded = "why"
	if paths, all := u.take(); !slices.Equal(paths, []string{"a.md", "b.md"}) || all || u.some() || u.guarded != "why" {
		t.Errorf("take = %q, %v, left %+v", paths, all, u)
	}
}
