package checkout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// doSweep compares disk with the database, describes what the default branch
// holds, and leaves vectors to a job of their own.
func (w worker) doSweep(ctx context.Context, st *Stores, j work.Job) (err error) {
	if j.Task.AtStart {
		if off, err := w.putOff(ctx, st); off || err != nil {
			return err
		}
	}
	relist := w.relist.Swap(false)
	defer func() {
		if relist && err != nil {
			w.relist.Store(true)
		}
	}()
	w.setState("indexing")
	defer w.setState("ready")
	defer w.endProgress()
	progress := w.watched()
	// A branch that was switched before the watches stood was seen by nobody.
	if now := st.headStamps(); !slices.EqualFunc(st.heads, now, usergit.HeadStamp.Same) {
		if err := w.checkTracking(ctx, st); err != nil {
			return err
		}
	}
	if err := st.Ingest.CatchUp(ctx, progress); err != nil {
		return err
	}
	vanished := committer(w).guard(ctx, st.RepoHandle)
	describe := func() error {
		if w.View().paused {
			w.miss() // the sweep at its end describes
			return nil
		}
		w.noteFileMemories(ctx, st)
		if err := w.rememberCommits(ctx, st, ingest.CommitOptions{History: j.Task.History, Full: j.Task.Full}, progress); err != nil {
			return err
		}
		d, err := st.Ingest.DescribeTip(ctx, ingest.TipOptions{Gaps: true, Full: j.Task.Full}, progress)
		w.after(st, d)
		return err
	}
	r, err := st.Ingest.Sweep(ctx, vanished, describe, progress)
	w.after(st, r)
	w.watchFailures(ctx, st, false)
	if err != nil {
		return err
	}
	if err := st.Ingest.KeepGaps(ctx); err != nil {
		return err
	}
	// The journal is compared with all of fold/ once an opening, for what a crash
	// left, and then only when something below fold/ was not as it was known.
	if !st.swept || r.FoldMoved || vanished {
		w.compareAll()
	}
	st.swept = true
	if relist {
		w.followRules()
	}
	w.noteLeftOut(st)
	w.readPast(ctx, st)
	if err := w.describeAnew(st); err != nil {
		return err
	}
	if wanted, err := w.wantsVectors(ctx, st); err != nil {
		return err
	} else if !wanted {
		return w.consolidateLater(ctx, st)
	}
	w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

// putOff reports whether a pause puts off the sweep at start: what was found before is
// found without it, and only acknowledged writes are seen to.
func (w worker) putOff(ctx context.Context, st *Stores) (bool, error) {
	if !w.View().paused {
		return false, nil
	}
	w.miss()
	c, err := st.Index.Counts(ctx)
	if err != nil || c.Memories == 0 {
		return false, err
	}
	w.Written(st.Store.Uncommitted())
	w.setState("ready")
	return true, nil
}

func (w worker) doSource(ctx context.Context, st *Stores, j work.Job) error {
	paths := j.Task.Paths
	saved := func() {}
	if len(paths) <= limiter.SaveMost {
		saved = w.Limiter.Save()
	}
	r, err := st.Ingest.Saved(ctx, paths)
	saved() // its words are found
	w.after(st, r)
	if r.Rules {
		w.relist.Store(true)
		w.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
	if r.Failed > 0 {
		w.watchFailures(ctx, st, false)
	}
	if err != nil || r.Indexed+r.Removed == 0 {
		return err
	}
	if st.Ingest.FromWorkTree() {
		w.Add(work.Task{Kind: work.Tip, Priority: work.Soon})
	}
	w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

func (w worker) doFold(ctx context.Context, st *Stores, j work.Job) error {
	paths := j.Task.Paths
	if committer(w).guard(ctx, st.RepoHandle) {
		paths = st.present(paths) // what vanished may come back: it stays in the index
	}
	saved := func() {}
	if len(paths) <= limiter.SaveMost {
		saved = w.Limiter.Save()
	}
	r, err := st.Ingest.Fold(ctx, paths, nil)
	saved() // its words are found
	w.after(st, r)
	if err != nil || len(r.Memories)+r.Removed+r.Failed == 0 { // what failed has left the index
		return err
	}
	w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

func (w worker) doTip(ctx context.Context, st *Stores, j work.Job) error {
	if j.Task.Moved {
		if st.Tracked {
			w.Note(ModeNotice, "") // a commit or a switch since: it was told in time
		}
		if err := w.checkTracking(ctx, st); err != nil {
			return err
		}
		w.readPast(ctx, st)
	}
	if w.View().paused {
		w.miss()
		return nil
	}
	defer w.endProgress()
	if j.Task.Moved {
		if err := w.rememberCommits(ctx, st, ingest.CommitOptions{}, w.watched()); err != nil {
			return err
		}
	}
	r, err := st.Ingest.DescribeTip(ctx, ingest.TipOptions{}, w.watched())
	w.after(st, r)
	if err != nil || !j.Task.Moved {
		return err
	}
	return st.Ingest.RefreshStale(ctx)
}

// rememberCommits makes memories of new commits, and says which got none.
func (w worker) rememberCommits(ctx context.Context, st *Stores, opt ingest.CommitOptions, progress ingest.Progress) error {
	r, err := st.Ingest.RememberCommits(ctx, opt, progress)
	w.after(st, r)
	if err != nil {
		return err
	}
	left, err := st.Ingest.CommitsLeft(ctx)
	if err != nil {
		return err
	}
	text := ""
	if left > 0 {
		text = fmt.Sprintf("many commits came at once: only the newest have a memory. For all of them: foldwatch index --history %d", left)
	}
	w.Note("commits", text)
	if len(r.Memories) > 0 {
		w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	}
	return w.rememberAhead(ctx, st)
}

// readPast keeps what past commits say up to the tip of the default branch, or to
// that of the remote's where it is ahead. Searches go without what cannot be read.
func (w worker) readPast(ctx context.Context, st *Stores) {
	if err := st.Ingest.ReadPast(ctx, w.fetchedAhead(ctx, st.RepoHandle)); err != nil && ctx.Err() == nil {
		w.Log.WarnContext(ctx, "Past commits not read", "err", err)
	}
}

// describeAnew queues a part of the work that a newer describer makes, if there
// is any.
func (w worker) describeAnew(st *Stores) error {
	if w.View().paused {
		return nil
	}
	owed, err := st.Ingest.OwesDescriptions()
	if err != nil || !owed {
		return err
	}
	w.Add(work.Task{Kind: work.Describe, Priority: work.Later})
	return nil
}

// doDescribe makes descriptions anew that an older describer made, a part at a
// time.
func (w worker) doDescribe(ctx context.Context, st *Stores) error {
	if w.View().paused || committer(w).guard(ctx, st.RepoHandle) {
		return nil // the next sweep asks for it again
	}
	defer w.endProgress()
	r, more, err := st.Ingest.DescribeAnew(ctx, w.Busy, w.watched())
	w.after(st, r)
	if err != nil {
		return err
	}
	if more {
		if err := w.describeAnew(st); err != nil {
			return err
		}
	}
	if len(r.Memories) == 0 {
		return nil
	}
	w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

// noteFileMemories says where descriptions go if that was decided by how many
// files there are.
func (w worker) noteFileMemories(ctx context.Context, st *Stores) {
	rules := st.Ingest.Rules()
	files, err := st.Ingest.Eligible(ctx)
	if err != nil || rules.FileMemories != "auto" || rules.ToFold(len(files)) {
		w.Note("file memories", "")
		return
	}
	w.Note("file memories", fmt.Sprintf("%d source files: above %d, their descriptions are kept in the index only, so that %s/ stays readable. "+
		"To have one memory file each: foldwatch add %s --file-memories fold", len(files), selection.AutoLimit, w.Record.FoldDir, w.Record.Path))
}

// noteLeftOut says how many files are not indexed because the checkout says so.
func (w worker) noteLeftOut(st *Stores) {
	w.Note("left out", leftOutText(st.Ingest.LeftOut(), st.Ingest.Pruned()))
}

// leftOutText tells what is left out: how many files by why, and all those in
// dirs, which nobody counts. Folders come first: after a number they would read
// as where those files lie.
func leftOutText(files map[string]int, dirs []string) string {
	var parts []string
	for why, n := range files {
		parts = append(parts, fmt.Sprintf("%d %s", n, why))
	}
	slices.Sort(parts)
	text := strings.Join(parts, ", ")
	if len(dirs) > 0 {
		const shown = 5
		all := "all in " + strings.Join(dirs[:min(len(dirs), shown)], ", ")
		if len(dirs) > shown {
			all += fmt.Sprintf(" and %d more folders", len(dirs)-shown)
		}
		if text != "" {
			all += "; elsewhere "
		}
		text = all + text
	}
	if text == "" {
		return ""
	}
	return "files not indexed: " + text + " (foldwatch help indexing)"
}
