package gitops

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
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

	mu    sync.Mutex // guards known; not held across I/O
	known known
}

// A recorder brings what changed below fold/ into the journal.
type recorder struct{ *Store }
