package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// openRepo finds the repository and opens what stays open.
func openRepo(ctx context.Context, co *Checkout) (_ *RepoHandle, err error) {
	k := &RepoHandle{}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	t, err := k.openHistory(ctx, co)
	if err != nil {
		return k, err
	}
	if err := k.openIngester(co); err != nil {
		return k, err
	}
	co.noteTracked(k, t)
	return k, nil
}

// openHistory finds the repository and opens the store of the memories.
func (k *RepoHandle) openHistory(ctx context.Context, co *Checkout) (t BranchState, err error) {
	if k.repo, err = usergit.Locate(ctx, co.Record.Path); err != nil {
		return t, err
	}
	if co.openedBefore() { // a clone that takes its place brings memories along, at its end
		if co.Faults != nil {
			_ = co.Faults("await")
		}
		if err := k.repo.AwaitClone(ctx); err != nil {
			return t, err
		}
	}
	k.FoldPath = k.repo.FoldPath(co.Record.FoldDir)
	k.heads = k.headStamps()
	if t, err = Tracking(ctx, k.repo, co.Record.FoldDir); err != nil {
		return t, err
	}
	if co.follows(t, k.FoldPath) {
		if err := co.goOver(ctx); err != nil {
			return t, err
		}
	}
	k.Tracked = ModeOf(co.View().Record) == ModeTracked
	k.repo = k.repo.InMode(k.Tracked)
	k.FoldPath = k.repo.FoldPath(co.Record.FoldDir)
	k.fold = disk.Folder{Dir: k.FoldPath}
	opt := gitops.StoreOptions{
		Repo: k.repo, FoldDir: co.Record.FoldDir, Slug: co.Record.Slug, Log: co.Log, Now: co.Now,
		Mirror: co.Mirror(co.Record.ProjectID), Tracked: k.Tracked,
		Check: co.CheckFile, GoneAfter: goneQuiet,
	}
	if k.Store, err = co.memories.Open(ctx, k.FoldPath, co.Written, opt); err != nil {
		return t, err
	}
	k.Store.HoldCommits(!co.wantsCommits())
	if k.Tracked {
		co.FindLost(ctx, k)
		return t, nil // memories come with the branch
	}
	if err := k.takeMirror(ctx, co); err != nil {
		return t, err
	}
	k.takeFetched(ctx, co)
	return t, k.writeProject(ctx, co)
}

// takeMirror brings fold/ and its history back from this machine's mirror where a
// fresh clone stands in for the checkout that was registered, or for one of its
// project: rm -rf and git clone is the commonest repair there is. A checkout in a new
// place takes nothing from another of that project which is registered.
func (k *RepoHandle) takeMirror(ctx context.Context, co *Checkout) error {
	store, dir := k.Store, co.Mirror(co.Record.ProjectID)
	if store.Tip() != "" || !k.empty() {
		return nil
	}
	if n, ok := gitops.MirrorHolds(dir); !ok || n == 0 {
		return nil
	}
	all, err := co.State.Checkouts(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ProjectID == co.Record.ProjectID && !SameMemory(other, co.View().Record) && !store.MirrorKnows(dir) {
			return nil
		}
	}
	n, err := store.RestoreMirror(ctx, dir)
	if err == nil {
		co.Log.InfoContext(ctx, "Memories brought back from the mirror", "count", n)
		co.Note("mirror", fmt.Sprintf("a fresh clone stands where this checkout was: its %d memory files were brought back from this machine's mirror", n))
	}
	return err
}

// takeFetched brings the memories along that a clone has on the branch foldwatch of
// its remote, where there is no mirror to take them from: another machine, or this
// one anew. It asks nobody and publishes nothing (G17). Where that fails the
// checkout is opened without them, and says so.
func (k *RepoHandle) takeFetched(ctx context.Context, co *Checkout) {
	store := k.Store
	if k.Tracked || !store.Syncer().TakingFetched() && (store.Tip() != "" || !k.empty()) {
		return
	}
	b, err := k.repo.FetchedProject(ctx)
	if err != nil || b == nil {
		return // no such branch, or not ours
	}
	if p, _, err := conf.ParseProject(b); err != nil || p.ID != co.Record.ProjectID {
		return // it is registered as another project
	}
	got, err := store.Syncer().TakeFetched(ctx)
	if err != nil {
		co.Log.WarnContext(ctx, "Memories not taken from the fetched branch", "err", err)
		co.Note(FetchedNotice, fmt.Sprintf("this clone has memories on its branch foldwatch, and they could not be taken from there: %v; foldwatch sync on fetches them", err))
		return
	}
	if len(got.Paths) > 0 {
		co.Log.InfoContext(ctx, "Memories taken from the fetched branch", "branch", got.From, "count", len(got.Paths))
		co.Note(FetchedNotice, fmt.Sprintf("its %d memory files are those of %s, as this clone has it; nothing is fetched or published until you say so: foldwatch sync on",
			len(got.Paths), got.From))
	}
}

// writeProject makes fold/project.toml where there never was one: at the first
// opening, by when the folder hides itself from git, or at the one after a
// crash in between.
func (k *RepoHandle) writeProject(ctx context.Context, co *Checkout) error {
	_, _, err := k.Store.History().LastBlob(ctx, conf.ProjectFile)
	if !errors.Is(err, fold.ErrNotFound) {
		return err // the journal knows it: if it is gone now, somebody took it away
	}
	p := co.Project
	if p.Slug == "" {
		rec := co.View().Record
		if n, ok := gitops.MirrorHolds(co.Mirror(rec.ProjectID)); ok && n > 0 {
			return nil // a fresh clone where an older one was: add offers the mirror
		}
		p = conf.Project{ID: rec.ProjectID, Slug: rec.Slug, Name: rec.Name, CreatedAt: rec.AddedAt}
	}
	err = k.fold.Create(conf.ProjectFile, conf.EncodeProject(p))
	switch {
	case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
		// there already, or no folder to put it in: that is the vanish guard's
	case err != nil:
		return fmt.Errorf("project file: %w", err)
	}
	co.changed([]string{conf.ProjectFile})
	return nil
}

// openIngester makes what brings the stores up to the files.
func (k *RepoHandle) openIngester(co *Checkout) (err error) {
	p, notices, perr := k.projectFile()
	if perr != nil && !errors.Is(perr, os.ErrNotExist) {
		co.Note("project.toml", fmt.Sprintf("fold/project.toml is not in force: %v", perr))
	}
	for _, n := range notices {
		co.Note("project.toml", fmt.Sprintf("fold/project.toml line %d: %s", n.Line, n.Text))
	}
	cfg := co.Config.For(co.Record.Slug)
	cut, overlap := co.cutting()
	writes := k.Store.Store
	if k.Tracked {
		writes = nil // nothing gets into the user's history unasked (git.md T1)
	}
	k.Ingest, err = ingest.New(ingest.Options{
		Slug: co.Record.Slug, Key: co.Record.Key, Repo: k.repo, FoldDir: co.Record.FoldDir, Fold: k.fold, Store: writes,
		State: co.State, Cache: co.Cache, Cutter: co.Cutter, Cuts: &co.cuts, Count: &co.Count.ingest,
		Describe: cfg.Describe, NoCommits: !cfg.CommitMemories, MaxBytes: int64(cfg.MaxFileKB) << 10, Cut: cut, Overlap: overlap, Allowed: co.allowed, Now: co.Now, Log: co.Log,
	}, co.rulesFor(p))
	return err
}

// FetchedNotice is the subject of what takeFetched says.
const FetchedNotice = "fetched"
