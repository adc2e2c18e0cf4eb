package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxFile is the size up to which a file of fold/ is read, written and
// committed (G6).
const maxFile = 1 << 20

// IgnoreText makes fold/ hide itself from git and from packers, in every work
// tree, without a byte of the user's own files changing.
const IgnoreText = "# Memories are kept in a repository of their own (.git/foldwatch), not in this one.\n" +
	"# foldwatch wrote this file; without it git would show fold/ as untracked.\n*\n"

// StoreOptions say which store to open. Layout is required; the zero value of
// the rest works.
type StoreOptions struct {
	Layout  *usergit.Repo
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
	opt  StoreOptions
	l    *usergit.Repo
	log  *slog.Logger
	lock *disk.LockFile
	obj  *objdb.Repo
	wal  *wal.Log

	paths  pathLocks    // one writer a path
	flight sync.RWMutex // held for reading while a write is on its way from wal to disk

	perCommit int // files; see commitFiles

	held     atomic.Bool  // see Hold
	bulks    atomic.Int64 // see Bulk
	seenOnce sync.Once    // reads seen
	newest   atomic.Pointer[newest]
	ofUser   atomic.Pointer[newestOfUser]
	syncing  sync.Mutex // one sync at a time; taken before commit
	commit   sync.Mutex // one commit, scan, restore, repack or mirror at a time; guards who
	who      identity
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
	contact   time.Time               // when the remote last answered
	ssh       transport.SSH
	closed    bool
}

// OpenStore opens the store of a repository and makes it if need be, takes its
// lock for as long as it is open, and finishes the writes a crash interrupted.
// It returns a *disk.LockedError that names the holder if another process has
// the store open.
func OpenStore(ctx context.Context, opt StoreOptions) (_ *Store, err error) {
	if opt.Layout == nil {
		return nil, fmt.Errorf("open store: no layout: %w", fold.ErrInvalid)
	}
	opt.Layout = opt.Layout.InMode(opt.Tracked)
	s := &Store{perCommit: commitFiles, opt: opt, l: opt.Layout, log: opt.Log, setAside: map[string]string{}, seen: map[string]seenFile{}, gone: map[string]time.Time{}}
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
	if _, err := root.CleanTemps(); err != nil {
		return err
	}
	return s.hideFold(root)
}

// foldDir is the name of the folder of memories.
func (s *Store) foldDir() string {
	if s.opt.FoldDir == "" {
		return "fold"
	}
	return s.opt.FoldDir
}

// hideFold writes fold/.gitignore where there is none. In tracked mode it takes away the
// one that we wrote.
func (s *Store) hideFold(root *disk.Root) error {
	if s.opt.Tracked {
		err := root.Remove(".gitignore", []byte(IgnoreText))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fold.ErrConflict) {
			return nil // there is none, or a person's
		}
		return err
	}
	if s.l.MainTree == "" {
		return nil // in the git directory nobody tracks it
	}
	err := root.Create(".gitignore", []byte(IgnoreText))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// openFold opens fold/ as it is now: the user may have removed and made it
// anew since the last time. It returns fs.ErrNotExist if it is missing, and
// ErrUnavailable if the checkout is. The caller closes it.
func (s *Store) openFold(create bool) (*disk.Root, error) {
	parent, name := s.l.FoldParent(s.opt.FoldDir)
	p, err := disk.OpenRoot(parent, disk.Options{Faults: s.opt.Faults})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errCheckoutMissing(parent)
		}
		return nil, err
	}
	defer p.Close()
	if create {
		if err := p.MkdirAll(name); err != nil {
			return nil, err
		}
	}
	root, err := p.OpenSub(name)
	if err != nil {
		return nil, err
	}
	// In tracked mode git shows, and adds, whatever lies in fold/ for a moment.
	if err := root.TempsIn(filepath.Join(s.l.StateDir(), "temp")); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// errCheckoutMissing says that the checkout itself is not there. It hides
// fs.ErrNotExist: nothing may be taken for deleted.
func errCheckoutMissing(dir string) error {
	return fold.WithHint(fmt.Errorf("the checkout %s is missing: %w", dir, fold.ErrUnavailable),
		"mount or clone it again, or run: foldwatch remove")
}

func (s *Store) hasJournal() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.tip.IsZero()
}

