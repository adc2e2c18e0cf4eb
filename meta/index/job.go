package index

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// JobStatus is where a job stands.
type JobStatus string

// The states of a job. The last three are final.
const (
	JobPending   JobStatus = "pending"
	JobRunning   JobStatus = "running"
	JobRetry     JobStatus = "retry"  // failed, will be tried again at NextRetry
	JobPaused    JobStatus = "paused" // waits for ResumeJobs
	JobCompleted JobStatus = "completed"
	JobFailed    JobStatus = "failed"
	JobCancelled JobStatus = "cancelled"
)

// A Job is queued work.
type Job struct {
	ID          string // 16 hex digits
	Type        string
	Project     string
	Status      JobStatus
	Priority    int // larger first
	Payload     []byte
	Attempts    int // begun so far
	MaxAttempts int
	Owner       string    // who holds the lease
	LeaseUntil  time.Time // when others may take it
	Heartbeat   time.Time
	NextRetry   time.Time
	DedupeKey   string
	Progress    *JobProgress // nil if none was reported
	Error       string       // of the last failed attempt
	CreatedAt   time.Time
	StartedAt   time.Time // of the last attempt; zero if none
	EndedAt     time.Time // zero until final
}

// JobProgress is how far a job has come.
type JobProgress struct {
	Stage          string  `json:"stage"`
	Done           int     `json:"done"`
	Total          int     `json:"total"`
	Bytes          int64   `json:"bytes,omitempty"`
	BytesTotal     int64   `json:"bytes_total,omitempty"`
	PerSecond      float64 `json:"per_second,omitempty"`
	BytesPerSecond float64 `json:"bytes_per_second,omitempty"`
	ETASeconds     float64 `json:"eta_seconds,omitempty"`
	Searchable     int     `json:"searchable,omitempty"`
}

// NewJob is work to be queued.
type NewJob struct {
	Type     string
	Project  string
	Priority int // larger first
	Payload  []byte
	// DedupeKey, if not empty, names work that need not be queued twice: a job
	// of the same key that has not begun takes this one's payload.
	DedupeKey string
	// Merge makes one payload of that which is queued and the new one; nil
	// means that the new one replaces it. It runs inside the transaction.
	Merge       func(queued, added []byte) ([]byte, error)
	MaxAttempts int       // zero means 5
	CreatedAt   time.Time // zero means now
}

// defaultAttempts outlasts, with the backoff of daemon/jobs, a fault of some
// minutes, and ends with a file that can never be dealt with.
const defaultAttempts = 5

// maxRetry is longer than any delay that is asked for: what seems to wait longer
// was put off before the clock was set back, and is due.
const maxRetry = time.Hour

// keepJobs is how many ended jobs of each final state are kept to be looked at.
const keepJobs = 200

const jobColumns = `id, type, project, status, priority, payload, attempts, max_attempts, owner, lease_until, heartbeat,
	next_retry, dedupe_key, progress, error, created_at, started_at, ended_at`

func scanJob(scan func(...any) error) (*Job, error) {
	var j Job
	var lease, beat, retry, created, started, ended int64
	var progress string
	err := scan(&j.ID, &j.Type, &j.Project, &j.Status, &j.Priority, &j.Payload, &j.Attempts, &j.MaxAttempts, &j.Owner,
		&lease, &beat, &retry, &j.DedupeKey, &progress, &j.Error, &created, &started, &ended)
	if err != nil {
		return nil, err
	}
	j.LeaseUntil, j.Heartbeat, j.NextRetry = sqlite.Time(lease), sqlite.Time(beat), sqlite.Time(retry)
	j.CreatedAt, j.StartedAt, j.EndedAt = sqlite.Time(created), sqlite.Time(started), sqlite.Time(ended)
	if progress != "" {
		j.Progress = new(JobProgress)
		if err := json.Unmarshal([]byte(progress), j.Progress); err != nil {
			return nil, fmt.Errorf("job %s: %w: %w", j.ID, sqlite.ErrDamaged, err)
		}
	}
	return &j, nil
}

