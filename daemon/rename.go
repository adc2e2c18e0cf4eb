package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// rename has the checkout with the key, and the other work trees of its repository,
// go on under the slug that fold/project.toml says, where the remote had given the
// project one already (git.md G19). Memories whose ids follow from the slug get those
// of the new one, and every link to them is rewritten; all others keep theirs. It is
// done again from the start if it was broken off, and does nothing where the slug is
// that of the registration. Asked is that the caller goes on
// to ask for a sync. It returns the checkout as it is then.
func (d *Daemon) rename(ctx context.Context, key string, asked bool) (_ *checkout.Checkout, err error) {
	leave, err := d.changeRegistry(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	d.mu.Lock()
	co := d.checkouts[key]
	d.mu.Unlock()
	if co == nil {
		return nil, fmt.Errorf("the checkout is not registered any more: %w", fold.ErrNotFound)
	}
	layout, err := usergit.Locate(ctx, co.Record.Path)
	if err != nil {
		return co, err
	}
	p, found, err := repos.ProjectAt(layout.FoldPath(co.Record.FoldDir))
	if err != nil || !found || p.Slug == co.Record.Slug {
		return co, err
	}
	was := co.Record.Slug
	defer func() {
		if err != nil {
			err = fmt.Errorf("take over the name %s of the remote for project %s: %w", p.Slug, was, err)
		}
	}()
	var trees []*checkout.Checkout
	for _, other := range d.sorted() {
		switch {
		case checkout.SameMemory(other.View().Record, co.View().Record):
			trees = append(trees, other)
		case other.Record.Slug == p.Slug && other.Record.ProjectID != p.ID:
			return co, fmt.Errorf("%s is called so already: %w", other.Record.Path,
				fold.WithHint(fold.ErrConflict, "foldwatch remove there, and add it again with another --slug; then here: foldwatch sync"))
		}
	}
	known := derivedIDs(ctx, co, p.Slug)
	for _, tree := range trees {
		if err := tree.Stop(ctx); err != nil {
			return co, err
		}
	}
	ids, ferr := d.renameFiles(ctx, layout, co, p, known)
	if ferr != nil { // go on as before: it is tried again
		p = conf.Project{ID: co.Record.ProjectID, Slug: was}
	}
	_, consent := co.Sync.On()
	co.Sync.Turn(consent, p.Slug, asked)
	for _, tree := range trees {
		rec := tree.View().Record
		if ferr == nil {
			rec.Slug, rec.ProjectID, rec.Name = p.Slug, p.ID, checkout.FirstOf(p.Name, rec.Name)
			err = d.renamed(ctx, tree, rec, ids)
		}
		now := checkout.New(rec, d.parts)
		d.mu.Lock()
		d.checkouts[rec.Key] = now
		d.keepCounts(tree)
		d.mu.Unlock()
		if rec.Key == key {
			co = now
		}
		select {
		case d.starts <- now:
		case <-d.parts.Stopped:
			return co, fmt.Errorf("the daemon is stopping: %w", fold.ErrUnavailable)
		}
	}
	if err := errors.Join(ferr, err); err != nil {
		return co, err
	}
	d.parts.Events.Publish("sync:renamed", co.Record.Slug, map[string]any{"was": was})
	d.parts.Log.InfoContext(ctx, "Project renamed", "project", co.Record.Slug, "was", was, "count", len(ids))
	return co, nil
}

// derivedIDs returns the new ids of the memories that the index knows and that follow
// from the slug: also of those that have no file, but may be linked to.
func derivedIDs(ctx context.Context, co *checkout.Checkout, slug string) map[fold.ID]fold.ID {
	ids := map[fold.ID]fold.ID{}
	h, err := co.Acquire(ctx)
	if err != nil {
		return ids
	}
	defer h.Release()
	err = h.Index.EachMemory(ctx, func(r index.Row) error {
		if id, ok := derivedID(&r.Memory, co.Record.Slug, slug); ok {
			ids[r.ID] = id
		}
		return nil
	})
	if err != nil { // links to what has no file stay as they are
		co.Log.WarnContext(ctx, "Index not read", "err", err)
	}
	return ids
}

// derivedID returns the id that m has under the slug now, where its id follows from
// the slug was (design.md 4).
func derivedID(m *fold.Memory, was, now string) (fold.ID, bool) {
	switch {
	case m.Note && m.ID == fold.NoteID(was, m.Path):
		return fold.NoteID(now, m.Path), true
	case m.FilePath != "" && m.ID == fold.FileID(was, m.FilePath):
		return fold.FileID(now, m.FilePath), true
	case m.Commit != "" && m.ID == fold.CommitID(was, m.Commit):
		return fold.CommitID(now, m.Commit), true
	}
	if of, n, ok := tip.PulledFrom(m); ok && m.ID == fold.PullID(was, of, n) {
		return fold.PullID(now, of, n), true
	}
	return "", false
}

// renamed registers a work tree under its new slug, and drops what was derived under
// the old one.
func (d *Daemon) renamed(ctx context.Context, tree *checkout.Checkout, rec state.Checkout, ids map[fold.ID]fold.ID) error {
	if err := d.parts.State.Rename(ctx, tree.Record.Slug, rec, ids); err != nil {
		return err
	}
	errs := []error{d.noteRemote(ctx, tree.Record, false), d.noteRemote(ctx, rec, true), os.RemoveAll(tree.IndexDir())}
	if from, to := d.parts.Mirror(tree.Record.ProjectID), d.parts.Mirror(rec.ProjectID); from != to {
		if _, held := gitops.MirrorHolds(to); !held {
			if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// renameFiles gives the memories in fold/ whose ids follow from the slug those of
// project p, and rewrites the links to them. Known are ids of memories without a file.
// It returns all ids that changed. The checkout is not open meanwhile.
func (d *Daemon) renameFiles(ctx context.Context, layout *usergit.Repo, co *checkout.Checkout, p conf.Project, known map[fold.ID]fold.ID) (_ map[fold.ID]fold.ID, err error) {
	store, err := gitops.OpenStore(ctx, gitops.StoreOptions{
		Repo: layout, FoldDir: co.Record.FoldDir, Slug: p.Slug, Log: co.Log, Now: d.parts.Now, Check: co.CheckFile,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	files, err := memoryFiles(store, layout.FoldPath(co.Record.FoldDir), co.Record.Slug)
	if err != nil {
		return nil, err
	}
	ids := known
	for _, f := range files {
		if id, ok := derivedID(f.m, co.Record.Slug, p.Slug); ok {
			ids[f.m.ID] = id
		} else if was, ok := derivedID(f.m, p.Slug, co.Record.Slug); ok {
			ids[was] = f.m.ID // it has its new id since a call that was broken off: links to it may not
		}
	}
	var entries []fold.ResolverEntry
	for id := range ids {
		entries = append(entries, fold.ResolverEntry{ID: id, Path: id.Path()})
	}
	links := fold.NewResolver(entries)
	titles := map[fold.ID]string{}
	for _, f := range files {
		id := f.m.ID
		if to, ok := ids[id]; ok {
			id = to
		}
		titles[id] = f.m.Title
	}
	var writes []gitops.Write
	for _, f := range files {
		w, err := f.renamed(ids, links, func(id fold.ID) string { return titles[id] })
		if err != nil {
			return nil, err
		}
		writes = append(writes, w...)
	}
	end := store.Bulk()
	_, skipped, err := store.PutMany(ctx, writes)
	for _, w := range writes { // what somebody has just edited, or had under the new id already
		if err == nil && slices.Contains(skipped, w.Path) {
			w.Merge = true
			_, err = store.Put(ctx, w)
		}
	}
	return ids, errors.Join(err, end(ctx))
}

// A memoryFile is one memory in fold/, as it was read.
type memoryFile struct {
	path string
	b    []byte
	m    *fold.Memory
}

// memoryFiles reads all memories below fold/. What cannot be read as one is left out,
// as it is everywhere.
func memoryFiles(store *gitops.Store, foldPath, slug string) ([]memoryFile, error) {
	var paths []string
	err := filepath.WalkDir(foldPath, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name != foldPath && strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		path := filepath.ToSlash(strings.TrimPrefix(name, foldPath+string(filepath.Separator)))
		paths = append(paths, path)
		return nil
	})
	var files []memoryFile
	for _, path := range paths {
		if filepath.Ext(path) != ".md" || fold.ValidPath(path) != nil {
			continue
		}
		b, err := store.Read(path)
		if err != nil {
			continue // a link or the like: never ours
		}
		if m, err := fold.Decode(slug, path, b); err == nil {
			files = append(files, memoryFile{path, b, m})
		}
	}
	return files, err
}

// renamed returns the writes that give the memory its new id and those it links to
// theirs; none if neither changes. Notes of people keep their place.
func (f memoryFile) renamed(ids map[fold.ID]fold.ID, links *fold.Resolver, title func(fold.ID) string) ([]gitops.Write, error) {
	next := *f.m
	id, moves := ids[f.m.ID]
	moves = moves && !f.m.Note
	if moves {
		next.ID, next.Path = id, id.Path()
	}
	next.Links = make([]fold.Link, len(f.m.Links))
	changed := moves
	for i, l := range f.m.Links {
		l.From = next.ID
		if to, ok := ids[l.To]; ok {
			l.To, changed = to, true
		}
		next.Links[i] = l
	}
	next.Body = fold.RewriteLinks(f.m.Body, func(target string) (string, bool) {
		was, ok := links.Resolve(target)
		if !ok {
			return "", false
		}
		return strings.TrimSuffix(ids[was].Path(), ".md"), true
	})
	if !changed && next.Body == f.m.Body {
		return nil, nil
	}
	now, err := fold.Update(f.b, f.m, &next, title)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if !moves {
		return []gitops.Write{{ID: f.m.ID, Path: f.path, Base: f.b, New: now}}, nil
	}
	return []gitops.Write{
		{ID: id, Path: id.Path(), New: now},
		{ID: f.m.ID, Path: f.path, Base: f.b},
	}, nil
}
