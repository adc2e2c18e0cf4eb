package ingest

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/ingest/tip"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// New returns an Ingester over opened stores. Close it.
func New(opt Options, rules selection.Rules) (*Ingester, error) {
	if opt.Workers == 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.MaxBytes == 0 {
		opt.MaxBytes = 1 << 20
	}
	opt.Cut.MaxBytes = int(opt.MaxBytes)
	if opt.Cuts == nil {
		opt.Cuts = new(cut.Once)
	}
	if opt.Allowed == nil {
		opt.Allowed = func(context.Context, fold.ID) (map[string]bool, error) { return nil, nil }
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	in := &Ingester{Options: opt}
	var root *os.Root // nil for a bare repository
	if opt.Repo.WorkTree != "" {
		var err error
		if root, err = os.OpenRoot(opt.Repo.WorkTree); err != nil {
			return nil, err
		}
	}
	in.readFrom(root, rules)
	return in, nil
}

// readFrom has sources read from the work tree at root, by rules.
func (in *Ingester) readFrom(root *os.Root, rules selection.Rules) {
	in.root = root
	in.Selection = selection.New(selection.Options{Repo: in.Repo, Root: root, FoldDir: in.Options.FoldDir, MaxBytes: in.MaxBytes}, rules)
	in.reader = cut.NewReader(cut.Options{
		Slug: in.Slug, Root: root, Selection: in.Selection, Cache: in.Cache, Cutter: in.Cutter, Once: in.Cuts,
		Cut: in.Cut, MaxBytes: in.MaxBytes, Count: in.Count, Log: in.Log,
	})
	in.Follower = tip.New(tip.Options{
		Slug: in.Slug, Key: in.Key, Repo: in.Repo, Folder: in.Options.Fold, Store: in.Store, State: in.State,
		Selection: in.Selection, Reader: in.reader, Indexer: indexer{in}, Count: in.Count, Workers: in.Workers,
		Describe: in.Describe, NoCommits: in.NoCommits, MostCommits: in.MostCommits, Now: in.Now,
	})
	in.Follower.Attach(in.Index)
}

// Close releases the work tree. The stores stay open.
func (in *Ingester) Close() error {
	if in.root == nil {
		return nil
	}
	return in.root.Close()
}

// Attach has the ingester work with stores that were just opened; [Ingester.Use]
// names the vectors. No other method may run meanwhile but those that are safe for
// concurrent use.
func (in *Ingester) Attach(index *index.DB, text *textindex.Index) {
	in.Index, in.Text = index, text
	in.Follower.Attach(index)
}

// Rest has the ingester let go of its stores, which are closed, and of what it
// keeps in memory of them: versions of the manifest mean nothing in the next
// opening. What it knows of the checkout stays. No other method may run meanwhile
// but those that are safe for concurrent use.
func (in *Ingester) Rest() {
	in.Index, in.Text = nil, nil
	in.Follower.Attach(nil)
	in.Use(Target{})
	in.stale, in.worded = nil, false
	in.sourceStats, in.foldStats = nil, nil
	in.recent = recent{}
}

// An indexer takes in what the follower of the default branch writes.
type indexer struct{ *Ingester }

func (x indexer) FoldBatch(ctx context.Context, paths []string, sources []*cut.File) (progress.Report, error) {
	return x.foldBatch(ctx, paths, sources)
}

func (x indexer) Linking(ctx context.Context, work func(pending bool) (names []string, told []fold.ID, err error)) error {
	return x.linking(ctx, work)
}

func (x indexer) Manifest(ctx context.Context, paths []string) (map[string]index.File, error) {
	return x.manifest(ctx, paths, false)
}
