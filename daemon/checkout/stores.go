package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/remember"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/secret"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// What lies in a checkout's index directory beside index.db.
const (
	wordsDir   = "text.bleve"
	vectorsDir = "vectors"
)

// IndexDir is where the derived stores of the checkout lie.
func (co *Checkout) IndexDir() string { return filepath.Join(co.Dirs.State, "index", co.Record.Key) }

// A RepoHandle is what of a checkout is open for as long as it is kept, also while
// its stores rest: its history, and what says which of its files are indexed.
type RepoHandle struct {
	repo     *usergit.Repo
	FoldPath string
	Store    *repos.Store
	fold     disk.Folder
	Ingest   *ingest.Ingester    // has its stores from attach to Rest
	heads    []usergit.HeadStamp // as checkTracking saw them; of the job runner alone, once opened
	swept    bool                // a sweep was done since the opening; of the job runner alone
	// generation of the index that this began with; "" before.
	generation string

	Tracked bool // the user's branch tracks fold/, and its people commit it
}

// Stores are the derived stores of one checkout, opened, and the two doors to
// them.
type Stores struct {
	*RepoHandle
	Index   *index.DB
	Text    *textindex.Index
	Recall  *recall.Door
	Writes  *remember.Door
	Vectors embedding.Set
}

// openRepo finds the repository and opens what stays open.
func openRepo(ctx context.Context, co *Checkout) (_ *RepoHandle, err error) {
	k := &RepoHandle{}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close(co))
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

// openDerived opens what can be made again. What is damaged or missing is begun
// anew, and the sweep that follows fills it.
func openDerived(ctx context.Context, co *Checkout) (_ *Stores, err error) {
	st := &Stores{}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	dir := co.IndexDir()
	remove := func(path string) func() error { return func() error { return os.RemoveAll(path) } }
	if err := guarded(dir, "index", co.Log, remove(dir), func() (err error) {
		st.Index, err = index.Open(ctx, dir)
		return err
	}); err != nil {
		return st, err
	}
	if err := matchGeneration(ctx, co, st.Index.Generation, dir); err != nil {
		return st, err
	}
	cut, _ := co.cutting()
	if _, err := st.Index.Recut(ctx, ingest.IndexRules(cut)); err != nil {
		return st, err
	}
	words, vectors := filepath.Join(dir, wordsDir), filepath.Join(dir, vectorsDir)
	if err := guarded(dir, "words", co.Log, remove(words), func() (err error) {
		st.Text, err = textindex.Open(words, textindex.Options{Log: co.Log})
		return err
	}); err != nil {
		return st, err
	}
	if err := guarded(dir, "vectors", co.Log, remove(vectors), func() (err error) {
		m, err := co.openMeaning(ctx)
		if err == nil {
			st.Vectors.Serve(m)
		}
		return err
	}); err != nil {
		return st, err
	}
	co.removeStaleVectors(st.Vectors.Serving())
	co.noteRebuilt(st)
	return st, nil
}

// begun reports whether something of the stores was begun anew when they were
// opened.
func (st *Stores) begun() bool {
	return st.Index.Rebuilt != "" || st.Text.Rebuilt != "" || st.Vectors.Serving().Index.Rebuilt != ""
}

// cutting returns how the user wants the files of the checkout to be cut, and how
// many lines before a chunk are embedded with it.
func (co *Checkout) cutting() (cut chunker.Options, overlap int) {
	cfg := co.Config.For(co.Record.Slug)
	c := cfg.Chunk
	return chunker.Options{
		MinLines: c.MinLines, MaxLines: c.MaxLines, LineSize: c.LineSize, MaxBytes: cfg.MaxFileKB << 10, Whole: !c.Enabled,
	}, c.LineOverlap
}

func (co *Checkout) noteRebuilt(st *Stores) {
	for name, why := range map[string]string{"index": st.Index.Rebuilt, "words": st.Text.Rebuilt, "vectors": st.Vectors.Serving().Index.Rebuilt} {
		if why != "" {
			co.Note("rebuilt "+name, fmt.Sprintf("%s rebuilt from the files: %s", name, why))
		}
	}
}

