package checkout

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/work"
)

// Counts is what was done for one checkout since the start of the daemon.
// It is safe for concurrent use, but for times, which belong to Checkout.Update.
type Counts struct {
	ingest       ingest.Counters
	gitProcesses atomic.Int64 // starts of the git program by the checkout's loops
	foldScans    atomic.Int64 // comparisons of all of fold/ with its journal
	commits      atomic.Int64 // to the history of the memories
	compared     atomic.Int64 // memories whose chunks were compared with those of others
	times        map[string]wire.JobTimes
}

// Values returns the counts by the names that status shows.
func (t *Counts) Values() map[string]int64 {
	out := t.ingest.Values()
	out["git_processes"], out["fold_scans"], out["commits"] = t.gitProcesses.Load(), t.foldScans.Load(), t.commits.Load()
	out["chunk_comparisons"] = t.compared.Load()
	return out
}

// took notes an attempt of a job that has ended.
func (t *Counts) took(j work.Job, now time.Time) {
	if t.times == nil {
		t.times = map[string]wire.JobTimes{}
	}
	kind := string(j.Task.Kind)
	jt := t.times[kind]
	jt.Type = kind
	jt.Ended++
	if j.Status != work.Completed {
		jt.Failed++
	}
	jt.Seconds += max(now.Sub(j.Started).Seconds(), 0)
	t.times[kind] = jt
}

// jobTimes returns the times by type, sorted.
func (t *Counts) jobTimes() []wire.JobTimes {
	return slices.SortedFunc(maps.Values(t.times), func(a, b wire.JobTimes) int { return strings.Compare(a.Type, b.Type) })
}
