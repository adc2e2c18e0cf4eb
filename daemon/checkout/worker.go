package checkout

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A worker does the jobs of a checkout.
type worker struct{ *Checkout }

// watched returns a progress that keeps what the job which runs reaches, for status,
// jobs and events. End it with co.endProgress.
func (w worker) watched() ingest.Progress {
	return func(s ingest.Step) {
		w.Update(func(c *Condition) {
			tell := c.pace.take(w.Now(), s)
			if job := c.work.Report(c.pace.now); tell {
				w.Events.Publish("indexing:progress", w.Record.Slug, eventOf(job, c.pace.now))
			}
		})
	}
}

// endProgress says that the job which was watched last works no more.
func (w worker) endProgress() { w.Update(func(c *Condition) { c.pace.end() }) }

// embedded counts memories that were given vectors, and returns how many were
// before.
func (w worker) embedded(n int) (before int) {
	w.Update(func(c *Condition) {
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

// after follows up what one piece of ingest did.
func (w worker) after(st *Stores, r ingest.Report) {
	if r.ProjectFile {
		w.loadRules(st)
	}
	if r.Kept > 0 {
		w.Note("kept memories", fmt.Sprintf("%d memories of files that are not indexed any more hold words of yours: they are kept as memories "+
			"of type general whose moved_from names the file. To find them: foldwatch memory list --type general", r.Kept))
	}
	for data := range changedData(r.Memories) {
		w.Events.Publish("memory:changed", w.Record.Slug, data)
	}
}

// changedData returns what the events about memories that changed at once say.
func changedData(ids []fold.ID) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		if len(ids) > toldMost {
			yield(map[string]any{"count": len(ids)})
			return
		}
		for part := range slices.Chunk(ids, toldTogether) {
			told := make([]string, len(part))
			for i, id := range part {
				told[i] = string(id)
			}
			if !yield(map[string]any{"ids": told}) {
				return
			}
		}
	}
}

// loadRules reads the project file anew. After an error the last good one stays
// in force.
func (w worker) loadRules(st *Stores) {
	before := st.Ingest.Rules()
	p, notices, err := st.projectFile()
	if err != nil {
		w.Note("project.toml", w.rulesMissing(st.RepoHandle, err))
		return
	}
	var text []string
	for _, n := range notices {
		text = append(text, fmt.Sprintf("fold/project.toml line %d: %s", n.Line, n.Text))
	}
	w.Note("project.toml", strings.Join(text, "; "))
	now := w.rulesFor(p)
	if before.Same(now) {
		return
	}
	st.Ingest.SetRules(now)
	w.relist.Store(true)
	w.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
}

// rulesMissing says why the project file is not in force.
func (w worker) rulesMissing(k *RepoHandle, err error) string {
	dir := w.Record.FoldDir
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("%s/project.toml is not in force: %v", dir, err)
	}
	if _, err := os.Stat(k.FoldPath); k.Tracked && errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("the branch that is checked out has no %s/: there are no memories here, and none can be written", dir)
	}
	return dir + "/project.toml is missing: what it said last is in force"
}

// Of the memories that changed at once, one event names at most toldTogether: it
// has to be read by whoever listens. More than toldMost are a first index or a
// switch, of which only their number is told: who shows any of them looks again.
const (
	toldTogether = 100
	toldMost     = 2000
)

// LoadRules takes up what the registration and fold/project.toml say now about which files
// count.
func (h *Lease) LoadRules() { worker{h.Checkout}.loadRules(h.Stores) }
