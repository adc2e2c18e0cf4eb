package gitsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxDiffering is how many files and folders may differ between two states of
// the remote's branch (F37).
const maxDiffering = 400_000

// A merging is what three trees came to. Everything is said relative to one of
// them, so that what did not change is not read.
type merging struct {
	// change is what to splice into the remote's tree, path → blob, the zero
	// hash for a path to leave out; fresh holds the bytes of those blobs that
	// are not in the store yet.
	change map[string]plumbing.Hash
	fresh  map[string][]byte
	// take is what differs from our tree: what working files are to become.
	take map[string]plumbing.Hash

	merged, conflicts int              // files decoded; of them with something kept apart
	aside             map[string]error // files of the remote that did not enter, and why
	back              map[string]error // files of ours that are held back from it, and why
}

// mergeTrees merges what two sides made of base (G11, and the table of
// git.md): base, ours and theirs are trees, the zero hash is an empty one. Only
// paths that both changed are decoded. What the remote holds besides memories,
// or in a form that may not enter (G6), is not touched: neither taken, nor
// removed from the branch, which other people may use too. Again are files that
// were held back before and are not in ours; before are files whose base is another
// than that of the tree, see appliedBefore. It writes nothing.
func (s *Syncer) mergeTrees(ctx context.Context, base, ours, theirs plumbing.Hash, again, before map[string]plumbing.Hash) (*merging, error) {
	m := &merging{
		change: map[string]plumbing.Hash{}, fresh: map[string][]byte{},
		take: map[string]plumbing.Hash{}, aside: map[string]error{}, back: map[string]error{},
	}
	mine, err := s.changesFrom(ctx, base, ours)
	if err != nil {
		return nil, err
	}
	others, err := s.changesFrom(ctx, base, theirs)
	if err != nil {
		return nil, err
	}
	for path, was := range before {
		if err := s.rebase(mine, ours, path, was); err != nil {
			return nil, err
		}
		if err := s.rebase(others, theirs, path, was); err != nil {
			return nil, err
		}
	}
	for path, h := range again {
		if _, ok := mine[path]; !ok {
			mine[path] = pathChange{is: h}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(others)) {
		t := others[path]
		o, both := mine[path]
		switch {
		case !both || o.is.IsZero() && !t.is.IsZero(): // an edit beats a deletion
			m.take[path] = t.is
		case o.is == t.is:
		case t.is.IsZero():
			m.change[path] = o.is
		default:
			if err := s.mergePath(ctx, m, path, t.was, o.is, t.is); err != nil {
				return nil, err
			}
		}
	}
	folders := map[string]map[string]objdb.TreeEntry{}
	for _, path := range slices.Sorted(maps.Keys(mine)) {
		o := mine[path]
		if _, both := others[path]; both {
			continue
		}
		why, err := s.mayPublish(path, o.is)
		if err == nil && why == nil && o.was.IsZero() {
			why, err = s.obj.Blocked(theirs, path, folders)
		}
		switch {
		case err != nil:
			return nil, err
		case why != nil:
			m.back[path] = why
		default:
			m.change[path] = o.is
		}
	}
	return m, nil
}

// A pathChange is one file that differs between two trees.
type pathChange struct{ was, is plumbing.Hash }

// changesFrom returns the files of ours that differ between two trees.
func (s *Syncer) changesFrom(ctx context.Context, a, b plumbing.Hash) (map[string]pathChange, error) {
	out := map[string]pathChange{}
	return out, s.obj.DiffWithin(ctx, a, b, maxDiffering, func(path string, was, is plumbing.Hash) {
		if fold.ValidPath(path) == nil {
			out[path] = pathChange{was, is}
		}
	})
}

// rebase makes one file's change in a tree that from another base.
func (s *Syncer) rebase(changes map[string]pathChange, tree plumbing.Hash, path string, base plumbing.Hash) error {
	is, err := s.obj.Lookup(tree, path)
	if err != nil {
		return err
	}
	if delete(changes, path); is != base {
		changes[path] = pathChange{was: base, is: is}
	}
	return nil
}

// mergePath merges one file that both sides hold and changed.
func (s *Syncer) mergePath(ctx context.Context, m *merging, path string, base, ours, theirs plumbing.Hash) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	their, why, err := s.incoming(path, theirs)
	if err != nil {
		return err
	}
	our, err := s.obj.Blob(ours)
	if err != nil {
		return err
	}
	if m.change[path] = ours; why != nil {
		// The side that can be read wins; the other stays in the remote's history.
		m.aside[path] = why
		return s.unlessHeld(m, path, ours)
	}
	if path != fold.ProjectFile {
		m.merged++
	}
	var was []byte
	if !base.IsZero() {
		if was, _, err = s.incoming(path, base); err != nil {
			return err
		}
	}
	var b []byte
	conflicts := 0
	if path == fold.ProjectFile {
		b = mergeProject(our, their)
	} else {
		r, err := fold.Merge3(was, our, their, fold.MergeOptions{Now: s.now(), Project: s.slug, Path: path})
		if err != nil {
			return fmt.Errorf("merge %s: %w", path, err)
		}
		b, conflicts = r.Bytes, len(r.Conflicts)
	}
	if conflicts > 0 {
		m.conflicts++
	}
	if why := s.store.Check(path, b); why != nil { // too large, for one
		m.aside[path] = fmt.Errorf("merged with the remote: %w", why)
		return s.unlessHeld(m, path, ours)
	}
	h := plumbing.ComputeHash(plumbing.BlobObject, b)
	if h == theirs {
		delete(m.change, path)
	} else {
		m.change[path] = h
	}
	if h != ours {
		m.take[path] = h
		m.fresh[path] = b
	}
	return nil
}

