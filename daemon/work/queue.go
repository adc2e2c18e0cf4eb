package work

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// A Status is where a job stands.
type Status string

// The states of a job. The last three are final.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Waiting   Status = "retry" // failed, and is tried again at Task.At
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// A Job is a task in the queue, as users see it.
type Job struct {
	ID       string // 16 hex digits
	Task     Task   // Paths are filled in when it starts
	Status   Status
	Attempts int            // begun so far
	Progress *wire.Progress // nil if none was reported
	Error    string         // of the last failed attempt
	Created  time.Time
	Started  time.Time // of the last attempt; zero if none
	Ended    time.Time // zero until final

	paths map[string]bool // of Task
}

const (
	// attemptsMost outlasts, with the backoff, a fault of some minutes, and ends with
	// what can never be done.
	attemptsMost = 5
	// keepEnded is how many ended jobs are kept to be looked at.
	keepEnded = 200
	// errorBytes is how much of an error is kept.
	errorBytes = 2000
)

// A Queue is what a checkout has to do and what it did lately. One job runs at a time.
type Queue struct {
	rand  *rand.Rand
	open  []*Job // pending, running or to be tried again, oldest first
	ended []Job  // oldest first
}

// New returns an empty queue, which draws ids and delays from r.
func New(r *rand.Rand) *Queue { return &Queue{rand: r} }

// Add adds a task and returns the id of its job: that of a pending job that it joins,
// if there is one. A job that runs is left alone, since it may have read its input.
func (q *Queue) Add(now time.Time, t Task) string {
	i := slices.IndexFunc(q.open, func(j *Job) bool { return j.Status == Pending && t.joins(j.Task) })
	if i >= 0 {
		q.open[i].Task = q.open[i].Task.with(t)
	} else {
		i = len(q.open)
		q.open = append(q.open, q.newJob(now, t))
	}
	for _, p := range t.Paths {
		q.open[i].paths[p] = true
	}
	return q.open[i].ID
}

// Again has a task done at t.At after a job failed for good because of why, unless it
// is to be tried again already.
func (q *Queue) Again(now time.Time, t Task, why string) {
	for _, j := range q.open {
		if j.Status == Waiting && j.Task.Kind == t.Kind {
			return
		}
	}
	j := q.newJob(now, t)
	j.Status, j.Error = Waiting, why
	q.open = append(q.open, j)
}

func (q *Queue) newJob(now time.Time, t Task) *Job {
	t.Paths = nil
	return &Job{ID: fmt.Sprintf("%016x", q.rand.Uint64()), Task: t, Status: Pending, Created: now, paths: map[string]bool{}}
}

// Start begins the most urgent job that is due and returns it. It reports false if
// there is none, or one runs.
func (q *Queue) Start(now time.Time) (Job, bool) {
	var next *Job
	for _, j := range q.open {
		switch {
		case j.Status == Running:
			return Job{}, false
		case !j.Task.At.After(now) && (next == nil || j.Task.Priority > next.Task.Priority):
			next = j
		}
	}
	if next == nil {
		return Job{}, false
	}
	next.Status, next.Started, next.Task.At = Running, now, time.Time{}
	next.Task.Paths = slices.Sorted(maps.Keys(next.paths))
	next.Attempts++
	return *next, true
}

// running returns the place of the job that runs, -1 if none does.
func (q *Queue) running() int {
	return slices.IndexFunc(q.open, func(j *Job) bool { return j.Status == Running })
}

// Report notes how far the job that runs has come, and returns its id; "" if none does.
func (q *Queue) Report(p wire.Progress) string {
	i := q.running()
	if i < 0 {
		return ""
	}
	q.open[i].Progress = &p
	return q.open[i].ID
}

// End ends the attempt at the job that runs and returns what became of the job. After
// an error it is tried again, later each time, until it had all its attempts.
func (q *Queue) End(now time.Time, err error) Job {
	i := q.running()
	j := q.open[i]
	j.stop()
	switch {
	case err == nil:
		j.Error = ""
		return q.end(i, now, Completed)
	case j.Attempts >= attemptsMost:
		j.Error = reason(err)
		return q.end(i, now, Failed)
	}
	j.Error, j.Status = reason(err), Waiting
	j.Task.At = now.Add(backoff(j.Attempts, q.rand.Float64()))
	return *j
}

// GiveBack has the job that runs begin anew later: the attempt was broken off, and
// does not count.
func (q *Queue) GiveBack() {
	j := q.open[q.running()]
	j.stop()
	j.Status, j.Attempts = Pending, j.Attempts-1
}

// Cancel ends all jobs, of which none runs.
func (q *Queue) Cancel(now time.Time, why string) {
	for len(q.open) > 0 {
		q.open[0].Error = why
		q.end(0, now, Cancelled)
	}
}

func (q *Queue) end(i int, now time.Time, s Status) Job {
	j := q.open[i]
	q.open = slices.Delete(q.open, i, i+1)
	j.Status, j.Ended, j.paths, j.Task.Paths = s, now, nil, nil
	q.ended = append(q.ended, *j)
	q.ended = slices.Delete(q.ended, 0, max(len(q.ended)-keepEnded, 0))
	return *j
}

// stop takes back what was true of the job only while it ran.
func (j *Job) stop() {
	if j.Progress != nil {
		p := *j.Progress
		p.PerSecond, p.BytesPerSecond, p.ETASeconds = 0, 0, 0
		j.Progress = &p
	}
}

// Due returns when the next job is due, if one is. A time not after now is at once.
func (q *Queue) Due() (at time.Time, ok bool) {
	for _, j := range q.open {
		if j.Status != Running && (!ok || j.Task.At.Before(at)) {
			at, ok = j.Task.At, true
		}
	}
	return at, ok
}

// Busy reports whether a job runs or is due.
func (q *Queue) Busy(now time.Time) bool {
	return slices.ContainsFunc(q.open, func(j *Job) bool { return j.Status == Running || j.Status == Pending && !j.Task.At.After(now) })
}

// Urgent reports whether somebody waits for a job that is due.
func (q *Queue) Urgent(now time.Time) bool {
	return slices.ContainsFunc(q.open, func(j *Job) bool {
		return j.Status == Pending && j.Task.Priority >= Urgent && !j.Task.At.After(now)
	})
}

// ForSearch returns how many jobs that run or are pending will change what search
// finds by words.
func (q *Queue) ForSearch() (n int) {
	for _, j := range q.open {
		if j.Status != Waiting && j.Task.Kind.ForSearch() {
			n++
		}
	}
	return n
}

// Jobs returns all jobs, newest first.
func (q *Queue) Jobs() []Job {
	all := slices.Clone(q.ended)
	for _, j := range q.open {
		all = append(all, *j)
	}
	slices.SortStableFunc(all, func(a, b Job) int { return a.Created.Compare(b.Created) })
	slices.Reverse(all)
	return all
}

// reason is an error as it is kept.
func reason(err error) string {
	s := err.Error()
	if len(s) > errorBytes {
		s = s[:errorBytes] + "…"
	}
	return s
}
