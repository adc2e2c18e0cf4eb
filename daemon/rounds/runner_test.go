package rounds

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A farRemote is a remote that others push to as well. It keeps when it was asked.
type farRemote struct {
	mu     sync.Mutex
	polls  []time.Duration // since began
	rounds []time.Duration
	pushes []time.Duration
	began  time.Time
	moved  bool
	ours   int // memories that wait to be pushed
	fail   error
	takes  time.Duration
}

func (f *farRemote) Poll(context.Context) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls = append(f.polls, time.Since(f.began))
	return f.moved, f.fail
}

func (f *farRemote) Round(ctx context.Context, in Ask) (Outcome, error) {
	f.set(func() { f.rounds = append(f.rounds, time.Since(f.began)) })
	if f.takes > 0 {
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil && !in.Resync {
		return Outcome{}, f.fail
	}
	out := Outcome{Left: f.ours > 0}
	if f.moved {
		f.moved, out.Received = false, 1
	}
	if in.Publish && f.ours > 0 {
		out.Published, out.Pushed, out.Left, f.ours = true, f.ours, false, 0
		f.pushes = append(f.pushes, time.Since(f.began))
	}
	return out, nil
}

// running runs a runner for f in the bubble, until the test ends.
func running(t *testing.T, f *farRemote, opt Options) *Runner {
	t.Helper()
	if opt.Random == nil {
		opt.Random = func() float64 { return 0.5 }
	}
	f.began = time.Now()
	r := NewRunner(f, opt)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

func (f *farRemote) write(r *Runner) {
	f.mu.Lock()
	f.ours++
	f.mu.Unlock()
	r.Changed()
}

func (f *farRemote) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func seconds(s ...int) []time.Duration {
	out := make([]time.Duration, len(s))
	for i, n := range s {
		out[i] = time.Duration(n) * time.Second
	}
	return out
}

func TestRunnerPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farRemote{}
		r := running(t, f, Options{})
		r.Used()
		time.Sleep(4*time.Minute + time.Second)
		f.set(func() { f.moved = true })
		time.Sleep(time.Minute + time.Second)
		f.set(func() {
			if want := seconds(60, 120, 180, 240, 300); !slices.Equal(f.polls, want) {
				t.Errorf("polls at %v, want %v", f.polls, want)
			}
			if want := seconds(0, 300); !slices.Equal(f.rounds, want) {
				t.Errorf("rounds at %v, want %v: the poll saw that it moved", f.rounds, want)
			}
			f.polls = nil
		})
		time.Sleep(time.Hour) // nobody works on it
		f.set(func() {
			if len(f.polls) > 10 {
				t.Errorf("%d polls in an hour without use, want about 4 and those of the first minutes", len(f.polls))
			}
		})
	})
}

func TestRunnerPushesAtMostEvery30s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farRemote{}
		r := running(t, f, Options{})
		synctest.Wait()
		for range 100 { // a write a second
			f.write(r)
			time.Sleep(time.Second)
		}
		time.Sleep(30 * time.Second)
		f.set(func() {
			if want := seconds(2, 32, 62, 92, 122); !slices.Equal(f.pushes, want) {
				t.Errorf("pushes at %v, want %v", f.pushes, want)
			}
			if f.ours != 0 {
				t.Errorf("%d writes were never pushed", f.ours)
			}
		})
	})
}

func TestRunnerAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farRemote{takes: 3 * time.Second}
		r := running(t, f, Options{})
		time.Sleep(time.Second) // in the middle of the first round
		began := time.Now()
		if _, err := r.Ask(t.Context(), false); err != nil {
			t.Errorf("Ask: %v", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("Ask took %v, want 5 s: the round under way, and one that began after it", took)
		}
		f.write(r)
		if out, err := r.Ask(t.Context(), false); err != nil || out.Pushed != 1 {
			t.Errorf("Ask = %+v, %v, want one pushed", out, err)
		}
	})
}

func TestRunnerAuthStopsUntilAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &Error{Kind: Auth, Err: errors.New("no key")}
		f := &farRemote{fail: bad}
		var told []error
		r := running(t, f, Options{Done: func(_ Deed, _ Outcome, err error) { told = append(told, err) }})
		time.Sleep(24 * time.Hour)
		f.write(r)
		r.Told()
		time.Sleep(24 * time.Hour)
		f.set(func() {
			if len(f.rounds) != 1 || len(f.polls) != 0 || len(told) != 1 {
				t.Errorf("%d rounds, %d polls, %d outcomes, want the one that failed", len(f.rounds), len(f.polls), len(told))
			}
		})
		if s := r.Standing(); !s.Paused || s.Pause.Kind != Auth || !errors.Is(s.Last, bad.Err) {
			t.Errorf("Standing() = %+v, want paused for auth", s)
		}
		f.set(func() { f.fail = nil })
		if out, err := r.Ask(t.Context(), false); err != nil || out.Pushed != 1 {
			t.Errorf("Ask = %+v, %v, want one pushed", out, err)
		}
		if s := r.Standing(); s.Paused || s.Last != nil {
			t.Errorf("Standing() = %+v, want no pause", s)
		}
	})
}

func TestRunnerComesBackAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farRemote{fail: errors.New("no route")}
		r := running(t, f, Options{Random: func() float64 { return 0.999 }})
		f.write(r)
		time.Sleep(6 * time.Hour)
		f.set(func() {
			if n := len(f.rounds) + len(f.polls); n < 24 || n > 40 {
				t.Errorf("asked %d times in 6 hours without a network, want one each 15 min and some at first", n)
			}
			f.fail = nil
		})
		time.Sleep(15 * time.Minute)
		f.set(func() {
			if f.ours != 0 {
				t.Error("not pushed 15 min after the network came back")
			}
		})
	})
}

func TestRunnerRewrittenNeedsResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farRemote{fail: &Error{Kind: Rewritten, Err: errors.New("history replaced")}}
		r := running(t, f, Options{})
		synctest.Wait()
		_, err := r.Ask(t.Context(), false)
		if bad, ok := errors.AsType[*Error](err); !ok || bad.Kind != Rewritten || err.Error() != "history replaced" {
			t.Errorf("Ask: %v, want the refusal of the rewritten remote", err)
		}
		if _, err := r.Ask(t.Context(), true); err != nil {
			t.Errorf("Ask to resync: %v", err)
		}
		f.set(func() {
			if n := len(f.rounds); n != 2 {
				t.Errorf("%d rounds, want the first and the resync", n)
			}
		})
	})
}

func TestRunnerHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farRemote{}
		r := running(t, f, Options{})
		synctest.Wait()
		if !r.Held("files vanished") || r.Held("files vanished") {
			t.Error("Held: news is what was not said before")
		}
		f.write(r)
		time.Sleep(time.Hour)
		f.set(func() {
			if n := len(f.rounds) + len(f.polls); n != 1 {
				t.Errorf("asked %d times while held, want only the first round", n)
			}
		})
		if _, err := r.Ask(t.Context(), false); !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(err.Error(), "files vanished") {
			t.Errorf("Ask while held: %v, want ErrUnavailable and why", err)
		}
		if !r.Held("") {
			t.Error("Held: its end is no news")
		}
		time.Sleep(time.Second)
		f.set(func() {
			if len(f.pushes) != 1 {
				t.Error("not pushed after the hold ended")
			}
		})
	})
}

// TestRunnerRefusesWhoWaits: who asked during a round need not wait for one that
// something is in the way of since.
func TestRunnerRefusesWhoWaits(t *testing.T) {
	denied := &Error{Kind: Auth, Err: errors.New("no key")}
	for _, tc := range []struct {
		name string
		fail error
		meet func(r *Runner)
		want error
		at   time.Duration
	}{
		{"held", nil, func(r *Runner) { r.Held("files vanished") }, fold.ErrUnavailable, time.Second},
		{"not let in", denied, func(*Runner) {}, denied.Err, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &farRemote{takes: time.Minute, fail: tc.fail}
				r := running(t, f, Options{})
				time.Sleep(time.Second) // the first round has begun
				asked := make(chan error, 1)
				go func() {
					_, err := r.Ask(t.Context(), false)
					asked <- err
				}()
				synctest.Wait()
				tc.meet(r)
				if err := <-asked; !errors.Is(err, tc.want) || time.Since(f.began) != tc.at {
					t.Errorf("Ask: %v after %v, want %v after %v", err, time.Since(f.began), tc.want, tc.at)
				}
			})
		})
	}
}

func TestRunnerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &farRemote{takes: time.Hour}
		f.began = time.Now()
		r := NewRunner(f, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		asked := make(chan error, 1)
		go func() {
			_, err := r.Ask(t.Context(), false)
			asked <- err
		}()
		synctest.Wait()
		began := time.Now()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		if err := <-asked; !errors.Is(err, fold.ErrUnavailable) {
			t.Errorf("Ask: %v, want ErrUnavailable", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("ended after %v", took)
		}
	})
}
