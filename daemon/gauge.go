package daemon

import "sync/atomic"

// A gauge is a number that rises and falls, with the most it ever was. It is safe
// for concurrent use.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) Add(n int64) {
	now := g.now.Add(n)
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
}
