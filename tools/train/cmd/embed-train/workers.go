package main

import (
	"sync"
	"sync/atomic"
)

// workers is how many goroutines share the work. The results do not depend on it:
// each is computed by one call, in a fixed order.
type workers int

// each calls f once for every i in [0, n), grain of them at a time.
func (w workers) each(n, grain int, f func(i int)) {
	if w <= 1 || n <= grain {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range int(w) {
		wg.Go(func() {
			for {
				from := int(next.Add(int64(grain))) - grain
				if from >= n {
					return
				}
				for i := from; i < min(from+grain, n); i++ {
					f(i)
				}
			}
		})
	}
	wg.Wait()
}
