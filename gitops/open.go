package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// OpenStore opens the store of a repository and makes it if need be, takes its
// lock for as long as it is open, and finishes the writes a crash interrupted.
// It returns a *disk.LockedError that names the holder if another process has
// the store open.
func OpenStore(ctx context.Context, opt StoreOptions) (_ *Store, err error) {
	if opt.Repo == nil {
		return nil, fmt.Errorf("open store: no repository: %w", fold.ErrInvalid)
	}
	opt.Repo = opt.Repo.InMode(opt.Tracked)
	s := &Store{perCommit: commitFiles, opt: opt, l: opt.Repo, log: opt.Log, known: known{setAside: map[string]string{}, seen: map[string]seenFile{}, gone: map[string]time.Time{}}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opt.Now == nil {
		s.opt.Now = time.Now
	}
	s.user = s.l.Folder(s.foldDir(), s.opt.Now)
	defer func() {
		if err != nil {
			_ = s.Close()
			err = fmt.Errorf("open store of %s: %w", s.l.CommonDir, err)
		}
	}()
	state := s.l.StateDir()
	if err := os.MkdirAll(state, 0o777); err != nil {
		return nil, err
	}
	if !opt.Locked {
		if s.lock, err = s.l.Lock(); err != nil {
			return nil, err
		}
	}
	if s.obj, err = objdb.Open(filepath.Join(state, usergit.RepoName), opt.Faults, false); err != nil {
		return nil, err
	}
	s.hist = history.New(s.obj, s.start, gitsync.RefRemote)
	s.commits = &commits.Writer{Objects: s.obj, Repo: s.l, Slug: opt.Slug, Now: s.opt.Now, Author: opt.Author}
	s.sync = gitsync.New(gitsync.Options{
		Store: synced{s}, Objects: s.obj, History: s.hist, Commits: s.commits,
		Repo: s.l, Slug: opt.Slug, Now: s.opt.Now,
	})
	s.upstream = upstream.Open(s.l, s.writable, opt.Faults)
	if err := s.loadTip(); err != nil {
		return nil, err
	}
	if s.wal, err = wal.Open(state, opt.Faults); err != nil {
		return nil, err
	}
	if err := (replayer{s}).takeDeferred(); err != nil {
		return nil, err
	}
	if err := s.sweepState(); err != nil {
		return nil, err
	}
	if err := (vanishGuard{s}).loadGuard(); err != nil {
		return nil, err
	}
	if err := (tracker{s}).loadPending(); err != nil {
		return nil, err
	}
	if err := s.prepareFold(); err != nil {
		return nil, err
	}
	changed, err := (replayer{s}).replayStart(ctx)
	if err != nil {
		return nil, err
	}
	s.changed(changed)
	if err := s.changeMode(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// loadTip reads where the journal and the descriptions stand.
func (s *Store) loadTip() error {
	described, err := s.obj.Ref(refDescribed)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.known.described = described
	s.mu.Unlock()
	tip, err := s.obj.Ref(refJournal)
	if err != nil || tip.IsZero() {
		return err
	}
	c, err := s.obj.CommitOf(tip)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.tip, s.known.tipTime = tip, c.Committer.When
	return nil
}

// prepareFold makes fold/ and its ignore file. Where the journal knows
// memories and the folder is gone, nothing is made: that is for the vanish
// guard to judge. In tracked mode fold/ comes and goes with the branch, and what hid it
// from git in sidecar mode is taken away.
func (s *Store) prepareFold() error {
	root, err := s.openFold(false)
	if errors.Is(err, fs.ErrNotExist) {
		if s.opt.Tracked {
			return nil
		}
		if s.hasJournal() {
			(vanishGuard{s}).raiseGuard(reasonFoldMissing)
			return nil
		}
		root, err = s.openFold(true)
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.CleanTemps(func(path string, b []byte) error { return s.mergeLeftover(root, path, b) }); err != nil {
		return err
	}
	return s.hideFold(root)
}

// Close lets go of the lock. Writes under way end first; what is not yet in
// the journal stays in the wal.
func (s *Store) Close() error {
	s.commit.Lock()
	defer s.commit.Unlock()
	s.flight.Lock()
	defer s.flight.Unlock()
	s.mu.Lock()
	done := s.known.closed
	s.known.closed = true
	s.mu.Unlock()
	if done {
		return nil
	}
	var errs []error
	if s.wal != nil {
		(recorder{s}).saveSeen()
		errs = append(errs, s.wal.Close())
	}
	if s.obj != nil {
		errs = append(errs, s.obj.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
