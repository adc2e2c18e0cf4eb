package daemon

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

// indexDir is where the derived stores of the checkout lie.
func (co *checkout) indexDir() string { return filepath.Join(co.dirs.State, "index", co.rec.Key) }

// A repoHandle is what of a checkout is open for as long as it is kept, also while
// its stores rest: its history, and what says which of its files are indexed.
type repoHandle struct {
	layout   *usergit.Repo
	foldPath string
	store    *repos.Store
	fold     disk.Folder
	in       *ingest.Ingester    // has its stores from attach to Rest
	heads    []usergit.HeadStamp // as checkTracking saw them; of the job runner alone, once opened
	swept    bool                // a sweep was done since the opening; of the job runner alone
	// generation of the index that this began with; "" before.
	generation string

	tracked bool // the user's branch tracks fold/, and its people commit it
}

// stores are the derived stores of one checkout, opened, and the two doors to
// them.
type stores struct {
	*repoHandle
	index   *index.DB
	text    *textindex.Index
	recall  *recall.Door
	writes  *remember.Door
	vectors embedding.Set
}

// openRepo finds the repository and opens what stays open.
func openRepo(ctx context.Context, co *checkout) (_ *repoHandle, err error) {
	k := &repoHandle{}
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
func openDerived(ctx context.Context, co *checkout) (_ *stores, err error) {
	st := &stores{}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	dir := co.indexDir()
	remove := func(path string) func() error { return func() error { return os.RemoveAll(path) } }
	if err := guarded(dir, "index", co.log, remove(dir), func() (err error) {
		st.index, err = index.Open(ctx, dir)
		return err
	}); err != nil {
		return st, err
	}
	if err := matchGeneration(ctx, co, st.index.Generation, dir); err != nil {
		return st, err
	}
	cut, _ := co.cutting()
	if _, err := st.index.Recut(ctx, ingest.IndexRules(cut)); err != nil {
		return st, err
	}
	words, vectors := filepath.Join(dir, wordsDir), filepath.Join(dir, vectorsDir)
	if err := guarded(dir, "words", co.log, remove(words), func() (err error) {
		st.text, err = textindex.Open(words, textindex.Options{Log: co.log})
		return err
	}); err != nil {
		return st, err
	}
	if err := guarded(dir, "vectors", co.log, remove(vectors), func() (err error) {
		m, err := co.openMeaning(ctx)
		if err == nil {
			st.vectors.Serve(m)
		}
		return err
	}); err != nil {
		return st, err
	}
	co.removeStaleVectors(st.vectors.Serving())
	co.noteRebuilt(st)
	return st, nil
}

// begun reports whether something of the stores was begun anew when they were
// opened.
func (st *stores) begun() bool {
	return st.index.Rebuilt != "" || st.text.Rebuilt != "" || st.vectors.Serving().Index.Rebuilt != ""
}

// cutting returns how the user wants the files of the checkout to be cut, and how
// many lines before a chunk are embedded with it.
func (co *checkout) cutting() (cut chunker.Options, overlap int) {
	cfg := co.cfg.For(co.rec.Slug)
	c := cfg.Chunk
	return chunker.Options{
		MinLines: c.MinLines, MaxLines: c.MaxLines, LineSize: c.LineSize, MaxBytes: cfg.MaxFileKB << 10, Whole: !c.Enabled,
	}, c.LineOverlap
}

func (co *checkout) noteRebuilt(st *stores) {
	for name, why := range map[string]string{"index": st.index.Rebuilt, "words": st.text.Rebuilt, "vectors": st.vectors.Serving().Index.Rebuilt} {
		if why != "" {
			co.note("rebuilt "+name, fmt.Sprintf("%s rebuilt from the files: %s", name, why))
		}
	}
}

// openHistory finds the repository and opens the store of the memories.
func (k *repoHandle) openHistory(ctx context.Context, co *checkout) (t tracked, err error) {
	if k.layout, err = usergit.Locate(ctx, co.rec.Path); err != nil {
		return t, err
	}
	if co.openedBefore() { // a clone that takes its place brings memories along, at its end
		if co.faults != nil {
			_ = co.faults("await")
		}
		if err := k.layout.AwaitClone(ctx); err != nil {
			return t, err
		}
	}
	k.foldPath = k.layout.FoldPath(co.rec.FoldDir)
	k.heads = k.headStamps()
	if t, err = tracking(ctx, k.layout, co.rec.FoldDir); err != nil {
		return t, err
	}
	if co.follows(t, k.foldPath) {
		if err := co.goOver(ctx); err != nil {
			return t, err
		}
	}
	k.tracked = modeOf(co.view().rec) == modeTracked
	k.layout = k.layout.InMode(k.tracked)
	k.foldPath = k.layout.FoldPath(co.rec.FoldDir)
	k.fold = disk.Folder{Dir: k.foldPath}
	opt := gitops.StoreOptions{
		Repo: k.layout, FoldDir: co.rec.FoldDir, Slug: co.rec.Slug, Log: co.log, Now: co.now,
		Mirror: co.mirror(co.rec.ProjectID), Tracked: k.tracked,
		Check: co.checkFile, GoneAfter: goneQuiet,
	}
	if k.store, err = co.memories.Open(ctx, k.foldPath, co.written, opt); err != nil {
		return t, err
	}
	k.store.HoldCommits(!co.commits.wanted())
	if k.tracked {
		co.findLost(ctx, k)
		return t, nil // memories come with the branch
	}
	if err := k.takeMirror(ctx, co); err != nil {
		return t, err
	}
	k.takeFetched(ctx, co)
	return t, k.writeProject(ctx, co)
}

// empty reports whether the folder of memories holds none.
func (k *repoHandle) empty() bool {
	_, found, err := repos.ProjectAt(k.foldPath)
	return err == nil && !found
}

// takeMirror brings fold/ and its history back from this machine's mirror where a
// fresh clone stands in for the checkout that was registered, or for one of its
// project: rm -rf and git clone is the commonest repair there is. A checkout in a new
// place takes nothing from another of that project which is registered.
func (k *repoHandle) takeMirror(ctx context.Context, co *checkout) error {
	store, dir := k.store, co.mirror(co.rec.ProjectID)
	if store.Tip() != "" || !k.empty() {
		return nil
	}
	if n, ok := gitops.MirrorHolds(dir); !ok || n == 0 {
		return nil
	}
	all, err := co.parts.state.Checkouts(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ProjectID == co.rec.ProjectID && !sameMemory(other, co.view().rec) && !store.MirrorKnows(dir) {
			return nil
		}
	}
	n, err := store.RestoreMirror(ctx, dir)
	if err == nil {
		co.log.InfoContext(ctx, "Memories brought back from the mirror", "count", n)
		co.note("mirror", fmt.Sprintf("a fresh clone stands where this checkout was: its %d memory files were brought back from this machine's mirror", n))
	}
	return err
}

// fetchedNotice is the subject of what takeFetched says.
const fetchedNotice = "fetched"

// takeFetched brings the memories along that a clone has on the branch foldwatch of
// its remote, where there is no mirror to take them from: another machine, or this
// one anew. It asks nobody and publishes nothing (G17). Where that fails the
// checkout is opened without them, and says so.
func (k *repoHandle) takeFetched(ctx context.Context, co *checkout) {
	store := k.store
	if k.tracked || !store.Syncer().TakingFetched() && (store.Tip() != "" || !k.empty()) {
		return
	}
	b, err := k.layout.FetchedProject(ctx)
	if err != nil || b == nil {
		return // no such branch, or not ours
	}
	if p, _, err := conf.ParseProject(b); err != nil || p.ID != co.rec.ProjectID {
		return // it is registered as another project
	}
	got, err := store.Syncer().TakeFetched(ctx)
	if err != nil {
		co.log.WarnContext(ctx, "Memories not taken from the fetched branch", "err", err)
		co.note(fetchedNotice, fmt.Sprintf("this clone has memories on its branch foldwatch, and they could not be taken from there: %v; foldwatch sync on fetches them", err))
		return
	}
	if len(got.Paths) > 0 {
		co.log.InfoContext(ctx, "Memories taken from the fetched branch", "branch", got.From, "count", len(got.Paths))
		co.note(fetchedNotice, fmt.Sprintf("its %d memory files are those of %s, as this clone has it; nothing is fetched or published until you say so: foldwatch sync on",
			len(got.Paths), got.From))
	}
}

// writeProject makes fold/project.toml where there never was one: at the first
// opening, by when the folder hides itself from git, or at the one after a
// crash in between.
func (k *repoHandle) writeProject(ctx context.Context, co *checkout) error {
	_, _, err := k.store.History().LastBlob(ctx, conf.ProjectFile)
	if !errors.Is(err, fold.ErrNotFound) {
		return err // the journal knows it: if it is gone now, somebody took it away
	}
	p := co.project
	if p.Slug == "" {
		rec := co.view().rec
		if n, ok := gitops.MirrorHolds(co.mirror(rec.ProjectID)); ok && n > 0 {
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
	co.commits.add([]string{conf.ProjectFile})
	return nil
}

// matchGeneration begins words and vectors anew where they were fed from a
// database that is gone.
func matchGeneration(ctx context.Context, co *checkout, generation, dir string) error {
	fed, err := co.parts.state.Note(ctx, co.rec.Key, "generation")
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
	return co.parts.state.SetNote(ctx, co.rec.Key, "generation", generation)
}

// checkFile is the gate before a commit (git.md G7): why the file at path may
// not enter the journal, or nil.
func (co *checkout) checkFile(path string, b []byte) error {
	if path == conf.ProjectFile {
		_, _, err := conf.ParseProject(b)
		return err
	}
	if co.faults != nil {
		if err := co.faults("check"); err != nil {
			return err
		}
	}
	m, err := fold.Decode(co.rec.Slug, path, b)
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
func (k *repoHandle) openIngester(co *checkout) (err error) {
	p, notices, perr := k.projectFile()
	if perr != nil && !errors.Is(perr, os.ErrNotExist) {
		co.note("project.toml", fmt.Sprintf("fold/project.toml is not in force: %v", perr))
	}
	for _, n := range notices {
		co.note("project.toml", fmt.Sprintf("fold/project.toml line %d: %s", n.Line, n.Text))
	}
	cfg := co.cfg.For(co.rec.Slug)
	cut, overlap := co.cutting()
	writes := k.store.Store
	if k.tracked {
		writes = nil // nothing gets into the user's history unasked (git.md T1)
	}
	k.in, err = ingest.New(ingest.Options{
		Slug: co.rec.Slug, Key: co.rec.Key, Repo: k.layout, FoldDir: co.rec.FoldDir, Fold: k.fold, Store: writes,
		State: co.parts.state, Cache: co.cache, Cutter: co.cutter, Cuts: &co.cuts, Count: &co.count.ingest,
		Describe: cfg.Describe, NoCommits: !cfg.CommitMemories, MaxBytes: int64(cfg.MaxFileKB) << 10, Cut: cut, Overlap: overlap, Allowed: co.allowed, Now: co.now, Log: co.log,
	}, co.rulesFor(p))
	return err
}

// attach gives the stores to the rest of the checkout and opens the doors.
func (st *stores) attach(co *checkout, k *repoHandle) {
	st.repoHandle = k
	k.in.Attach(st.index, st.text)
	cfg, m := co.cfg.For(co.rec.Slug), st.vectors.Serving()
	st.recall = recall.New(recall.Options{
		Slug: co.rec.Slug, Index: st.index, Text: st.text, Vectors: m.Index, State: co.parts.state, Embed: m.Embedder,
		Fold: k.fold, Lexicon: co.lexicon.Table(), Source: k.in.ReadSource, SourceParts: k.in.ReadParts, Allowed: co.allowed, StrengthWeight: co.weight, Compared: &co.count.compared, TouchOnSearch: cfg.TouchOnSearch, Fusion: cfg.Fusion, Now: co.now,
		HalfLife: func() time.Duration { return time.Duration(co.algorithm().DecayHalfLifeDays * 24 * float64(time.Hour)) },
	})
	st.use(co, m)
	st.writes = remember.New(remember.Options{
		Slug: co.rec.Slug, Store: k.store.Store, Index: st.index, State: co.parts.state,
		Describe: k.in.DescribeOne, Keywords: describe.Keywords, AllowSecret: co.allow, Allowed: co.allowed, Now: co.now,
	})
}

// door is the way in.
func (st *stores) door() *remember.Door { return st.writes }

// projectFile reads fold/project.toml.
func (k *repoHandle) projectFile() (conf.Project, []conf.Notice, error) {
	b, _, err := k.fold.Read(conf.ProjectFile, 64<<10)
	if err != nil {
		return conf.Project{}, nil, err
	}
	return conf.ParseProject(b)
}

// rulesFor joins what user file, registration and project file say: the user
// decides where descriptions go, the project file only where the user does not.
func (co *checkout) rulesFor(p conf.Project) selection.Rules {
	cfg := co.cfg.For(co.rec.Slug)
	mode := cfg.FileMemories
	if p.FileMemories != "" && !co.cfg.Sets(co.rec.Slug, "file_memories", co.origins) {
		mode = p.FileMemories
	}
	rec := co.view().rec
	if rec.FileMemories != "" {
		mode = rec.FileMemories
	}
	if modeOf(rec) == modeTracked {
		mode = "local" // files are made when somebody asks for them (git.md T7)
	}
	return selection.Rules{Include: p.Include, Exclude: p.Exclude, FileMemories: mode}
}

// filesBelow returns the files in a folder below fold/. It returns an error if
// that is not there.
func (k *repoHandle) filesBelow(dir string) ([]string, error) {
	var out []string
	root := filepath.Join(k.foldPath, filepath.FromSlash(dir))
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(k.foldPath, p)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	return out, err
}

// present returns those of paths below fold/ that are there.
func (k *repoHandle) present(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := k.fold.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			out = append(out, p)
		}
	}
	return out
}

// close closes what was opened, also when only part of it was.
func (st *stores) close() error {
	errs := []error{st.vectors.Close()}
	if st.text != nil {
		errs = append(errs, st.text.Close())
	}
	if st.index != nil {
		errs = append(errs, st.index.Close())
	}
	return errors.Join(errs...)
}

// close gives up what was opened, also when only part of it was. The stores were
// closed before.
func (k *repoHandle) close(co *checkout) error {
	var errs []error
	if k.in != nil {
		errs = append(errs, k.in.Close())
	}
	if k.store != nil {
		errs = append(errs, k.store.Release())
	}
	return errors.Join(errs...)
}
