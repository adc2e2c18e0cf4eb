// Package repos shares what the work trees of one repository have in common: the store of
// their memories, its lock, and its sync with a remote.
package repos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Stores shares one store of memories among the checkouts that have one fold/: in sidecar
// mode all linked worktrees of a repository. It is safe for concurrent use.
type Stores struct {
	locks repoLocks

	mu   sync.Mutex // guards open; held while a store is opened
	open map[string]*shared
}

// shared is a store that is open.
type shared struct {
	store     *gitops.Store
	commonDir string
	tracked   bool // the mode that it was opened in
	users     int
	closed    chan struct{} // closed when the store is

	mu   sync.Mutex // guards uses
	uses map[*Store]use
}

// use is what one user of a store wants of it.
type use struct {
	changed func([]string)
	held    bool // it wants no commits
}

// A Store is the store of the memories of a checkout, for as long as that uses it.
type Store struct {
	*gitops.Store
	all *Stores
	key string
	of  *shared
}

// Open opens the store of the fold/ at foldPath, or shares it. One that is open in the
// other mode is waited for until its last user has closed it. Changed is told of every
// path that any user of the store writes.
func (s *Stores) Open(ctx context.Context, foldPath string, changed func([]string), opt gitops.StoreOptions) (*Store, error) {
	key := opt.Repo.CommonDir + "\x00" + foldPath
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		was := s.open[key]
		if was == nil || was.tracked == opt.Tracked {
			break
		}
		s.mu.Unlock()
		select {
		case <-was.closed:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			return nil, fmt.Errorf("the mode of %s is being changed: %w", opt.Repo.CommonDir, fold.ErrUnavailable)
		}
	}
	sh := s.open[key]
	if sh == nil {
		sh = &shared{commonDir: opt.Repo.CommonDir, tracked: opt.Tracked, closed: make(chan struct{}), uses: map[*Store]use{}}
		if err := s.locks.take(opt.Repo); err != nil {
			return nil, err
		}
		opt.Changed, opt.Locked = sh.changed, true
		store, err := gitops.OpenStore(ctx, opt)
		if err != nil {
			return nil, errors.Join(err, s.locks.give(sh.commonDir))
		}
		sh.store = store
		if s.open == nil {
			s.open = map[string]*shared{}
		}
		s.open[key] = sh
	}
	sh.users++
	st := &Store{Store: sh.store, all: s, key: key, of: sh}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.uses[st] = use{changed: changed}
	return st, nil
}

// Release ends the use of the store; the last user closes it.
func (st *Store) Release() error {
	s, sh := st.all, st.of
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.mu.Lock()
	delete(sh.uses, st)
	sh.store.Hold(sh.held())
	sh.mu.Unlock()
	if sh.users--; sh.users > 0 {
		return nil
	}
	delete(s.open, st.key)
	defer close(sh.closed)
	return errors.Join(sh.store.Close(), s.locks.give(sh.commonDir))
}

// HoldCommits says whether this user wants no commits: as long as anyone wants none, there
// are none of writes of many files either.
func (st *Store) HoldCommits(held bool) {
	sh := st.of
	sh.mu.Lock()
	defer sh.mu.Unlock()
	u := sh.uses[st]
	u.held = held
	sh.uses[st] = u
	sh.store.Hold(sh.held())
}

// held reports whether anyone wants no commits; sh.mu is held.
func (sh *shared) held() bool {
	for _, u := range sh.uses {
		if u.held {
			return true
		}
	}
	return false
}

// changed tells all checkouts that share the store what was written. It holds
// no lock meanwhile: a listener may be leaving.
func (sh *shared) changed(paths []string) {
	sh.mu.Lock()
	uses := slices.Collect(maps.Values(sh.uses))
	sh.mu.Unlock()
	for _, u := range uses {
		u.changed(paths)
	}
}

// repoLocks are the locks of repositories of which stores are open, each held once for
// all of them (git.md G1).
type repoLocks struct {
	mu   sync.Mutex // guards held
	held map[string]*repoLock
}

type repoLock struct {
	close func() error
	users int
}

// take takes the lock of a repository, or shares it.
func (r *repoLocks) take(l *usergit.Repo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = map[string]*repoLock{}
	}
	lock := r.held[l.CommonDir]
	if lock == nil {
		file, err := l.Lock()
		if err != nil {
			return err
		}
		lock = &repoLock{close: file.Close}
		r.held[l.CommonDir] = lock
	}
	lock.users++
	return nil
}

// give gives one use back; the last lets go.
func (r *repoLocks) give(commonDir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	lock := r.held[commonDir]
	if lock.users--; lock.users > 0 {
		return nil
	}
	delete(r.held, commonDir)
	return lock.close()
}
