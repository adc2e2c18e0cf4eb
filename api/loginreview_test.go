package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// TestSettingsThatGiveLessEndWhatWasMade logs in, makes a token, and starts again
// with other settings.
func TestSettingsThatGiveLessEndWhatWasMade(t *testing.T) {
	t.Parallel()
	op := newFaultyOP(t)
	was := conf.AuthProvider{
		Issuer: op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, RoleClaim: "email", Admin: []string{"eve@example.com", "ada@example.com"}, Projects: []string{"app", "web"},
	}
	const nothing, loggedIn, all = 0, 1, 2 // is left
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
		"a broken client":         {func(p *conf.AuthProvider) string { p.ClientID = ""; return "corp" }, "", all, ""},
		"a lower role":            {func(p *conf.AuthProvider) string { p.Admin, p.Viewer = nil, p.Admin; return "corp" }, "", loggedIn, "viewer"},
		"fewer projects":          {func(p *conf.AuthProvider) string { p.Projects = []string{"app"}; return "corp" }, "", loggedIn, "admin"},
		"no role":                 {func(p *conf.AuthProvider) string { p.Admin = nil; return "corp" }, "", nothing, ""},
		"another claim":           {func(p *conf.AuthProvider) string { p.RoleClaim = "groups"; return "corp" }, "", nothing, ""},
		"another claim, for all":  {func(p *conf.AuthProvider) string { p.RoleClaim, p.Admin = "groups", []string{"*"}; return "corp" }, "", all, "admin"},
		"another issuer":          {func(p *conf.AuthProvider) string { p.Issuer = op.issuer("none2"); return "corp" }, "", nothing, ""},
		"no provider":             {func(p *conf.AuthProvider) string { p.Disabled = true; return "corp" }, "", nothing, ""},
		"another name":            {func(*conf.AuthProvider) string { return "corp2" }, "", nothing, ""},
		"no role, but a given":    {func(p *conf.AuthProvider) string { p.Admin = nil; return "corp" }, "admin", all, "admin"},
		"no provider for a given": {func(p *conf.AuthProvider) string { p.Disabled = true; return "corp" }, "admin", nothing, ""},
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
			var again *auth.Logins
			for range 2 { // what ended once is not begun by the next start
				var err error
				again, err = auth.OpenLogins(t.Context(), h.db, auth.LoginsOptions{
					URL: h.url, Providers: map[string]conf.AuthProvider{id: now}, Secrets: t.TempDir(), Idle: time.Hour, Max: time.Hour, Tokens: h.tokens,
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			user := again.Users().Items[0]
			sessions, err := h.db.Sessions(t.Context())
			if err != nil || len(sessions) != min(tc.left, 1) || user.Role != tc.role {
				t.Errorf("%d sessions of %+v are left, %v", len(sessions), user, err)
			}
			status, _, _ := newBrowser(t, h.url).do("GET", h.url+"/auth/me", map[string]string{"Authorization": "Bearer " + token.Secret}, nil)
			if want := map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[tc.left == all]; status != want {
				t.Errorf("the token: %d, want %d", status, want)
			}
		})
	}
}