// Enqueue queues work and returns the id of its job: that of the queued job of
// the same DedupeKey if there is one that has not begun. A job that runs is
// left alone, since it may have read its input already.
func (x *DB) Enqueue(ctx context.Context, n NewJob) (id string, err error) {
	if n.CreatedAt.IsZero() {
		n.CreatedAt = time.Now()
	}
	if n.MaxAttempts <= 0 {
		n.MaxAttempts = defaultAttempts
	}
	if n.Payload == nil {
		n.Payload = []byte{}
	}
	err = x.db.Write(ctx, "enqueue "+n.Type, func(tx *sql.Tx) error {
		if n.DedupeKey != "" {
			var found bool
			if id, found, err = mergeJob(ctx, tx, n); err != nil || found {
				return err
			}
		}
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails, by its documentation
		id = hex.EncodeToString(b[:])
		_, err := tx.ExecContext(ctx, `insert into jobs (`+jobColumns+`)
			values (?, ?, ?, 'pending', ?, ?, 0, ?, '', 0, 0, 0, ?, '', '', ?, 0, 0)`,
			id, n.Type, n.Project, n.Priority, n.Payload, n.MaxAttempts, n.DedupeKey, sqlite.Micros(n.CreatedAt))
		return err
	})
	return id, err
}

// mergeJob puts n into a queued job of its key, if there is one.
func mergeJob(ctx context.Context, tx *sql.Tx, n NewJob) (id string, found bool, err error) {
	var queued []byte
	err = tx.QueryRowContext(ctx, `select id, payload from jobs where dedupe_key = ? and type = ?
		and status in ('pending', 'paused') order by n limit 1`, n.DedupeKey, n.Type).Scan(&id, &queued)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	payload := n.Payload
	if n.Merge != nil {
		if payload, err = n.Merge(queued, n.Payload); err != nil {
			return "", false, err
		}
		if payload == nil {
			payload = []byte{}
		}
	}
	_, err = tx.ExecContext(ctx, `update jobs set payload = ?, priority = max(priority, ?) where id = ?`, payload, n.Priority, id)
	return id, true, err
}

// Claim takes the next job for owner until now + lease: of those that are
// pending, due for a retry, or whose holder let the lease run out, the one with
// the highest priority, then the oldest. It returns nil if there is none. Two
// callers never get the same job.
func (x *DB) Claim(ctx context.Context, owner string, now time.Time, lease time.Duration) (*Job, error) {
	var j *Job
	err := x.db.Write(ctx, "claim", func(tx *sql.Tx) error {
		// Who let its lease run out in the last attempt, likely crashed on it.
		if _, err := tx.ExecContext(ctx, `update jobs set status = 'failed', ended_at = ?1, owner = '', lease_until = 0,
				error = 'stopped without an answer in its last attempt'
			where status = 'running' and lease_until < ?1 and attempts >= max_attempts`, sqlite.Micros(now)); err != nil {
			return err
		}
		var err error
		j, err = scanJob(tx.QueryRowContext(ctx, `update jobs set status = 'running', owner = ?1, attempts = attempts + 1,
				lease_until = ?3, heartbeat = ?2, started_at = ?2, next_retry = 0
			where n = (select n from jobs
				where status = 'pending' or status = 'running' and lease_until < ?2
					or status = 'retry' and (next_retry <= ?2 or next_retry > ?4)
				order by priority desc, n limit 1)
			returning `+jobColumns, owner, sqlite.Micros(now), sqlite.Micros(now.Add(lease)), sqlite.Micros(now.Add(maxRetry))).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			j = nil
			return nil
		}
		return err
	})
	return j, err
}

