package daemon

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
type parts struct {
	cfg       conf.Config
	origins   []conf.Origin
	dirs      conf.Dirs
	state     *state.DB
	cache     *cache.DB
	cutter    ingest.Cutter
	cuts      ingest.Cuts
	turns     vecindex.Slots   // one index of vectors builds at a time
	desk      *limiter.Limiter // where searches queue
	embedders *embedding.Models
	lexicon   *embed.Static // what the builtin embedder and synonyms come from
	bus       *events.Bus
	working   *layer.Memory // of agents' sessions
	memories  repos.Stores
	errands   chan func(context.Context)                  // what a checkout cannot do itself, such as ending itself
	rename    func(ctx context.Context, key string) error // goes on under the slug that the remote gives the project
	track     func(context.Context, *checkout) error      // has the others of a repository follow one that went over to tracked mode
	syncs     *repos.Syncs
	pool      *storepool.Pool
	// gitProcesses counts starts of the git program on behalf of no checkout.
	gitProcesses atomic.Int64
	stopped      chan struct{}         // closed when the daemon is told to stop
	faults       func(op string) error // Options.Faults
	now          func() time.Time
	log          *slog.Logger
}

// inProcess cuts files without a worker process.
type inProcess struct{}

// mirror is where the journal of a project is mirrored.
func (p *parts) mirror(projectID string) string {
	return filepath.Join(p.dirs.Data, "mirrors", projectID+".git")
}

// DefaultFoldDir is the name of the folder of memories.
const DefaultFoldDir = "fold"

// sameMemory reports whether two checkouts keep one fold/ and one history: they
// are one, or, in sidecar mode, work trees of one repository.
func sameMemory(a, b state.Checkout) bool {
	return a.CommonDir == b.CommonDir && (a.Key == b.Key || modeOf(a) == modeSidecar)
}

func firstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

func (inProcess) CutSized(_ context.Context, path string, src []byte, by chunker.Options) (chunker.Result, error) {
	return chunker.Cut(path, src, by), nil
}
