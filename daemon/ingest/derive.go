package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// testWeight is how sure a link between a test and what its name says it tests
// is (originals.md 1.1).
const testWeight = 0.75

// deriveLinks ties tests to the files they test, by their names. Such links are
// kept in the index with their evidence and never written to a file.
//
// Told are memories that were described just now, of files as they are.
func (in *Ingester) deriveLinks(ctx context.Context, changed []string, told []fold.ID) error {
	touched := make(map[string]bool, len(changed))
	for _, p := range changed {
		touched[p] = true
	}
	files, err := in.present(ctx, changed)
	if err != nil {
		return err
	}
	// Links that a path which went was one end of are looked at again, too.
	var gone []fold.ID
	for p := range touched {
		if !files.Has(p) {
			gone = append(gone, fold.FileID(in.Slug, p))
		}
	}
	out, into, err := in.Index.LinksOf(ctx, gone)
	if err != nil {
		return err
	}
	loose := map[fold.ID]bool{}
	for _, ends := range []map[fold.ID][]fold.Link{out, into} {
		for _, links := range ends {
			for _, l := range links {
				if l.Derived {
					loose[l.From] = true
				}
			}
		}
	}
	for p := range touched {
		if imports.IsTestFile(p) && files.Has(p) {
			loose[fold.FileID(in.Slug, p)] = true
		}
	}
	var changes []index.Change
	hangs := func(test string) bool { return len(loose) > 0 && loose[fold.FileID(in.Slug, test)] }
	for _, l := range files.TestLinksOf(touched, hangs) {
		from := fold.FileID(in.Slug, l.Test)
		delete(loose, from)
		changes = append(changes, index.Change{ID: from, SetDerived: true, Derived: []fold.Link{{
			From: from, To: fold.FileID(in.Slug, l.Source), Type: fold.LinkRelated, Derived: true, Weight: testWeight,
			Evidence: fmt.Sprintf("%s tests %s by its name", l.Test, l.Source),
		}}})
	}
	for id := range loose {
		changes = append(changes, index.Change{ID: id, SetDerived: true})
	}
	if len(changes) == 0 {
		return nil
	}
	if err := in.redescribeTests(ctx, changes, told); err != nil {
		return err
	}
	_, err = in.apply(ctx, changes)
	return err
}

// redescribeTests describes tests again whose derived links are about to become others,
// where the index alone describes them and they are not among told: what a test is
// of stands in its description.
func (in *Ingester) redescribeTests(ctx context.Context, changes []index.Change, told []fold.ID) error {
	is := make(map[fold.ID]fold.ID, len(changes)) // what each is to lead to
	for _, c := range changes {
		is[c.ID] = ""
		for _, l := range c.Derived {
			is[c.ID] = l.To
		}
	}
	for _, id := range told {
		delete(is, id)
	}
	out, _, err := in.Index.LinksOf(ctx, slices.Collect(maps.Keys(is)))
	if err != nil {
		return err
	}
	var moved []fold.ID
	for id, to := range is {
		was := fold.ID("")
		for _, l := range out[id] {
			if l.Derived {
				was = l.To
			}
		}
		if was != to {
			moved = append(moved, id)
		}
	}
	return in.describeAgain(ctx, moved)
}

// present is the set of source files without those of changed that the index
// has just dropped: git lists a file until its deletion is staged.
func (in *Ingester) present(ctx context.Context, changed []string) (*imports.Files, error) {
	files := in.Files()
	known, err := in.manifest(ctx, changed, false)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, p := range changed {
		if _, ok := known[p]; !ok && files.Has(p) {
			gone = append(gone, p)
		}
	}
	if len(gone) == 0 {
		return files, nil
	}
	in.ChangeFiles(nil, gone)
	return in.Files(), nil
}

// notePendingLinks names the note that the links of some sources are still to be
// derived: a crash in between leaves it.
const notePendingLinks = "owed links"

// linksPending reports whether a crash left links that are still to be derived.
func (in *Ingester) linksPending(ctx context.Context) (bool, error) {
	was, err := in.State.Note(ctx, in.Key, notePendingLinks)
	return was != "", err
}

// linking calls work, which indexes source files, and derives the links of the
// files it returns; told are the memories that it described. work is told whether a
// crash left links of any file pending; where it does not return all, they stay pending.
func (in *Ingester) linking(ctx context.Context, work func(pending bool) (names []string, told []fold.ID, err error)) error {
	was, err := in.State.Note(ctx, in.Key, notePendingLinks)
	if err != nil {
		return err
	}
	if was == "" {
		if err := in.State.SetNote(ctx, in.Key, notePendingLinks, "yes"); err != nil {
			return err
		}
	}
	names, told, err := work(was != "")
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if err := in.deriveLinks(ctx, names, told); err != nil {
			return err
		}
		if err := in.refreshImports(ctx, names, told); err != nil {
			return err
		}
	}
	if was != "" && len(names) < in.Files().Len() {
		return nil
	}
	return in.State.SetNote(ctx, in.Key, notePendingLinks, "")
}

