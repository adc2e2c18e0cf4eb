package jobs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/daemon/jobs"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// start runs r until stop, which waits for its end.
func start(t *testing.T, r *jobs.Runner) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
}

func add(t *testing.T, q queue, wake chan struct{}, n index.NewJob) string {
	t.Helper()
	id, err := q.Enqueue(context.WithoutCancel(t.Context()), n)
	if err != nil {
		t.Fatal(err)
	}
	jobs.Poke(wake)
	return id
}

func wantJob(t *testing.T, q queue, id string, status index.JobStatus, attempts int) index.Job {
	t.Helper()
	j, err := q.Job(context.WithoutCancel(t.Context()), id)
	if err != nil || j.Status != status || j.Attempts != attempts {
		t.Errorf("job %s = %s after %d attempts (%s), %v, want %s after %d", id, j.Status, j.Attempts, j.Error, err, status, attempts)
	}
	return j
}

func TestRunnerRunsInOrderAndSleepsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{}
		var ran []string
		r := &jobs.Runner{Index: q, Wake: jobs.NewWake(), Handlers: map[string]jobs.Handler{
			"t": func(_ context.Context, j *index.Job, progress func(index.JobProgress)) error {
				progress(index.JobProgress{Stage: "s", Done: 1, Total: 1})
				ran = append(ran, string(j.Payload))
				return nil
			},
		}}
		add(t, q, r.Wake, index.NewJob{Type: "t", Payload: []byte("low")})
		add(t, q, r.Wake, index.NewJob{Type: "t", Payload: []byte("high"), Priority: 9})
		stop := start(t, r)
		synctest.Wait()
		if !slices.Equal(ran, []string{"high", "low"}) {
			t.Errorf("ran %v", ran)
		}
		time.Sleep(time.Second) // the wake-ups from before the start are spent
		idle := q.asked()
		time.Sleep(24 * time.Hour)
		if n := q.asked() - idle; n != 0 {
			t.Errorf("%d looks at the queue in an idle day", n)
		}
		id := add(t, q, r.Wake, index.NewJob{Type: "t", Payload: []byte("woken")})
		synctest.Wait()
		j := wantJob(t, q, id, index.JobCompleted, 1)
		if j.Progress == nil || j.Progress.Done != 1 {
			t.Errorf("progress = %+v", j.Progress)
		}
		stop()
	})
}

func TestRunnerTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{}
		var at []time.Duration
		begun := time.Now()
		r := &jobs.Runner{Index: q, Wake: jobs.NewWake(), Handlers: map[string]jobs.Handler{
			"fails": func(context.Context, *index.Job, func(index.JobProgress)) error {
				at = append(at, time.Since(begun))
				return errors.New("broken")
			},
			"panics": func(context.Context, *index.Job, func(index.JobProgress)) error { panic("oops") },
			"forever": func(context.Context, *index.Job, func(index.JobProgress)) error {
				return jobs.Permanent(errors.New("bad input"))
			},
		}}
		defer start(t, r)()
		fails := add(t, q, r.Wake, index.NewJob{Type: "fails", MaxAttempts: 6})
		panics := add(t, q, r.Wake, index.NewJob{Type: "panics", MaxAttempts: 2})
		forever := add(t, q, r.Wake, index.NewJob{Type: "forever"})
		unknown := add(t, q, r.Wake, index.NewJob{Type: "unknown"})
		time.Sleep(time.Hour)
		synctest.Wait()
		if j := wantJob(t, q, fails, index.JobFailed, 6); j.Error != "broken" {
			t.Errorf("error = %q", j.Error)
		}
		wantJob(t, q, panics, index.JobFailed, 2)
		wantJob(t, q, forever, index.JobFailed, 1)
		wantJob(t, q, unknown, index.JobFailed, 1)
		for i := 1; i < len(at); i++ {
			if wait, limit := at[i]-at[i-1], time.Second<<(i-1)+time.Second; wait > limit {
				t.Errorf("attempt %d came %v after the one before, want at most %v", i+1, wait, limit)
			}
		}
	})
}

func TestRunnerKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{}
		runs := 0
		r := &jobs.Runner{Index: q, Wake: jobs.NewWake(), Lease: time.Minute, Workers: 2, Handlers: map[string]jobs.Handler{
			"long": func(ctx context.Context, _ *index.Job, _ func(index.JobProgress)) error {
				runs++
				time.Sleep(10 * time.Minute)
				return ctx.Err()
			},
		}}
		defer start(t, r)()
		id := add(t, q, r.Wake, index.NewJob{Type: "long"})
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		wantJob(t, q, id, index.JobCompleted, 1)
		if runs != 1 {
			t.Errorf("ran %d times", runs)
		}
	})
}

func TestRunnerStopsACancelledJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{}
		var ended time.Duration
		begun := time.Now()
		r := &jobs.Runner{Index: q, Wake: jobs.NewWake(), Lease: time.Minute, Handlers: map[string]jobs.Handler{
			"long": func(ctx context.Context, _ *index.Job, _ func(index.JobProgress)) error {
				<-ctx.Done()
				ended = time.Since(begun)
				return ctx.Err()
			},
		}}
		defer start(t, r)()
		id := add(t, q, r.Wake, index.NewJob{Type: "long"})
		synctest.Wait()
		if err := q.Cancel(t.Context(), id, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		wantJob(t, q, id, index.JobCancelled, 1)
		if ended == 0 || ended > 20*time.Second {
			t.Errorf("the handler ended after %v, want one heartbeat", ended)
		}
	})
}

func TestRunnerGivesBackWhatItCannotFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{}
		returned := false
		r := &jobs.Runner{Index: q, Wake: jobs.NewWake(), Handlers: map[string]jobs.Handler{
			"long": func(ctx context.Context, _ *index.Job, _ func(index.JobProgress)) error {
				<-ctx.Done()
				time.Sleep(time.Second) // it cleans up
				returned = true
				return ctx.Err()
			},
		}}
		stop := start(t, r)
		id := add(t, q, r.Wake, index.NewJob{Type: "long"})
		synctest.Wait()
		stop()
		if !returned {
			t.Error("Run ended before its handler")
		}
		wantJob(t, q, id, index.JobPending, 0)
	})
}

func TestRunnerRecoversAtItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{}
		id := add(t, q, nil, index.NewJob{Type: "t"})
		if _, err := q.Claim(t.Context(), "killed daemon", time.Now(), time.Hour); err != nil {
			t.Fatal(err)
		}
		r := &jobs.Runner{Index: q, Handlers: map[string]jobs.Handler{
			"t": func(context.Context, *index.Job, func(index.JobProgress)) error { return nil },
		}}
		defer start(t, r)()
		synctest.Wait() // at once, not after the lease
		wantJob(t, q, id, index.JobCompleted, 2)
	})
}

func TestRunnerWaitsForABrokenQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{broken: fold.ErrUnavailable}
		r := &jobs.Runner{Index: q, Wake: jobs.NewWake(), Handlers: map[string]jobs.Handler{
			"t": func(context.Context, *index.Job, func(index.JobProgress)) error { return nil },
		}}
		stop := start(t, r)
		id := add(t, q, nil, index.NewJob{Type: "t"})
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := q.asked(); n > 500 {
			t.Errorf("asked a broken queue %d times in an hour", n)
		}
		q.mu.Lock()
		q.broken = nil
		q.mu.Unlock()
		time.Sleep(15 * time.Minute)
		wantJob(t, q, id, index.JobCompleted, 1)
		stop()
	})
}

func TestRunnerEndsOnADamagedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &memQueue{broken: sqlite.ErrDamaged}
		r := &jobs.Runner{Index: q, Wake: jobs.NewWake(), Workers: 3}
		if err := r.Run(t.Context()); !errors.Is(err, sqlite.ErrDamaged) {
			t.Errorf("Run = %v, want ErrDamaged", err)
		}
	})
}

// TestRunnerOverSQLite runs real jobs through a real queue.
func TestRunnerOverSQLite(t *testing.T) {
	x, err := index.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const n = 40
	var mu sync.Mutex
	ran := map[string]int{}
	changed := make(chan string, 1000)
	r := &jobs.Runner{
		Index: x, Wake: jobs.NewWake(), Workers: 3, Changed: func(id string) { changed <- id },
		Handlers: map[string]jobs.Handler{"t": func(_ context.Context, j *index.Job, progress func(index.JobProgress)) error {
			progress(index.JobProgress{Done: 1})
			mu.Lock()
			defer mu.Unlock()
			ran[j.ID]++
			return nil
		}},
	}
	stop := start(t, r)
	var ids []string
	for range n {
		ids = append(ids, add(t, x, r.Wake, index.NewJob{Type: "t"}))
	}
	for range 3 * n { // begun, progressed, ended
		select {
		case <-changed:
		case <-time.After(20 * time.Second):
			t.Fatal("jobs do not end")
		}
	}
	stop()
	for _, id := range ids {
		wantJob(t, x, id, index.JobCompleted, 1)
		if ran[id] != 1 {
			t.Errorf("job %s ran %d times", id, ran[id])
		}
	}
}

func TestBackoff(t *testing.T) {
	for _, tc := range []struct {
		attempt int
		u       float64
		want    time.Duration
	}{
		{1, 0, 0},
		{1, 0.5, 500 * time.Millisecond},
		{2, 0.5, time.Second},
		{5, 0.25, 4 * time.Second},
		{11, 0.5, 450 * time.Second},
		{1000, 0.5, 450 * time.Second},
		{0, 0.5, 500 * time.Millisecond},
		{-5, 0.5, 500 * time.Millisecond},
	} {
		if got := jobs.Backoff(tc.attempt, tc.u); got != tc.want {
			t.Errorf("Backoff(%d, %v) = %v, want %v", tc.attempt, tc.u, got, tc.want)
		}
	}
	if jobs.Permanent(nil) != nil {
		t.Error("Permanent(nil) is an error")
	}
}