// held runs a statement on a job that owner must hold; else it returns
// fold.ErrConflict: the job was cancelled, or its lease ran out and another
// has it.
func (x *DB) held(ctx context.Context, op, id, owner, set string, args ...any) error {
	return x.db.Write(ctx, op+" job "+id, func(tx *sql.Tx) error {
		return heldTx(ctx, tx, id, owner, set, args...)
	})
}

func heldTx(ctx context.Context, tx *sql.Tx, id, owner, set string, args ...any) error {
	res, err := tx.ExecContext(ctx, `update jobs set `+set+` where id = ? and owner = ? and status = 'running'`,
		append(args, id, owner)...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = fmt.Errorf("not held by %s any more: %w", owner, fold.ErrConflict)
	}
	return err
}

// Heartbeat makes the lease last until now + lease. It returns fold.ErrConflict
// if owner does not hold the job any more and must stop.
func (x *DB) Heartbeat(ctx context.Context, id, owner string, now time.Time, lease time.Duration) error {
	return x.held(ctx, "renew", id, owner, `heartbeat = ?, lease_until = ?`, sqlite.Micros(now), sqlite.Micros(now.Add(lease)))
}

// SetProgress stores how far the job has come. Errors as Heartbeat's.
func (x *DB) SetProgress(ctx context.Context, id, owner string, p JobProgress) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("progress of job %s: %w: %w", id, fold.ErrInvalid, err)
	}
	return x.held(ctx, "report", id, owner, `progress = ?`, string(b))
}

// Complete ends a job well. Errors as Heartbeat's.
func (x *DB) Complete(ctx context.Context, id, owner string, now time.Time) error {
	return x.db.Write(ctx, "complete job "+id, func(tx *sql.Tx) error {
		err := heldTx(ctx, tx, id, owner, `status = 'completed', ended_at = ?, owner = '', lease_until = 0, error = ''`, sqlite.Micros(now))
		if err != nil {
			return err
		}
		return pruneJobs(ctx, tx)
	})
}

// Fail ends an attempt. The job is tried again at retryAt, unless that is zero
// or it had all its attempts: then it has failed for good. Errors as
// Heartbeat's.
func (x *DB) Fail(ctx context.Context, id, owner string, now time.Time, reason string, retryAt time.Time) error {
	return x.db.Write(ctx, "fail job "+id, func(tx *sql.Tx) error {
		err := heldTx(ctx, tx, id, owner, `error = ?1, owner = '', lease_until = 0,
			status = case when ?2 <> 0 and attempts < max_attempts then 'retry' else 'failed' end,
			next_retry = case when attempts < max_attempts then ?2 else 0 end,
			ended_at = case when ?2 <> 0 and attempts < max_attempts then 0 else ?3 end`,
			reason, sqlite.Micros(retryAt), sqlite.Micros(now))
		if err != nil {
			return err
		}
		return pruneJobs(ctx, tx)
	})
}

// Release gives a job back unfinished, as when the daemon stops: it is pending
// again and the attempt does not count. Errors as Heartbeat's.
func (x *DB) Release(ctx context.Context, id, owner string) error {
	return x.held(ctx, "release", id, owner, `status = 'pending', owner = '', lease_until = 0, attempts = attempts - 1`)
}

// Recover makes pending again what another owner held: at the start of the one
// daemon nobody else is there, so nothing needs to wait for a lease to run out.
// The attempt counts; a job that had all of them has failed. It returns how
// many jobs it met.
func (x *DB) Recover(ctx context.Context, owner string, now time.Time) (int, error) {
	n, err := x.db.Exec(ctx, "recover jobs", `update jobs set owner = '', lease_until = 0,
			status = case when attempts >= max_attempts then 'failed' else 'pending' end,
			error = case when attempts >= max_attempts then 'stopped without an answer in its last attempt' else error end,
			ended_at = case when attempts >= max_attempts then ? else 0 end
		where status = 'running' and owner <> ?`, sqlite.Micros(now), owner)
	return int(n), err
}

