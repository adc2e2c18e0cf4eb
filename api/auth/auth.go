// Package auth decides who is calling: it turns the credentials of a request
// into a caller with a fold.Scope. What a caller may do is declared beside each
// route and tool, as an [Access].
package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Caller is who a request comes from. The zero Caller is nobody, and may do
// nothing.
type Caller struct {
	// ID tells this caller from every other, and is no secret: "owner", "token:"
	// and the id of a token, "user:" and that of somebody who logged in. "" is
	// nobody.
	ID    string
	Name  string // as people call it
	Scope fold.Scope
	// Until is when its credentials expire; zero is never.
	Until time.Time
	// Life ends when its credentials are taken back; nil is never. What runs for
	// the caller ends with it.
	Life context.Context
	// Browser says that a cookie was enough: what a page sends may come of
	// another page than ours.
	Browser bool
}

// Owner is the user whose daemon this is, at the socket of this machine.
func Owner() Caller { return Caller{ID: "owner", Name: "owner", Scope: fold.LocalScope()} }

// An Authenticator knows one kind of credentials.
type Authenticator interface {
	// Authenticate returns who sent r. It reports false where r carries no
	// credentials of the kind, and returns fold.ErrUnauthenticated, always with
	// the same text, where they are not valid. It is safe for concurrent use.
	Authenticate(r *http.Request) (who Caller, known bool, err error)
}

// Lasting returns a context that ends with ctx, with the caller's credentials,
// or when end is called.
func (c Caller) Lasting(ctx context.Context, now time.Time) (_ context.Context, end func()) {
	if c.Life == nil && c.Until.IsZero() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stops := []func(){cancel}
	if c.Life != nil {
		stop := context.AfterFunc(c.Life, cancel)
		stops = append(stops, func() { stop() })
	}
	if !c.Until.IsZero() {
		timer := time.AfterFunc(c.Until.Sub(now), cancel)
		stops = append(stops, func() { timer.Stop() })
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

type callerKey struct{}

// WithCaller returns a context that [CallerOf] finds c in.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller whose request ctx belongs to, nobody where there
// is none.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Access says who may call a route or a tool. The zero value is no declaration:
// it allows nobody.
type Access string

// Who may call.
const (
	Public     Access = "public"                // anybody who can connect
	Read       Access = "read"                  // a scope, whatever it may read
	Write      Access = "write"                 // a scope that may write
	Admin      Access = "admin"                 // a scope that may do everything in its projects
	AdminOfAll Access = "admin of all projects" // a scope that may do everything in all projects, also those to come
)

// Known reports whether a is one of the classes above.
func (a Access) Known() bool {
	return a == Public || a == Read || a == Write || a == Admin || a == AdminOfAll
}

// Allows reports whether a caller with scope sc passes. In which projects it may
// act is decided where the project is known.
func (a Access) Allows(sc fold.Scope) bool {
	switch a {
	case Public:
		return true
	case Read:
		return sc.All || len(sc.Projects) > 0
	case Write:
		return sc.Write && Read.Allows(sc)
	case Admin:
		return sc.Admin && Write.Allows(sc)
	case AdminOfAll:
		return sc.All && Admin.Allows(sc)
	}
	return false
}
