// Package tip keeps the memory files of a checkout in step with the default branch: the
// descriptions of its source files, where they become files, and the memories of its
// commits and merged requests. A [Follower] owns how far that has come. It reads the
// user's repository, writes fold/ through the store and has the [Indexer] take in what
// it wrote; all of it may block.
package tip

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// An Indexer takes in what a [Follower] writes: the ingester.
type Indexer interface {
	// Fold indexes the files at paths, relative to fold/.
	Fold(ctx context.Context, paths []string, tell progress.Func) (progress.Report, error)
	// FoldBatch indexes a few of them together with the source files that they
	// describe: one transaction, one change of words.
	FoldBatch(ctx context.Context, paths []string, sources []*cut.File) (progress.Report, error)
	// Linking calls work, which describes source files, and derives the links of the
	// files it returns.
	Linking(ctx context.Context, work func(pending bool) (names []string, told []fold.ID, err error)) error
	// Manifest returns what is known of source files, and maybe of others.
	Manifest(ctx context.Context, paths []string) (map[string]index.File, error)
}

// Options are the parts of one checkout a [Follower] works with.
type Options struct {
	Slug      string
	Key       string // of the checkout, in state.db
	Repo      *usergit.Repo
	Folder    disk.Folder   // the fold folder
	Store     *gitops.Store // nil where nothing may be written
	State     *state.DB
	Selection *selection.Selection
	Reader    *cut.Reader
	Indexer   Indexer
	Count     *progress.Counters
	Workers   int    // files that are read and cut at once
	Describe  string // "default-branch" or "worktree"
	// NoCommits keeps commits from becoming memories by themselves.
	NoCommits bool
	// MostCommits is how many do at one move of the default branch. Zero means
	// 500.
	MostCommits int
	Now         func() time.Time
}

// A Follower keeps the memory files of one checkout in step with its default branch.
// One of its methods runs at a time; FromWorkTree is safe for concurrent use.
type Follower struct {
	Options

	index  *index.DB
	branch *usergit.Branch
	whole  [2]*tree        // all files of the commits that were listed last, the last first; nil where they are many
	gaps   *gaps           // what was last looked through for files without a memory file; nil before
	saved  map[string]bool // source files that changed since the work tree was described, if it is
	ruled  string          // the rules that memory files are in step with; "" before
	anew   bool            // all descriptions are known to be of this describer, or a newer one

	// fromWorkTree says that the tree described last was the work tree.
	fromWorkTree atomic.Bool
}

// New returns what keeps the memory files of one checkout; [Follower.Attach] names its
// index.
func New(opt Options) *Follower {
	if opt.MostCommits == 0 {
		opt.MostCommits = mostCommits
	}
	return &Follower{Options: opt, branch: opt.Repo.NewBranch()}
}

// Attach has it work with an index that was just opened, or with none: versions of the
// manifest mean nothing in the next opening.
func (fo *Follower) Attach(x *index.DB) { fo.index, fo.gaps = x, nil }

// SavedPending reports whether source files were saved that are to be described as they lie
// in the work tree.
func (fo *Follower) SavedPending() bool { return len(fo.saved) > 0 }

// mostCommits become memories by themselves at one move of the tip, unless
// Options say otherwise: a pull after a year must not bury what people wrote.
const mostCommits = 500

// gaps are what a look for files without a memory file went by: the same look
// would find the same.
type gaps struct {
	oid    string // of the tree that was looked through
	rules  string
	toFold bool // memory files are wanted; without, there are no gaps
	// Versions of the manifests, in this opening.
	source, inFold int64
}
