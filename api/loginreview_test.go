package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// TestSettingsThatGiveLessEndWhatWasMade logs in, makes a token, and starts again
// with other settings.
func TestSettingsThatGiveLessEndWhatWasMade(t *testing.T) {
	t.Parallel()
	op := newFaultyOP(t)
	was := conf.AuthProvider{
		Issuer: op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, RoleClaim: "email", Admin: []string{"eve@example.com", "ada@example.com"}, Projects: []string{"app", "web"},
	}
	const nothing, loggedIn, all, asleep = 0, 1, 2, 3 // is left; asleep is all, for when the provider is back
	for name, tc := range map[string]struct {
		change   func(p *conf.AuthProvider) (id string)
		assigned string
		left     int
		role     string
	}{
		"nothing":                 {func(*conf.AuthProvider) string { return "corp" }, "", all, "admin"},
		"more people":             {func(p *conf.AuthProvider) string { p.Admin = append(p.Admin, "bob@example.com"); return "corp" }, "", all, "admin"},
		"fewer others":            {func(p *conf.AuthProvider) string { p.Admin = p.Admin[1:]; return "corp" }, "", all, "admin"},
		"more projects":           {func(p *conf.AuthProvider) string { p.Projects = nil; return "corp" }, "", all, "admin"},
		"another secret":          {func(p *conf.AuthProvider) string { p.ClientSecret = "other"; return "corp" }, "", all, "admin"},
		"a broken client":         {func(p *conf.AuthProvider) string { p.ClientID = ""; return "corp" }, "", asleep, ""},
		"a lower role":            {func(p *conf.AuthProvider) string { p.Admin, p.Viewer = nil, p.Admin; return "corp" }, "", loggedIn, "viewer"},
		"fewer projects":          {func(p *conf.AuthProvider) string { p.Projects = []string{"app"}; return "corp" }, "", loggedIn, "admin"},
		"no role":                 {func(p *conf.AuthProvider) string { p.Admin = nil; return "corp" }, "", nothing, ""},
		"another claim":           {func(p *conf.AuthProvider) string { p.RoleClaim = "groups"; return "corp" }, "", nothing, ""},
		"another claim, for all":  {func(p *conf.AuthProvider) string { p.RoleClaim, p.Admin = "groups", []string{"*"}; return "corp" }, "", all, "admin"},
		"another issuer":          {func(p *conf.AuthProvider) string { p.Issuer = op.issuer("none2"); return "corp" }, "", nothing, ""},
		"disabled":                {func(p *conf.AuthProvider) string { p.Disabled = true; return "corp" }, "", asleep, ""},
		"not named":               {func(*conf.AuthProvider) string { return "" }, "", asleep, ""},
		"another name":            {func(*conf.AuthProvider) string { return "corp2" }, "", asleep, ""},
		"no role, but a given":    {func(p *conf.AuthProvider) string { p.Admin = nil; return "corp" }, "admin", all, "admin"},
		"not named for a given":   {func(*conf.AuthProvider) string { return "" }, "admin", asleep, ""},
		"another issuer, a given": {func(p *conf.AuthProvider) string { p.Issuer = op.issuer("none2"); return "corp" }, "admin", nothing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newLodge(t, func(string) map[string]conf.AuthProvider { return map[string]conf.AuthProvider{"corp": was} })
			b := newBrowser(t, h.url)
			if status, body, _ := b.get("/auth/login/corp"); status != http.StatusOK {
				t.Fatalf("log in: %d %s", status, body)
			}
			if tc.assigned != "" {
				h.asOwner("PUT", "/auth/users/"+h.logins.Users().Items[0].ID, `{"role":"`+tc.assigned+`"}`, http.StatusOK, nil)
			}
			_, made, _ := b.do("POST", h.url+"/me/tokens", map[string]string{"Origin": h.url, "Content-Type": "application/json"}, strings.NewReader(`{"name":"n","scope":"read"}`))
			var token wire.TokenCreated
			if err := json.Unmarshal([]byte(made), &token); err != nil || token.Secret == "" {
				t.Fatalf("a token: %s", made)
			}
			now := was
			id := tc.change(&now)
			before := len(h.log.String())
			h.startAgain(map[string]conf.AuthProvider{id: now})
			again := h.startAgain(map[string]conf.AuthProvider{id: now}) // what ended once is not begun by the next start
			user := again.Users().Items[0]
			sessions, err := h.db.Sessions(t.Context())
			if err != nil || len(sessions) != min(tc.left, 1) || user.Role != tc.role {
				t.Errorf("%d sessions of %+v are left, %v", len(sessions), user, err)
			}
			if status, want := h.withToken(token.Secret), map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[tc.left == all]; status != want {
				t.Errorf("the token: %d, want %d", status, want)
			}
			told := strings.Count(h.log.String()[before:], "Tokens of a user revoked")
			if want := map[bool]int{true: 1}[tc.left == nothing || tc.left == loggedIn]; told != want {
				t.Errorf("two starts tell %d times of revoked tokens, want %d", told, want)
			}
			if tc.left == asleep {
				if h.startAgain(map[string]conf.AuthProvider{"corp": was}); h.withToken(token.Secret) != http.StatusOK {
					t.Error("the provider is back, and the token is refused")
				}
			}
		})
	}
}

