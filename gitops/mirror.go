package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The mirror is a copy of the journal outside the checkout: rm -rf and a new
// clone is the commonest repair there is. Copies of one project share a mirror. Each
// has references of its own in it, so that none of them loses what only it had; those
// of the usual names are of the copy that wrote last, for a clone in a new place.

// Mirror copies what the journal has new to the mirror of the options. It does
// nothing if there is none, or nothing new.
func (s *Store) Mirror(ctx context.Context) error {
	if s.opt.Mirror == "" {
		return nil
	}
	if err := s.lockCommit(); err != nil {
		return err
	}
	defer s.commit.Unlock()
	tip, err := s.start()
	if err != nil {
		return err
	}
	s.mu.Lock()
	same := s.known.pushed == tip
	s.mu.Unlock()
	if same || tip.IsZero() {
		return nil
	}
	if err := s.mirrorTo(ctx, s.opt.Mirror); err != nil {
		return fmt.Errorf("mirror the journal: %w", err)
	}
	s.mu.Lock()
	s.known.pushed = tip
	s.mu.Unlock()
	return nil
}

func (s *Store) mirrorTo(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockMirror(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	to, err := objdb.Open(dir, s.opt.Faults, false)
	if err != nil {
		return err
	}
	defer to.Close()
	own := copyPrefix(s.l.FoldOwner())
	for _, ref := range mirrored() {
		for _, as := range []string{own + path.Base(ref), ref} {
			if err := objdb.CopyRef(ctx, s.obj, to, ref, as); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, as := range []string{own + path.Base(refDescribed), refDescribed} {
		if err := objdb.CopyTreeRef(ctx, s.obj, to, refDescribed, as); err != nil {
			return err
		}
	}
	if _, err := to.Repack(ctx, maxLoose, maxPacks, runGit); err != nil { // slower, not wrong
		s.log.WarnContext(ctx, "Objects of the mirror not packed", "err", err)
	}
	return nil
}

// mirrored are the references of history that a mirror has, the journal first.
func mirrored() []string { return []string{refJournal, gitsync.RefBranch, gitsync.RefSquashed} }

// copyPrefix begins the references that the checkout of a common git directory has
// for itself in a mirror.
func copyPrefix(commonDir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(commonDir)))
	return "refs/foldwatch/copies/" + hex.EncodeToString(sum[:8]) + "/"
}

// lockMirror waits until no other copy writes to the mirror at dir.
func lockMirror(ctx context.Context, dir string) (unlock func(), err error) {
	for until := time.Now().Add(mirrorWait); ; {
		lock, err := disk.Lock(filepath.Join(dir, "foldwatch.lock"), "pid "+strconv.Itoa(os.Getpid()))
		if err == nil {
			return func() { _ = lock.Close() }, nil
		}
		if _, held := errors.AsType[*disk.LockedError](err); !held || time.Now().After(until) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(mirrorPause):
		}
	}
}

// mirrorWait is how long another copy is waited for: it writes what came in half a
// minute.
const mirrorWait = 10 * time.Second

// mirrorPause is the time between tries.
const mirrorPause = 50 * time.Millisecond

// MirrorHolds reports whether there is a mirror at dir with a journal in it,
// and how many files its newest state has: what add offers to restore.
func MirrorHolds(dir string) (files int, ok bool) {
	o, err := objdb.Open(dir, nil, true)
	if err != nil {
		return 0, false
	}
	defer o.Close()
	tip, err := o.Ref(refJournal)
	if err != nil || tip.IsZero() {
		return 0, false
	}
	tree, err := o.TreeOf(tip)
	if err != nil {
		return 0, false
	}
	all, err := o.List(tree)
	return len(all), err == nil
}

// MirrorKnows reports whether the mirror at dir has the journal of a checkout that
// lay where this store's does.
func (s *Store) MirrorKnows(dir string) bool {
	o, err := objdb.Open(dir, nil, true)
	if err != nil {
		return false
	}
	defer o.Close()
	tip, err := o.Ref(copyPrefix(s.l.FoldOwner()) + path.Base(refJournal))
	return err == nil && !tip.IsZero()
}

// ForgetCopy takes away what the mirror at dir has of the checkout of one common git
// directory alone.
func ForgetCopy(dir string, l *usergit.Repo) error {
	err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(copyPrefix(l.FoldOwner()))))
	if err != nil {
		return fmt.Errorf("forget a copy: %w", err)
	}
	return nil
}

// RestoreMirror takes the history of the mirror at dir as the store's own and
// writes its newest files to fold/; files that exist are left as they are. Where a
// checkout lay in the same place, it is that one's, else that of the copy that wrote
// last. It
// returns ErrConflict unless the journal is still empty.
func (s *Store) RestoreMirror(ctx context.Context, dir string) (files int, err error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	paths, err := s.takeMirror(ctx, dir)
	if err != nil {
		return 0, fmt.Errorf("restore from mirror: %w", err)
	}
	s.changed(paths)
	return len(paths), nil
}

func (s *Store) takeMirror(ctx context.Context, dir string) ([]string, error) {
	if err := s.lockCommit(); err != nil {
		return nil, err
	}
	defer s.commit.Unlock()
	if s.hasJournal() {
		return nil, fmt.Errorf("this checkout has a history of its own: %w", fold.ErrConflict)
	}
	unlock, err := lockMirror(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	from, err := objdb.Open(dir, nil, true)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	prefix := copyPrefix(s.l.FoldOwner())
	as := func(ref string) string {
		if prefix == "" {
			return ref
		}
		return prefix + path.Base(ref)
	}
	tip, err := from.Ref(as(refJournal))
	if err == nil && tip.IsZero() {
		prefix = ""
		tip, err = from.Ref(refJournal)
	}
	if err != nil {
		return nil, err
	}
	if tip.IsZero() {
		return nil, fmt.Errorf("no journal in %s: %w", dir, fold.ErrNotFound)
	}
	// Files first: a journal without its files would look like a deletion.
	tree, err := from.TreeOf(tip)
	if err != nil {
		return nil, err
	}
	all, err := from.List(tree)
	if err != nil {
		return nil, err
	}
	paths := slices.Sorted(maps.Keys(all))
	var batch []disk.File
	root, err := s.foldForWrite()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, p := range paths {
		if !allowed(p) {
			continue
		}
		b, err := from.Get(plumbing.BlobObject, all[p])
		if err != nil {
			return nil, err
		}
		batch = append(batch, disk.File{Path: p, Data: b})
		if len(batch) == batchFiles {
			if err := createMany(root, batch); err != nil {
				return nil, err
			}
			batch = batch[:0]
		}
	}
	if err := createMany(root, batch); err != nil {
		return nil, err
	}
	if err := objdb.CopyTreeRef(ctx, from, s.obj, as(refDescribed), refDescribed); err != nil {
		return nil, err
	}
	for _, ref := range []string{gitsync.RefBranch, gitsync.RefSquashed, refJournal} {
		if err := objdb.CopyRef(ctx, from, s.obj, as(ref), ref); err != nil {
			s.obj.Drop()
			return nil, err
		}
	}
	return paths, errors.Join(s.loadTip(), ctx.Err())
}
