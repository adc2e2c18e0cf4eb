package gitops

import (
	"context"
	"sync/atomic"
)

// counterKey finds the counter in a context.
type counterKey struct{}

// WithCounter returns a context under which each start of the git program adds
// one to n.
func WithCounter(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, counterKey{}, n)
}

func countStart(ctx context.Context) {
	if n, ok := ctx.Value(counterKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
