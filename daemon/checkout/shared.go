package checkout

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/events"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/layer"
	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// parts are what all checkouts share. They are safe for concurrent use.
type Shared struct {
	Config   conf.Config
	Origins  []conf.Origin
	Dirs     conf.Dirs
	State    *state.DB
	Cache    *cache.DB
	Cutter   ingest.Cutter
	cuts     ingest.Cuts
	Builders vecindex.Slots   // one index of vectors builds at a time
	Limiter  *limiter.Limiter // where searches queue
	Models   *embedding.Models
	Lexicon  *embed.Static // what the builtin embedder and synonyms come from
	Events   *events.Bus
	Working  *layer.Memory // of agents' sessions
	memories repos.Stores
	Errands  chan func(context.Context)                  // what a checkout cannot do itself, such as ending itself
	Rename   func(ctx context.Context, key string) error // goes on under the slug that the remote gives the project
	Track    func(context.Context, *Checkout) error      // has the others of a repository follow one that went over to tracked mode
	Syncs    *repos.Syncs
	Pool     *storepool.Pool
	// gitProcesses counts starts of the git program on behalf of no checkout.
	GitProcesses atomic.Int64
	Stopped      chan struct{}         // closed when the daemon is told to stop
	Faults       func(op string) error // Options.Faults
	Now          func() time.Time
	Log          *slog.Logger
}

// InProcess cuts files without a worker process.
type InProcess struct{}

// Mirror is where the journal of a project is mirrored.
func (p *Shared) Mirror(projectID string) string {
	return filepath.Join(p.Dirs.Data, "mirrors", projectID+".git")
}

// DefaultFoldDir is the name of the folder of memories.
const DefaultFoldDir = "fold"

// SameMemory reports whether two checkouts keep one fold/ and one history: they
// are one, or, in sidecar mode, work trees of one repository.
func SameMemory(a, b state.Checkout) bool {
	return a.CommonDir == b.CommonDir && (a.Key == b.Key || ModeOf(a) == ModeSidecar)
}

func FirstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

func (InProcess) CutSized(_ context.Context, path string, src []byte, by chunker.Options) (chunker.Result, error) {
	return chunker.Cut(path, src, by), nil
}
