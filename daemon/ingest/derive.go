package ingest

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// testWeight is how sure a link between a test and what its name says it tests
// is (originals.md 1.1).
const testWeight = 0.75

// deriveLinks ties tests to the files they test, by their names. Such links are
// kept in the index with their evidence and never written to a file.
func (in *Ingester) deriveLinks(ctx context.Context, changed []string) error {
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
		if IsTestFile(p) && files.Has(p) {
			loose[fold.FileID(in.Slug, p)] = true
		}
	}
	var changes []meta.Change
	for _, l := range files.TestLinks() {
		from := fold.FileID(in.Slug, l.Test)
		if !touched[l.Test] && !touched[l.Source] && !loose[from] {
			continue
		}
		delete(loose, from)
		changes = append(changes, meta.Change{ID: from, SetDerived: true, Derived: []fold.Link{{
			From: from, To: fold.FileID(in.Slug, l.Source), Type: fold.LinkRelated, Derived: true, Weight: testWeight,
			Evidence: fmt.Sprintf("%s tests %s by its name", l.Test, l.Source),
		}}})
	}
	for id := range loose {
		changes = append(changes, meta.Change{ID: id, SetDerived: true})
	}
	if len(changes) == 0 {
		return nil
	}
	_, err = in.apply(ctx, changes)
	return err
}

// present is the set of source files without those of changed that the index
// has just dropped: git lists a file until its deletion is staged.
func (in *Ingester) present(ctx context.Context, changed []string) (*Files, error) {
	files := in.files()
	known, err := in.manifest(ctx, changed, false)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, p := range changed {
		if _, ok := known[p]; !ok && files.Has(p) {
			gone[p] = true
		}
	}
	if len(gone) == 0 {
		return files, nil
	}
	var left []string
	for p := range files.has {
		if !gone[p] {
			left = append(left, p)
		}
	}
	sort.Strings(left)
	in.setFiles(left)
	return in.files(), nil
}

// owedLinks names the note that the links of some sources are still to be
// derived: a crash in between leaves it.
const owedLinks = "owed links"

// linking calls work, which indexes source files, and derives the links of the
// files it returns. work is told whether a crash left some of all files owed;
// where it does not return all, they stay owed.
func (in *Ingester) linking(ctx context.Context, work func(owed bool) ([]string, error)) error {
	was, err := in.State.Note(ctx, in.Key, owedLinks)
	if err != nil {
		return err
	}
	if was == "" {
		if err := in.State.SetNote(ctx, in.Key, owedLinks, "yes"); err != nil {
			return err
		}
	}
	names, err := work(was != "")
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if err := in.deriveLinks(ctx, names); err != nil {
			return err
		}
	}
	if was != "" && len(names) < len(in.files().has) {
		return nil
	}
	return in.State.SetNote(ctx, in.Key, owedLinks, "")
}

// files returns the set of source files in the checkout, by which imports are
// resolved and tests tied.
func (in *Ingester) files() *Files {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.set == nil {
		in.set = NewFiles(nil, nil)
	}
	return in.set
}

// Saved is [Ingester.Source] for what the watcher reported: directories stand
// for all that is known or listed below them, new files are asked of git, and
// links that hang on file names follow.
func (in *Ingester) Saved(ctx context.Context, paths []string) (Report, error) {
	todo, names, err := in.expand(ctx, paths)
	if err != nil || len(todo) == 0 {
		return Report{}, err
	}
	if len(names) == 0 {
		return in.Source(ctx, todo, nil)
	}
	var r Report
	err = in.linking(ctx, func(bool) ([]string, error) {
		if r, err = in.Source(ctx, todo, nil); err != nil {
			return nil, err
		}
		return names, in.refreshFiles(ctx)
	})
	return r, err
}

// expand turns reported paths into source files that may have changed; names
// are those that came or went.
func (in *Ingester) expand(ctx context.Context, paths []string) (todo, names []string, err error) {
	files := in.files()
	var unknown, dirs []string
	for _, p := range paths {
		fi, err := in.root.Lstat(p)
		switch {
		case err == nil && fi.IsDir():
			dirs = append(dirs, p)
		case files.Has(p):
			todo = append(todo, p)
			if missing(err) {
				names = append(names, p)
				dirs = append(dirs, p)
			}
		case missing(err):
			below, err := in.Index.AnyBelow(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			if below { // a folder that went
				dirs = append(dirs, p)
			}
			// What came and went within one batch was never known.
			if _, err := in.Index.FileByPath(ctx, p, false); err == nil {
				todo, names = append(todo, p), append(names, p)
			} else if !errors.Is(err, fold.ErrNotFound) {
				return nil, nil, err
			}
		default:
			unknown = append(unknown, p)
		}
	}
	if len(dirs) > 0 {
		more, err := in.below(ctx, dirs)
		if err != nil {
			return nil, nil, err
		}
		todo, names = append(todo, more...), append(names, more...)
	}
	if len(unknown) > 0 {
		ignored, err := in.Layout.Ignored(ctx, unknown)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range unknown {
			if !ignored[p] {
				todo, names = append(todo, p), append(names, p)
			}
		}
	}
	return distinct(todo), names, nil
}

// below returns the files in or formerly in dirs whose stat is not what the
// manifest says.
func (in *Ingester) below(ctx context.Context, dirs []string) ([]string, error) {
	listed, err := in.Eligible(ctx)
	if err != nil {
		return nil, err
	}
	known, err := in.Index.Files(ctx, false)
	if err != nil {
		return nil, err
	}
	inside := func(p string) bool {
		for _, d := range dirs {
			if d == "." || len(p) > len(d) && p[len(d)] == '/' && p[:len(d)] == d {
				return true
			}
		}
		return false
	}
	here := map[string]bool{}
	var look, out []string
	for _, p := range listed {
		if here[p] = true; inside(p) {
			look = append(look, p)
		}
	}
	for p := range known {
		if !here[p] && inside(p) {
			out = append(out, p)
		}
	}
	changed, err := in.changedStats(ctx, look, known)
	return append(out, changed...), err
}

// refreshFiles lists the source files again.
func (in *Ingester) refreshFiles(ctx context.Context) error {
	listed, err := in.Eligible(ctx)
	if err != nil {
		return err
	}
	in.setFiles(listed)
	return nil
}

func (in *Ingester) setFiles(list []string) {
	set := NewFiles(list, func(p string) []byte {
		b, err := in.ReadSource(context.Background(), p)
		if err != nil {
			return nil
		}
		return b
	})
	in.mu.Lock()
	defer in.mu.Unlock()
	in.set = set
}

func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	out := list[:0]
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
