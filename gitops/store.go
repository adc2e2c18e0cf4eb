package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// StoreOptions say which store to open. Repo is required; the zero value of
// the rest works.
type StoreOptions struct {
	Repo    *usergit.Repo
	FoldDir string // name of the folder of memories; "" means fold
	Slug    string // of the project, for messages and ids
	Mirror  string // bare repository to copy the journal to; "" for none

	// Author is who commits are by. Nil means the user's git identity.
	Author func() (name, email string)
	// Check reports why a file may not be committed: it is no memory, or
	// holds a secret. Nil means that it must decode as a memory.
	Check func(path string, b []byte) error
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
	// Changed is told which paths below fold/ the store has written, after
	// they are durable and without any lock held. Nil is fine.
	Changed func(paths []string)
	Log     *slog.Logger // nil discards
	Faults  disk.Faults  // nil in production
	// Tracked says that the user's own branch tracks fold/ (git.md, Tracked mode). Then
	// the store is that of one work tree.
	Tracked bool
	// Locked says that the caller holds the lock of the repository, see [usergit.Repo.Lock].
	Locked bool
	// GoneAfter is for how long a file must be gone to be taken for deleted: the
	// first of many that vanish must not be, before they can be counted. Zero
	// takes the first look for it.
	GoneAfter time.Duration
}

// A Store keeps one fold/: that of a repository with all its work trees, or, in
// tracked mode, that of one work tree. It writes memories durably, records every
// settled change in the journal, and reads the journal back. One process at a time holds
// the stores of a repository (G1). Safe for concurrent use.
type Store struct {
	opt      StoreOptions
	l        *usergit.Repo
	log      *slog.Logger
	lock     *disk.LockFile
	obj      *objdb.Repo
	hist     *history.Reader
	commits  *commits.Writer
	sync     *gitsync.Syncer
	upstream *upstream.Branches
	wal      *wal.Log

	paths  pathLocks    // one writer a path
	flight sync.RWMutex // held for reading while a write is on its way from wal to disk

	perCommit int // files; see commitFiles

	held     atomic.Bool     // see Hold
	bulks    atomic.Int64    // see Bulk
	seenOnce sync.Once       // reads seen
	commit   sync.Mutex      // one commit, scan, restore, repack or mirror at a time
	user     *usergit.Folder // fold/ as the user's commits have it

	mu       sync.Mutex // guards the fields below; not held across I/O
	tip      plumbing.Hash
	tipTime  time.Time
	setAside map[string]string    // path → reason
	guard    *guardState          // nil unless the vanish guard is up
	gone     map[string]time.Time // path → since when its file is known to be gone
	seen     map[string]seenFile
	pushed   plumbing.Hash // tip the mirror holds
	// described is the tree of the newest descriptions; zero before the first.
	described plumbing.Hash
	pending   map[string]pendingWrite // by path; see pending.go
	closed    bool
}

// OpenStore opens the store of a repository and makes it if need be, takes its
// lock for as long as it is open, and finishes the writes a crash interrupted.
// It returns a *disk.LockedError that names the holder if another process has
// the store open.
func OpenStore(ctx context.Context, opt StoreOptions) (_ *Store, err error) {
	if opt.Repo == nil {
		return nil, fmt.Errorf("open store: no repository: %w", fold.ErrInvalid)
	}
	opt.Repo = opt.Repo.InMode(opt.Tracked)
	s := &Store{perCommit: commitFiles, opt: opt, l: opt.Repo, log: opt.Log, setAside: map[string]string{}, seen: map[string]seenFile{}, gone: map[string]time.Time{}}
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
	if err := s.takeDeferred(); err != nil {
		return nil, err
	}
	if err := s.sweepState(); err != nil {
		return nil, err
	}
	if err := s.loadGuard(); err != nil {
		return nil, err
	}
	if err := s.loadPending(); err != nil {
		return nil, err
	}
	if err := s.prepareFold(); err != nil {
		return nil, err
	}
	changed, err := s.replayStart(ctx)
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
	s.described = described
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
	s.tip, s.tipTime = tip, c.Committer.When
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
			s.raiseGuard(reasonFoldMissing)
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
	done := s.closed
	s.closed = true
	s.mu.Unlock()
	if done {
		return nil
	}
	var errs []error
	if s.wal != nil {
		s.saveSeen()
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
