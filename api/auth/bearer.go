package auth

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/shown"
)

// Authenticate returns the user with the access token (a JWT of a provider) in r, for
// MCP. It returns false if r has none, and [ErrNobody] if the token is not valid for us,
// such as one for another audience. A nil l knows nobody.
func (l *Logins) Authenticate(r *http.Request) (Caller, bool, error) {
	values := r.Header.Values("Authorization")
	if l == nil || r.URL.Path != mcpPath || len(values) != 1 {
		return Caller{}, false, nil
	}
	scheme, raw, _ := strings.Cut(values[0], " ")
	var about struct {
		Issuer string `json:"iss"`
	}
	jwt := part(raw, 1, &about) == nil
	if !jwt || !strings.EqualFold(scheme, "Bearer") {
		return Caller{}, false, nil
	}
	for _, p := range l.issuers(about.Issuer) {
		who, until, err := p.identifier.(*issuer).access(r.Context(), raw, l.Resource(), l.now())
		if err != nil {
			l.log.InfoContext(r.Context(), "Refused an access token", "provider", p.id, "reason", shown.Clip(shown.Line(strings.ReplaceAll(err.Error(), raw, "…")), 300))
			continue
		}
		c := l.bearer(p, who)
		if c.ID == "" {
			l.log.InfoContext(r.Context(), "Refused an access token", "provider", p.id, "reason", "whom it was given to has no role")
			continue
		}
		c.Until = until
		return c, true, nil
	}
	return Caller{}, true, errRefused()
}

// issuers returns the providers with that issuer.
func (l *Logins) issuers(name string) (found []*provider) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.providers {
		if p.set.Kind == "oidc" && p.set.Issuer == name {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *provider) int { return strings.Compare(a.id, b.id) }) // the same role each time
	return found
}

// bearer returns the caller that an access token was given to, nobody without a role: the
// assigned role, or else the one by the claims of this token.
func (l *Logins) bearer(p *provider, who identity) Caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	role, projects, name := roleOf(p.set, who.claims), p.set.Projects, shown.Clip(shown.Line(who.name), nameRunes)
	id, life := "subject:"+hashText(who.issuer + " " + who.subject)[:16], context.Context(nil)
	if u := l.userOf(who.issuer, who.subject); u != nil {
		id, life, name = "user:"+u.rec.ID, u.life, u.name()
		if u.rec.Assigned != "" {
			role, projects = u.rec.Assigned, u.rec.Projects
		}
	}
	if role == "" {
		return Caller{}
	}
	if name == "" {
		name = shown.Clip(shown.Line(who.subject), nameRunes)
	}
	return Caller{ID: id, Name: name, Scope: scopeOf(role, projects, name), Life: life}
}
