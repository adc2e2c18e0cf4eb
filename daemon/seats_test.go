package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSeatsGoToWhoWaitsLongest: a search comes before work, and takes the seat that
// was used least recently, or that of work under way after a while.
func TestSeatsGoToWhoWaitsLongest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []*checkout
		s := newSeats(5, func(co *checkout) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, co)
		})
		told := func() []*checkout {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(log)
		}
		if s.quiet != 1 {
			t.Fatalf("%d seats for work", s.quiet)
		}
		cos := make([]*checkout, 9)
		for i := range cos {
			cos[i] = &checkout{}
		}
		ctx := t.Context()
		got := make(chan *checkout, len(cos))
		ask := func(co *checkout, urgent bool) {
			go func() {
				if s.take(ctx, co, urgent) == nil {
					got <- co
				}
			}()
			synctest.Wait()
		}
		has := func(what string, want ...*checkout) {
			t.Helper()
			synctest.Wait()
			for _, co := range want {
				select {
				case c := <-got:
					if c != co {
						t.Errorf("%s: another one got the seat", what)
					}
				default:
					t.Fatalf("%s: nobody got a seat", what)
				}
			}
			if len(got) > 0 {
				t.Errorf("%s: %d more got a seat", what, len(got))
			}
		}
		ask(cos[0], false)
		ask(cos[1], false)
		has("one seat is for work", cos[0])
		for _, co := range cos[2:6] {
			ask(co, true)
		}
		has("the others are for who waits", cos[2], cos[3], cos[4], cos[5])
		for i, co := range cos[2:6] {
			s.used(co, use{last: time.Now().Add(time.Duration(i) * time.Second)})
		}
		s.used(cos[2], use{holds: 1})
		ask(cos[6], true)
		if len(told()) != 1 || told()[0] != cos[3] || !s.told(cos[3]) {
			t.Fatalf("%d are told to leave, want the one used least recently that is idle", len(told()))
		}
		s.stay(cos[3], use{holds: 1}) // it is needed again
		if len(told()) != 2 || told()[1] != cos[4] {
			t.Fatalf("%d are told to leave, want the next", len(told()))
		}
		s.leave(cos[4])
		has("the seat that was left", cos[6])

		// All are needed, or at work: work steps back after a while.
		for _, co := range []*checkout{cos[5], cos[6]} {
			s.used(co, use{holds: 1})
		}
		ask(cos[7], true)
		if len(told()) != 2 {
			t.Fatal("somebody is told to leave at once")
		}
		time.Sleep(leastHeld + time.Second)
		synctest.Wait()
		if len(told()) != 3 || told()[2] != cos[0] {
			t.Fatal("the one at work is not told to leave after a while")
		}
		s.leave(cos[0])
		has("the seat of the work", cos[7])
		// The work that waits all the time is next as soon as it may be.
		s.used(cos[7], use{last: time.Now()})
		if len(told()) != 4 || told()[3] != cos[7] {
			t.Fatal("no idle one is told to leave for work")
		}
		s.leave(cos[7])
		has("work", cos[1])
		s.hurry(cos[1]) // has one
		if now, peak, total := s.counted(); now != 5 || peak != 5 || total != 8 {
			t.Errorf("%d taken, %d at most, %d ever", now, peak, total)
		}
		gone, cancel := context.WithCancel(ctx)
		left := make(chan error)
		go func() { left <- s.take(gone, cos[8], true) }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) || len(s.waiting) != 0 {
			t.Errorf("who goes away: %v, %d wait", err, len(s.waiting))
		}
	})
}

// TestAnUrgentTurnIsServedFirst: who waited for work, and is then waited for.
func TestAnUrgentTurnIsServedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSeats(1, func(*checkout) {})
		a, b, c := &checkout{}, &checkout{}, &checkout{}
		if !s.tryTake(a) || s.tryTake(b) {
			t.Fatal("one seat is not given once")
		}
		s.used(a, use{holds: 1})
		got := make(chan *checkout, 2)
		for _, co := range []*checkout{b, c} {
			go func() {
				if s.take(t.Context(), co, false) == nil {
					got <- co
				}
			}()
			synctest.Wait()
		}
		s.hurry(c)
		s.leave(a)
		synctest.Wait()
		if co := <-got; co != c {
			t.Error("the one that nobody waits for was served first")
		}
		s.leave(c)
		<-got
	})
}
