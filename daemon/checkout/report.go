package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// problemsShown is how many files that are set aside status names.
const problemsShown = 50

// Status is what is known of the checkout, for which nothing is waited for longer than
// countWait.
func (co *Checkout) Status(ctx context.Context) wire.ProjectStatus {
	waited, enough := context.WithTimeout(ctx, CountWait)
	defer enough()
	return co.StatusWithin(ctx, waited)
}

// StatusWithin is status, with counts that came before waited ended.
func (co *Checkout) StatusWithin(ctx, waited context.Context) wire.ProjectStatus {
	p, k := co.Brief()
	if k == nil {
		return p
	}
	if was := co.View().Notices[DriverNotice]; k.Tracked && was != "" {
		co.noteDriver(k) // no event tells of git's configuration
		if co.View().Notices[DriverNotice] == "" {
			p.Notices = slices.DeleteFunc(p.Notices, func(n string) bool { return n == was })
		}
	}
	if p.State == "indexing" {
		co.haveCounted(waited)
		co.LastCounts(ctx, &p)
	} else if st := co.Look(); st != nil {
		co.countsOf(ctx, st.Stores, &p)
		st.Release()
	} else {
		co.LastCounts(ctx, &p)
	}
	co.historyOf(ctx, k, &p)
	if n, err := co.State.OpenProposals(ctx, co.Record.Slug); err == nil {
		p.Proposals = n
	}
	sort.Strings(p.Notices)
	return p
}

// Brief is status without what has to be counted, and what of the checkout is open,
// nil if nothing is.
func (co *Checkout) Brief() (wire.ProjectStatus, *RepoHandle) {
	v := co.View()
	p := wire.ProjectStatus{
		Slug: co.Record.Slug, Key: co.Record.Key, Path: co.Record.Path, State: v.state, Mode: ModeOf(co.Record), Sync: "off", Chunker: chunker.Engine(),
		Queued: v.Busy, Watch: "off", Counters: co.Count.Values(), Progress: v.progress, Resting: v.resting,
	}
	co.read(func(*Condition) { p.JobTimes = co.Count.jobTimes() })
	if v.Watcher != nil {
		w := v.Watcher.State()
		p.Watch, p.WatchReason = "events", w.Reason
		if w.Hint != "" {
			p.WatchReason += "; " + w.Hint
		}
		if w.Polling {
			p.Watch = "polling"
		}
	}
	for _, n := range v.Notices {
		p.Notices = append(p.Notices, n)
	}
	sort.Strings(p.Notices)
	if v.Failed != nil {
		p.Reason, p.Hint = v.Failed.Error(), fold.Hint(v.Failed)
		switch {
		case v.state == "missing":
			p.Reason, p.Hint = co.missingSays(v.Failed)
			p.Notices, p.Watch, p.WatchReason = nil, "off", "" // they are of the time before
		case p.Hint == "":
			p.Hint = "it is tried again by itself; to try now: foldwatch add " + co.Record.Path
		}
	}
	if v.paused && v.state != "missing" {
		p.State, p.Reason, p.Hint = "paused", "paused by the user", "foldwatch resume -p "+co.Record.Slug
		if !v.until.IsZero() {
			p.PausedUntil = &v.until
		}
	}
	if v.Repo != nil {
		p.Mode = v.Repo.mode()
	}
	return p, v.Repo
}

// missingSays tells that the checkout is not there, and what to do.
func (co *Checkout) missingSays(failed error) (reason, hint string) {
	reason = failed.Error()
	var at *fs.PathError
	if errors.As(failed, &at) && at.Path == co.Record.Path {
		reason = "its folder is not there: " + co.Record.Path
	}
	// By its slug the command would take the other work trees along.
	remove := fmt.Sprintf("foldwatch remove -p %s@%s", co.Record.Slug, co.Record.Key[:KeyShown])
	if co.Record.Linked {
		return reason, "its memories are kept with " + FirstOf(co.Record.MainTree, co.Record.CommonDir) + "; to forget this work tree: " + remove
	}
	return reason, "mount or clone it again; it is then taken up by itself. If it is gone for good: " + remove
}

// LastCounts is countsOf for stores that are closed: what they held then, and hold.
func (co *Checkout) LastCounts(ctx context.Context, p *wire.ProjectStatus) {
	var was *wire.ProjectStatus
	var m *embedding.Vectors
	co.read(func(c *Condition) { was, m = c.Tally.last, c.Tally.of })
	if was == nil {
		return // not opened yet, or just being opened
	}
	p.Files, p.Memories, p.Chunks, p.Links, p.Conflicts = was.Files, was.Memories, was.Chunks, was.Links, was.Conflicts
	if pr := p.Progress; pr != nil && p.State == "indexing" {
		p.Files.Total += max(pr.Total-pr.Searchable, 0) - p.Files.Queued
		p.Files.Queued = max(pr.Total-pr.Searchable, 0)
	}
	p.Vectors, p.VectorsDue = was.Vectors, was.VectorsDue
	p.Engine, p.VectorSearch, p.FileMemories = was.Engine, was.VectorSearch, was.FileMemories
	p.ProblemCount, p.Problems = was.ProblemCount, was.Problems
	p.Embedder = co.Embedder(ctx, m)
}

