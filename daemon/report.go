package daemon

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
	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// problemsShown is how many files that are set aside status names.
const problemsShown = 50

// status is what is known of the checkout, for which nothing is waited for longer than
// countWait.
func (co *checkout) status(ctx context.Context) wire.ProjectStatus {
	waited, enough := context.WithTimeout(ctx, countWait)
	defer enough()
	return co.statusWithin(ctx, waited)
}

// statusWithin is status, with counts that came before waited ended.
func (co *checkout) statusWithin(ctx, waited context.Context) wire.ProjectStatus {
	p, k := co.brief()
	if k == nil {
		return p
	}
	if was := co.view().notices[driverNotice]; k.tracked && was != "" {
		co.noteDriver(k) // no event tells of git's configuration
		if co.view().notices[driverNotice] == "" {
			p.Notices = slices.DeleteFunc(p.Notices, func(n string) bool { return n == was })
		}
	}
	if p.State == "indexing" {
		co.haveCounted(waited)
		co.lastCounts(ctx, &p)
	} else if st := co.holdIfOpen(); st != nil {
		co.countsOf(ctx, st.stores, &p)
		st.letGo()
	} else {
		co.lastCounts(ctx, &p)
	}
	co.historyOf(ctx, k, &p)
	if n, err := co.parts.state.OpenProposals(ctx, co.rec.Slug); err == nil {
		p.Proposals = n
	}
	sort.Strings(p.Notices)
	return p
}

// brief is status without what has to be counted, and what of the checkout is open,
// nil if nothing is.
func (co *checkout) brief() (wire.ProjectStatus, *repoHandle) {
	v := co.view()
	p := wire.ProjectStatus{
		Slug: co.rec.Slug, Key: co.rec.Key, Path: co.rec.Path, State: v.state, Mode: modeOf(co.rec), Sync: "off", Chunker: chunker.Engine(),
		Queued: v.busy, Watch: "off", Counters: co.count.values(), Progress: v.progress, Resting: v.resting,
	}
	co.update(func(*condition) { p.JobTimes = co.count.jobTimes() })
	if v.watcher != nil {
		w := v.watcher.State()
		p.Watch, p.WatchReason = "events", w.Reason
		if w.Hint != "" {
			p.WatchReason += "; " + w.Hint
		}
		if w.Polling {
			p.Watch = "polling"
		}
	}
	for _, n := range v.notices {
		p.Notices = append(p.Notices, n)
	}
	sort.Strings(p.Notices)
	if v.failed != nil {
		p.Reason, p.Hint = v.failed.Error(), fold.Hint(v.failed)
		switch {
		case v.state == "missing":
			p.Reason, p.Hint = co.missingSays(v.failed)
			p.Notices, p.Watch, p.WatchReason = nil, "off", "" // they are of the time before
		case p.Hint == "":
			p.Hint = "it is tried again by itself; to try now: foldwatch add " + co.rec.Path
		}
	}
	if v.paused && v.state != "missing" {
		p.State, p.Reason, p.Hint = "paused", "paused by the user", "foldwatch resume -p "+co.rec.Slug
		if !v.until.IsZero() {
			p.PausedUntil = &v.until
		}
	}
	if v.repo != nil {
		p.Mode = v.repo.mode()
	}
	return p, v.repo
}

// missingSays tells that the checkout is not there, and what to do.
func (co *checkout) missingSays(failed error) (reason, hint string) {
	reason = failed.Error()
	var at *fs.PathError
	if errors.As(failed, &at) && at.Path == co.rec.Path {
		reason = "its folder is not there: " + co.rec.Path
	}
	// By its slug the command would take the other work trees along.
	remove := fmt.Sprintf("foldwatch remove -p %s@%s", co.rec.Slug, co.rec.Key[:keyShown])
	if co.rec.Linked {
		return reason, "its memories are kept with " + firstOf(co.rec.MainTree, co.rec.CommonDir) + "; to forget this work tree: " + remove
	}
	return reason, "mount or clone it again; it is then taken up by itself. If it is gone for good: " + remove
}

// lastCounts is countsOf for stores that are closed: what they held then, and hold.
func (co *checkout) lastCounts(ctx context.Context, p *wire.ProjectStatus) {
	var was *wire.ProjectStatus
	var m *embedding.Vectors
	co.update(func(c *condition) { was, m = c.tally.last, c.tally.of })
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
	p.Embedder = co.embedder(ctx, m)
}

