package textindex

import (
	"encoding/json"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Batches is how many batches Bleve was given since Open, also after Close.
func (x *Index) Batches() (uint64, error) {
	b, err := x.store.Stats().MarshalJSON()
	if err != nil {
		return 0, err
	}
	var stats struct{ TotBatches uint64 }
	err = json.Unmarshal(b, &stats)
	return stats.TotBatches, err
}

// Room is for how many documents there is room that no search works in, 0 for none.
func (x *Index) Room() int {
	select {
	case a := <-x.scratch:
		x.scratch <- a
		return len(a.tallies)
	default:
		return 0
	}
}

// Flush returns when everything applied before is on disk. It returns
// ErrUnavailable if that does not happen within a minute.
func (x *Index) Flush() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	if x.stuck {
		return fold.ErrUnavailable
	}
	return x.flush()
}
