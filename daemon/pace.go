package daemon

import (
	"encoding/json"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/meta/index"
)

const (
	// tellEvery is the least time between two events about one stage.
	tellEvery = 250 * time.Millisecond
	// storeEvery is the least time between two writes of a job's progress: what
	// is asked for meanwhile is answered from memory, and a write of it holds up
	// those of the index.
	storeEvery = 5 * time.Second
)

// A pace is how far the work of one checkout has come, as status, jobs and
// events tell it. checkout.mu guards it.
type pace struct {
	job    string // that works; "" for none
	now    wire.Progress
	meter  meter
	told   time.Time // the last event
	stored time.Time // the last write
	// embedded is how many memories were given vectors since the last time there
	// was nothing to give: jobs of that kind do a part each.
	embedded int
}

// watched returns a progress that keeps what j reaches, for status and events,
// and stores it with tell from time to time. End it with co.endProgress.
func (co *checkout) watched(j *index.Job, tell func(index.JobProgress)) ingest.Progress {
	return func(s ingest.Step) {
		if p, store := co.paced(j.ID, s); store {
			tell(index.JobProgress(p))
		}
	}
}

// paced takes a step of a job. It reports whether that is to be stored.
func (co *checkout) paced(job string, s ingest.Step) (p wire.Progress, store bool) {
	co.mu.Lock()
	defer co.mu.Unlock()
	now, c := co.now(), &co.pace
	fresh := c.job != job || c.now.Stage != s.Stage
	c.job, c.now = job, c.meter.take(now, s)
	if fresh || now.Sub(c.told) >= tellEvery {
		c.told = now
		co.bus.publish("indexing:progress", co.rec.Slug, eventOf(job, c.now))
	}
	if store = fresh || now.Sub(c.stored) >= storeEvery; store {
		c.stored = now
	}
	return c.now, store
}

// eventOf is the data of an event: the job, and the fields of its progress.
func eventOf(job string, p wire.Progress) map[string]any {
	data := map[string]any{}
	if b, err := json.Marshal(p); err == nil {
		_ = json.Unmarshal(b, &data) // an object, as it was just written
	}
	data["job_id"] = job
	return data
}

// endProgress says that the job which was watched last works no more. Rates go on
// where the next job does the next part.
func (co *checkout) endProgress() {
	co.mu.Lock()
	defer co.mu.Unlock()
	was := co.pace
	co.pace = pace{embedded: was.embedded}
	if was.embedded > 0 {
		co.pace.meter = was.meter
	}
}

// embedded counts memories that were given vectors, and returns how many were
// before.
func (co *checkout) embedded(n int) int {
	co.mu.Lock()
	defer co.mu.Unlock()
	before := co.pace.embedded
	co.pace.embedded += n
	return before
}

// progress returns how far the job has come that works now, nil if none does.
// co.mu is held.
func (co *checkout) progress() *wire.Progress {
	if co.pace.job == "" {
		return nil
	}
	p := co.pace.now
	return &p
}

// progressOf returns how far the job of that id has come, nil if it does not
// work.
func (co *checkout) progressOf(id string) *wire.Progress {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.pace.job != id {
		return nil
	}
	return co.progress()
}
