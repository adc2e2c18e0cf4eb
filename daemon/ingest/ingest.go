// Package ingest turns one changed file into a memory, chunks, words and vectors. What
// the default branch says becomes files in package tip, which it reads like any others.
//
// Everything it does is idempotent: what is done is known by content hash, so
// that doing it twice is doing it once, and a crash between two stores is
// mended by the next sweep.
package ingest

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Options are the parts of one checkout an [Ingester] works with. All stores
// are owned and closed by the caller.
type Options struct {
	Slug    string
	Key     string        // of the checkout, in state.db
	Repo    *usergit.Repo // where the checkout's git directories are
	FoldDir string        // name of the fold folder in the main work tree

	Fold    disk.Folder   // the fold folder
	Store   *gitops.Store // nil where nothing may be written
	Index   *index.DB
	Text    *textindex.Index
	Vectors *vecindex.Index
	State   *state.DB
	Cache   *cache.DB
	Cutter  cut.Cutter
	Cuts    *cut.Once // shared by all ingesters of Cache; nil means one of its own
	Embed   embed.Embedder
	Count   *progress.Counters

	// Describe is "default-branch" or "worktree".
	Describe string
	// NoCommits keeps commits from becoming memories by themselves.
	NoCommits bool
	// MostCommits is how many do at one move of the default branch. Zero means
	// 500.
	MostCommits int
	// Workers is how many files are read and cut at once, each with up to 2 MB of
	// text waiting. Zero means one for each core.
	Workers int
	// MaxBytes is how much of a file is cut and indexed. Zero means 1 MiB.
	MaxBytes int64
	// Cut is how files are cut for searches, but for MaxBytes. Descriptions are
	// made from what the zero Options cut, so that they are the same everywhere.
	Cut chunker.Options
	// Overlap is how many lines of what comes before are embedded with a chunk
	// that was cut without syntax, see [chunker.WithOverlap].
	Overlap int
	// Allowed returns the rules by which a memory may hold what looks like a
	// secret.
	Allowed func(ctx context.Context, id fold.ID) (map[string]bool, error)
	// Now is the clock by which merged stamps are clamped. Nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

// An Ingester brings the derived stores of one checkout up to its files. It has the
// methods of the [selection.Selection] it goes by, and of the [tip.Follower] that writes
// the memory files it reads. One of its methods runs at a time, but for those that these
// two call safe for concurrent use.
type Ingester struct {
	Options

	*selection.Selection
	*tip.Follower

	reader *cut.Reader
	root   *os.Root   // the work tree; nil for a bare repository
	stale  *staleLook // what stale marks were last refreshed from; nil before
	bulk   bool       // so many memory files are read that links by name wait for the end
	// worded says that the text index has the words of all that was applied, so far
	// as this one knows; see catchUpFirst.
	worded bool
	recent recent // sources that were just read
	// shifted are chunks whose text to embed may be another than it was.
	shifted shifted
	// What the manifest says, as read last; nil before.
	sourceStats, foldStats *stats
	// leaving are source files that git does not list any more, for the next call
	// of Source: they leave the index also where they are still there.
	leaving map[string]bool
}

// A staleLook is what [Ingester.RefreshStale] went by.
type staleLook struct {
	index          usergit.Stamp
	source, inFold int64 // versions of the manifests
}
