package recall

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// maxLeases is how many checkouts one search has open at a time: opening stores is
// mostly waiting for files, and four are a quarter of what a daemon may have open.
const maxLeases = 4

// A Checkout is one checkout that a search asks. A search acquires the stores of each
// checkout twice, to find and to show, and a third time where that counts as access.
// It acquires those first that are open already.
type Checkout struct {
	Project string // slug; different for each checkout of a search
	// Acquire opens the stores of the checkout. The caller calls done when it no longer
	// needs them. Lend is called from several goroutines, each of which holds one lease
	// at most.
	Acquire func(ctx context.Context) (s *Service, done func(), err error)
	// Ready reports whether the stores are open already. Nil says they are.
	Ready func() bool
}

// eachService calls fn with the service of each checkout for which wanted is true, in
// any order. Checkouts whose stores cannot be opened are passed over.
func eachService(ctx context.Context, checkouts []Checkout, wanted func(i int) bool, fn func(ctx context.Context, i int, s *Service) error) error {
	var ready, closed []int
	for i, c := range checkouts {
		switch {
		case !wanted(i):
		case c.Ready == nil || c.Ready():
			ready = append(ready, i)
		default:
			closed = append(closed, i)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxLeases)
	for _, i := range append(ready, closed...) {
		g.Go(func() error { return withLease(gctx, checkouts[i], func(s *Service) error { return fn(gctx, i, s) }) })
	}
	return g.Wait()
}

// withLease calls fn with the service of a checkout. It is no error if its stores cannot
// be opened, unless ctx has ended.
func withLease(ctx context.Context, c Checkout, fn func(*Service) error) error {
	s, done, err := c.Acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil
	}
	defer done()
	return fn(s)
}