// countsOf counts what opened stores hold. The caller holds them.
func (co *Checkout) countsOf(ctx context.Context, st *Stores, p *wire.ProjectStatus) {
	co.Update(func(c *Condition) { c.Tally.Times++ })
	m := st.Vectors.Serving()
	if m == nil {
		return // closed although they are held: the daemon stops
	}
	c, err := st.Index.Counts(ctx)
	if err != nil {
		p.Notices = append(p.Notices, "counts cannot be read: "+err.Error())
		return
	}
	p.Files = wire.FileCounts{Total: c.Indexed + c.Skipped + c.Failed + c.Quarantined, Indexed: c.Indexed, Skipped: c.Skipped, Failed: c.Failed + c.Quarantined, Stale: c.Stale}
	p.Memories, p.Chunks, p.Links, p.Conflicts, p.Vectors = c.Memories, c.Chunks, c.Links, c.Conflicts, m.Index.Len()
	if p.VectorsDue, err = st.Index.CountChanged(ctx, m.Index.Seq()); err != nil {
		p.Notices = append(p.Notices, "vectors that are due cannot be counted: "+err.Error())
	}
	if pr := p.Progress; pr != nil && p.State == "indexing" {
		p.Files.Queued = max(pr.Total-pr.Searchable, 0)
		p.Files.Total += p.Files.Queued
	}
	p.Engine, p.Embedder = m.Index.Engine(), co.Embedder(ctx, m)
	p.VectorSearch = vectorSearch(m.Index)
	p.FileMemories = st.Ingest.Rules().FileMemories
	problems, total, err := st.Index.Problems(ctx, problemsShown)
	if err == nil {
		p.ProblemCount = total
		p.Problems = co.Problems(problems)
	}
	co.Update(func(c *Condition) { c.Tally.set(time.Now(), *p, m) })
}

// historyOf tells what the history holds.
func (co *Checkout) historyOf(ctx context.Context, k *RepoHandle, p *wire.ProjectStatus) {
	p.LastCommit = lastCommit(ctx, k)
	p.Uncommitted, p.Lost = k.Store.CountPending()
	if r := co.Repository(ctx); r.Sync != "off" {
		p.Sync, p.Repository = r.Sync, &r
	}
	for path, reason := range k.Store.Status().SetAside {
		if path == conf.ProjectFile && co.View().Notices["project.toml"] != "" {
			continue // it says the same
		}
		p.Notices = append(p.Notices, fmt.Sprintf("%s/%s is not committed: %s", co.Record.FoldDir, path, reason))
	}
}

func (co *Checkout) Problems(files []index.File) []wire.FileProblem {
	var out []wire.FileProblem
	for _, f := range files {
		path := f.Path
		if f.Fold {
			path = co.Record.FoldDir + "/" + path
		}
		p := wire.FileProblem{Path: path, State: f.State, Reason: f.Reason, ID: string(f.MemoryID)}
		switch f.State {
		case "indexed":
			p.State = "partial"
		case "failed":
			p.Hint = "it is tried again by itself; to try now: foldwatch index --retry-failed -p " + co.Record.Slug
		}
		out = append(out, p)
	}
	return out
}

// toldOnce are the subjects of notices that tell how things are, not that
// something is wrong.
var toldOnce = map[string]bool{"left out": true, "file memories": true, "kept memories": true, "commits": true, "mirror": true, DriverNotice: true}

// Troubles returns the notices that tell of something wrong, sorted.
func (co *Checkout) Troubles() []string {
	all := []string{}
	for subject, text := range co.View().Notices {
		if !toldOnce[subject] {
			all = append(all, text)
		}
	}
	sort.Strings(all)
	return all
}

// Embedder tells which model's vectors answer searches, and how much they count.
func (co *Checkout) Embedder(ctx context.Context, m *embedding.Vectors) *wire.Embedder {
	want := co.Models.Choice(co.Record.Slug)
	e := &wire.Embedder{Provider: m.Identity.Provider, Model: m.Identity.Model, Dimension: m.Identity.Dim, Where: "this machine"}
	files, functions := co.weightsOf(ctx, m)
	e.Weight, e.WeightWhy, e.ChunkWeight, e.ChunkWeightWhy = files.Weight, files.Why, functions.Weight, functions.Why
	if want.Spec() == m.Spec && want.Remote() {
		e.Where, e.DailyTexts = want.Where(), want.Provider.DailyTexts
		e.SentToday = co.Models.Spent(ctx, want.Name).Texts
	}
	if until, held := co.Models.Held(want); held {
		e.HeldUntil = &until
	}
	if want.Spec() != m.Spec && want.Refused == nil {
		e.Next = want.Name
		if want.Name == embedding.LocalProvider {
			want.Model = filepath.Base(want.Model)
		}
		if want.Model != "" {
			e.Next += "/" + want.Model
		}
	}
	return e
}

// KeyShown is how much of a checkout's key tells it from its siblings.
const KeyShown = 8

// haveCounted has what the stores of a checkout that is indexed hold counted, unless that
// was done lately, and waits for it until ctx ends where what is known is old, or nothing.
func (co *Checkout) haveCounted(ctx context.Context) {
	newer, old := co.WantCounts()
	if !old {
		return
	}
	select {
	case <-newer:
	case <-ctx.Done():
	}
}

// WantCounts has it counted beside, unless that was done lately. It tells whether what is
// known is old, or nothing, and what is closed when there are other counts.
func (co *Checkout) WantCounts() (newer <-chan struct{}, old bool) {
	if co.View().state != "indexing" {
		return nil, false
	}
	var count bool
	co.Update(func(c *Condition) {
		old, count = c.Tally.ask(time.Now())
		newer = c.Tally.newer
	})
	if count {
		go co.countBeside()
	}
	return newer, old
}

// countBeside counts what the stores hold, if they are open.
func (co *Checkout) countBeside() {
	defer co.Update(func(c *Condition) { c.Tally.Counting = false })
	if st := co.Look(); st != nil {
		defer st.Release()
		p, _ := co.Brief()
		co.countsOf(context.Background(), st.Stores, &p)
	}
}
