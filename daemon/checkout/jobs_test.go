package checkout

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
		co := &Checkout{
			Slot: storepool.NewSlot[*Stores](storepool.New(storepool.Options{})),
			cond: newCondition(state.Checkout{}), rouse: make(chan struct{}, 1),
		}
		pool, cancel := context.WithCancel(t.Context())
		closed := make(chan error)
		go func() {
			closed <- co.Slot.Run(pool, storepool.Source[*Stores]{
				Open:  func(context.Context) (*Stores, error) { return &Stores{}, nil },
				Close: func(*Stores) error { return nil },
				Busy:  func(*Stores) bool { return false },
			})
		}()
		synctest.Wait()
		turn, end := context.WithCancel(t.Context())
		end()
		if err := (worker{co}).runJobs(turn); !errors.Is(err, context.Canceled) {
			t.Errorf("runJobs = %v", err)
		}
		cancel()
		if err := <-closed; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
}
