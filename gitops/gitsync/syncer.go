// Package gitsync keeps the branch foldwatch of one store and that of its remote the same:
// it makes a commit of what may be published, fetches, merges in the object store, pushes,
// and has the store take in what came (git.md G11 to G15). A [Syncer] owns the branch,
// what was seen of the remote's, and sync.json in the state folder; working files, the
// journal and its lock are the [Store]'s. Everything here may block on the disk; what
// names a remote may also wait for the network.
package gitsync

import (
	"context"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// References of our own repository.
const (
	RefBranch   = objdb.Head                // what may be published
	RefSquashed = "refs/foldwatch/squashed" // the journal commit that RefBranch holds
	RefRemote   = "refs/foldwatch/remote"   // newest commit of the remote's branch that we have seen and hold
)

// A Store is the fold/ and the journal that are synced.
type Store interface {
	// MaySync returns why nothing may be synced, or nil.
	MaySync() error
	// Lock takes the lock of commits, or returns why nothing may be written.
	Lock() (unlock func(), err error)
	// Journal returns the newest commit of the journal; zero before the first.
	Journal() (plumbing.Hash, error)
	// Guard returns why the vanish guard is up; "" if it is not.
	Guard() (reason string, err error)
	// Check returns why the bytes at path may not enter a commit, or nil.
	Check(path string, b []byte) error
	// Read returns the working file at path below fold/.
	Read(path string) ([]byte, error)
	// Write changes working files, each merged with what it was changed to meanwhile
	// if it says so. It returns what was written and what could not be, and an error
	// if all is to be tried again.
	Write(ctx context.Context, changes []Change) (done []string, failed map[string]error, err error)
	// Record has the journal take the files at paths as they are. It returns why the
	// vanish guard did not let it; "" if it did.
	Record(ctx context.Context, paths []string, subject string) (guard string, err error)
	// SetAside notes for status why a file stays out; "" takes that back.
	SetAside(path, reason string)
	// Changed tells of files that were written.
	Changed(paths []string)
}

// A Change is one working file to be created, replaced or deleted.
type Change struct {
	Path  string
	Base  []byte // what it is replaced for; nil: no file
	New   []byte // nil: delete
	Merge bool   // what is not Base is merged; without it, refused
}

// A SetAside is a file that did not enter, and why.
type SetAside struct {
	Path string
	Err  error
}

// Options say what a Syncer works on. All fields are required but Slug.
type Options struct {
	Store   Store
	Objects *objdb.Repo
	History *history.Reader
	Commits *commits.Writer
	Repo    *usergit.Repo
	Slug    string
	Now     func() time.Time
}

// A Syncer syncs one store with its remote. Safe for concurrent use.
type Syncer struct {
	store   Store
	obj     *objdb.Repo
	hist    *history.Reader
	commits *commits.Writer
	repo    *usergit.Repo
	slug    string
	now     func() time.Time
	ssh     transport.SSH

	syncing sync.Mutex // one sync at a time; taken before the lock of commits

	mu      sync.Mutex // guards contact
	contact time.Time  // when the remote last answered
}

// New returns the syncer of a store.
func New(o Options) *Syncer {
	return &Syncer{store: o.Store, obj: o.Objects, hist: o.History, commits: o.Commits, repo: o.Repo, slug: o.Slug, now: o.Now}
}

// Pause keeps syncs from beginning until resume is called: joining packs drops what a
// fetch has brought and nothing names yet. It is not ok while one runs.
func (s *Syncer) Pause() (resume func(), ok bool) {
	if !s.syncing.TryLock() {
		return nil, false
	}
	return s.syncing.Unlock, true
}

func hashText(h plumbing.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}
