// Package progress is what a piece of work tells of itself: steps while it runs, a
// report at its end, counters since start.
package progress

import "sync/atomic"

// The stages of long work, as a person reads them.
const (
	StageListing    = "listing"
	StageWords      = "words"
	StageReading    = "reading memories"
	StageDescribing = "describing"
	StageIndexing   = "indexing text"
	StageEmbedding  = "embedding"
	StageCommits    = "reading commits"
)

// A Step is how far long work has come.
type Step struct {
	Stage      string
	Done       int   // files or memories worked through
	Total      int   // of this stage; 0 while that is not known
	Bytes      int64 // of Done
	BytesTotal int64 // of Total; 0 while that is not known
	Searchable int   // of Done, what is stored: searches find it, and a crash does not lose it
}

// A Func is told of each step. It must return at once: a file may be one.
type Func func(Step)

// After returns a progress of work of which some files are done already.
func (p Func) After(done int) Func {
	if p == nil || done == 0 {
		return p
	}
	return func(s Step) {
		s.Done, s.Total, s.Searchable = s.Done+done, s.Total+done, s.Searchable+done
		p(s)
	}
}

// Tell tells of a step, if anybody listens.
func (p Func) Tell(s Step) {
	if p != nil {
		p(s)
	}
}

// A Tally adds up the steps of one stage from several goroutines.
type Tally struct {
	progress Func
	stage    string
	total    int
	done     atomic.Int64
	bytes    atomic.Int64
	whole    atomic.Int64 // bytes in all, once they are known
	stored   atomic.Int64 // files
}

// NewTally begins to count a stage of total files.
func NewTally(progress Func, stage string, total int) *Tally {
	t := &Tally{progress: progress, stage: stage, total: total}
	if total > 0 {
		t.tell()
	}
	return t
}

// SetWhole says how many bytes there are in all.
func (t *Tally) SetWhole(bytes int64) { t.whole.Store(bytes) }

// Worked counts a file that was read and cut.
func (t *Tally) Worked(files int, bytes int64) {
	t.done.Add(int64(files))
	t.bytes.Add(bytes)
	t.tell()
}

// Keep counts files that are stored.
func (t *Tally) Keep(files int) {
	t.stored.Add(int64(files))
	t.tell()
}

func (t *Tally) tell() {
	t.progress.Tell(Step{
		Stage: t.stage, Done: int(t.done.Load()), Total: t.total,
		Bytes: t.bytes.Load(), BytesTotal: t.whole.Load(), Searchable: int(t.stored.Load()),
	})
}
