package daemon

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/foldwatch/foldwatch/daemon/storepool"
	"github.com/foldwatch/foldwatch/meta/state"
)

// TestJobsEndWithTheirTurn: also where work is due, and the stores are still open.
func TestJobsEndWithTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		co := &checkout{
			slot: storepool.NewSlot[*stores](storepool.New(storepool.Options{})),
			cond: newCondition(state.Checkout{}), rouse: make(chan struct{}, 1),
		}
		pool, cancel := context.WithCancel(t.Context())
		closed := make(chan error)
		go func() {
			closed <- co.slot.Run(pool, storepool.Source[*stores]{
				Open:  func(context.Context) (*stores, error) { return &stores{}, nil },
				Close: func(*stores) error { return nil },
				Busy:  func(*stores) bool { return false },
			})
		}()
		synctest.Wait()
		turn, end := context.WithCancel(t.Context())
		end()
		if err := co.runJobs(turn); !errors.Is(err, context.Canceled) {
			t.Errorf("runJobs = %v", err)
		}
		cancel()
		if err := <-closed; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
}
