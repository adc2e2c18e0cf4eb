package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// gitHubFaults are what a GitHub of ours does wrong, with a part of the reason.
func gitHubFaults() map[string]string {
	return map[string]string{
		"code-refused": "bad_verification_code", "token-500": "500", "token-redirect": "redirect", "token-none": "", "token-mac": "another type",
		"user-401": "401", "user-500": "500", "user-html": "no JSON", "user-redirect": "redirect", "user-huge": "too long", "user-empty": "no number",
		"id-text": "no number", "id-zero": "no number", "id-negative": "no number", "id-fraction": "no number", "id-big": "no number", "organization": "no person",
		"denied": "access_denied", "state-other": "state", "iss-other": "another provider's",
	}
}

// gitHubServer is a GitHub of one's own for each fault, which is the first part of
// its path. It answers as the documentation of GitHub says, with 200 for errors
// too.
func gitHubServer(t *testing.T) string {
	t.Helper()
	challenge := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		q := r.URL.Query()
		switch path {
		case "login/oauth/authorize":
			if q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
				http.Error(w, "no PKCE or state", http.StatusBadRequest)
				return
			}
			challenge = q.Get("code_challenge")
			back := url.Values{"code": {"c0de"}, "state": {q.Get("state")}}
			switch fault {
			case "denied":
				back = url.Values{"error": {"access_denied"}, "state": {q.Get("state")}}
			case "state-other":
				back.Set("state", strings.Repeat("A", 43))
			case "iss-other":
				back.Set("iss", "https://evil.example")
			}
			http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
		case "login/oauth/access_token":
			gitHubToken(w, r, fault, challenge)
		case "api/v3/user":
			gitHubUser(w, r, fault)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func gitHubToken(w http.ResponseWriter, r *http.Request, fault, challenge string) {
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	answer := map[string]any{"access_token": "gho_x", "token_type": "bearer", "scope": ""}
	switch {
	case fault == "code-refused", r.FormValue("code") != "c0de", r.FormValue("client_secret") != faultySecret, base64.RawURLEncoding.EncodeToString(sum[:]) != challenge:
		answer = map[string]any{"error": "bad_verification_code"}
	case fault == "token-500":
		w.WriteHeader(http.StatusInternalServerError)
	case fault == "token-redirect":
		http.Redirect(w, r, "/none/login/oauth/access_token", http.StatusTemporaryRedirect)
		return
	case fault == "token-none":
		delete(answer, "access_token")
	case fault == "token-mac":
		answer["token_type"] = "mac"
	}
	send(w, answer)
}

func gitHubUser(w http.ResponseWriter, r *http.Request, fault string) {
	id, typ := "583231", "User"
	switch fault {
	case "user-401":
		w.WriteHeader(http.StatusUnauthorized)
	case "user-500":
		w.WriteHeader(http.StatusInternalServerError)
	case "user-html":
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>"))
		return
	case "user-redirect":
		http.Redirect(w, r, "/none/api/v3/user", http.StatusFound)
		return
	case "user-empty":
		send(w, map[string]any{})
		return
	case "id-text":
		id = `"583231"`
	case "id-zero":
		id = "0"
	case "id-negative":
		id = "-1"
	case "id-fraction":
		id = "1.5"
	case "id-big":
		id = "92233720368547758080"
	case "organization":
		typ = "Organization"
	}
	if r.Header.Get("Authorization") != "Bearer gho_x" {
		w.WriteHeader(http.StatusUnauthorized)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = fmt.Fprintf(w, `{"login":"octocat","id":%s,"type":%q,"name":null,"email":null%s}`, id, typ, strings.Repeat(" ", map[bool]int{true: 2 << 20}[fault == "user-huge"]))
}

// TestFaultyGitHubsLetNobodyIn logs in by a GitHub with each of its faults. The
// identity is the number: a role for it works, whatever the name is.
func TestFaultyGitHubsLetNobodyIn(t *testing.T) {
	t.Parallel()
	at := gitHubServer(t)
	h := newLodge(t, func(string) map[string]conf.AuthProvider {
		all := map[string]conf.AuthProvider{}
		for _, fault := range append(slices.Collect(maps.Keys(gitHubFaults())), "none") {
			all[fault] = conf.AuthProvider{Kind: "github", Issuer: at + "/" + fault, ClientID: "fold", ClientSecret: faultySecret, RoleClaim: "sub", Member: []string{"583231"}}
		}
		return all
	})
	for _, fault := range slices.Sorted(maps.Keys(gitHubFaults())) {
		b, before := newBrowser(t, h.url), len(h.log.String())
		status, body, _ := b.get("/auth/login/" + fault)
		t.Run(fault, func(t *testing.T) { mustRefuse(t, b, status, body, h.log.String()[before:], gitHubFaults()[fault]) })
	}
	if status, body, _ := newBrowser(t, h.url).get("/auth/login/none"); status != http.StatusOK || !strings.Contains(body, `"name":"octocat"`) || !strings.Contains(body, `"role":"member"`) {
		t.Fatalf("without a fault: %d %s\n%s", status, body, h.log)
	}
	for _, s := range []string{"gho_x", "c0de", faultySecret} {
		if strings.Contains(h.log.String(), s) {
			t.Errorf("the log holds %q", s)
		}
	}
}

// TestRolesAreGivenAndTaken lets in who was added by hand, and nobody before.
func TestRolesAreGivenAndTaken(t *testing.T) {
	t.Parallel()
	op := newFaultyOP(t)
	h := newLodge(t, func(string) map[string]conf.AuthProvider { return nil })
	create := fmt.Sprintf(`{"id":"corp","name":"Corp","issuer":%q,"client_id":"fold","client_secret":%q}`, op.issuer("none"), faultySecret)
	h.asOwner("POST", "/auth/providers", create, http.StatusCreated, nil)
	h.asOwner("POST", "/auth/providers", create, http.StatusConflict, nil)
	var providers json.RawMessage
	h.asOwner("GET", "/auth/providers", "", http.StatusOK, &providers)
	if strings.Contains(string(providers), faultySecret) || !strings.Contains(string(providers), `"login":"/auth/login/corp"`) {
		t.Errorf("providers: %s", providers)
	}
	if info, err := os.Stat(filepath.Join(h.state, "logins", "corp.secret")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret's file: %v, %v", info, err)
	}
	if b, err := os.ReadFile(filepath.Join(h.state, "state.db-wal")); err == nil && strings.Contains(string(b), faultySecret) {
		t.Error("the database holds the secret")
	}

	b := newBrowser(t, h.url)
	if status, body, _ := b.get("/auth/login/corp"); status != http.StatusForbidden || !strings.Contains(body, "without a role") || len(b.cookies()) != 0 {
		t.Fatalf("without a role: %d %s, %v", status, body, b.cookies())
	}
	if status, _, _ := b.do("GET", h.url+"/auth/login/corp", map[string]string{"Sec-Fetch-Mode": "no-cors"}, nil); status != http.StatusForbidden {
		t.Errorf("a login that a page loads as a picture: %d", status)
	}
	var users wire.UserList
	h.asOwner("GET", "/auth/users", "", http.StatusOK, &users)
	if len(users.Items) != 1 || users.Items[0].Subject != "ada" || users.Items[0].Role != "" {
		t.Fatalf("users: %+v", users)
	}
	path := "/auth/users/" + users.Items[0].ID
	h.asOwner("PUT", path, `{"role":"member","projects":["app"]}`, http.StatusOK, nil)
	if status, body, _ := b.get("/auth/login/corp"); status != http.StatusOK || !strings.Contains(body, `"role":"member"`) || !strings.Contains(body, `["app"]`) {
		t.Fatalf("a member of app: %d %s", status, body)
	}
	reads := func(slug string) int { status, _, _ := b.get("/api/projects/" + slug); return status }
	if reads("app") != http.StatusOK || reads("web") != http.StatusNotFound {
		t.Errorf("app %d, web %d", reads("app"), reads("web"))
	}
	status, made, _ := b.do("POST", h.url+"/me/tokens", map[string]string{"Origin": h.url, "Content-Type": "application/json"}, strings.NewReader(`{"name":"n","scope":"write"}`))
	var token wire.TokenCreated
	if err := json.Unmarshal([]byte(made), &token); err != nil || status != http.StatusCreated || !slices.Equal(token.Projects, []string{"app"}) {
		t.Fatalf("a token of one's own: %d %s", status, made)
	}
	bearer := func() int {
		status, _, _ := newBrowser(t, h.url).do("GET", h.url+"/auth/me", map[string]string{"Authorization": "Bearer " + token.Secret}, nil)
		return status
	}
	if got := bearer(); got != http.StatusOK {
		t.Errorf("the token: %d", got)
	}
	h.asOwner("PUT", path, `{"role":"viewer"}`, http.StatusOK, nil)
	if _, body, _ := b.get("/auth/me"); !strings.Contains(body, `"scope":"read"`) {
		t.Errorf("a viewer now: %s", body)
	}
	if got := bearer(); got != http.StatusUnauthorized {
		t.Errorf("the token of a member who is a viewer now: %d", got)
	}
	h.wait(11 * time.Hour)
	if status, _, _ := b.get("/auth/me"); status != http.StatusOK {
		t.Errorf("after 11 hours: %d", status)
	}
	h.wait(12 * time.Hour)
	if status, _, _ := b.get("/auth/me"); status != http.StatusUnauthorized {
		t.Errorf("unused for 12 hours: %d", status)
	}
	h.asOwner("DELETE", "/auth/providers/corp", "", http.StatusNoContent, nil)
	if _, err := os.Stat(filepath.Join(h.state, "logins", "corp.secret")); !os.IsNotExist(err) {
		t.Errorf("the secret of a provider that is gone: %v", err)
	}
	h.asOwner("DELETE", path, "", http.StatusNoContent, nil)
}

// TestWhoMayLessLosesAtOnce: an administrator takes the role from the very session
// that asks for it, and all that was made with it ends all the same.
func TestWhoMayLessLosesAtOnce(t *testing.T) {
	t.Parallel()
	for name, lessen := range map[string]func(b *browser, h *lodge, id string) int{
		"gives themself another role": func(b *browser, h *lodge, id string) int {
			status, _, _ := b.do("PUT", h.url+"/auth/users/"+id, map[string]string{"Origin": h.url, "Content-Type": "application/json"}, strings.NewReader(`{"role":"viewer"}`))
			return status
		},
		"removes themself": func(b *browser, h *lodge, id string) int {
			status, _, _ := b.do("DELETE", h.url+"/auth/users/"+id, map[string]string{"Origin": h.url}, nil)
			return status
		},
		"removes the provider": func(b *browser, h *lodge, _ string) int {
			status, _, _ := b.do("DELETE", h.url+"/auth/providers/corp", map[string]string{"Origin": h.url}, nil)
			return status
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := newFaultyOP(t)
			h := newLodge(t, func(string) map[string]conf.AuthProvider { return nil })
			h.asOwner("POST", "/auth/providers", fmt.Sprintf(`{"id":"corp","name":"Corp","issuer":%q,"client_id":"fold","client_secret":%q}`, op.issuer("none"), faultySecret), http.StatusCreated, nil)
			b := newBrowser(t, h.url)
			b.get("/auth/login/corp")
			var users wire.UserList
			h.asOwner("GET", "/auth/users", "", http.StatusOK, &users)
			h.asOwner("PUT", "/auth/users/"+users.Items[0].ID, `{"role":"admin"}`, http.StatusOK, nil)
			if status, body, _ := b.get("/auth/login/corp"); status != http.StatusOK {
				t.Fatalf("an administrator: %d %s", status, body)
			}
			_, made, _ := b.do("POST", h.url+"/me/tokens", map[string]string{"Origin": h.url, "Content-Type": "application/json"}, strings.NewReader(`{"name":"n","scope":"admin"}`))
			var token wire.TokenCreated
			if err := json.Unmarshal([]byte(made), &token); err != nil || token.Secret == "" {
				t.Fatalf("a token: %s", made)
			}
			lessen(b, h, users.Items[0].ID) // its answer may be lost: the session is the one that ends
			if status, _, _ := newBrowser(t, h.url).do("GET", h.url+"/auth/me", map[string]string{"Authorization": "Bearer " + token.Secret}, nil); status != http.StatusUnauthorized {
				t.Errorf("the token: %d", status)
			}
		})
	}
}

// TestAccessTokensAreForMCPAlone sends access tokens that are ours, and those
// that are not.
func TestAccessTokensAreForMCPAlone(t *testing.T) {
	t.Parallel()
	h, op := newFaultyLodge(t)
	resource := h.url + "/mcp"
	now := time.Now().Unix()
	token := func(fault string, head, change map[string]any) string {
		claims := map[string]any{"iss": op.issuer(fault), "sub": "ada", "aud": resource, "iat": now, "exp": now + 300}
		maps.Copy(claims, change)
		maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
		payload, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		if head == nil {
			return op.sign(fault, payload)
		}
		return op.signed(head, payload, op.key)
	}
	ask := func(path, bearer string) (int, string) {
		head := map[string]string{"Authorization": "Bearer " + bearer, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
		status, _, res := newBrowser(t, h.url).do("POST", h.url+path, head, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`))
		return status, res.header.Get("WWW-Authenticate")
	}
	atJWT := map[string]any{"alg": "ES256", "kid": "k", "typ": "at+jwt"}
	if status, _ := ask("/mcp", token("none", atJWT, nil)); status != http.StatusOK {
		t.Fatalf("a token for us: %d\n%s", status, h.log)
	}
	plain := map[string]any{"alg": "ES256", "kid": "k", "typ": "JWT"}
	if status, _ := ask("/mcp", token("none", plain, map[string]any{"scope": "openid"})); status != http.StatusOK {
		t.Errorf("a token with a scope, of a provider that knows no at+jwt: %d", status)
	}
	for name, bad := range map[string]string{
		"other audience": token("none", atJWT, map[string]any{"aud": "https://other.example/mcp"}), "audience is the client": token("none", atJWT, map[string]any{"aud": "fold"}),
		"no audience": token("none", atJWT, map[string]any{"aud": nil}), "expired": token("none", atJWT, map[string]any{"exp": now - 1}), "no expiry": token("none", atJWT, map[string]any{"exp": nil}),
		"nobody": token("none", atJWT, map[string]any{"sub": nil}), "an id_token": token("none", atJWT, map[string]any{"nonce": "n"}), "bound": token("none", atJWT, map[string]any{"cnf": map[string]any{"jkt": "x"}}),
		"future": token("none", atJWT, map[string]any{"iat": now + 3600}), "other issuer": token("none", atJWT, map[string]any{"iss": "https://evil.example"}),
		"an id_token for an audience of its holder's choice": token("none", plain, map[string]any{"azp": "robot", "email": "robot@corp.example", "email_verified": true}),
		"logout token": token("none", map[string]any{"alg": "ES256", "kid": "k", "typ": "logout+jwt"}, nil),
		"other key":    token("other-key", nil, nil), "none": token("alg-none", nil, nil), "hs256": token("hs256-public-key", nil, nil), "own key": token("own-key-in-head", nil, nil), "garbage": "a.b.c",
	} {
		status, challenge := ask("/mcp", bad)
		if want := `Bearer resource_metadata="` + h.url + `/.well-known/oauth-protected-resource/mcp"`; status != http.StatusUnauthorized || challenge != want {
			t.Errorf("%s: %d, %s", name, status, challenge)
		}
		if strings.Contains(h.log.String(), bad) {
			t.Errorf("%s: the log holds it", name)
		}
	}
	if status, _ := ask("/api/search", token("none", atJWT, nil)); status != http.StatusUnauthorized {
		t.Errorf("a token for MCP elsewhere: %d", status)
	}
	_, body, _ := newBrowser(t, h.url).get("/.well-known/oauth-protected-resource/mcp")
	var m wire.ResourceMetadata
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Resource != resource || !slices.Contains(m.Servers, op.issuer("none")) {
		t.Errorf("metadata: %s", body)
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	if n := op.asked["/none/keys"]; n != 1 {
		t.Errorf("strangers had us ask for keys %d times", n)
	}
}
