package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
)

// lodging is what the contract needs to log in.
type lodging struct {
	logins *auth.Logins
	state  *state.DB
	op     *faultyOP
	next   int // of its users
}

// user is one that was not named before.
func (l *lodging) user() string {
	l.next++
	return fmt.Sprintf("u%d", l.next)
}

// lodgingURL is the address that the provider sends browsers back to; nobody
// listens there.
const lodgingURL = "http://127.0.0.1:7350"

// newLodging has that many users, u0 being the first, whom nobody lets in.
func newLodging(t *testing.T, users int) *lodging {
	t.Helper()
	l := &lodging{op: newFaultyOP(t)}
	var err error
	if l.state, err = state.Open(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.state.Close() })
	for n := range users {
		id := fmt.Sprintf("u%d", n)
		if err := l.state.PutUser(t.Context(), state.User{ID: id, Issuer: l.op.url, Subject: id}); err != nil {
			t.Fatal(err)
		}
	}
	l.logins, err = auth.OpenLogins(t.Context(), l.state, auth.LoginsOptions{
		URL: lodgingURL, Secrets: t.TempDir(), Idle: 1 << 50, Max: 1 << 50,
		Providers: map[string]conf.AuthProvider{"none": {Issuer: l.op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, Viewer: []string{"*"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// visit answers a request as a TCP listener does.
func visit(s *api.Server, method, path, cookie string) *httptest.ResponseRecorder {
	w, req := httptest.NewRecorder(), visitOf(method, path, cookie)
	s.OtherAt("7350").ServeHTTP(w, req)
	return w
}

func visitOf(method, path, cookie string) *http.Request {
	req := httptest.NewRequest(method, path, http.NoBody)
	req.Host = strings.TrimPrefix(lodgingURL, "http://")
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	if method != http.MethodGet {
		req.Header.Set("Origin", lodgingURL)
	}
	return req
}

// cookieOf returns what a browser sends after an answer.
func cookieOf(w *httptest.ResponseRecorder) string {
	var all []string
	for _, c := range w.Result().Cookies() {
		if c.MaxAge > 0 {
			all = append(all, c.Name+"="+c.Value)
		}
	}
	return strings.Join(all, "; ")
}

// arriving begins a login, and returns the request by which the provider sends
// the browser back.
func (c *contract) arriving() *http.Request {
	w := visit(c.plain, http.MethodGet, "/auth/login/none", "")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(w.Header().Get("Location"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	back, err := url.Parse(res.Header.Get("Location"))
	if err != nil {
		c.t.Fatal(err)
	}
	return visitOf(http.MethodGet, back.RequestURI(), cookieOf(w))
}

// ownLogin asks for what only the routes of logins answer.
func (c *contract) ownLogin(r api.Route) {
	if !strings.HasPrefix(r.Path, "/auth/") && !strings.HasPrefix(r.Path, "/.well-known/") {
		return
	}
	closed := newLodging(c.t, 2)
	lost := api.NewServer(c.handlers, nil, api.Options{Version: "1", Logins: closed.logins})
	other := httptest.NewRequest(r.Method, strings.NewReplacer("{provider}", "unknown", "{id}", "unknown").Replace(r.Path), http.NoBody)
	switch r.ID {
	case "login":
		at := func(query string) *http.Request { return visitOf(r.Method, "/auth/login/none"+query, "") }
		c.send(c.plain, r, at(""))
		c.send(c.plain, r, at("?return_to=x"))
		c.send(c.plain, r, visitOf(r.Method, "/auth/login/unknown", ""))
	case "loginCallback":
		c.send(c.plain, r, c.arriving())
		c.send(c.plain, r, other)
		at := *c
		at.plain, at.lodging = lost, closed
		req := at.arriving()
		_ = closed.state.Close()
		c.send(lost, r, req)
	case "logout":
		w := httptest.NewRecorder()
		c.plain.OtherAt("7350").ServeHTTP(w, c.arriving())
		req := visitOf(r.Method, r.Path, cookieOf(w))
		c.sendBy(c.plain.OtherAt("7350"), r, req)
		at := *c
		at.plain, at.lodging = lost, closed
		w = httptest.NewRecorder()
		lost.OtherAt("7350").ServeHTTP(w, at.arriving())
		_ = closed.state.Close()
		c.sendBy(lost.OtherAt("7350"), r, visitOf(r.Method, r.Path, cookieOf(w)))
	case "resource", "resourceOfMCP":
		c.send(api.NewServer(c.handlers, nil, api.Options{Version: "1"}), r, c.request(r))
	case "addAuthProvider", "assignRole", "removeAuthProvider", "removeUser":
		c.send(c.plain, r, c.request(r)) // it is there already, or no more
		if r.ID == "removeAuthProvider" {
			c.send(c.plain, r, httptest.NewRequest(r.Method, "/auth/providers/none", http.NoBody))
		}
		c.send(c.plain, r, other)
		if _, err := closed.logins.AddProvider(c.t.Context(), wire.AuthProviderCreate{ID: "corp", Issuer: "https://id.example.com", ClientID: "fold"}); err != nil {
			c.t.Fatal(err)
		}
		_ = closed.state.Close()
		at := *c
		at.lodging = closed
		c.send(lost, r, at.request(r))
	}
}
