package gitsync

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Squash makes what the journal has new since the last time into one commit on
// the branch foldwatch (G4). Memories with visibility: local stay out (G6): of
// one that became local the branch loses its file. It returns the commit, or
// "" if there is nothing new. Whether it is time is the caller's to know:
// [Syncer.SquashedAt] says when it was done last.
func (s *Syncer) Squash(ctx context.Context) (oid string, err error) {
	if err := s.store.MaySync(); err != nil {
		return "", err
	}
	unlock, err := s.store.Lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	was, err := s.obj.Ref(RefBranch)
	if err != nil {
		return "", fmt.Errorf("squash the journal: %w", err)
	}
	branch, _, err := s.squash(ctx)
	if err != nil || branch == was {
		return "", err
	}
	return branch.String(), nil
}

// squash is Squash with the lock held. It returns the commit of the branch, and
// the journal commit whose state it holds; both are zero before the first.
func (s *Syncer) squash(ctx context.Context) (branch, journal plumbing.Hash, err error) {
	defer func() {
		if err != nil {
			s.obj.Drop()
			err = fmt.Errorf("squash the journal: %w", err)
		}
	}()
	if branch, err = s.obj.Ref(RefBranch); err != nil {
		return branch, journal, err
	}
	done, err := s.obj.Ref(RefSquashed)
	if err != nil {
		return branch, journal, err
	}
	tip, err := s.store.Journal()
	if err != nil || tip.IsZero() || done == tip {
		return branch, done, err
	}
	tree, err := s.obj.TreeOf(branch)
	if err != nil {
		return branch, journal, err
	}
	changed, err := s.publishable(ctx, done, tip, tree)
	if err != nil {
		return branch, journal, err
	}
	next, err := s.obj.Splice(tree, changed.blobs)
	if err != nil {
		return branch, journal, err
	}
	if next == tree || branch.IsZero() && len(changed.blobs) == 0 {
		s.obj.Drop()
		return branch, tip, s.obj.SetRef(RefSquashed, tip)
	}
	by, err := s.commits.CoAuthors(ctx, tip, done)
	if err != nil {
		return branch, journal, err
	}
	at, err := s.commits.Put(next, branch, s.commits.Message("", changed.files)+by)
	if err != nil {
		return branch, journal, err
	}
	if err := s.obj.Flush(); err != nil {
		return branch, journal, err
	}
	if err := s.obj.SetRef(RefBranch, at); err != nil {
		return branch, journal, err
	}
	return at, tip, s.obj.SetRef(RefSquashed, tip)
}

// A publish is what may go from the journal to the branch.
type publish struct {
	blobs map[string]plumbing.Hash // zero: leave out
	files []commits.Change         // the same, for the message
}

// publishable returns what differs between two journal commits, and what branch, a
// tree, got from one in between and was taken back since: local memories and
// files marked as deleted are left out.
func (s *Syncer) publishable(ctx context.Context, from, to, branch plumbing.Hash) (p publish, err error) {
	a, err := s.obj.TreeOf(from)
	if err != nil {
		return p, err
	}
	b, err := s.obj.TreeOf(to)
	if err != nil {
		return p, err
	}
	p.blobs = map[string]plumbing.Hash{}
	old := map[string]plumbing.Hash{}
	err = s.obj.Diff(a, b, func(path string, was, is plumbing.Hash) { p.blobs[path], old[path] = is, was })
	if err != nil {
		return p, err
	}
	if err := s.takenBack(ctx, from, to, branch, p.blobs, old); err != nil {
		return p, err
	}
	for _, path := range slices.Sorted(maps.Keys(p.blobs)) {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		f := commits.Change{Path: path, Added: old[path].IsZero()}
		h := p.blobs[path]
		var isLocal bool
		if !h.IsZero() {
			b, err := s.obj.Blob(h)
			if err != nil {
				return p, err
			}
			if gone := fold.MarkedDeleted(b); gone { // here a deletion needs no mark
				h, p.blobs[path] = plumbing.ZeroHash, plumbing.ZeroHash
			} else {
				isLocal = s.local(path, b)
				f.Is = b
			}
		}
		if h.IsZero() || isLocal {
			// What was never published is not withdrawn either: the branch may
			// have a memory of that name from others.
			wasLocal, err := s.wasLocal(path, old[path])
			switch {
			case err != nil:
				return p, err
			case wasLocal:
				delete(p.blobs, path)
				continue
			case isLocal:
				p.blobs[path] = plumbing.ZeroHash
				continue
			}
		}
		p.files = append(p.files, f)
	}
	p.files, err = s.nameRemoved(p.files, a)
	return p, err
}

// nameRemoved gives files, if they are one that is removed, the text it had in a tree: a
// message of one file names its title.
func (s *Syncer) nameRemoved(files []commits.Change, tree plumbing.Hash) ([]commits.Change, error) {
	if len(files) != 1 || files[0].Is != nil {
		return files, nil
	}
	was, err := s.obj.Lookup(tree, files[0].Path)
	if err == nil && !was.IsZero() {
		files[0].Was, err = s.obj.Blob(was)
	}
	return files, err
}

// takenBack adds to is and was the files that are in both journal commits the same,
// but were another in between, as branch has them now: a sync had brought that, and
// an edit or a deletion took it back before the journal was squashed again.
func (s *Syncer) takenBack(ctx context.Context, from, to, branch plumbing.Hash, is, was map[string]plumbing.Hash) error {
	if branch.IsZero() || from.IsZero() {
		return nil
	}
	held := map[string]map[plumbing.Hash]bool{} // what files were in between
	_, err := s.hist.Back(ctx, from, to, func(path string, was plumbing.Hash) {
		if _, differs := is[path]; differs || was.IsZero() {
			return
		}
		if held[path] == nil {
			held[path] = map[plumbing.Hash]bool{}
		}
		held[path][was] = true
	})
	if err != nil {
		return err
	}
	now, err := s.obj.TreeOf(to)
	if err != nil {
		return err
	}
	for path, blobs := range held {
		has, err := s.obj.Lookup(branch, path)
		if err != nil {
			return err
		}
		h, err := s.obj.Lookup(now, path)
		if err != nil {
			return err
		}
		if has != h && blobs[has] {
			is[path], was[path] = h, has
		}
	}
	return nil
}

// wasLocal reports whether what a path held before was not published.
func (s *Syncer) wasLocal(path string, old plumbing.Hash) (bool, error) {
	if old.IsZero() {
		return true, nil
	}
	b, err := s.obj.Blob(old)
	gone := fold.MarkedDeleted(b)
	return err == nil && (gone || s.local(path, b)), err
}

// local reports whether a memory is never to be published.
func (s *Syncer) local(path string, b []byte) bool {
	if path == fold.ProjectFile {
		return false
	}
	m, err := fold.Decode(s.slug, path, b)
	// What cannot be read is not known to be public.
	return err != nil || m.Visibility == "local"
}

// SquashedAt returns when the branch foldwatch last got a commit; zero if it
// has none.
func (s *Syncer) SquashedAt() (time.Time, error) {
	h, err := s.obj.Ref(RefBranch)
	if err != nil || h.IsZero() {
		return time.Time{}, err
	}
	c, err := s.obj.CommitOf(h)
	if err != nil {
		return time.Time{}, err
	}
	return c.Committer.When.UTC(), nil
}
