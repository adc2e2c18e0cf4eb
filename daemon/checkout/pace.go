package checkout

import (
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
