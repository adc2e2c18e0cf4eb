package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/remember"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
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

// stores are the opened parts of one checkout: its derived stores, its history,
// and the two doors to them.
type stores struct {
	layout   *gitops.Layout
	foldPath string
	sidecar  *sidecar
	key      string // of the sidecar
	fold     disk.Folder
	index    *meta.Index
	text     *textindex.Index
	in       *ingest.Ingester
	recall   *recall.Door
	heads    []gitops.HeadStamp // as checkTracking saw them; of the job runner alone, once opened
	swept    bool               // a sweep was done since the opening; of the job runner alone

	mu       sync.Mutex     // guards the fields below
	remember *remember.Door // replaced when the checkout turns read-only
	blocked  error          // why nothing may be written; nil if it may
	meaning  *meaning       // whose vectors answer
	next     *meaning       // built beside it, nil if none is
	retired  []*meaning     // that answered before
}

// openStores opens everything one checkout needs. What is damaged or missing of
// the derived stores is begun anew, and the sweep that follows fills it.
func openStores(ctx context.Context, co *checkout) (_ *stores, err error) {
	st := &stores{}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close(co))
		}
	}()
	if _, err := os.Lstat(co.rec.Path); err != nil {
		return st, err // else what is derived would be opened for nothing
	}
	// A search needs the derived stores, a write the history: neither waits for
	// the other, which is mostly for git.
	var t tracked
	var g errgroup.Group
	g.Go(func() error { return st.openDerived(ctx, co) })
	g.Go(func() (err error) {
		t, err = st.openHistory(ctx, co)
		return err
	})
	if err := g.Wait(); err != nil {
		return st, err
	}
	co.noteRebuilt(st)
	if err := st.openDoors(co); err != nil {
		return st, err
	}
	co.noteTracked(st, t)
	return st, nil
}

// openDerived opens what can be made again.
func (st *stores) openDerived(ctx context.Context, co *checkout) (err error) {
	dir := co.indexDir()
	if st.index, err = meta.OpenIndex(ctx, dir); err != nil {
		return err
	}
	if err := matchGeneration(ctx, co, st.index.Generation, dir); err != nil {
		return err
	}
	cut, _ := co.cutting()
	if _, err := st.index.Recut(ctx, ingest.IndexRules(cut)); err != nil {
		return err
	}
	if st.text, err = textindex.Open(filepath.Join(dir, wordsDir), textindex.Options{Log: co.log}); err != nil {
		return err
	}
	if st.meaning, err = co.openMeaning(ctx); err != nil {
		return err
	}
	co.removeStaleVectors(st.meaning)
	return nil
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
	for name, why := range map[string]string{"index": st.index.Rebuilt, "words": st.text.Rebuilt, "vectors": st.meaning.vectors.Rebuilt} {
		if why != "" {
			co.note("rebuilt "+name, fmt.Sprintf("%s rebuilt from the files: %s", name, why))
		}
	}
}

// openHistory finds the repository and opens the sidecar, unless the checkout is
// read-only.
func (st *stores) openHistory(ctx context.Context, co *checkout) (t tracked, err error) {
	if st.layout, err = gitops.Locate(ctx, co.rec.Path); err != nil {
		return t, err
	}
	st.foldPath = st.layout.FoldPath(co.rec.FoldDir)
	st.fold = disk.Folder{Dir: st.foldPath}
	st.heads = st.headStamps()
	var main bool
	if t.head, main, t.branches, err = tracking(ctx, st.layout, co.rec.FoldDir); err != nil {
		return t, err
	}
	if t.head {
		st.blocked = branchMode(co.rec)
	}
	opt := gitops.StoreOptions{
		Layout: st.layout, FoldDir: co.rec.FoldDir, Slug: co.rec.Slug, ReadOnly: main, Log: co.log, Now: co.now,
		Mirror: co.mirror(co.rec.ProjectID),
		Check:  co.checkFile,
	}
	st.key = st.layout.CommonDir + "\x00" + st.foldPath
	if main { // a store that may write is opened beside one that may not, once a branch allows it
		st.key += "\x00read-only"
	}
	if st.sidecar, err = co.sidecars.get(ctx, st.key, co, co.written, opt); err != nil {
		return t, err
	}
	st.sidecar.hold(co, !co.commits.wanted())
	if t.head || main {
		return t, nil
	}
	return t, st.writeProject(ctx, co)
}

