package ingest

import (
	"context"

	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// A Target is a vector index with the embedder whose vectors it holds.
type Target struct {
	Vectors *vecindex.Index
	Embed   embed.Embedder
}

// Use has vectors go to another index from now on.
func (in *Ingester) Use(t Target) { in.Vectors, in.Options.Embed = t.Vectors, t.Embed }

// EmbedInto is [Ingester.Embed] for an index that is built beside the one in use.
func (in *Ingester) EmbedInto(ctx context.Context, t Target, waits func() bool, tell progress.Func) (bool, error) {
	defer in.Use(Target{in.Vectors, in.Options.Embed})
	in.Use(t)
	return in.Embed(ctx, waits, tell)
}
