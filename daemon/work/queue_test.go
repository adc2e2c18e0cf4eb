package work

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foldwatch/foldwatch/api/wire"
)

var start = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

func newQueue() *Queue { return New(rand.New(rand.NewPCG(1, 2))) }

// begin starts a job, which must be of that kind.
func begin(t *testing.T, q *Queue, now time.Time, want Kind) Job {
	t.Helper()
	j, ok := q.Start(now)
	if !ok || j.Task.Kind != want || j.Status != Running {
		t.Fatalf("Start = %+v, %v, want a %s", j, ok, want)
	}
	return j
}

// TestTheMostUrgentGoesFirst: of equal ones the oldest, and one at a time.
func TestTheMostUrgentGoesFirst(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.Add(start, Task{Kind: Embed, Priority: Later})
	q.Add(start, Task{Kind: Sweep, Priority: Soon})
	q.Add(start, Task{Kind: Tip, Priority: Soon})
	q.Add(start, Task{Kind: Fold, Priority: Urgent, Paths: []string{"a.md"}})
	for _, want := range []Kind{Fold, Sweep, Tip, Embed} {
		begin(t, q, start, want)
		if j, ok := q.Start(start); ok {
			t.Fatalf("%s starts beside %s", j.Task.Kind, want)
		}
		if j := q.End(start, nil); j.Status != Completed {
			t.Errorf("%s is %s", want, j.Status)
		}
	}
	if _, ok := q.Start(start); ok || q.Busy(start) || q.ForSearch() != 0 {
		t.Error("something is left")
	}
}

// TestTasksThatWaitBecomeOne does at least what each of them asks for.
func TestTasksThatWaitBecomeOne(t *testing.T) {
	t.Parallel()
	later := start.Add(time.Minute)
	for name, tc := range map[string]struct {
		add  []Task
		want []Task
	}{
		"paths": {
			[]Task{{Kind: Source, Priority: Urgent, Paths: []string{"b", "a"}}, {Kind: Source, Priority: Urgent, Paths: []string{"c", "a"}}},
			[]Task{{Kind: Source, Priority: Urgent, Paths: []string{"a", "b", "c"}}},
		},
		"a save does not wait for folders that are polled": {
			[]Task{{Kind: Source, Priority: Soon, Paths: []string{"."}}, {Kind: Source, Priority: Urgent, Paths: []string{"a"}}},
			[]Task{{Kind: Source, Priority: Urgent, Paths: []string{"a"}}, {Kind: Source, Priority: Soon, Paths: []string{"."}}},
		},
		"sweeps": {
			[]Task{{Kind: Sweep, Priority: Soon, AtStart: true}, {Kind: Sweep, Priority: Soon, Full: true}, {Kind: Sweep, Priority: Soon, History: 9}, {Kind: Sweep, Priority: Soon}},
			[]Task{{Kind: Sweep, Priority: Soon, Full: true, History: 9}},
		},
		"only the sweep at start may be put off": {
			[]Task{{Kind: Sweep, Priority: Soon, AtStart: true}, {Kind: Sweep, Priority: Soon, AtStart: true}},
			[]Task{{Kind: Sweep, Priority: Soon, AtStart: true}},
		},
		"tips":    {[]Task{{Kind: Tip, Priority: Soon}, {Kind: Tip, Priority: Soon, Moved: true}, {Kind: Tip, Priority: Soon}}, []Task{{Kind: Tip, Priority: Soon, Moved: true}}},
		"retries": {[]Task{{Kind: Retry, Priority: Later}, {Kind: Retry, Priority: Soon, All: true}}, []Task{{Kind: Retry, Priority: Soon, All: true}}},
		"the earlier time": {
			[]Task{{Kind: Embed, Priority: Later, At: later}, {Kind: Embed, Priority: Soon}},
			[]Task{{Kind: Embed, Priority: Soon}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue()
			for _, task := range tc.add {
				q.Add(start, task)
			}
			var got []Task
			for {
				j, ok := q.Start(start)
				if !ok {
					break
				}
				got = append(got, j.Task)
				q.End(start, nil)
			}
			if d := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got %s", d)
			}
		})
	}
}

// TestWhatRunsIsLeftAlone: it may have read its input already.
func TestWhatRunsIsLeftAlone(t *testing.T) {
	t.Parallel()
	q := newQueue()
	first := q.Add(start, Task{Kind: Fold, Priority: Urgent, Paths: []string{"a.md"}})
	begin(t, q, start, Fold)
	second := q.Add(start, Task{Kind: Fold, Priority: Urgent, Paths: []string{"a.md"}})
	third := q.Add(start, Task{Kind: Fold, Priority: Urgent, Paths: []string{"b.md"}})
	if first == second || second != third || q.ForSearch() != 2 {
		t.Errorf("jobs %s, %s, %s; %d open", first, second, third, q.ForSearch())
	}
	q.End(start, nil)
	if j := begin(t, q, start, Fold); !slices.Equal(j.Task.Paths, []string{"a.md", "b.md"}) {
		t.Errorf("paths %q", j.Task.Paths)
	}
}

