package transport

import (
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Kind says why a sync ended, and by that who can go on: time, or the user.
type Kind string

// The kinds of [Error].
const (
	Auth      Kind = "auth"      // the remote wants another login, or gives this one no right
	Offline   Kind = "offline"   // the remote cannot be reached, or broke off
	Lost      Kind = "lost"      // others pushed first, every time
	Policy    Kind = "policy"    // a hook or a rule of the remote rejected the push
	Rewritten Kind = "rewritten" // what was seen of the remote's branch is gone from it
	Limited   Kind = "limited"   // too many requests, or out of service: see RetryAfter
	Refused   Kind = "refused"   // we refuse: the address, a redirect, what was sent
	Missing   Kind = "missing"   // there is no such repository
	Untrusted Kind = "untrusted" // who answers cannot be verified: certificate, host key
	Guarded   Kind = "guarded"   // the vanish guard is up (G8)
)

// Waits reports whether only the user can end what is in the way; the other
// kinds are tried again by themselves.
func (k Kind) Waits() bool {
	switch k {
	case Auth, Policy, Rewritten, Refused, Missing, Untrusted:
		return true
	}
	return false
}

// kind returns the kind of error callers test for.
func (k Kind) kind() error {
	switch k {
	case Auth, Policy, Refused, Untrusted:
		return fold.ErrForbidden
	case Rewritten:
		return fold.ErrConflict
	case Missing:
		return fold.ErrNotFound
	}
	return fold.ErrUnavailable
}

// An Error says why a sync ended. Its text holds no credentials (F36). Err
// wraps one of the kinds of package fold and carries a hint.
type Error struct {
	Kind       Kind
	Host       string        // who was asked; "" for a path of this machine
	RetryAfter time.Duration // how long the remote wants us to wait; 0 if it did not say
	Err        error
}

func (e *Error) Error() string {
	if e.Host == "" {
		return "sync: " + e.Err.Error()
	}
	return "sync with " + e.Host + ": " + e.Err.Error()
}

// Unwrap returns the error beneath.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error. Text is what happened, in our words or the
// remote's; it must be redacted.
func Errorf(kind Kind, host, hint, format string, args ...any) *Error {
	err := fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), kind.kind())
	if hint == "" {
		hint = kind.Hint(host)
	}
	return &Error{Kind: kind, Host: host, Err: fold.WithHint(err, hint)}
}

// Hint says what a person can do about an error of this kind.
func (k Kind) Hint(host string) string {
	at := host
	if at == "" {
		at = "the remote"
	}
	switch k {
	case Auth:
		return "your memories are kept here; log in to " + at + " so that git can push without asking, then run: foldwatch sync"
	case Offline:
		return "your memories are kept here; it is tried again by itself"
	case Lost:
		return "others push at the same time; it is tried again by itself"
	case Policy:
		return "allow pushes to the branch foldwatch on " + at + ", then run: foldwatch sync"
	case Rewritten:
		return "if that was meant, run: foldwatch sync --resync (it merges with the last commit both have; nothing is lost)"
	case Limited:
		return "it is tried again by itself, no sooner than " + at + " allows"
	case Missing:
		return "check the address of the remote, and that you may read it: foldwatch status"
	case Untrusted:
		return "make sure it is " + at + " that answers: connect to it once with git or ssh, by hand, then run: foldwatch sync"
	case Guarded:
		return "foldwatch status names what is missing and the ways out"
	}
	return "check the address of the remote: foldwatch status"
}
