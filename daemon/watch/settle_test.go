package watch

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func newTestSettler() *settler {
	return &settler{lone: 30 * time.Millisecond, quiet: 500 * time.Millisecond, max: 5 * time.Second, limit: 100}
}

func TestSettlerDue(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type change struct {
		at   int // ms after start
		path string
	}
	burst := func(n, step int) (out []change) {
		for i := range n {
			out = append(out, change{i * step, fmt.Sprint("f", i)})
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		changes []change
		want    int // ms after start
	}{
		{"a lone save", []change{{0, "a"}}, 30},
		{"an editor's files", []change{{0, "a~"}, {1, "4913"}, {2, "a"}, {3, "a"}}, 33},
		{"a formatter after it", []change{{0, "a"}, {25, "a"}}, 55},
		{"a checkout", burst(50, 1), 549},
		{"a file that grows without a pause", func() (out []change) {
			for i := range 60 {
				out = append(out, change{i * 10, "log"})
			}
			return out
		}(), 1090},
		{"a storm without an end", func() (out []change) {
			for i := range 700 {
				out = append(out, change{i * 10, "x"})
			}
			return out
		}(), 5000},
	} {
		s := newTestSettler()
		got := -1
		for _, c := range tc.changes {
			now := start.Add(time.Duration(c.at) * time.Millisecond)
			if due, ok := s.due(); ok && !now.Before(due) {
				got = int(due.Sub(start).Milliseconds())
				break
			}
			s.add(now, c.path)
		}
		if got < 0 {
			due, ok := s.due()
			if !ok {
				t.Errorf("%s: nothing is due", tc.name)
			}
			got = int(due.Sub(start).Milliseconds())
		}
		if got != tc.want {
			t.Errorf("%s: due after %d ms, want %d", tc.name, got, tc.want)
		}
	}
}

func TestSettlerSavesInARowAreAStorm(t *testing.T) {
	s := newTestSettler()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var waits []time.Duration
	for i := range 6 {
		s.add(now, fmt.Sprint("f", i))
		due, _ := s.due()
		waits = append(waits, due.Sub(now))
		s.take(due)
		now = now.Add(60 * time.Millisecond)
		if due.After(now) {
			now = due.Add(60 * time.Millisecond)
		}
	}
	want := []time.Duration{30, 30, 30, 500, 30, 30}
	for i := range want {
		want[i] *= time.Millisecond
	}
	if !slices.Equal(waits, want) {
		t.Errorf("waits = %v, want %v", waits, want)
	}
}

// saves drives a settler with a save of each path in turn, step apart, and
// returns when its batches were taken, in ms after the first save.
func saves(n int, step time.Duration, paths ...string) (taken []int) {
	s := newTestSettler()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := 0; ; i++ {
		now := start.Add(time.Duration(i) * step)
		for {
			due, ok := s.due()
			if i >= n && !ok {
				return taken
			}
			if !ok || i < n && due.After(now) {
				break
			}
			s.take(due)
			taken = append(taken, int(due.Sub(start).Milliseconds()))
		}
		if i < n {
			s.add(now, paths[i%len(paths)])
		}
	}
}

func TestSettlerSaveLoop(t *testing.T) {
	for _, tc := range []struct {
		name string
		n    int
		step time.Duration
		want []int // ms
	}{
		{"100 in 5 s", 100, 50 * time.Millisecond, []int{30, 80, 5100}},
		{"100 in 2 s", 100, 20 * time.Millisecond, []int{2480}},
		{"slow enough to be read each time", 3, time.Second, []int{30, 1030, 2030}},
		{"without an end", 400, 50 * time.Millisecond, []int{30, 80, 5100, 10100, 15100, 20100}},
	} {
		if got := saves(tc.n, tc.step, "a.go"); !slices.Equal(got, tc.want) {
			t.Errorf("%s: batches after %v ms, want %v", tc.name, got, tc.want)
		}
	}
}

func TestSettlerWaitsLongerAfterALoss(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newTestSettler()
	s.lost(now, "overflow")
	for i := range 1000 { // 10 s without a pause
		s.add(now.Add(time.Duration(i)*10*time.Millisecond), "x")
	}
	if due, _ := s.due(); due.Sub(now) != 10490*time.Millisecond {
		t.Errorf("due after %v, want when it has been quiet", due.Sub(now))
	}
	for i := range 6000 {
		s.add(now.Add(time.Duration(i)*10*time.Millisecond), "x")
	}
	if due, _ := s.due(); due.Sub(now) != 30*time.Second {
		t.Errorf("due after %v, want 30s at the latest", due.Sub(now))
	}
}

func TestSettlerTake(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newTestSettler()
	s.add(now, "b")
	s.add(now, "a")
	s.add(now, "b")
	s.addGit(now)
	if b := s.take(now); !slices.Equal(b.Paths, []string{"a", "b"}) || !b.Git || b.Reconcile || b.Reason != "" {
		t.Errorf("take() = %+v", b)
	}
	if _, ok := s.due(); ok {
		t.Error("something is due after take")
	}
	s.lost(now, "overflow")
	s.lost(now, "overflow")
	s.lost(now, "sweep")
	if b := s.take(now); !b.Reconcile || b.Reason != "overflow, sweep" || b.Git || b.Paths != nil {
		t.Errorf("take() = %+v", b)
	}
	s.poll(now, []string{"x"})
	if b := s.take(now); !slices.Equal(b.Dirs, []string{"x"}) || b.Reason != "polling" {
		t.Errorf("take() = %+v", b)
	}
	s.poll(now, []string{"x"})
	s.lost(now, "sweep")
	if b := s.take(now); b.Dirs != nil {
		t.Errorf("a sweep of everything is narrowed to %v", b.Dirs)
	}
}

func TestSettlerBoundsItsPaths(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := newTestSettler()
	for i := range 10_000 {
		s.add(now, fmt.Sprint(i))
		if len(s.paths) > s.limit {
			t.Fatalf("%d paths are held, limit %d", len(s.paths), s.limit)
		}
	}
	if b := s.take(now); !b.Reconcile || b.Reason != "too many paths" || len(b.Paths) != 0 {
		t.Errorf("take() = %v paths, %q", len(b.Paths), b.Reason)
	}
	s.add(now, "next")
	if b := s.take(now); b.Reconcile || len(b.Paths) != 1 {
		t.Errorf("the batch after is %+v", b)
	}
}