// unlessHeld takes our version of a path back from the merge if it may not be
// published.
func (s *Syncer) unlessHeld(m *merging, path string, ours plumbing.Hash) error {
	why, err := s.mayPublish(path, ours)
	if why != nil {
		delete(m.change, path)
		m.back[path] = why
	}
	return err
}

// incoming returns the bytes of a file of the remote, or why it may not enter
// (G6, G7).
func (s *Syncer) incoming(path string, h plumbing.Hash) (b []byte, why, err error) {
	n, err := s.obj.Size(h)
	if err != nil {
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil, fmt.Errorf("%s: the remote did not send it: %w", path, fold.ErrQuarantined), nil
		}
		return nil, nil, fmt.Errorf("object %s: %w", h, err)
	}
	if n > fold.MaxFile {
		return nil, fmt.Errorf("%s: larger than 1 MiB: %w", path, fold.ErrQuarantined), nil
	}
	if b, err = s.obj.Blob(h); err != nil {
		return nil, nil, err
	}
	if b == nil {
		b = []byte{}
	}
	if path == fold.ProjectFile {
		if _, _, err := conf.ParseProject(b); err != nil {
			return nil, err, nil
		}
	}
	return b, s.store.Check(path, b), nil
}

// mayPublish returns why a file of ours may not leave: it was looked at when it
// was recorded, but what counts as a secret may have been learned since.
func (s *Syncer) mayPublish(path string, h plumbing.Hash) (why, err error) {
	if h.IsZero() {
		return nil, nil
	}
	b, err := s.obj.Blob(h)
	if err != nil {
		return nil, err
	}
	if err := s.store.Check(path, b); err != nil {
		return fmt.Errorf("not published: %w", err), nil
	}
	return nil, nil
}

// mergeProject joins two project files (G19). One that cannot be read loses; of
// two that cannot, the larger wins, so that every machine takes the same.
func mergeProject(ours, theirs []byte) []byte {
	o, _, oerr := conf.ParseProject(ours)
	t, _, terr := conf.ParseProject(theirs)
	switch {
	case oerr != nil && terr != nil:
		return slices.MaxFunc([][]byte{ours, theirs}, slices.Compare)
	case oerr != nil:
		return theirs
	case terr != nil:
		return ours
	}
	return conf.EncodeProject(conf.MergeProject(o, t))
}

// commitMerge writes the merge as one commit on the remote's tip (G12) and
// returns it: theirs itself if the merge adds nothing to it, ours if that is
// already such a commit. The caller holds commit.
func (s *Syncer) commitMerge(ctx context.Context, m *merging, base, ours, theirs plumbing.Hash) (_ plumbing.Hash, err error) {
	defer func() {
		if err != nil {
			s.obj.Drop()
			err = fmt.Errorf("commit the merge: %w", err)
		}
	}()
	tree, err := s.obj.TreeOf(theirs)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, b := range m.fresh {
		if _, err := s.obj.Put(plumbing.BlobObject, b); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	next, err := s.obj.Splice(tree, m.change)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if next == tree && !theirs.IsZero() || len(m.change) == 0 {
		return theirs, s.obj.Flush()
	}
	if c, err := s.obj.CommitOf(ours); err == nil && c.TreeHash == next && objdb.FirstParent(c) == theirs && len(c.ParentHashes) <= 1 {
		return ours, s.obj.Flush()
	}
	files, err := s.changedFiles(tree, m.change)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	by, err := s.commits.CoAuthors(ctx, ours, base)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	n, err := s.commits.Put(next, theirs, s.commits.Message("", files)+by)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return n, s.obj.FlushWhile(ctx)
}

// maxToldFiles is up to how many files of a commit are read to say what it does.
const maxToldFiles = 2000

// changedFiles returns changes of a tree as a message tells them.
func (s *Syncer) changedFiles(tree plumbing.Hash, changes map[string]plumbing.Hash) ([]commits.Change, error) {
	var files []commits.Change
	known := map[string]plumbing.Hash{}
	if len(changes) > 200 {
		var err error
		if known, err = s.obj.List(tree); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		was, is := known[path], changes[path]
		var err error
		if len(changes) <= 200 {
			if was, err = s.obj.Lookup(tree, path); err != nil {
				return nil, err
			}
		}
		if is == was {
			continue
		}
		f := commits.Change{Path: path, Added: was.IsZero()}
		if !is.IsZero() {
			f.Is = []byte{}
			if len(changes) <= maxToldFiles {
				if f.Is, err = s.obj.Blob(is); err != nil {
					return nil, err
				}
			}
		}
		if fold.MarkedDeleted(f.Is) {
			f.Is = nil
		}
		files = append(files, f)
	}
	return s.nameRemoved(files, tree)
}
