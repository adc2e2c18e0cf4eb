package index

import (
	"testing"
	"time"
)

// TestEndedJobsArePruned begins with more ended jobs than are kept.
func TestEndedJobsArePruned(t *testing.T) {
	ctx := t.Context()
	x, err := Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	_, err = x.db.Exec(ctx, "fill", `with recursive i (n) as (select 1 union all select n + 1 from i where n < ?)
		insert into jobs (`+jobColumns+`)
		select 'job' || n, 't', '', iif(n = 1, 'failed', 'completed'), 0, x'', 1, 5, '', 0, 0, 0, '', '', '', n, n, n from i`, keepJobs+10)
	if err != nil {
		t.Fatal(err)
	}
	id, err := x.Enqueue(ctx, NewJob{Type: "t"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	if _, err := x.Claim(ctx, "me", now, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := x.Complete(ctx, id, "me", now); err != nil {
		t.Fatal(err)
	}
	all, err := x.Jobs(ctx, 1000)
	if err != nil || len(all) != keepJobs+1 || all[0].ID != id {
		t.Errorf("%d jobs kept, %v, want %d completed and one failed", len(all), err, keepJobs)
	}
	if j, err := x.Job(ctx, "job1"); err != nil || j.Status != JobFailed {
		t.Errorf("the failed job = %+v, %v", j, err)
	}
}
