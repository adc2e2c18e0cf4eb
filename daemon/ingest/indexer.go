package ingest

import (
	"context"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// An indexer takes in what the follower of the default branch writes.
type indexer struct{ *Ingester }

func (x indexer) FoldBatch(ctx context.Context, paths []string, sources []*cut.File) (progress.Report, error) {
	return x.foldBatch(ctx, paths, sources)
}

func (x indexer) Linking(ctx context.Context, work func(owed bool) (names []string, told []fold.ID, err error)) error {
	return x.linking(ctx, work)
}

func (x indexer) Manifest(ctx context.Context, paths []string) (map[string]index.File, error) {
	return x.manifest(ctx, paths, false)
}

func (x indexer) Measure(paths []string) int64 { return x.measure(paths) }