// writeProject makes fold/project.toml where there never was one: at the first
// opening, by when the folder hides itself from git, or at the one after a
// crash in between.
func (st *stores) writeProject(ctx context.Context, co *checkout) error {
	_, _, err := st.sidecar.store.LastBlob(ctx, conf.ProjectFile)
	if !errors.Is(err, fold.ErrNotFound) {
		return err // the journal knows it: if it is gone now, somebody took it away
	}
	p := co.project
	if p.Slug == "" {
		rec := co.record()
		if n, ok := gitops.MirrorHolds(co.mirror(rec.ProjectID)); ok && n > 0 {
			return nil // a fresh clone where an older one was: add offers the mirror
		}
		p = conf.Project{ID: rec.ProjectID, Slug: rec.Slug, Name: rec.Name, CreatedAt: rec.AddedAt}
	}
	err = st.fold.Create(conf.ProjectFile, conf.EncodeProject(p))
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

// tracked says which branches track the folder of memories.
type tracked struct {
	head     bool
	branches []string
}

// tracking reports whether HEAD tracks the folder of memories (git.md G18): that of this work
// tree or, as main, that of the main one, in which the folder of all of them
// lies. Branches are those that do.
func tracking(ctx context.Context, l *gitops.Layout, foldDir string) (head, main bool, branches []string, err error) {
	head, branches, err = l.TracksFold(ctx, foldDir)
	if err != nil || !l.Linked {
		return head, head, branches, err
	}
	if l.MainTree == "" { // bare: fold/ lies in the git directory
		return head, false, branches, nil
	}
	of, err := gitops.Locate(ctx, l.MainTree)
	if err != nil {
		return head, false, branches, err
	}
	main, _, err = of.TracksFold(ctx, foldDir)
	return head || main, main, branches, err
}

// checkFile is the gate before a commit (git.md G7): why the file at path may
// not enter the journal, or nil.
func (co *checkout) checkFile(path string, b []byte) error {
	if path == conf.ProjectFile {
		_, _, err := conf.ParseProject(b)
		return err
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

func (st *stores) openDoors(co *checkout) (err error) {
	p, notices, perr := st.projectFile()
	if perr != nil && !errors.Is(perr, os.ErrNotExist) {
		co.note("project.toml", fmt.Sprintf("fold/project.toml is not in force: %v", perr))
	}
	for _, n := range notices {
		co.note("project.toml", fmt.Sprintf("fold/project.toml line %d: %s", n.Line, n.Text))
	}
	var store *gitops.Store
	if st.blocked == nil {
		store = st.sidecar.store
	}
	cfg := co.cfg.For(co.rec.Slug)
	cut, overlap := co.cutting()
	st.in, err = ingest.New(ingest.Options{
		Slug: co.rec.Slug, Key: co.rec.Key, Layout: st.layout, FoldDir: co.rec.FoldDir,
		Fold: st.fold, Store: store, Index: st.index, Text: st.text, Vectors: st.meaning.vectors,
		State: co.parts.state, Cache: co.cache, Cutter: co.cutter, Cuts: &co.cuts, Embed: st.meaning.embedder, Count: &co.count.ingest,
		Describe: cfg.Describe, MaxBytes: int64(cfg.MaxFileKB) << 10, Cut: cut, Overlap: overlap, Allowed: co.allowed, Now: co.now, Log: co.log,
	}, co.rulesFor(p))
	if err != nil {
		return err
	}
	st.recall = recall.New(recall.Options{
		Slug: co.rec.Slug, Index: st.index, Text: st.text, Vectors: st.meaning.vectors, State: co.parts.state, Embed: st.meaning.embedder,
		Fold: st.fold, Lexicon: co.lexicon.Table(), Source: st.in.ReadSource, Allowed: co.allowed, StrengthWeight: co.weight, TouchOnSearch: cfg.TouchOnSearch, Fusion: cfg.Fusion, Now: co.now,
		HalfLife: func() time.Duration { return time.Duration(co.algorithm().DecayHalfLifeDays * 24 * float64(time.Hour)) },
	})
	st.use(co, st.meaning)
	st.openRemember(co, store)
	return nil
}

func (st *stores) openRemember(co *checkout, store *gitops.Store) {
	door := remember.New(remember.Options{
		Slug: co.rec.Slug, Store: store, Index: st.index, State: co.parts.state, ReadOnly: st.blocked,
		Describe: st.in.DescribeOne, Keywords: ingest.Keywords, AllowSecret: co.allow, Allowed: co.allowed, Now: co.now,
	})
	st.mu.Lock()
	defer st.mu.Unlock()
	st.remember = door
}

// readOnly stops all writing from now on, for the reason why.
func (st *stores) readOnly(why error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.blocked = why
	st.remember = remember.New(remember.Options{ReadOnly: why})
}

func (st *stores) writable() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.blocked == nil
}

func (st *stores) door() *remember.Door {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.remember
}

// projectFile reads fold/project.toml.
func (st *stores) projectFile() (conf.Project, []conf.Notice, error) {
	b, _, err := st.fold.Read(conf.ProjectFile, 64<<10)
	if err != nil {
		return conf.Project{}, nil, err
	}
	return conf.ParseProject(b)
}

// rulesFor joins what user file, registration and project file say: the user
// decides where descriptions go, the project file only where the user does not.
func (co *checkout) rulesFor(p conf.Project) ingest.Rules {
	cfg := co.cfg.For(co.rec.Slug)
	mode := cfg.FileMemories
	if p.FileMemories != "" && !co.cfg.Sets(co.rec.Slug, "file_memories", co.origins) {
		mode = p.FileMemories
	}
	if set := co.record().FileMemories; set != "" {
		mode = set
	}
	return ingest.Rules{Include: p.Include, Exclude: p.Exclude, FileMemories: mode}
}

// filesBelow returns the files in a folder below fold/. It returns an error if
// that is not there.
func (st *stores) filesBelow(dir string) ([]string, error) {
	var out []string
	root := filepath.Join(st.foldPath, filepath.FromSlash(dir))
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(st.foldPath, p)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	return out, err
}

// present returns those of paths below fold/ that are there.
func (st *stores) present(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := st.fold.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			out = append(out, p)
		}
	}
	return out
}

// close gives up what was opened, also when only part of it was.
func (st *stores) close(co *checkout) error {
	var errs []error
	if st.in != nil {
		errs = append(errs, st.in.Close())
	}
	errs = append(errs, st.closeMeanings())
	if st.text != nil {
		errs = append(errs, st.text.Close())
	}
	if st.index != nil {
		errs = append(errs, st.index.Close())
	}
	if st.sidecar != nil {
		errs = append(errs, co.sidecars.put(st.key, co))
	}
	return errors.Join(errs...)
}
