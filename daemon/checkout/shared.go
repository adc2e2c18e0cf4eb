package checkout

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/events"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/limiter"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Shared is what all checkouts share. All of it is safe for concurrent use.
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
	memories repos.Stores
	Registry Registry
	Syncs    *repos.Syncs
	Pool     *storepool.Pool
	Stopped  chan struct{}         // closed when the daemon is told to stop
	Faults   func(op string) error // Options.Faults
	Now      func() time.Time
	Log      *slog.Logger
}

// A Registry does what a checkout cannot do itself, such as ending itself. It returns at
// once, and does it beside.
type Registry interface {
	// Renamed has the checkout go on under the slug that the remote gives the project.
	Renamed(key string)
	// Tracked has all checkouts of a repository follow one that went over to tracked mode.
	Tracked(key string)
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

// Poke wakes who waits for c. It never blocks, and many pokes are one.
func Poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
