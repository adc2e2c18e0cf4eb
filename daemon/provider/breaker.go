package provider

import (
	"sync"
	"time"
)

// The breaker opens after breakAfter failures in a row, for a time that doubles with each
// further one.
const (
	breakAfter = 5
	breakFirst = 30 * time.Second
	breakMost  = 10 * time.Minute
)

// A breaker stops requests to a provider that keeps failing. When its time is over, one
// request is let through and decides.
type breaker struct {
	mu     sync.Mutex // guards the fields below
	failed int        // in a row
	until  time.Time
	trying bool // the one request after until is running
}

// enter reports whether a request may be made, or else when.
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

// held reports whether requests are stopped, and until when.
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

// fail counts a failure. After is the Retry-After of the provider.
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

// cancel takes back an enter whose request had no outcome.
func (b *breaker) cancel() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
}
