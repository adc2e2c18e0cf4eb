package api_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
)

// FuzzREST sends any query and body to each route. What comes back is no failure
// inside, and a problem where it is refused.
func FuzzREST(f *testing.F) {
	routes := slices.DeleteFunc(api.Routes(), func(r api.Route) bool { return r.Stream || r.Path == "/mcp" })
	for i, r := range routes {
		f.Add(uint8(i), "app", "x", "limit=1&cursor=zz", "", `{}`)
		if r.Method == http.MethodPost {
			f.Add(uint8(i), "app", "0123456789abcdef", "", "k", `{"query":"a","content":"b","name":"n","scope":"read","target":"c","remote":"/x","limit":-1,"after":"x"}`)
		}
	}
	f.Add(uint8(0), "..", "%2e%2e", "a=%zz&;", "\x00", "\xff")
	f.Add(uint8(1), "app", "x", "created_after=9999999999-01-01", "", `{"files":[{"path":"../x","content":"`+strings.Repeat("[", 5000)+`"}]}`)
	s := api.NewServer(apitest.New("app"), nil, api.Options{Version: "1"})
	f.Fuzz(func(t *testing.T, n uint8, slug, id, query, key, body string) {
		r := routes[int(n)%len(routes)]
		path := strings.NewReplacer("{slug}", url.PathEscape(slug), "{id}", url.PathEscape(id), "{link_id}", url.PathEscape(id), "{provider}", url.PathEscape(id), "{session}", url.PathEscape(id)).Replace(r.Path)
		req, err := http.NewRequestWithContext(t.Context(), r.Method, "http://foldwatch"+path, strings.NewReader(body))
		if err != nil {
			t.Skip(err)
		}
		req.URL.RawQuery = query
		if r.Method != http.MethodGet {
			req.Header.Set("Content-Type", "application/json")
		}
		req.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		s.Owner().ServeHTTP(w, req)
		// 503 is told by handlers that are not there.
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable || w.Code < 200 {
			t.Fatalf("%s %s?%s %q: %d %s", r.Method, path, query, body, w.Code, w.Body)
		}
		if w.Code >= 400 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d as %s: %s", r.Method, path, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		if strings.Contains(w.Body.String(), "goroutine ") {
			t.Errorf("the inside is told: %s", w.Body)
		}
	})
}