// TestFailuresAreTriedAgain, later each time, and given up in the end.
func TestFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	q := newQueue()
	id := q.Add(start, Task{Kind: Source, Priority: Urgent, Paths: []string{"a.go"}})
	now, long := start, errors.New(strings.Repeat("x", 3*errorBytes))
	for attempt := 1; attempt < attemptsMost; attempt++ {
		if j := begin(t, q, now, Source); j.Attempts != attempt || !slices.Equal(j.Task.Paths, []string{"a.go"}) {
			t.Fatalf("attempt %d: %+v", attempt, j)
		}
		j := q.End(now, long)
		at, ok := q.Due()
		if most := time.Second << (attempt - 1); j.Status != Waiting || !ok || !at.Equal(j.Task.At) || at.Before(now) || at.After(now.Add(most)) {
			t.Fatalf("after attempt %d: %s, due %v, %v", attempt, j.Status, at.Sub(now), ok)
		}
		if len(j.Error) > errorBytes+len("…") || q.Busy(now) || q.ForSearch() != 0 || q.Urgent(now) {
			t.Errorf("after attempt %d: %d bytes of an error, busy %v", attempt, len(j.Error), q.Busy(now))
		}
		if _, ok := q.Start(at.Add(-1)); ok {
			t.Fatal("it starts too early")
		}
		now = at
	}
	begin(t, q, now, Source)
	if j := q.End(now, long); j.ID != id || j.Status != Failed || !j.Ended.Equal(now) {
		t.Errorf("in the end %+v", j)
	}
	if _, ok := q.Due(); ok {
		t.Error("it is tried again")
	}
	again := Task{Kind: Sweep, Priority: Soon, At: now.Add(time.Minute)}
	q.Again(now, again, "disk full")
	q.Again(now, again, "disk full")
	if jobs := q.Jobs(); len(jobs) != 2 || jobs[0].Status != Waiting || jobs[0].Error != "disk full" || q.ForSearch() != 0 {
		t.Errorf("after it: %+v", jobs)
	}
	if j := begin(t, q, again.At, Sweep); j.Attempts != 1 {
		t.Errorf("a sweep makes up for it: %+v", j)
	}
}

// TestNothingCountsThatWasBrokenOff: the attempt is made anew.
func TestNothingCountsThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	q := newQueue()
	q.Add(start, Task{Kind: Fold, Priority: Urgent, Paths: []string{"a.md"}})
	for range 2 * attemptsMost {
		if j := begin(t, q, start, Fold); j.Attempts != 1 || !slices.Equal(j.Task.Paths, []string{"a.md"}) {
			t.Fatalf("%+v", j)
		}
		q.GiveBack()
		if !q.Busy(start) || !q.Urgent(start) || q.ForSearch() != 1 {
			t.Fatal("it is not to be done any more")
		}
	}
	q.Cancel(start, "covered by the sweep at start")
	if jobs := q.Jobs(); len(jobs) != 1 || jobs[0].Status != Cancelled || jobs[0].Error == "" || q.Busy(start) {
		t.Errorf("cancelled: %+v", jobs)
	}
}

// TestWhatIsDueLater is pending, and nobody waits for it: the stores may rest.
func TestWhatIsDueLater(t *testing.T) {
	t.Parallel()
	q := newQueue()
	at := start.Add(250 * time.Millisecond)
	q.Add(start, Task{Kind: Fold, Priority: Urgent, Paths: []string{"a.md"}, At: at})
	q.Add(start, Task{Kind: Fold, Priority: Urgent, Paths: []string{"b.md"}, At: at.Add(time.Hour)})
	if due, ok := q.Due(); !ok || !due.Equal(at) || q.Busy(start) || q.Urgent(start) || q.ForSearch() != 1 {
		t.Errorf("due %v, %v", due, ok)
	}
	if _, ok := q.Start(start); ok {
		t.Error("it starts too early")
	}
	if j := begin(t, q, at, Fold); len(j.Task.Paths) != 2 || !j.Task.At.IsZero() {
		t.Errorf("%+v", j)
	}
}

// TestTheNewestEndedJobsAreKept, without what they were about, newest first.
func TestTheNewestEndedJobsAreKept(t *testing.T) {
	t.Parallel()
	q := newQueue()
	var last string
	for i := range keepEnded + 10 {
		now := start.Add(time.Duration(i) * time.Second)
		last = q.Add(now, Task{Kind: Source, Priority: Urgent, Paths: []string{fmt.Sprint(i)}})
		begin(t, q, now, Source)
		if q.Report(wire.Progress{Stage: "words", Done: 1, Total: 2, PerSecond: 3}) != last {
			t.Fatal("progress of another job")
		}
		q.End(now, nil)
	}
	open := q.Add(start.Add(time.Hour), Task{Kind: Sweep, Priority: Soon})
	jobs := q.Jobs()
	if len(jobs) != keepEnded+1 || jobs[0].ID != open || jobs[1].ID != last {
		t.Fatalf("%d jobs, first %s and %s, want %s and %s", len(jobs), jobs[0].ID, jobs[1].ID, open, last)
	}
	if p := jobs[1].Progress; jobs[1].Task.Paths != nil || p == nil || p.Done != 1 || p.PerSecond != 0 {
		t.Errorf("an ended job: %+v, progress %+v", jobs[1], p)
	}
	if q.Report(wire.Progress{}) != "" {
		t.Error("progress of no job")
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		attempt int
		u       float64
		want    time.Duration
	}{
		{0, 0.5, 500 * time.Millisecond},
		{1, 0.5, 500 * time.Millisecond},
		{2, 0.5, time.Second},
		{5, 0.25, 4 * time.Second},
		{10, 0.5, 256 * time.Second},
		{11, 0.5, backoffMost / 2},
		{1000, 0.5, backoffMost / 2},
		{7, 0, 0},
	} {
		if got := backoff(tc.attempt, tc.u); got != tc.want {
			t.Errorf("backoff(%d, %v) = %v, want %v", tc.attempt, tc.u, got, tc.want)
		}
	}
}
