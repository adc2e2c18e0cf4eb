package jobs_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/jobs"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// A memQueue is a Queue in memory that behaves as *index.DB does: SQLite's
// file I/O would keep a synctest bubble from coming to rest.
type memQueue struct {
	mu     sync.Mutex
	jobs   []*index.Job
	claims int
	broken error // returned by Claim until it is set to nil
}

func (q *memQueue) Enqueue(_ context.Context, n index.NewJob) (string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	id := fmt.Sprintf("job%d", len(q.jobs))
	q.jobs = append(q.jobs, &index.Job{
		ID: id, Type: n.Type, Status: index.JobPending, Priority: n.Priority, Payload: n.Payload, MaxAttempts: cmp.Or(n.MaxAttempts, 5),
	})
	return id, nil
}

func (q *memQueue) Claim(_ context.Context, owner string, now time.Time, lease time.Duration) (*index.Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claims++
	if q.broken != nil {
		return nil, q.broken
	}
	var best *index.Job
	for _, j := range q.jobs {
		stale := j.Status == index.JobRunning && j.LeaseUntil.Before(now)
		if stale && j.Attempts >= j.MaxAttempts {
			j.Status, j.EndedAt, stale = index.JobFailed, now, false
		}
		due := j.Status == index.JobPending || stale || j.Status == index.JobRetry && !j.NextRetry.After(now)
		if due && (best == nil || j.Priority > best.Priority) {
			best = j
		}
	}
	if best == nil {
		return nil, nil
	}
	best.Status, best.Owner, best.Attempts = index.JobRunning, owner, best.Attempts+1
	best.LeaseUntil, best.Heartbeat, best.StartedAt = now.Add(lease), now, now
	c := *best
	return &c, nil
}

// asked returns how often Claim was called.
func (q *memQueue) asked() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.claims
}

func (q *memQueue) held(id, owner string, fn func(*index.Job)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.ID == id && j.Owner == owner && j.Status == index.JobRunning {
			fn(j)
			return nil
		}
	}
	return fold.ErrConflict
}

func (q *memQueue) Heartbeat(_ context.Context, id, owner string, now time.Time, lease time.Duration) error {
	return q.held(id, owner, func(j *index.Job) { j.Heartbeat, j.LeaseUntil = now, now.Add(lease) })
}

func (q *memQueue) SetProgress(_ context.Context, id, owner string, p index.JobProgress) error {
	return q.held(id, owner, func(j *index.Job) { j.Progress = &p })
}

func (q *memQueue) Complete(_ context.Context, id, owner string, now time.Time) error {
	return q.held(id, owner, func(j *index.Job) { j.Status, j.EndedAt, j.Owner = index.JobCompleted, now, "" })
}

func (q *memQueue) Fail(_ context.Context, id, owner string, now time.Time, reason string, retryAt time.Time) error {
	return q.held(id, owner, func(j *index.Job) {
		j.Error, j.Owner = reason, ""
		if retryAt.IsZero() || j.Attempts >= j.MaxAttempts {
			j.Status, j.EndedAt = index.JobFailed, now
		} else {
			j.Status, j.NextRetry = index.JobRetry, retryAt
		}
	})
}

func (q *memQueue) Release(_ context.Context, id, owner string) error {
	return q.held(id, owner, func(j *index.Job) { j.Status, j.Owner, j.Attempts = index.JobPending, "", j.Attempts-1 })
}

func (q *memQueue) Recover(_ context.Context, owner string, now time.Time) (n int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.Status == index.JobRunning && j.Owner != owner {
			n++
			j.Status, j.Owner = index.JobPending, ""
			if j.Attempts >= j.MaxAttempts {
				j.Status, j.EndedAt = index.JobFailed, now
			}
		}
	}
	return n, nil
}

func (q *memQueue) NextDue(context.Context) (at time.Time, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		due := map[index.JobStatus]time.Time{
			index.JobPending: time.UnixMicro(1), index.JobRetry: j.NextRetry, index.JobRunning: j.LeaseUntil.Add(time.Microsecond),
		}[j.Status]
		if !due.IsZero() && (at.IsZero() || due.Before(at)) {
			at = due
		}
	}
	return at, nil
}

