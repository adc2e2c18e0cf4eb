package daemon

import (
	"encoding/json"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
)

// tellEvery is the least time between two events about one stage.
const tellEvery = 250 * time.Millisecond

// A pace is how far the work of one checkout has come, as status, jobs and
// events tell it. checkout.mu guards it.
type pace struct {
	works bool // a job does
	now   wire.Progress
	meter meter
	told  time.Time // the last event
	// embedded is how many memories were given vectors since the last time there
	// was nothing to give: jobs of that kind do a part each.
	embedded int
}

// watched returns a progress that keeps what the job which runs reaches, for status,
// jobs and events. End it with co.endProgress.
func (co *checkout) watched() ingest.Progress {
	return func(s ingest.Step) {
		co.mu.Lock()
		defer co.mu.Unlock()
		now, p := co.now(), &co.pace
		fresh := !p.works || p.now.Stage != s.Stage
		p.works, p.now = true, p.meter.take(now, s)
		job := co.work.Report(p.now)
		if fresh || now.Sub(p.told) >= tellEvery {
			p.told = now
			co.bus.publish("indexing:progress", co.rec.Slug, eventOf(job, p.now))
		}
	}
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
	if !co.pace.works {
		return nil
	}
	p := co.pace.now
	return &p
}