// openHistory finds the repository and opens the store of the memories.
func (k *RepoHandle) openHistory(ctx context.Context, co *Checkout) (t tracked, err error) {
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
	k.Store.HoldCommits(!co.Commits.wanted())
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

// empty reports whether the folder of memories holds none.
func (k *RepoHandle) empty() bool {
	_, found, err := repos.ProjectAt(k.FoldPath)
	return err == nil && !found
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
	all, err := co.Shared.State.Checkouts(ctx)
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

// FetchedNotice is the subject of what takeFetched says.
const FetchedNotice = "fetched"

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
	co.Commits.add([]string{conf.ProjectFile})
	return nil
}

// matchGeneration begins words and vectors anew where they were fed from a
// database that is gone.
func matchGeneration(ctx context.Context, co *Checkout, generation, dir string) error {
	fed, err := co.Shared.State.Note(ctx, co.Record.Key, "generation")
	if err != nil || fed == generation {
		return err
	}
	stale, err := filepath.Glob(filepath.Join(dir, vectorsDir+"-*"))
	if err != nil {
		return err
	}
	for _, path := range append(stale, filepath.Join(dir, wordsDir), filepath.Join(dir, vectorsDir)) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return co.Shared.State.SetNote(ctx, co.Record.Key, "generation", generation)
}

// CheckFile is the gate before a commit (git.md G7): why the file at path may
// not enter the journal, or nil.
func (co *Checkout) CheckFile(path string, b []byte) error {
	if path == conf.ProjectFile {
		_, _, err := conf.ParseProject(b)
		return err
	}
	if co.Faults != nil {
		if err := co.Faults("check"); err != nil {
			return err
		}
	}
	m, err := fold.Decode(co.Record.Slug, path, b)
	if err != nil {
		return err
	}
	findings := secret.Scan(b)
	if len(findings) == 0 {
		return nil
	}
	allowed, err := co.allowed(context.Background(), m.ID)
	if err != nil {
		allowed = nil
	}
	for _, f := range findings {
		if !allowed[f.Rule] {
			return fmt.Errorf("line %d holds a credential (rule %s): %w", f.Line, f.Rule, fold.ErrSecret)
		}
	}
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
		State: co.Shared.State, Cache: co.Cache, Cutter: co.Cutter, Cuts: &co.cuts, Count: &co.Count.ingest,
		Describe: cfg.Describe, NoCommits: !cfg.CommitMemories, MaxBytes: int64(cfg.MaxFileKB) << 10, Cut: cut, Overlap: overlap, Allowed: co.allowed, Now: co.Now, Log: co.Log,
	}, co.rulesFor(p))
	return err
}

// attach gives the stores to the rest of the checkout and opens the doors.
func (st *Stores) attach(co *Checkout, k *RepoHandle) {
	st.RepoHandle = k
	k.Ingest.Attach(st.Index, st.Text)
	cfg, m := co.Config.For(co.Record.Slug), st.Vectors.Serving()
	st.Recall = recall.New(recall.Options{
		Slug: co.Record.Slug, Index: st.Index, Text: st.Text, Vectors: m.Index, State: co.Shared.State, Embed: m.Embedder,
		Fold: k.fold, Lexicon: co.Lexicon.Table(), Source: k.Ingest.ReadSource, SourceParts: k.Ingest.ReadParts, Allowed: co.allowed, StrengthWeight: co.weight, Compared: &co.Count.compared, TouchOnSearch: cfg.TouchOnSearch, Fusion: cfg.Fusion, Now: co.Now,
		HalfLife: func() time.Duration { return time.Duration(co.Algorithm().DecayHalfLifeDays * 24 * float64(time.Hour)) },
	})
	st.use(co, m)
	st.Writes = remember.New(remember.Options{
		Slug: co.Record.Slug, Store: k.Store.Store, Index: st.Index, State: co.Shared.State,
		Describe: k.Ingest.DescribeOne, Keywords: describe.Keywords, AllowSecret: co.allow, Allowed: co.allowed, Now: co.Now,
	})
}

// projectFile reads fold/project.toml.
func (k *RepoHandle) projectFile() (conf.Project, []conf.Notice, error) {
	b, _, err := k.fold.Read(conf.ProjectFile, 64<<10)
	if err != nil {
		return conf.Project{}, nil, err
	}
	return conf.ParseProject(b)
}

// rulesFor joins what user file, registration and project file say: the user
// decides where descriptions go, the project file only where the user does not.
func (co *Checkout) rulesFor(p conf.Project) selection.Rules {
	cfg := co.Config.For(co.Record.Slug)
	mode := cfg.FileMemories
	if p.FileMemories != "" && !co.Config.Sets(co.Record.Slug, "file_memories", co.Origins) {
		mode = p.FileMemories
	}
	rec := co.View().Record
	if rec.FileMemories != "" {
		mode = rec.FileMemories
	}
	if ModeOf(rec) == ModeTracked {
		mode = "local" // files are made when somebody asks for them (git.md T7)
	}
	return selection.Rules{Include: p.Include, Exclude: p.Exclude, FileMemories: mode}
}

// filesBelow returns the files in a folder below fold/. It returns an error if
// that is not there.
func (k *RepoHandle) filesBelow(dir string) ([]string, error) {
	var out []string
	root := filepath.Join(k.FoldPath, filepath.FromSlash(dir))
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(k.FoldPath, p)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	return out, err
}

// present returns those of paths below fold/ that are there.
func (k *RepoHandle) present(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := k.fold.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			out = append(out, p)
		}
	}
	return out
}

// close closes what was opened, also when only part of it was.
func (st *Stores) close() error {
	errs := []error{st.Vectors.Close()}
	if st.Text != nil {
		errs = append(errs, st.Text.Close())
	}
	if st.Index != nil {
		errs = append(errs, st.Index.Close())
	}
	return errors.Join(errs...)
}

// close gives up what was opened, also when only part of it was. The stores were
// closed before.
func (k *RepoHandle) close(co *Checkout) error {
	var errs []error
	if k.Ingest != nil {
		errs = append(errs, k.Ingest.Close())
	}
	if k.Store != nil {
		errs = append(errs, k.Store.Release())
	}
	return errors.Join(errs...)
}