// Saved is [Ingester.Source] for what the watcher reported: directories stand
// for all that is known or listed below them, new files are asked of git, and
// links that hang on file names follow.
func (in *Ingester) Saved(ctx context.Context, paths []string) (progress.Report, error) {
	todo, names, err := in.expand(ctx, paths)
	if err != nil || len(todo) == 0 {
		return progress.Report{}, err
	}
	// A folder was reported, and one of these is what changed in it.
	rules := slices.ContainsFunc(todo, selection.DecidesFiles) && !slices.ContainsFunc(paths, selection.DecidesFiles)
	names = append(names, in.RereadPackages(todo)...)
	var r Report
	if len(names) == 0 {
		r, err = in.Source(ctx, todo, nil)
		r.Rules = rules
		return r, err
	}
	err = in.linking(ctx, func(bool) (_ []string, _ []fold.ID, err error) {
		before := in.Files()
		in.ChangeFiles(names, in.goneOf(names)) // what is described goes by what there is now
		if r, err = in.Source(ctx, todo, nil); err != nil {
			in.UseFiles(before) // the next attempt finds the same names
			return nil, nil, err
		}
		return names, r.Memories, nil
	})
	r.Rules = rules
	return r, err
}

// expand turns reported paths into source files that may have changed; names
// are those that came or went. What was reported only says where to look: a path
// may have been a file and be a folder now, or the other way round.
func (in *Ingester) expand(ctx context.Context, paths []string) (todo, names []string, err error) {
	files, rules, prefix := in.Files(), in.Rules(), in.Selection.FoldDir()
	var unknown, dirs []string
	for _, p := range paths {
		// Whether it is there, and a folder: what is read of it is read below root.
		fi, err := os.Lstat(filepath.Join(in.root.Name(), filepath.FromSlash(p)))
		folder := err == nil && fi.IsDir()
		stands := !folder && !disk.Missing(err)
		known, below := files.Has(p), folder
		if !known && !stands { // what came and went within one batch was never known
			if known, err = in.knows(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		if !folder && (!stands || !known) {
			if below, err = in.Index.AnyBelow(ctx, p); err != nil {
				return nil, nil, err
			}
		}
		if known {
			todo = append(todo, p)
			if !stands {
				names = append(names, p)
			}
		} else if stands && (rules.Eligible(p, prefix) || rules.HeldBack(p, prefix)) {
			unknown = append(unknown, p)
		}
		if below {
			dirs = append(dirs, p)
		}
	}
	var came, ask []string
	if len(dirs) > 0 {
		more, err := in.below(ctx, dirs)
		if err != nil {
			return nil, nil, err
		}
		todo, names = append(todo, more...), append(names, more...)
	}
	casing := disk.CaseFinder{Root: in.root}
	for _, p := range unknown {
		if len(dirs) > 0 && in.Tracked.Has(p) { // just now
			came = append(came, p)
			continue
		}
		if casing.Ignored(p) { // where case does not count, git goes by the name it knows
			if twin := in.Tracked.Twin(p); twin != "" {
				todo = append(todo, twin)
				continue
			}
		}
		ask = append(ask, p)
	}
	if len(ask) > 0 {
		ignored, err := in.Repo.Ignored(ctx, ask)
		if err != nil {
			return nil, nil, err
		}
		came = append(came, in.Tracked.Add(slices.DeleteFunc(ask, func(p string) bool { return ignored[p] }))...)
	}
	return distinct(append(todo, came...)), distinct(append(names, came...)), nil
}

// knows reports whether the manifest has a source file at p.
func (in *Ingester) knows(ctx context.Context, p string) (bool, error) {
	_, err := in.Index.FileByPath(ctx, p, false)
	if errors.Is(err, fold.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// below returns the files in or formerly in dirs whose stat is not what the
// manifest says.
func (in *Ingester) below(ctx context.Context, dirs []string) ([]string, error) {
	all, _, err := in.Tracked.Files(ctx)
	if err != nil {
		return nil, err
	}
	rules, prefix := in.Rules(), in.Selection.FoldDir()
	var out, look []string
	var was []stat
	for _, dir := range outermost(dirs) {
		known, err := in.Index.FilesBelow(ctx, dir)
		if err != nil {
			return nil, err
		}
		var here []string
		for _, p := range below(all, dir) {
			if rules.Eligible(p, prefix) {
				here = append(here, p)
			}
		}
		match(here, known.Paths, func(i, k int) {
			switch {
			case k < 0:
				out = append(out, here[i])
			case i < 0:
				out = append(out, known.Paths[k])
				if !rules.HeldBack(known.Paths[k], prefix) {
					in.leaves(known.Paths[k])
				}
			default:
				f := known.Files[k]
				look, was = append(look, here[i]), append(was, stat{f.Size, f.MtimeNS, f.Inode, f.State})
			}
		})
	}
	changed, err := in.lookAt(ctx, look, func(i int) stat { return was[i] })
	return append(out, changed...), err
}
