package checkout

import (
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
)

const (
	// rateWindow is the time a rate is taken over: long enough that one large
	// file does not make it jump, short enough to follow a change of folder.
	rateWindow = 15 * time.Second
	// rateEvery is the least time between two marks.
	rateEvery = 500 * time.Millisecond
	// rateAfter is how long a stage must run before a rate says anything.
	rateAfter = time.Second
)

// A meter makes rates, and the time that is left, of the steps of a stage. The
// zero meter is ready; it is not safe for concurrent use.
type meter struct {
	stage string
	marks []mark // oldest first, the last few seconds
	last  wire.Progress
}

// A mark is how far the work was at a time.
type mark struct {
	at    time.Time
	done  int
	bytes int64
}

// take returns how far the work has come with s. Steps of a stage may come a
// little out of order, as they are told by several goroutines: nothing goes
// back. After a long time without a step it begins anew.
func (m *meter) take(now time.Time, s ingest.Step) wire.Progress {
	if s.Stage != m.stage || now.Sub(m.marks[len(m.marks)-1].at) > rateWindow {
		*m = meter{stage: s.Stage, marks: []mark{{now, s.Done, s.Bytes}}}
	}
	p := wire.Progress{
		Stage: s.Stage, Done: max(s.Done, m.last.Done), Total: s.Total, Bytes: max(s.Bytes, m.last.Bytes),
		BytesTotal: max(s.BytesTotal, m.last.BytesTotal), Searchable: max(s.Searchable, m.last.Searchable),
	}
	if p.BytesTotal > 0 {
		p.BytesTotal = max(p.BytesTotal, p.Bytes) // a file may grow
	}
	if newest := m.marks[len(m.marks)-1]; now.Sub(newest.at) >= rateEvery {
		m.marks = append(m.marks, mark{now, p.Done, p.Bytes})
		for len(m.marks) > 2 && now.Sub(m.marks[1].at) >= rateWindow {
			m.marks = m.marks[1:]
		}
	}
	from := m.marks[0]
	if secs := now.Sub(from.at).Seconds(); secs >= rateAfter.Seconds() {
		p.PerSecond = float64(p.Done-from.done) / secs
		p.BytesPerSecond = float64(p.Bytes-from.bytes) / secs
	}
	p.ETASeconds = left(p)
	m.last = p
	return p
}

// left estimates the seconds until p is done; 0 where nothing tells. Many
// small files take longer than their bytes say, and few large ones longer
// than their number: so the truth lies between the two.
func left(p wire.Progress) float64 {
	if p.PerSecond <= 0 || p.Total <= p.Done {
		return 0
	}
	eta := float64(p.Total-p.Done) / p.PerSecond
	if p.BytesTotal > 0 && p.BytesPerSecond > 0 {
		eta = (eta + float64(p.BytesTotal-p.Bytes)/p.BytesPerSecond) / 2
	}
	return eta
}
