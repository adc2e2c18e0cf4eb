package index_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

var jobTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func enqueue(t *testing.T, x *index.DB, n index.NewJob) string {
	t.Helper()
	id, err := x.Enqueue(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func claim(t *testing.T, x *index.DB, now time.Time) *index.Job {
	t.Helper()
	j, err := x.Claim(t.Context(), "me", now, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestClaimOrder(t *testing.T) {
	x := openIndex(t, t.TempDir())
	a := enqueue(t, x, index.NewJob{Type: "a", Payload: []byte("pa"), CreatedAt: jobTime})
	b := enqueue(t, x, index.NewJob{Type: "b", Priority: 5})
	c := enqueue(t, x, index.NewJob{Type: "c", Priority: 5})
	for _, want := range []string{b, c, a} {
		if j := claim(t, x, jobTime); j == nil || j.ID != want {
			t.Fatalf("Claim = %+v, want %s", j, want)
		}
	}
	if j := claim(t, x, jobTime); j != nil {
		t.Errorf("Claim of an empty queue = %+v", j)
	}
	got, err := x.Job(t.Context(), a)
	want := index.Job{
		ID: a, Type: "a", Status: index.JobRunning, Payload: []byte("pa"), Attempts: 1, MaxAttempts: 5, Owner: "me",
		LeaseUntil: jobTime.Add(time.Minute), Heartbeat: jobTime, CreatedAt: jobTime, StartedAt: jobTime,
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("Job: %v, -want +got %s", err, d)
	}
}

func TestDedupe(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	n := index.NewJob{Type: "t", DedupeKey: "k", Payload: []byte("1"), Merge: func(q, a []byte) ([]byte, error) { return append(q, a...), nil }}
	first := enqueue(t, x, n)
	n.Payload, n.Priority = []byte("2"), 7
	if id := enqueue(t, x, n); id != first {
		t.Errorf("second Enqueue made %s, want %s", id, first)
	}
	j := claim(t, x, jobTime)
	if string(j.Payload) != "12" || j.Priority != 7 {
		t.Errorf("merged job = %q, priority %d", j.Payload, j.Priority)
	}
	// It runs: what comes now is a job of its own.
	n.Merge = nil
	second := enqueue(t, x, n)
	n.Payload = []byte("3")
	if id := enqueue(t, x, n); id != second || id == first {
		t.Errorf("while it runs: %s, %s, %s", first, second, id)
	}
	if err := x.Complete(ctx, first, "me", jobTime); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, x, jobTime); j.ID != second || string(j.Payload) != "3" {
		t.Errorf("second job = %+v", j)
	}
	if other := enqueue(t, x, index.NewJob{Type: "u", DedupeKey: "k"}); other == second {
		t.Error("another type was merged")
	}
}

func TestFailRetryAndLimit(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	jid := enqueue(t, x, index.NewJob{Type: "t", MaxAttempts: 2})
	claim(t, x, jobTime)
	retry := jobTime.Add(10 * time.Second)
	if err := x.Fail(ctx, jid, "me", jobTime, "broken", retry); err != nil {
		t.Fatal(err)
	}
	if at, err := x.NextDue(ctx); err != nil || !at.Equal(retry) {
		t.Errorf("NextDue = %v, %v, want %v", at, err, retry)
	}
	if j := claim(t, x, retry.Add(-time.Microsecond)); j != nil {
		t.Errorf("claimed before its time: %+v", j)
	}
	if j := claim(t, x, retry); j == nil || j.Attempts != 2 || j.Error != "broken" {
		t.Fatalf("second attempt = %+v", j)
	}
	if err := x.Fail(ctx, jid, "me", retry, "broken again", retry.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	j, err := x.Job(ctx, jid)
	if err != nil || j.Status != index.JobFailed || !j.EndedAt.Equal(retry) || !j.NextRetry.IsZero() || j.Error != "broken again" {
		t.Errorf("after its attempts: %+v, %v", j, err)
	}
	if at, err := x.NextDue(ctx); err != nil || !at.IsZero() {
		t.Errorf("NextDue of nothing = %v, %v", at, err)
	}
	// Not to be tried again at all.
	jid = enqueue(t, x, index.NewJob{Type: "t"})
	claim(t, x, jobTime)
	if err := x.Fail(ctx, jid, "me", jobTime, "no", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if j, err := x.Job(ctx, jid); err != nil || j.Status != index.JobFailed {
		t.Errorf("job = %+v, %v", j, err)
	}
}

func TestClockSetBack(t *testing.T) {
	x := openIndex(t, t.TempDir())
	jid := enqueue(t, x, index.NewJob{Type: "t"})
	claim(t, x, jobTime)
	if err := x.Fail(t.Context(), jid, "me", jobTime, "x", jobTime.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, x, jobTime.AddDate(-10, 0, 0)); j == nil {
		t.Error("a retry waits for ten years")
	}
}

func TestLeaseRunsOut(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	jid := enqueue(t, x, index.NewJob{Type: "t", MaxAttempts: 2})
	claim(t, x, jobTime)
	later := jobTime.Add(50 * time.Second)
	if err := x.Heartbeat(ctx, jid, "me", later, time.Minute); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, x, jobTime.Add(90*time.Second)); j != nil {
		t.Errorf("taken although its lease was renewed: %+v", j)
	}
	after := later.Add(time.Minute + time.Second)
	j, err := x.Claim(ctx, "other", after, time.Minute)
	if err != nil || j == nil || j.Attempts != 2 {
		t.Fatalf("stale job = %+v, %v", j, err)
	}
	for name, err := range map[string]error{
		"Heartbeat":   x.Heartbeat(ctx, jid, "me", after, time.Minute),
		"SetProgress": x.SetProgress(ctx, jid, "me", index.JobProgress{}),
		"Complete":    x.Complete(ctx, jid, "me", after),
		"Fail":        x.Fail(ctx, jid, "me", after, "x", after),
		"Release":     x.Release(ctx, jid, "me"),
	} {
		if !errors.Is(err, fold.ErrConflict) {
			t.Errorf("%s by who lost the lease = %v, want ErrConflict", name, err)
		}
	}
	// Lost again, in its last attempt: it likely ends whoever runs it.
	if j := claim(t, x, after.Add(time.Hour)); j != nil {
		t.Errorf("a third attempt of two: %+v", j)
	}
	if got, err := x.Job(ctx, jid); err != nil || got.Status != index.JobFailed || got.Error == "" {
		t.Errorf("job = %+v, %v", got, err)
	}
}

func TestRecoverAndRelease(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	once := enqueue(t, x, index.NewJob{Type: "t", MaxAttempts: 1})
	twice := enqueue(t, x, index.NewJob{Type: "t", MaxAttempts: 2})
	claim(t, x, jobTime)
	claim(t, x, jobTime)
	if n, err := x.Recover(ctx, "new daemon", jobTime); n != 2 || err != nil {
		t.Fatalf("Recover = %d, %v", n, err)
	}
	if j, err := x.Job(ctx, once); err != nil || j.Status != index.JobFailed {
		t.Errorf("job of one attempt = %+v, %v", j, err)
	}
	j, err := x.Claim(ctx, "new daemon", jobTime, time.Minute)
	if err != nil || j == nil || j.ID != twice || j.Attempts != 2 {
		t.Fatalf("Claim = %+v, %v", j, err)
	}
	if err := x.Release(ctx, twice, "new daemon"); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, x, jobTime); j == nil || j.Attempts != 2 {
		t.Errorf("a released attempt counted: %+v", j)
	}
}

func TestCancelPauseProgress(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	running := enqueue(t, x, index.NewJob{Type: "t", Priority: 1})
	waiting := enqueue(t, x, index.NewJob{Type: "t"})
	claim(t, x, jobTime)
	p := index.JobProgress{Stage: "chunks", Done: 3, Total: 9, PerSecond: 1.5}
	if err := x.SetProgress(ctx, running, "me", p); err != nil {
		t.Fatal(err)
	}
	if j, err := x.Job(ctx, running); err != nil || j.Progress == nil || *j.Progress != p {
		t.Errorf("progress = %+v, %v", j.Progress, err)
	}
	if err := x.PauseJobs(ctx, true); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, x, jobTime); j != nil {
		t.Errorf("claimed a paused job: %+v", j)
	}
	if err := x.PauseJobs(ctx, false); err != nil {
		t.Fatal(err)
	}
	if j := claim(t, x, jobTime); j == nil || j.ID != waiting {
		t.Errorf("after resuming: %+v", j)
	}
	for _, jid := range []string{running, waiting} {
		if err := x.Cancel(ctx, jid, jobTime); err != nil {
			t.Fatal(err)
		}
		if err := x.Heartbeat(ctx, jid, "me", jobTime, time.Minute); !errors.Is(err, fold.ErrConflict) {
			t.Errorf("Heartbeat of a cancelled job = %v, want ErrConflict", err)
		}
		if err := x.Cancel(ctx, jid, jobTime); !errors.Is(err, fold.ErrConflict) {
			t.Errorf("second Cancel = %v, want ErrConflict", err)
		}
	}
	if err := x.Cancel(ctx, "nothing", jobTime); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("Cancel of nothing = %v, want ErrNotFound", err)
	}
}

func TestNobodyClaimsTwice(t *testing.T) {
	x := openIndex(t, t.TempDir())
	const jobs, workers = 60, 6
	for i := range jobs {
		enqueue(t, x, index.NewJob{Type: "t", Priority: i % 3})
	}
	var mu sync.Mutex
	got := map[string]string{}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			owner := fmt.Sprint("w", w)
			for {
				j, err := x.Claim(context.Background(), owner, jobTime, time.Minute)
				if err != nil {
					t.Error(err)
				}
				if err != nil || j == nil {
					return
				}
				mu.Lock()
				if was, twice := got[j.ID]; twice {
					t.Errorf("job %s claimed by %s and %s", j.ID, was, owner)
				}
				got[j.ID] = owner
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(got) != jobs {
		t.Errorf("%d jobs claimed, want %d", len(got), jobs)
	}
}
