package embed

import (
	"context"
	"fmt"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Lazy returns an embedder of a known identity that is opened when it is first
// asked for vectors: a model that takes a while to load must not hold up a start.
// It is opened again after a failure.
func Lazy(id Identity, open func(context.Context) (Embedder, error)) Embedder {
	return &lazy{identity: id, open: open}
}

type lazy struct {
	identity Identity
	open     func(context.Context) (Embedder, error)

	mu     sync.Mutex // held while it is opened
	opened Embedder
}

func (l *lazy) Identity() Identity { return l.identity }

func (l *lazy) Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error) {
	e, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	return e.Embed(ctx, texts, kind)
}

func (l *lazy) get(ctx context.Context) (Embedder, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	e, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	if e.Identity() != l.identity {
		return nil, fold.WithHint(fmt.Errorf("%s is not the model it was: its vectors cannot be compared: %w", l.identity.Model, fold.ErrInvalid),
			"foldwatch model use "+l.identity.Model)
	}
	l.opened = e
	return e, nil
}
