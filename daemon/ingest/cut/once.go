package cut

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Once has each content cut once where several ingesters come upon it at the same
// time: the work trees of one repository that are registered together, or equal
// files of one checkout. Share one between ingesters of one cache. The zero value
// is ready; it is safe for concurrent use.
type Once struct {
	flights singleflight.Group

	mu     sync.Mutex
	ring   []string // keys that were cut last
	next   int
	recent map[string]bool
}

// recentCuts is how many contents may be cut between a look into the cache and
// the cut that follows it: a group of files for each reader of some checkouts.
const recentCuts = 4096

// once returns what fn makes for key. Where another call is making it, or made it
// since the caller looked into the cache, that is returned instead: by the other
// call, or from the cache through again. A nil answer of another call is not
// taken, and fn is called.
func (c *Once) once(ctx context.Context, key string, again, fn func() ([]byte, error)) (made []byte, mine bool, err error) {
	for {
		v, err, _ := c.flights.Do(key, func() (any, error) {
			if c.was(key) {
				if b, err := again(); err == nil && b != nil {
					return b, nil
				}
			}
			mine = true
			b, err := fn()
			if err == nil && b != nil {
				c.note(key)
			}
			return b, err
		})
		switch b, _ := v.([]byte); {
		case mine, err == nil && b != nil:
			return b, mine, err
		case err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)):
			return nil, false, err
		case err == nil: // nothing that may be shared
			b, err := fn()
			return b, true, err
		}
	}
}

func (c *Once) was(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent[key]
}

func (c *Once) note(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ring == nil {
		c.ring, c.recent = make([]string, recentCuts), make(map[string]bool, recentCuts)
	}
	delete(c.recent, c.ring[c.next])
	c.ring[c.next], c.recent[key] = key, true
	c.next = (c.next + 1) % recentCuts
}

// forget has the next call for key make it, whatever was made before.
func (c *Once) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.recent, key)
}
