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

// An identity is a user as a provider knows them. Issuer and subject identify the user;
// the rest may change.
type identity struct {
	issuer, subject string
	email, name     string
	claims          map[string]any
}

// An attempt is what one login sends to a provider and checks in its answer.
type attempt struct {
	state    string
	nonce    string
	verifier string // of PKCE
	redirect string // where the provider sends the browser
	now      time.Time
}

// An identifier finds out by one provider who a user is, with the code flow of OAuth 2
// and PKCE. It is safe for concurrent use.
type identifier interface {
	// begin returns the address to redirect the browser to.
	begin(ctx context.Context, a attempt) (string, error)
	// finish checks the answer that the browser brought back, after its state was
	// checked. Errors that wrap fold.ErrUnavailable say that the provider does not
	// answer.
	finish(ctx context.Context, a attempt, answer url.Values) (identity, error)
}

// The roles, and the scopes that tokens have for the same.
var roleScopes = map[string]string{"viewer": "read", "member": "write", "admin": "admin"}

// everybody, as the value of a claim in the settings, means all who can log in.
const everybody = "*"

// maxClaimValues bounds the stored values of a claim, in bytes.
const maxClaimValues = 64 << 10

// relevantClaims returns the claims that p decides the role by.
func relevantClaims(p conf.AuthProvider, claims map[string]any) state.Claims {
	said := state.Claims{Known: true, Claim: p.RoleClaim, Values: claimValues(p.RoleClaim, claims), Projects: p.Projects}
	slices.Sort(said.Values)
	n := 0
	for i, v := range said.Values {
		if n += len(v); n > maxClaimValues {
			said.Values = said.Values[:i] // what is not kept may have the user log in again
			break
		}
	}
	return said
}

// roleOf returns the highest role that p gives for the claims, "" if none.
func roleOf(p conf.AuthProvider, claims map[string]any) string {
	return roleFor(p, claimValues(p.RoleClaim, claims))
}

// roleFor is roleOf for the values of the claim.
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

// claimValues returns the values of a claim: a text, the texts of a list, or the names of
// an object. Dots lead into objects if no claim has the whole name. An e-mail address
// counts if the provider has verified it.
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
