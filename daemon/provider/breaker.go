package provider

import (
	"sync"
	"time"
)

// When the breaker opens, and for how long: after breakAfter failures in a row,
// doubling with each further one.
const (
	breakAfter = 5
	breakFirst = 30 * time.Second
	breakMost  = 10 * time.Minute
)

// A breaker keeps a client from asking a provider that keeps failing. When its
// time is over one request is let through; that one decides.
type breaker struct {
	mu     sync.Mutex // guards the fields below
	failed int        // in a row
	until  time.Time
	trying bool // the one request after until is under way
}

// enter reports whether a request may be made, else when.
func (b *breaker) enter(now time.Time) (until time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed < breakAfter && !now.Before(b.until) {
		return time.Time{}, true
	}
	if now.Before(b.until) {
		return b.until, false
	}
	if b.trying {
		return now.Add(time.Second), false
	}
	b.trying = true
	return time.Time{}, true
}

// held reports whether no request may be made now, and when one may.
func (b *breaker) held(now time.Time) (until time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.until, now.Before(b.until)
}

func (b *breaker) succeed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed, b.until, b.trying = 0, time.Time{}, false
}

// fail counts a failure. After is how long the provider asked to be left alone.
func (b *breaker) fail(now time.Time, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	b.failed++
	if b.failed >= breakAfter {
		b.until = now.Add(min(breakFirst<<min(b.failed-breakAfter, 10), breakMost))
	}
	if at := now.Add(after); after > maxWait && at.After(b.until) {
		b.until = at
	}
}

// cancel takes back what enter allowed, where nothing was learned.
func (b *breaker) cancel() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}
