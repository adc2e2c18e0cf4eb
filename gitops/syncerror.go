package gitops

import (
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A SyncKind says why a sync ended, and by that who can go on: time, or the user.
type SyncKind string

// The kinds of [SyncError].
const (
	SyncAuth      SyncKind = "auth"      // the remote wants another login, or gives this one no right
	SyncOffline   SyncKind = "offline"   // the remote cannot be reached, or broke off
	SyncLost      SyncKind = "lost"      // others pushed first, every time
	SyncPolicy    SyncKind = "policy"    // a hook or a rule of the remote rejected the push
	SyncRewritten SyncKind = "rewritten" // what was seen of the remote's branch is gone from it
	SyncLimited   SyncKind = "limited"   // too many requests, or out of service: see RetryAfter
	SyncRefused   SyncKind = "refused"   // we refuse: the address, a redirect, what was sent
	SyncMissing   SyncKind = "missing"   // there is no such repository
	SyncUntrusted SyncKind = "untrusted" // who answers cannot be verified: certificate, host key
	SyncGuarded   SyncKind = "guarded"   // the vanish guard is up (G8)
)

// Waits reports whether only the user can end what is in the way; the other
// kinds are tried again by themselves.
func (k SyncKind) Waits() bool {
	switch k {
	case SyncAuth, SyncPolicy, SyncRewritten, SyncRefused, SyncMissing, SyncUntrusted:
		return true
	}
	return false
}

// kindOf returns the kind of error callers test for.
func (k SyncKind) kind() error {
	switch k {
	case SyncAuth, SyncPolicy, SyncRefused, SyncUntrusted:
		return fold.ErrForbidden
	case SyncRewritten:
		return fold.ErrConflict
	case SyncMissing:
		return fold.ErrNotFound
	}
	return fold.ErrUnavailable
}

// A SyncError says why a sync ended. Its text holds no credentials (F36). Err
// wraps one of the kinds of package fold and carries a hint.
type SyncError struct {
	Kind       SyncKind
	Host       string        // who was asked; "" for a path of this machine
	RetryAfter time.Duration // how long the remote wants us to wait; 0 if it did not say
	Err        error
}

func (e *SyncError) Error() string {
	if e.Host == "" {
		return "sync: " + e.Err.Error()
	}
	return "sync with " + e.Host + ": " + e.Err.Error()
}

// Unwrap returns the error beneath.
func (e *SyncError) Unwrap() error { return e.Err }

// syncError makes a SyncError. Text is what happened, in our words or the
// remote's; it must be redacted.
func syncError(kind SyncKind, host, hint, format string, args ...any) *SyncError {
	err := fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), kind.kind())
	if hint == "" {
		hint = kind.hint(host)
	}
	return &SyncError{Kind: kind, Host: host, Err: fold.WithHint(err, hint)}
}

// hint says what a person can do about an error of this kind.
func (k SyncKind) hint(host string) string {
	at := host
	if at == "" {
		at = "the remote"
	}
	switch k {
	case SyncAuth:
		return "your memories are kept here; log in to " + at + " so that git can push without asking, then run: foldwatch sync"
	case SyncOffline:
		return "your memories are kept here; it is tried again by itself"
	case SyncLost:
		return "others push at the same time; it is tried again by itself"
	case SyncPolicy:
		return "allow pushes to the branch foldwatch on " + at + ", then run: foldwatch sync"
	case SyncRewritten:
		return "if that was meant, run: foldwatch sync --resync (it merges with the last commit both have; nothing is lost)"
	case SyncLimited:
		return "it is tried again by itself, no sooner than " + at + " allows"
	case SyncMissing:
		return "check the address of the remote, and that you may read it: foldwatch status"
	case SyncUntrusted:
		return "make sure it is " + at + " that answers: connect to it once with git or ssh, by hand, then run: foldwatch sync"
	case SyncGuarded:
		return "foldwatch status names what is missing and the ways out"
	}
	return "check the address of the remote: foldwatch status"
}
