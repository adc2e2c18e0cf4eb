package state_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// TestDeliveriesAreTakenOnce takes webhooks, again, after a restart and after a
// day.
func TestDeliveriesAreTakenOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, reopen := openStateTwice(t, t.TempDir())
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one := state.Delivery{IDs: []string{"one", "body"}, CommonDir: "/git", At: at, Work: `{"event":"push"}`}
	two := state.Delivery{IDs: []string{"two"}, CommonDir: "/git", At: at.Add(time.Second)}
	for _, d := range []state.Delivery{one, two} {
		if err := s.TakeDelivery(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	again := state.Delivery{IDs: []string{"three", "body"}, CommonDir: "/git", At: at.Add(time.Hour), Work: "x"}
	due := func() []state.Delivery {
		t.Helper()
		list, err := s.DueDeliveries(ctx, "/git")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for range 2 {
		if err := s.TakeDelivery(ctx, again); !errors.Is(err, fold.ErrConflict) {
			t.Errorf("the same body: %v", err)
		}
		want := []state.Delivery{{IDs: []string{"one"}, CommonDir: "/git", At: at, Work: one.Work}}
		if diff := cmp.Diff(want, due()); diff != "" {
			t.Error(diff)
		}
		s = reopen()
	}
	again.At, again.IDs = at.Add(25*time.Hour), []string{"one"}
	if err := s.TakeDelivery(ctx, again); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("a day later, with work left: %v", err)
	}
	if err := s.DeliveriesDone(ctx, []string{"one"}); err != nil || len(due()) > 0 {
		t.Errorf("DeliveriesDone: %v, left %v", err, due())
	}
	again.IDs = []string{"one", "two", "body"}
	if err := s.TakeDelivery(ctx, again); err != nil {
		t.Errorf("a day later: %v", err)
	}
}

// TestDeliveriesThatWaitLeaveRoom: a repository whose remote cannot be reached takes
// some, for a while, and keeps nobody else's out.
func TestDeliveriesThatWaitLeaveRoom(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), openState(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	take := func(dir string, n int, at time.Time) error {
		return s.TakeDelivery(ctx, state.Delivery{IDs: []string{dir + strconv.Itoa(n)}, CommonDir: dir, At: at, Work: "x"})
	}
	n, err := 0, error(nil)
	for ; err == nil && n < 2000; n++ {
		err = take("/away", n, at)
	}
	if !errors.Is(err, fold.ErrUnavailable) || n != 1001 {
		t.Errorf("%d were taken: %v", n-1, err)
	}
	if err := take("/here", 0, at); err != nil {
		t.Errorf("another repository's: %v", err)
	}
	if err := take("/away", n, at.Add(31*24*time.Hour)); err != nil {
		t.Errorf("a month later: %v", err)
	}
	if due, err := s.DueDeliveries(ctx, "/away"); err != nil || len(due) != 1 {
		t.Errorf("%d are due a month later, %v", len(due), err)
	}
}
