package auth

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
)

// An identity is who a provider says is there. Issuer and subject tell one from
// every other; the rest may change.
type identity struct {
	issuer, subject string
	email, name     string
	claims          map[string]any
}

// An attempt is what one login takes along to a provider and back.
type attempt struct {
	state    string
	nonce    string
	verifier string // of PKCE
	redirect string // where the provider sends the browser
	now      time.Time
}

// An identifier asks one provider who somebody is, by the code flow of OAuth 2
// with PKCE. It is safe for concurrent use.
type identifier interface {
	// begin returns where the browser goes.
	begin(ctx context.Context, a attempt) (string, error)
	// finish takes what the browser brought back; its state was checked. Errors
	// that wrap fold.ErrUnavailable say that the provider does not answer.
	finish(ctx context.Context, a attempt, answer url.Values) (identity, error)
}

// The roles, and the scopes that tokens have for the same.
var roleScopes = map[string]string{"viewer": "read", "member": "write", "admin": "admin"}

// everybody stands, among the values of a claim, for whoever can log in.
const everybody = "*"

// mostValues bounds what is kept of a claim, in bytes.
const mostValues = 64 << 10

// saidOf returns what the claims say by which p gives a role.
func saidOf(p conf.AuthProvider, claims map[string]any) state.Claims {
	said := state.Claims{Known: true, Claim: p.RoleClaim, Values: claimValues(p.RoleClaim, claims), Projects: p.Projects}
	slices.Sort(said.Values)
	n := 0
	for i, v := range said.Values {
		if n += len(v); n > mostValues {
			said.Values = said.Values[:i] // what is not kept may have the user log in again
			break
		}
	}
	return said
}

// roleOf returns the highest role that the claims give by p, "" if none.
func roleOf(p conf.AuthProvider, claims map[string]any) string {
	return roleFor(p, claimValues(p.RoleClaim, claims))
}

// roleFor is roleOf of the values of the claim.
func roleFor(p conf.AuthProvider, values []string) string {
	for _, role := range []struct {
		name string
		of   []string
	}{{"admin", p.Admin}, {"member", p.Member}, {"viewer", p.Viewer}} {
		if slices.Contains(role.of, everybody) || slices.ContainsFunc(values, func(v string) bool { return slices.Contains(role.of, v) }) {
			return role.name
		}
	}
	return ""
}

// claimValues returns the texts that a claim has: one, those of a list, or the
// names in an object. Dots lead into objects where no claim has the whole name.
// An address of mail counts where the provider has verified it.
func claimValues(name string, claims map[string]any) []string {
	if name == "" || name == "email" && claims["email_verified"] != true {
		return nil
	}
	at, ok := claims[name]
	if !ok {
		first, rest, dotted := strings.Cut(name, ".")
		if inner, is := claims[first].(map[string]any); dotted && is {
			return claimValues(rest, inner)
		}
		return nil
	}
	var values []string
	switch at := at.(type) {
	case string:
		values = append(values, at)
	case []any:
		for _, v := range at {
			if text, ok := v.(string); ok {
				values = append(values, text)
			}
		}
	case map[string]any:
		for name := range at {
			values = append(values, name)
		}
	}
	// A value that stands for everybody in the settings is nobody's.
	return slices.DeleteFunc(values, func(v string) bool { return v == everybody || v == "" })
}
