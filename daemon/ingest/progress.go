package ingest

import (
	"os"
	"path"
	"sync/atomic"
)

// The stages of long work, as a person reads them.
const (
	stageListing    = "listing"
	stageWords      = "words"
	stageReading    = "reading memories"
	stageDescribing = "describing"
	stageIndexing   = "indexing text"
	stageEmbedding  = "embedding"
	stageCommits    = "reading commits"
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

// A Progress is told of each step. It must return at once: a file may be one.
type Progress func(Step)

// after returns a progress of work of which some files are done already.
func (p Progress) after(done int) Progress {
	if p == nil || done == 0 {
		return p
	}
	return func(s Step) {
		s.Done, s.Total, s.Searchable = s.Done+done, s.Total+done, s.Searchable+done
		p(s)
	}
}

func (p Progress) tell(s Step) {
	if p != nil {
		p(s)
	}
}

// A tally adds up the steps of one stage from several goroutines.
type tally struct {
	progress Progress
	stage    string
	total    int
	done     atomic.Int64
	bytes    atomic.Int64
	whole    atomic.Int64 // bytes in all, once they are known
	stored   atomic.Int64 // files
}

func newTally(progress Progress, stage string, total int) *tally {
	t := &tally{progress: progress, stage: stage, total: total}
	if total > 0 {
		t.tell()
	}
	return t
}

// worked counts a file that was read and cut.
func (t *tally) worked(files int, bytes int64) {
	t.done.Add(int64(files))
	t.bytes.Add(bytes)
	t.tell()
}

// keep counts files that are stored.
func (t *tally) keep(files int) {
	t.stored.Add(int64(files))
	t.tell()
}

func (t *tally) tell() {
	t.progress.tell(Step{
		Stage: t.stage, Done: int(t.done.Load()), Total: t.total,
		Bytes: t.bytes.Load(), BytesTotal: t.whole.Load(), Searchable: int(t.stored.Load()),
	})
}

// measure finds out how large the source files at paths are, in all. It looks
// at folder by folder, which is a fifth of the work where paths are sorted.
func (in *Ingester) measure(paths []string) int64 {
	var dir *os.Root
	var at string
	defer func() {
		if dir != nil {
			dir.Close()
		}
	}()
	total := int64(0)
	for _, p := range paths {
		if d := path.Dir(p); dir == nil || d != at {
			next, err := in.root.OpenRoot(d)
			if err != nil {
				continue // what is wrong with it, reading it tells
			}
			if dir != nil {
				dir.Close()
			}
			dir, at = next, d
		}
		if fi, err := dir.Lstat(path.Base(p)); err == nil && fi.Mode().IsRegular() {
			total += min(fi.Size(), in.MaxBytes)
		}
	}
	return total
}