// countsOf counts what opened stores hold. The caller holds them.
func (co *checkout) countsOf(ctx context.Context, st *stores, p *wire.ProjectStatus) {
	co.update(func(c *condition) { c.tally.times++ })
	m := st.vectors.Serving()
	if m == nil {
		return // closed although they are held: the daemon stops
	}
	c, err := st.index.Counts(ctx)
	if err != nil {
		p.Notices = append(p.Notices, "counts cannot be read: "+err.Error())
		return
	}
	p.Files = wire.FileCounts{Total: c.Indexed + c.Skipped + c.Failed + c.Quarantined, Indexed: c.Indexed, Skipped: c.Skipped, Failed: c.Failed + c.Quarantined, Stale: c.Stale}
	p.Memories, p.Chunks, p.Links, p.Conflicts, p.Vectors = c.Memories, c.Chunks, c.Links, c.Conflicts, m.Index.Len()
	if p.VectorsDue, err = st.index.CountChanged(ctx, m.Index.Seq()); err != nil {
		p.Notices = append(p.Notices, "vectors that are due cannot be counted: "+err.Error())
	}
	if pr := p.Progress; pr != nil && p.State == "indexing" {
		p.Files.Queued = max(pr.Total-pr.Searchable, 0)
		p.Files.Total += p.Files.Queued
	}
	p.Engine, p.Embedder = m.Index.Engine(), co.embedder(ctx, m)
	p.VectorSearch = vectorSearch(m.Index)
	p.FileMemories = st.in.Rules().FileMemories
	problems, total, err := st.index.Problems(ctx, problemsShown)
	if err == nil {
		p.ProblemCount = total
		p.Problems = co.problems(problems)
	}
	co.update(func(c *condition) { c.tally.set(time.Now(), *p, m) })
}

// historyOf tells what the history holds.
func (co *checkout) historyOf(ctx context.Context, k *repoHandle, p *wire.ProjectStatus) {
	p.LastCommit = lastCommit(ctx, k)
	p.Uncommitted, p.Lost = k.store.CountPending()
	if r := co.repository(ctx); r.Sync != "off" {
		p.Sync, p.Repository = r.Sync, &r
	}
	for path, reason := range k.store.Status().SetAside {
		if path == conf.ProjectFile && co.view().notices["project.toml"] != "" {
			continue // it says the same
		}
		p.Notices = append(p.Notices, fmt.Sprintf("%s/%s is not committed: %s", co.rec.FoldDir, path, reason))
	}
}

// lastCommit is the newest commit of memories that git can show: in tracked mode of the
// user's history, else of ours.
func lastCommit(ctx context.Context, k *repoHandle) *wire.CommitInfo {
	if k.tracked {
		c, ok, err := k.store.UserFolder().Newest(ctx)
		if err != nil || !ok {
			return nil
		}
		return &wire.CommitInfo{Rev: c.Oid, Time: c.Time, Message: c.Subject, Author: c.AuthorName}
	}
	rev, ok, err := k.store.History().Newest(ctx)
	if err != nil || !ok {
		return nil
	}
	info := commitInfo(rev)
	return &info
}

func (co *checkout) problems(files []index.File) []wire.FileProblem {
	var out []wire.FileProblem
	for _, f := range files {
		path := f.Path
		if f.Fold {
			path = co.rec.FoldDir + "/" + path
		}
		p := wire.FileProblem{Path: path, State: f.State, Reason: f.Reason, ID: string(f.MemoryID)}
		switch f.State {
		case "indexed":
			p.State = "partial"
		case "failed":
			p.Hint = "it is tried again by itself; to try now: foldwatch index --retry-failed -p " + co.rec.Slug
		}
		out = append(out, p)
	}
	return out
}

// toldOnce are the subjects of notices that tell how things are, not that
// something is wrong.
var toldOnce = map[string]bool{"left out": true, "file memories": true, "kept memories": true, "commits": true, "mirror": true, driverNotice: true}

// troubles returns the notices that tell of something wrong, sorted.
func (co *checkout) troubles() []string {
	all := []string{}
	for subject, text := range co.view().notices {
		if !toldOnce[subject] {
			all = append(all, text)
		}
	}
	sort.Strings(all)
	return all
}

// embedder tells which model's vectors answer searches, and how much they count.
func (co *checkout) embedder(ctx context.Context, m *embedding.Vectors) *wire.Embedder {
	want := co.embedders.Choice(co.rec.Slug)
	e := &wire.Embedder{Provider: m.Identity.Provider, Model: m.Identity.Model, Dimension: m.Identity.Dim, Where: "this machine"}
	files, functions := co.weightsOf(ctx, m)
	e.Weight, e.WeightWhy, e.ChunkWeight, e.ChunkWeightWhy = files.Weight, files.Why, functions.Weight, functions.Why
	if want.Spec() == m.Spec && want.Remote() {
		e.Where, e.DailyTexts = want.Where(), want.Provider.DailyTexts
		e.SentToday = co.embedders.Spent(ctx, want.Name).Texts
	}
	if until, held := co.embedders.Held(want); held {
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

// keyShown is how much of a checkout's key tells it from its siblings.
const keyShown = 8

func commitInfo(r history.Revision) wire.CommitInfo {
	c := wire.CommitInfo{Rev: r.Oid, Time: r.Time, Message: r.Subject, Author: r.Author, From: r.From, Writers: r.Writers}
	for _, p := range r.Paths {
		c.Paths = append(c.Paths, p.Path)
		if id, ok := fold.OwnPath(p.Path); ok {
			c.IDs = append(c.IDs, string(id))
		}
	}
	return c
}