func (q *memQueue) Job(_ context.Context, id string) (index.Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.IndexFunc(q.jobs, func(j *index.Job) bool { return j.ID == id }); i >= 0 {
		return *q.jobs[i], nil
	}
	return index.Job{}, fold.ErrNotFound
}

func (q *memQueue) Cancel(_ context.Context, id string, now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.ID == id {
			j.Status, j.EndedAt, j.Owner = index.JobCancelled, now, ""
		}
	}
	return nil
}

// A queue is what tests need of a Queue beside it.
type queue interface {
	jobs.Queue
	Enqueue(ctx context.Context, n index.NewJob) (string, error)
	Job(ctx context.Context, id string) (index.Job, error)
	Cancel(ctx context.Context, id string, now time.Time) error
}

// TestQueues holds the fake to what SQLite does.
func TestQueues(t *testing.T) {
	x, err := index.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for name, q := range map[string]queue{"memory": &memQueue{}, "sqlite": x} {
		t.Run(name, func(t *testing.T) { testQueue(t, q) })
	}
}

func testQueue(t *testing.T, q queue) {
	ctx := t.Context()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	due := func(want time.Time) {
		t.Helper()
		if at, err := q.NextDue(ctx); err != nil || !at.Equal(want) {
			t.Errorf("NextDue = %v, %v, want %v", at, err, want)
		}
	}
	status := func(id string, want index.JobStatus, attempts int) {
		t.Helper()
		if j, err := q.Job(ctx, id); err != nil || j.Status != want || j.Attempts != attempts {
			t.Errorf("job = %s, %d attempts, %v, want %s, %d", j.Status, j.Attempts, err, want, attempts)
		}
	}
	claim := func(owner string, want string) {
		t.Helper()
		j, err := q.Claim(ctx, owner, now, time.Minute)
		if err != nil || (j == nil) != (want == "") || j != nil && j.ID != want {
			t.Errorf("Claim = %+v, %v, want %q", j, err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	due(time.Time{})
	claim("a", "")
	low, err := q.Enqueue(ctx, index.NewJob{Type: "t", MaxAttempts: 2})
	must(err)
	high, err := q.Enqueue(ctx, index.NewJob{Type: "t", Priority: 1})
	must(err)
	if at, err := q.NextDue(ctx); err != nil || at.IsZero() || at.After(now) {
		t.Errorf("NextDue with pending jobs = %v, %v", at, err)
	}
	claim("a", high)
	claim("a", low)
	claim("a", "")
	due(now.Add(time.Minute + time.Microsecond))
	must(q.SetProgress(ctx, low, "a", index.JobProgress{Done: 1}))
	must(q.Complete(ctx, high, "a", now))
	status(high, index.JobCompleted, 1)
	must(q.Fail(ctx, low, "a", now, "r", now.Add(time.Second)))
	status(low, index.JobRetry, 1)
	due(now.Add(time.Second))
	claim("a", "")
	now = now.Add(time.Second)
	claim("a", low)
	must(q.Release(ctx, low, "a"))
	status(low, index.JobPending, 1)
	claim("a", low)
	if n, err := q.Recover(ctx, "a", now); n != 0 || err != nil {
		t.Errorf("Recover of one's own = %d, %v", n, err)
	}
	if err := q.Heartbeat(ctx, low, "b", now, time.Minute); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("Heartbeat by another = %v, want ErrConflict", err)
	}
	now = now.Add(50 * time.Second)
	must(q.Heartbeat(ctx, low, "a", now, time.Minute))
	now = now.Add(50 * time.Second)
	claim("b", "") // the lease was renewed
	must(q.Cancel(ctx, low, now))
	if err := q.Complete(ctx, low, "a", now); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("Complete of a cancelled job = %v, want ErrConflict", err)
	}
	due(time.Time{})
	stale, err := q.Enqueue(ctx, index.NewJob{Type: "t", MaxAttempts: 2})
	must(err)
	claim("a", stale)
	now = now.Add(time.Minute + time.Second)
	claim("b", stale)
	if n, err := q.Recover(ctx, "c", now); n != 1 || err != nil {
		t.Errorf("Recover = %d, %v, want 1", n, err)
	}
	status(stale, index.JobFailed, 2)
}