// startAgain reads what the lodge has stored as the next start would.
func (h *lodge) startAgain(providers map[string]conf.AuthProvider) *auth.Logins {
	h.t.Helper()
	again, err := auth.OpenLogins(h.t.Context(), h.db, auth.LoginsOptions{
		URL: h.url, Providers: providers, Secrets: h.t.TempDir(), Idle: time.Hour, Max: time.Hour, Tokens: h.tokens,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return again
}

// withToken returns the status that a request with the token has.
func (h *lodge) withToken(secret string) int {
	h.t.Helper()
	status, _, _ := newBrowser(h.t, h.url).do("GET", h.url+"/auth/me", map[string]string{"Authorization": "Bearer " + secret}, nil)
	return status
}

// logInForToken logs in by corp, and makes a token, and one by that.
func (h *lodge) logInForToken() (secrets [2]string) {
	h.t.Helper()
	b := newBrowser(h.t, h.url)
	if status, body, _ := b.get("/auth/login/corp"); status != http.StatusOK {
		h.t.Fatalf("log in: %d %s", status, body)
	}
	head := map[string]string{"Origin": h.url, "Content-Type": "application/json"}
	for i := range secrets {
		_, made, _ := b.do("POST", h.url+"/me/tokens", head, strings.NewReader(`{"name":"n","scope":"write"}`))
		var token wire.TokenCreated
		if err := json.Unmarshal([]byte(made), &token); err != nil || token.Secret == "" {
			h.t.Fatalf("a token: %s", made)
		}
		secrets[i] = token.Secret
		b, head = newBrowser(h.t, h.url), map[string]string{"Authorization": "Bearer " + token.Secret, "Content-Type": "application/json"}
	}
	return secrets
}

// TestWhatIsNotKnownOfALoginEndsNothing: the row of the user is as one was before it
// had what the provider said.
func TestWhatIsNotKnownOfALoginEndsNothing(t *testing.T) {
	t.Parallel()
	op := newFaultyOP(t)
	corp := conf.AuthProvider{Issuer: op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, RoleClaim: "email", Member: []string{"ada@example.com"}}
	h := newLodge(t, func(string) map[string]conf.AuthProvider { return map[string]conf.AuthProvider{"corp": corp} })
	secrets := h.logInForToken()
	users, err := h.db.Users(t.Context())
	if err != nil || len(users) != 1 {
		t.Fatalf("%+v, %v", users, err)
	}
	users[0].Claims = state.Claims{}
	if err := h.db.PutUser(t.Context(), users[0]); err != nil {
		t.Fatal(err)
	}
	if role := h.startAgain(map[string]conf.AuthProvider{"corp": corp}).Users().Items[0].Role; role != "member" || h.withToken(secrets[1]) != http.StatusOK {
		t.Errorf("the role is %q, and the token is answered %d", role, h.withToken(secrets[1]))
	}
}

// TestTheEndOfAProviderThatIsAway: what sleeps ends where somebody says so.
func TestTheEndOfAProviderThatIsAway(t *testing.T) {
	t.Parallel()
	op := newFaultyOP(t)
	corp := map[string]conf.AuthProvider{"corp": {
		Issuer: op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, RoleClaim: "email", Member: []string{"ada@example.com"},
	}}
	h := newLodge(t, func(string) map[string]conf.AuthProvider { return corp })
	secrets := h.logInForToken()
	away := h.startAgain(nil)
	for i, secret := range secrets {
		if status := h.withToken(secret); status != http.StatusUnauthorized {
			t.Errorf("token %d while the provider is away: %d", i, status)
		}
	}
	for _, k := range h.tokens.List(auth.Owner()).Items {
		if k.State != "suspended" {
			t.Errorf("the list says of a token that is refused that it is %s", k.State)
		}
	}
	if err := away.RemoveProvider(t.Context(), "corp"); err != nil {
		t.Fatal(err)
	}
	if err := away.RemoveProvider(t.Context(), "other"); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("to remove what never was: %v", err)
	}
	h.startAgain(corp)
	sessions, err := h.db.Sessions(t.Context())
	if err != nil || len(sessions) != 0 {
		t.Errorf("%d sessions are left, %v", len(sessions), err)
	}
	for i, secret := range secrets {
		if status := h.withToken(secret); status != http.StatusUnauthorized {
			t.Errorf("token %d after the provider was removed: %d", i, status)
		}
	}
}
