package checkout

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/limiter"

	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// doSweep compares disk with the database, describes what the default branch
// holds, and leaves vectors to a job of their own.
func (co *Checkout) doSweep(ctx context.Context, st *Stores, j work.Job) (err error) {
	if j.Task.AtStart {
		if off, err := co.putOff(ctx, st); off || err != nil {
			return err
		}
	}
	relist := co.relist.Swap(false)
	defer func() {
		if relist && err != nil {
			co.relist.Store(true)
		}
	}()
	co.setState("indexing")
	defer co.setState("ready")
	defer co.endProgress()
	progress := co.watched()
	// A branch that was switched before the watches stood was seen by nobody.
	if now := st.headStamps(); !slices.EqualFunc(st.heads, now, usergit.HeadStamp.Same) {
		if err := co.checkTracking(ctx, st); err != nil {
			return err
		}
	}
	if err := st.Ingest.CatchUp(ctx, progress); err != nil {
		return err
	}
	vanished := co.Commits.guard(ctx, st.RepoHandle)
	describe := func() error {
		if co.View().paused {
			co.miss() // the sweep at its end describes
			return nil
		}
		co.noteFileMemories(ctx, st)
		if err := co.rememberCommits(ctx, st, ingest.CommitOptions{History: j.Task.History, Full: j.Task.Full}, progress); err != nil {
			return err
		}
		d, err := st.Ingest.DescribeTip(ctx, ingest.TipOptions{Gaps: true, Full: j.Task.Full}, progress)
		co.after(st, d)
		return err
	}
	r, err := st.Ingest.Sweep(ctx, vanished, describe, progress)
	co.after(st, r)
	co.watchFailures(ctx, st, false)
	if err != nil {
		return err
	}
	if err := st.Ingest.KeepGaps(ctx); err != nil {
		return err
	}
	// The journal is compared with all of fold/ once an opening, for what a crash
	// left, and then only when something below fold/ was not as it was known.
	if !st.swept || r.FoldMoved || vanished {
		co.Commits.addAll()
	}
	st.swept = true
	if relist {
		co.followRules()
	}
	co.noteLeftOut(st)
	co.readPast(ctx, st)
	if err := co.describeAnew(st); err != nil {
		return err
	}
	if wanted, err := co.wantsVectors(ctx, st); err != nil {
		return err
	} else if !wanted {
		return co.consolidateLater(ctx, st)
	}
	co.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

// putOff reports whether a pause puts off the sweep at start: what was found before is
// found without it, and only acknowledged writes are seen to.
func (co *Checkout) putOff(ctx context.Context, st *Stores) (bool, error) {
	if !co.View().paused {
		return false, nil
	}
	co.miss()
	c, err := st.Index.Counts(ctx)
	if err != nil || c.Memories == 0 {
		return false, err
	}
	co.Written(st.Store.Uncommitted())
	co.setState("ready")
	return true, nil
}

func (co *Checkout) doSource(ctx context.Context, st *Stores, j work.Job) error {
	paths := j.Task.Paths
	saved := func() {}
	if len(paths) <= limiter.SaveMost {
		saved = co.Limiter.Save()
	}
	r, err := st.Ingest.Saved(ctx, paths)
	saved() // its words are found
	co.after(st, r)
	if r.Rules {
		co.relist.Store(true)
		co.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	}
	if r.Failed > 0 {
		co.watchFailures(ctx, st, false)
	}
	if err != nil || r.Indexed+r.Removed == 0 {
		return err
	}
	if st.Ingest.FromWorkTree() {
		co.Add(work.Task{Kind: work.Tip, Priority: work.Soon})
	}
	co.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

func (co *Checkout) doFold(ctx context.Context, st *Stores, j work.Job) error {
	paths := j.Task.Paths
	if co.Commits.guard(ctx, st.RepoHandle) {
		paths = st.present(paths) // what vanished may come back: it stays in the index
	}
	saved := func() {}
	if len(paths) <= limiter.SaveMost {
		saved = co.Limiter.Save()
	}
	r, err := st.Ingest.Fold(ctx, paths, nil)
	saved() // its words are found
	co.after(st, r)
	if err != nil || len(r.Memories)+r.Removed+r.Failed == 0 { // what failed has left the index
		return err
	}
	co.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

func (co *Checkout) doTip(ctx context.Context, st *Stores, j work.Job) error {
	if j.Task.Moved {
		if st.Tracked {
			co.Note(ModeNotice, "") // a commit or a switch since: it was told in time
		}
		if err := co.checkTracking(ctx, st); err != nil {
			return err
		}
		co.readPast(ctx, st)
	}
	if co.View().paused {
		co.miss()
		return nil
	}
	defer co.endProgress()
	if j.Task.Moved {
		if err := co.rememberCommits(ctx, st, ingest.CommitOptions{}, co.watched()); err != nil {
			return err
		}
	}
	r, err := st.Ingest.DescribeTip(ctx, ingest.TipOptions{}, co.watched())
	co.after(st, r)
	if err != nil || !j.Task.Moved {
		return err
	}
	return st.Ingest.RefreshStale(ctx)
}

// rememberCommits makes memories of new commits, and says which got none.
func (co *Checkout) rememberCommits(ctx context.Context, st *Stores, opt ingest.CommitOptions, progress ingest.Progress) error {
	r, err := st.Ingest.RememberCommits(ctx, opt, progress)
	co.after(st, r)
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
	co.Note("commits", text)
	if len(r.Memories) > 0 {
		co.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	}
	return co.rememberAhead(ctx, st)
}

// readPast keeps what past commits say up to the tip of the default branch, or to
// that of the remote's where it is ahead. Searches go without what cannot be read.
func (co *Checkout) readPast(ctx context.Context, st *Stores) {
	if err := st.Ingest.ReadPast(ctx, co.fetchedAhead(ctx, st.RepoHandle)); err != nil && ctx.Err() == nil {
		co.Log.WarnContext(ctx, "Past commits not read", "err", err)
	}
}

// describeAnew queues a part of the work that a newer describer makes, if there
// is any.
func (co *Checkout) describeAnew(st *Stores) error {
	if co.View().paused {
		return nil
	}
	owed, err := st.Ingest.OwesDescriptions()
	if err != nil || !owed {
		return err
	}
	co.Add(work.Task{Kind: work.Describe, Priority: work.Later})
	return nil
}

// doDescribe makes descriptions anew that an older describer made, a part at a
// time.
func (co *Checkout) doDescribe(ctx context.Context, st *Stores) error {
	if co.View().paused || co.Commits.guard(ctx, st.RepoHandle) {
		return nil // the next sweep asks for it again
	}
	defer co.endProgress()
	r, more, err := st.Ingest.DescribeAnew(ctx, co.Busy, co.watched())
	co.after(st, r)
	if err != nil {
		return err
	}
	if more {
		if err := co.describeAnew(st); err != nil {
			return err
		}
	}
	if len(r.Memories) == 0 {
		return nil
	}
	co.Add(work.Task{Kind: work.Embed, Priority: work.Later})
	return nil
}

// snapshotAfter is how much work a crash may cost the vectors.
const snapshotAfter = 2 * time.Minute

// noteFileMemories says where descriptions go if that was decided by how many
// files there are.
func (co *Checkout) noteFileMemories(ctx context.Context, st *Stores) {
	rules := st.Ingest.Rules()
	files, err := st.Ingest.Eligible(ctx)
	if err != nil || rules.FileMemories != "auto" || rules.ToFold(len(files)) {
		co.Note("file memories", "")
		return
	}
	co.Note("file memories", fmt.Sprintf("%d source files: above %d, their descriptions are kept in the index only, so that %s/ stays readable. "+
		"To have one memory file each: foldwatch add %s --file-memories fold", len(files), selection.AutoLimit, co.Record.FoldDir, co.Record.Path))
}

// noteLeftOut says how many files are not indexed because the checkout says so.
func (co *Checkout) noteLeftOut(st *Stores) {
	co.Note("left out", leftOutText(st.Ingest.LeftOut(), st.Ingest.Pruned()))
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

// after follows up what one piece of ingest did.
func (co *Checkout) after(st *Stores, r ingest.Report) {
	if r.ProjectFile {
		co.LoadRules(st)
	}
	if r.Kept > 0 {
		co.Note("kept memories", fmt.Sprintf("%d memories of files that are not indexed any more hold words of yours: they are kept as memories "+
			"of type general whose moved_from names the file. To find them: foldwatch memory list --type general", r.Kept))
	}
	for data := range changedData(r.Memories) {
		co.Events.Publish("memory:changed", co.Record.Slug, data)
	}
}

// Of the memories that changed at once, one event names at most toldTogether: it
// has to be read by whoever listens. More than toldMost are a first index or a
// switch, of which only their number is told: who shows any of them looks again.
const (
	toldTogether = 100
	toldMost     = 2000
)

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

// LoadRules reads the project file anew. After an error the last good one stays
// in force.
func (co *Checkout) LoadRules(st *Stores) {
	before := st.Ingest.Rules()
	p, notices, err := st.projectFile()
	if err != nil {
		co.Note("project.toml", co.rulesMissing(st.RepoHandle, err))
		return
	}
	var text []string
	for _, n := range notices {
		text = append(text, fmt.Sprintf("fold/project.toml line %d: %s", n.Line, n.Text))
	}
	co.Note("project.toml", strings.Join(text, "; "))
	now := co.rulesFor(p)
	if before.Same(now) {
		return
	}
	st.Ingest.SetRules(now)
	co.relist.Store(true)
	co.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
}

// rulesMissing says why the project file is not in force.
func (co *Checkout) rulesMissing(k *RepoHandle, err error) string {
	dir := co.Record.FoldDir
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("%s/project.toml is not in force: %v", dir, err)
	}
	if _, err := os.Stat(k.FoldPath); k.Tracked && errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("the branch that is checked out has no %s/: there are no memories here, and none can be written", dir)
	}
	return dir + "/project.toml is missing: what it said last is in force"
}

// headStamps look at the branches that decide about that: of this work tree and
// of the main one.
func (k *RepoHandle) headStamps() []usergit.HeadStamp {
	stamps := []usergit.HeadStamp{k.repo.HeadStamp()}
	if k.repo.Linked {
		of := usergit.Repo{GitDir: k.repo.CommonDir, CommonDir: k.repo.CommonDir}
		stamps = append(stamps, of.HeadStamp())
	}
	return stamps
}