// Hold says whether writes of many files leave their commit to the caller. Until
// then they are in the wal.
func (s *Store) Hold(hold bool) { s.held.Store(hold) }

// Bulk says that many calls of PutMany follow, which are to be one commit: until
// end, commits wait, unless the log grows past bulkBytes. What is acknowledged is
// in the log and durable as ever. End commits what was written, also after an
// error, unless commits are on hold.
func (s *Store) Bulk() (end func(ctx context.Context) error) {
	s.bulks.Add(1)
	return func(ctx context.Context) error {
		if s.bulks.Add(-1) > 0 || s.held.Load() {
			return nil
		}
		_, err := s.Commit(ctx, nil, "")
		return err
	}
}

// Uncommitted returns the paths of acknowledged writes that are not in the
// journal yet, sorted.
func (s *Store) Uncommitted() []string {
	var paths []string
	for _, e := range s.wal.Entries() {
		paths = append(paths, e.Path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// changed tells the caller which paths were written.
func (s *Store) changed(paths []string) {
	if s.opt.Changed != nil && len(paths) > 0 {
		s.opt.Changed(paths)
	}
}

// writable returns why nothing may be written, or nil.
func (s *Store) writable() error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return fmt.Errorf("store is closed: %w", fold.ErrUnavailable)
	}
	if !s.wal.Present() {
		return fold.WithHint(fmt.Errorf("%s was removed or replaced: %w", s.l.StateDir(), fold.ErrUnavailable),
			"run foldwatch up again in this checkout")
	}
	return nil
}

// lockCommit takes the lock of commits. It returns why nothing may be written instead,
// also where the store was closed while the lock was waited for.
func (s *Store) lockCommit() error {
	s.commit.Lock()
	if err := s.writable(); err != nil {
		s.commit.Unlock()
		return err
	}
	return nil
}

// Present reports whether the state folder is still the one that was opened: a
// checkout that was removed and cloned anew has none, or another.
func (s *Store) Present() bool { return s.wal.Present() }

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

// A Status says how the store stands.
type Status struct {
	Tip        string            // newest journal commit; "" before the first
	LastCommit time.Time         // zero before the first
	Loose      int               // objects in files of their own
	WalEntries int               // acknowledged writes not yet in the journal
	Guarded    bool              // the vanish guard is up: nothing is committed
	Reason     string            // why
	SetAside   map[string]string // path → why it is not committed
}

// Status returns how the store stands now.
func (s *Store) Status() Status {
	st := Status{SetAside: map[string]string{}}
	s.mu.Lock()
	if !s.tip.IsZero() {
		st.Tip = s.tip.String()
	}
	st.LastCommit = s.tipTime
	if s.guard != nil {
		st.Guarded, st.Reason = true, s.guard.Reason
	}
	maps.Copy(st.SetAside, s.setAside)
	closed := s.closed
	s.mu.Unlock()
	st.WalEntries, _ = s.wal.Count()
	if !closed {
		st.Loose = s.obj.CountLoose()
	}
	return st
}

// Tip returns the newest journal commit, or "" before the first.
func (s *Store) Tip() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tip.IsZero() {
		return ""
	}
	return s.tip.String()
}

// Read returns the bytes of the file at path below fold/ as they are on disk. A
// file marked `deleted: true` is none: fs.ErrNotExist.
func (s *Store) Read(path string) ([]byte, error) {
	root, err := s.openFold(false)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b, _, err := root.Read(path, maxFile)
	if gone := fold.MarkedDeleted(b); gone && err == nil {
		return nil, fmt.Errorf("%s was deleted: %w", path, fs.ErrNotExist)
	}
	return b, err
}

// pathLocks lets one writer at a time at each path.
type pathLocks struct {
	mu   sync.Mutex
	held map[string]*pathLock
}

type pathLock struct {
	mu   sync.Mutex
	uses int // guarded by pathLocks.mu
}

// lock takes the lock of path and returns what lets it go.
func (p *pathLocks) lock(path string) func() {
	p.mu.Lock()
	if p.held == nil {
		p.held = map[string]*pathLock{}
	}
	l := p.held[path]
	if l == nil {
		l = &pathLock{}
		p.held[path] = l
	}
	l.uses++
	p.mu.Unlock()
	l.mu.Lock()
	return func() {
		l.mu.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.uses--; l.uses == 0 {
			delete(p.held, path)
		}
	}
}
