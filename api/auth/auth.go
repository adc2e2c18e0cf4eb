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

// A Caller is the origin of a request. The zero Caller is nobody, and may do nothing.
type Caller struct {
	// ID identifies the caller and is no secret: "owner", "token:" and the id of a token,
	// "user:" and that of a user who logged in. "" is nobody.
	ID    string
	Name  string // as people call it
	Scope fold.Scope
	// Until is when its credentials expire; zero is never.
	Until time.Time
	// Life ends when its credentials are revoked; nil is never. Streams of the caller end
	// with it.
	Life context.Context
	// Browser says that the caller was identified by a cookie, so that the request may
	// come from a page of another site.
	Browser bool
}

// Owner is the user whose daemon this is, at the socket of this machine.
func Owner() Caller { return Caller{ID: "owner", Name: "owner", Scope: fold.LocalScope()} }

// An Authenticator checks one kind of credentials.
type Authenticator interface {
	// Authenticate returns the caller of r. It returns false if r has no credentials of
	// the kind, and fold.ErrUnauthenticated, always with the same text, if they are not
	// valid. It is safe for concurrent use.
	Authenticate(r *http.Request) (who Caller, known bool, err error)
}

// Lasting returns a context that ends with ctx, with the caller's credentials, or when
// end is called.
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

// WithCaller returns a context with c for [CallerOf].
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of the request that ctx belongs to, nobody if there is
// none.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Access says who may call a route or a tool. The zero value is no declaration, and
// allows nobody.
type Access string

// Who may call a route or a tool.
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

// Allows reports whether a caller with scope sc may call. The projects are checked later,
// where the project is known.
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
