package checkout

import (
	"encoding/json"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
)

// tellEvery is the least time between two events about one stage.
const tellEvery = 250 * time.Millisecond

// A pace is how far the work of one checkout has come, as status, jobs and
// events tell it. It has no lock.
type pace struct {
	works bool // a job does
	now   wire.Progress
	meter meter
	told  time.Time // the last event
	// embedded is how many memories were given vectors since the last time there
	// was nothing to give: jobs of that kind do a part each.
	embedded int
}

// take notes a step of the job that runs, and reports whether it is to be told: the first
// of a stage is, and then one every tellEvery.
func (p *pace) take(now time.Time, s ingest.Step) (tell bool) {
	tell = !p.works || p.now.Stage != s.Stage || now.Sub(p.told) >= tellEvery
	p.works, p.now = true, p.meter.take(now, s)
	if tell {
		p.told = now
	}
	return tell
}

// end says that the job works no more. Rates go on where the next job does the next part.
func (p *pace) end() {
	was := *p
	*p = pace{embedded: was.embedded}
	if was.embedded > 0 {
		p.meter = was.meter
	}
}

// progress returns how far the job has come that works now, nil if none does.
func (p *pace) progress() *wire.Progress {
	if !p.works {
		return nil
	}
	now := p.now
	return &now
}

// watched returns a progress that keeps what the job which runs reaches, for status,
// jobs and events. End it with co.endProgress.
func (co *Checkout) watched() ingest.Progress {
	return func(s ingest.Step) {
		co.Update(func(c *Condition) {
			tell := c.pace.take(co.Now(), s)
			if job := c.work.Report(c.pace.now); tell {
				co.Events.Publish("indexing:progress", co.Record.Slug, eventOf(job, c.pace.now))
			}
		})
	}
}

// endProgress says that the job which was watched last works no more.
func (co *Checkout) endProgress() { co.Update(func(c *Condition) { c.pace.end() }) }

// embedded counts memories that were given vectors, and returns how many were
// before.
func (co *Checkout) embedded(n int) (before int) {
	co.Update(func(c *Condition) {
		before = c.pace.embedded
		c.pace.embedded += n
	})
	return before
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