// NextDue returns when Claim will next find something: a time not after now if
// at once, the zero time if not before something is queued.
func (x *DB) NextDue(ctx context.Context) (time.Time, error) {
	var us sql.NullInt64
	err := x.db.Row(ctx, "next job", `select min(case status when 'pending' then 1 when 'retry' then next_retry else lease_until + 1 end)
		from jobs where status in ('pending', 'retry', 'running')`).Scan(&us)
	return sqlite.Time(us.Int64), err
}

// Cancel ends a job that has not ended. Whoever runs it learns of it at the
// next heartbeat. It returns fold.ErrNotFound if there is no such job and
// fold.ErrConflict if it has ended.
func (x *DB) Cancel(ctx context.Context, id string, now time.Time) error {
	n, err := x.db.Exec(ctx, "cancel job "+id, `update jobs set status = 'cancelled', ended_at = ?, owner = '', lease_until = 0
		where id = ? and status in ('pending', 'retry', 'paused', 'running')`, sqlite.Micros(now), id)
	if err != nil || n > 0 {
		return err
	}
	if _, err := x.Job(ctx, id); err != nil {
		return err
	}
	return fmt.Errorf("cancel job %s: it has ended: %w", id, fold.ErrConflict)
}

// CancelOpen ends every job that has not ended, with a reason: at a start,
// where one sweep does the work of them all.
func (x *DB) CancelOpen(ctx context.Context, reason string, now time.Time) error {
	_, err := x.db.Exec(ctx, "cancel open jobs", `update jobs set status = 'cancelled', error = ?, owner = '', ended_at = ?
		where status in ('pending', 'running', 'retry')`, reason, sqlite.Micros(now))
	return err
}

// PauseJobs holds back what has not begun; with paused false it lets it go on.
// Jobs queued meanwhile are not held back: the caller does not run them.
func (x *DB) PauseJobs(ctx context.Context, paused bool) error {
	query := `update jobs set status = 'paused' where status in ('pending', 'retry')`
	if !paused {
		query = `update jobs set status = 'pending', next_retry = 0 where status = 'paused'`
	}
	_, err := x.db.Exec(ctx, "pause jobs", query)
	return err
}

// OpenJobs returns how many jobs wait or run, those of the types except left
// out. Jobs that wait to be tried again are not counted.
func (x *DB) OpenJobs(ctx context.Context, except ...string) (int, error) {
	n := 0
	err := x.db.Each(ctx, "open jobs", func(scan func(...any) error) error { return scan(&n) },
		`select count(*) from jobs where status in ('pending', 'running') and type not in (select value from json_each(?))`, sqlite.List(except))
	return n, err
}

// Jobs returns the newest jobs, at most limit.
func (x *DB) Jobs(ctx context.Context, limit int) ([]Job, error) {
	var all []Job
	err := x.db.Each(ctx, "list jobs", func(scan func(...any) error) error {
		j, err := scanJob(scan)
		if err == nil {
			all = append(all, *j)
		}
		return err
	}, `select `+jobColumns+` from jobs order by n desc limit ?`, limit)
	return all, err
}

// Job returns one job. It returns fold.ErrNotFound if there is none of that id.
func (x *DB) Job(ctx context.Context, id string) (Job, error) {
	j, err := scanJob(x.db.Row(ctx, fmt.Sprintf("job %.40q", id), `select `+jobColumns+` from jobs where id = ?`, id).Scan)
	if err != nil {
		return Job{}, err
	}
	return *j, nil
}

// pruneJobs deletes ended jobs but the last keepJobs of each final state.
func pruneJobs(ctx context.Context, tx *sql.Tx) error {
	for _, status := range []JobStatus{JobCompleted, JobFailed, JobCancelled} {
		if _, err := tx.ExecContext(ctx, `delete from jobs where status = ?1 and n in
			(select n from jobs where status = ?1 order by ended_at desc, n desc limit -1 offset ?2)`, string(status), keepJobs); err != nil {
			return err
		}
	}
	return nil
}
