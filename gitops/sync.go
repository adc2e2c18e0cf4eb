package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Syncer returns what syncs the store with its remote.
func (s *Store) Syncer() *gitsync.Syncer { return s.sync }

// Upstream returns what fetches branches of the user's remote.
func (s *Store) Upstream() *upstream.Branches { return s.upstream }

// synced is the store as the syncer sees it.
type synced struct{ s *Store }

// MaySync refuses in tracked mode what publishes, or takes, memories without a commit of
// the user's (git.md T1).
func (v synced) MaySync() error {
	err := v.s.writable()
	if v.s.opt.Tracked {
		err = errors.Join(err, fold.WithHint(fmt.Errorf("memories are on the user's own branch here: %w", fold.ErrConflict), "git pull and git push carry them"))
	}
	return err
}

func (v synced) Lock() (unlock func(), err error) {
	return v.s.commit.Unlock, v.s.lockCommit()
}

func (v synced) Journal() (plumbing.Hash, error) { return v.s.start() }

func (v synced) Guard() (string, error) {
	if reason, up := v.s.guarded(); up {
		return reason, nil
	}
	root, err := v.s.openFold(false)
	if err == nil {
		return "", root.Close()
	}
	if !absentFold(err) {
		return "", err
	}
	if v.s.hasJournal() {
		return reasonFoldMissing, nil
	}
	return "", nil
}

func (v synced) Check(path string, b []byte) error { return (recorder{v.s}).check(path, b) }
func (v synced) Read(path string) ([]byte, error)  { return v.s.Read(path) }
func (v synced) SetAside(path, reason string)      { (recorder{v.s}).noteSetAside(path, reason) }
func (v synced) Changed(paths []string)            { v.s.changed(paths) }

func (v synced) Record(ctx context.Context, paths []string, subject string) (guard string, err error) {
	rec, err := (recorder{v.s}).commitNow(ctx, paths, subject)
	if rec.Guarded {
		guard = rec.Reason
	}
	return guard, err
}

func (v synced) Write(ctx context.Context, changes []gitsync.Change) (done []string, failed map[string]error, err error) {
	ws := make([]Write, len(changes))
	for i, c := range changes {
		ws[i] = Write{Path: c.Path, Base: c.Base, New: c.New, Merge: c.Merge}
		if id, own := fold.OwnPath(c.Path); own {
			ws[i].ID = id
		}
	}
	return v.s.applyWrites(ctx, ws)
}

// applyWrites writes files as Put does, in batches; what was changed meanwhile one by
// one, merged. It returns what was written and what could not be, and an error if
// all is to be tried again.
func (s *Store) applyWrites(ctx context.Context, ws []Write) (done []string, failed map[string]error, err error) {
	failed = map[string]error{}
	var single []Write
	batch := ws
	for len(batch) > 0 {
		if err := ctx.Err(); err != nil {
			return done, failed, err
		}
		k, size := 0, 0
		for k < len(batch) && k < batchFiles && size < batchBytes {
			size += len(batch[k].Base) + len(batch[k].New)
			k++
		}
		wrote, skipped, err := s.putBatch(batch[:k])
		done = append(done, wrote...)
		if err != nil {
			return done, failed, err
		}
		for _, path := range skipped { // changed under our hands: one by one, merged
			i := slices.IndexFunc(batch[:k], func(w Write) bool { return w.Path == path })
			single = append(single, batch[i])
		}
		batch = batch[k:]
	}
	for _, w := range single {
		if err := ctx.Err(); err != nil {
			return done, failed, err
		}
		_, err := s.putOne(w)
		switch {
		case err == nil:
			done = append(done, w.Path)
		case unwritable(err):
			failed[w.Path] = err
		default:
			return done, failed, err
		}
	}
	return done, failed, nil
}

// unwritable reports whether it is this one file that cannot be written, and
// not the disk: there is a link, a folder, or too much at its place.
func unwritable(err error) bool {
	return !errors.Is(err, fold.ErrUnavailable) && !disk.NoSpace(err) &&
		(errors.Is(err, disk.ErrNotRegular) || errors.Is(err, fold.ErrInvalid) || errors.Is(err, fold.ErrForbidden) ||
			errors.Is(err, fold.ErrConflict) || errors.Is(err, fs.ErrExist) || errors.Is(err, disk.ErrTooLarge))
}
