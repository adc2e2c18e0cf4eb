package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// sidecars shares one history store among the checkouts that have one fold/: in sidecar
// mode all linked worktrees of a repository. It is safe for concurrent use.
type sidecars struct {
	locks repoLocks

	mu   sync.Mutex // guards the fields below; held while a store is opened
	open map[string]*sidecar
}

type sidecar struct {
	store     *gitops.Store
	commonDir string
	tracked   bool // the mode that it was opened in
	users     int
	closed    chan struct{} // closed when the store is

	mu        sync.Mutex // guards the fields below
	listeners map[*checkout]func([]string)
	holds     map[*checkout]bool // who wants no commits
}

func newSidecars() *sidecars { return &sidecars{open: map[string]*sidecar{}} }

// get opens the store under key, or shares it. One that is open in the other mode is
// waited for until its last user has closed it. Changed is told of every path that any
// user of the store writes.
func (s *sidecars) get(ctx context.Context, key string, co *checkout, changed func([]string), opt gitops.StoreOptions) (*sidecar, error) {
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
	sc := s.open[key]
	if sc == nil {
		sc = &sidecar{
			commonDir: opt.Repo.CommonDir, tracked: opt.Tracked, closed: make(chan struct{}),
			listeners: map[*checkout]func([]string){}, holds: map[*checkout]bool{},
		}
		if err := s.locks.take(opt.Repo); err != nil {
			return nil, err
		}
		opt.Changed, opt.Locked = sc.changed, true
		store, err := gitops.OpenStore(ctx, opt)
		if err != nil {
			return nil, errors.Join(err, s.locks.give(sc.commonDir))
		}
		sc.store = store
		s.open[key] = sc
	}
	sc.users++
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.listeners[co] = changed
	return sc, nil
}

// put gives up one use of the store under key; the last closes it.
func (s *sidecars) put(key string, co *checkout) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.open[key]
	if sc == nil {
		return nil
	}
	sc.mu.Lock()
	delete(sc.listeners, co)
	sc.mu.Unlock()
	sc.hold(co, false)
	if sc.users--; sc.users > 0 {
		return nil
	}
	delete(s.open, key)
	defer close(sc.closed)
	return errors.Join(sc.store.Close(), s.locks.give(sc.commonDir))
}

// hold says whether co wants no commits: as long as anyone wants none, there are
// none of writes of many files either.
func (sc *sidecar) hold(co *checkout, hold bool) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	delete(sc.holds, co)
	if hold {
		sc.holds[co] = true
	}
	sc.store.Hold(len(sc.holds) > 0)
}

// changed tells all checkouts that share the store what was written. It holds
// no lock meanwhile: a listener may be leaving.
func (sc *sidecar) changed(paths []string) {
	sc.mu.Lock()
	listeners := slices.Collect(maps.Values(sc.listeners))
	sc.mu.Unlock()
	for _, fn := range listeners {
		fn(paths)
	}
}