// fuzzedLogins serves one provider, and a session that was begun.
func fuzzedLogins(f *testing.F) (op *faultyOP, h http.Handler) {
	f.Helper()
	op = newFaultyOP(f)
	state, err := state.Open(f.Context(), f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = state.Close() })
	logins, err := auth.OpenLogins(f.Context(), state, auth.LoginsOptions{
		URL: lodgingURL, Secrets: f.TempDir(), Idle: time.Hour, Max: time.Hour,
		Providers: map[string]conf.AuthProvider{"none": {Issuer: op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, Viewer: []string{"*"}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	k, err := auth.OpenTokens(f.Context(), state, auth.TokensOptions{})
	if err != nil {
		f.Fatal(err)
	}
	agents := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	return op, api.NewServer(apitest.New("app"), agents, api.Options{Auth: k, Tokens: k, Logins: logins, Rates: api.Rates{Owner: -1, Token: -1, Peer: -1}}).OtherAt("7350")
}

// FuzzCookies sends any cookies and credentials: nobody is let in by them, and a
// login that nobody began does not end.
func FuzzCookies(f *testing.F) {
	_, h := fuzzedLogins(f)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, visitOf("GET", "/auth/login/none", ""))
	sealed := w.Result().Cookies()[0]
	f.Add("foldwatch="+strings.Repeat("A", 43), "", strings.Repeat("A", 43), "c")
	f.Add(sealed.Name+"="+sealed.Value[:50], "Bearer fwt_x", sealed.Name[len("foldwatch-login-"):]+strings.Repeat("A", 35), "c")
	f.Add("foldwatch=a; foldwatch=b; __Host-foldwatch=c", "Basic YTpi", "", "")
	f.Add("foldwatch-login-AAAAAAAA=AAAAAAAAAAAAAAAAAAAAAAAAAAAA", "bearer ", strings.Repeat("A", 43), "")
	f.Fuzz(func(t *testing.T, cookie, credentials, state, code string) {
		for _, path := range []string{"/auth/me", "/auth/callback/none?" + url.Values{"state": {state}, "code": {code}}.Encode()} {
			r := visitOf("GET", path, cookie)
			if credentials != "" {
				r.Header.Set("Authorization", credentials)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusUnauthorized && w.Code != http.StatusForbidden {
				t.Fatalf("%s with cookie %q and %q: %d %s", path, cookie, credentials, w.Code, w.Body)
			}
			for _, c := range w.Result().Cookies() {
				if c.MaxAge >= 0 {
					t.Errorf("%s sets %s", path, c)
				}
			}
		}
	})
}

// FuzzAccessToken sends JWTs with any head, claims and signature, signed by the key of
// the provider or not. One that is let in is signed, for us, of somebody, and lasts.
func FuzzAccessToken(f *testing.F) {
	op, h := fuzzedLogins(f)
	claims := fmt.Sprintf(`{"iss":%q,"sub":"ada","aud":%q,"client_id":"c","iat":%d,"exp":%d}`, op.issuer("none"), lodgingURL+"/mcp", time.Now().Unix(), time.Now().Add(24*time.Hour).Unix())
	head := `{"alg":"ES256","kid":"k","typ":"at+jwt"}`
	if code := sendToken(f, h, op, head, claims, nil); code != http.StatusAccepted {
		f.Fatalf("a token for us: %d", code)
	}
	f.Add(head, claims, []byte(nil))
	f.Add(head, claims, []byte(strings.Repeat("x", 64)))
	f.Add(`{"alg":"none"}`, claims, []byte("-"))
	f.Add(`{"alg":"HS256","jwk":{"kty":"oct","k":"AA"},"jku":"http://127.0.0.1:1/","crit":["b64"],"b64":false}`, claims, []byte("x"))
	for _, change := range []string{`"aud":["a","b"]`, `"exp":1e308`, `"exp":-1`, `"exp":"1"`, `"sub":1`, `"iat":9999999999`, `"nonce":"n"`, `"scope":{}`, `"aud":null`, `"iss":[]`} {
		f.Add(head, strings.TrimSuffix(claims, "}")+","+change+"}", []byte(nil))
	}
	f.Add("[]", "null", []byte(nil))
	f.Fuzz(func(t *testing.T, head, claims string, signature []byte) {
		code, signed := sendToken(t, h, op, head, claims, signature), len(signature) == 0
		switch code {
		case http.StatusUnauthorized:
		case http.StatusAccepted:
			var c struct {
				Iss, Sub string
				Aud      any
				Exp      float64
				Nonce    any
			}
			if err := json.Unmarshal([]byte(claims), &c); err != nil || !signed || c.Iss != op.issuer("none") || c.Sub == "" || !strings.Contains(fmt.Sprint(c.Aud), lodgingURL+"/mcp") || int64(c.Exp) < time.Now().Unix() || c.Nonce != nil && c.Nonce != "" {
				t.Fatalf("let in (signed: %v): %s %s, %v", signed, head, claims, err)
			}
		default:
			t.Fatalf("%s %s: %d", head, claims, code)
		}
	})
}

// sendToken asks for /mcp with a JWT, signed by the key of the provider where no
// signature is given, and returns the status of the answer.
func sendToken(t testing.TB, h http.Handler, op *faultyOP, head, claims string, signature []byte) int {
	enc := base64.RawURLEncoding.EncodeToString
	text := enc([]byte(head)) + "." + enc([]byte(claims))
	if len(signature) == 0 {
		sum := sha256.Sum256([]byte(text))
		r, s, err := ecdsa.Sign(rand.Reader, op.key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	r := visitOf("POST", "/mcp", "")
	r.Header.Del("Origin")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+text+"."+enc(signature))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}
