package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/mcp"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A lodge is a server where people log in, and its owner at the socket.
type lodge struct {
	t      *testing.T
	url    string // as browsers call it
	at     string // where it listens
	state  string // folder
	db     *state.DB
	tokens *auth.Tokens
	logins *auth.Logins
	owner  http.Handler
	log    *locked

	mu    sync.Mutex
	ahead time.Duration // of the wall clock
}

// locked is a log that several write and a test reads.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newLodge serves until the test ends. The providers may be made once the
// address is known.
func newLodge(t *testing.T, providers func(url string) map[string]conf.AuthProvider) *lodge {
	t.Helper()
	return newLodgeAt(t, api.TCPOptions{Address: "127.0.0.1:0"}, providers)
}

func newLodgeAt(t *testing.T, at api.TCPOptions, providers func(url string) map[string]conf.AuthProvider) *lodge {
	t.Helper()
	ln, err := api.ListenTCP(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	h := &lodge{t: t, url: ln.Called(), at: ln.URL(), state: t.TempDir(), log: &locked{}}
	log := slog.New(slog.NewTextHandler(h.log, nil))
	state, err := state.Open(t.Context(), h.state)
	if err != nil {
		t.Fatal(err)
	}
	h.db = state
	if h.tokens, err = auth.OpenTokens(t.Context(), state, auth.TokensOptions{Now: h.now, Log: log}); err != nil {
		t.Fatal(err)
	}
	h.logins, err = auth.OpenLogins(t.Context(), state, auth.LoginsOptions{
		URL: h.url, Providers: providers(h.url), Secrets: filepath.Join(h.state, "logins"),
		Idle: 12 * time.Hour, Max: 7 * 24 * time.Hour, Tokens: h.tokens, Now: h.now, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	handlers := apitest.New("app", "web")
	agents := mcp.Handler(handlers, mcp.Options{})
	server := api.NewServer(handlers, agents, api.Options{Auth: h.tokens, Tokens: h.tokens, Logins: h.logins, Log: log, Rates: api.Rates{Owner: -1, Token: -1, Peer: -1}})
	h.owner = server.Owner()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- server.ServeTCP(ctx, ln) }()
	go func() { ended <- agents.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Errorf("stop: %v", err)
			}
		}
		_ = state.Close()
	})
	return h
}

func (h *lodge) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.ahead)
}

func (h *lodge) wait(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead += d
}

// asOwner calls a route at the socket, and decodes the answer into out.
func (h *lodge) asOwner(method, path, body string, want int, out any) {
	h.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	w := httptest.NewRecorder()
	h.owner.ServeHTTP(w, req)
	if w.Code != want {
		h.t.Fatalf("%s %s at the socket: %d %s, want %d", method, path, w.Code, w.Body, want)
	}
	if out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			h.t.Fatal(err)
		}
	}
}

// A browser keeps cookies and follows redirects.
type browser struct {
	t    *testing.T
	http *http.Client
	home string
}

func newBrowser(t *testing.T, home string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, home: home, http: &http.Client{Jar: jar, Timeout: 20 * time.Second}}
}

// A landing is where redirects ended.
type landing struct {
	url    *url.URL
	header http.Header
}

// get opens an address, a path being one of home.
func (b *browser) get(at string) (status int, body string, res landing) {
	b.t.Helper()
	if strings.HasPrefix(at, "/") {
		at = b.home + at
	}
	return b.do(http.MethodGet, at, nil, nil)
}

func (b *browser) do(method, at string, head map[string]string, body io.Reader) (status int, text string, end landing) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, at, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range head {
		req.Header.Set(name, value)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res.StatusCode, string(all), landing{res.Request.URL, res.Header}
}

// cookies returns those that home gets, by name.
func (b *browser) cookies() map[string]string {
	u, err := url.Parse(b.home)
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range b.http.Jar.Cookies(u) {
		all[c.Name] = c.Value
	}
	return all
}

// zitadel runs the provider of that library, with one client called fold.
func zitadel(t *testing.T, redirect string) (issuer string) {
	t.Helper()
	var h http.Handler
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	client := storage.WebClient("fold", "s3cret-of-fold", redirect)
	keep := storage.NewStorageWithClients(storage.NewUserStore(web.URL), map[string]*storage.Client{"fold": client})
	h = exampleop.SetupServer(web.URL, keep, slog.New(slog.DiscardHandler), false)
	return web.URL
}

// logInAtZitadel goes the whole way, to what return_to names.
func logInAtZitadel(b *browser, provider, returnTo, name string) (status int, body string) {
	b.t.Helper()
	_, page, res := b.get("/auth/login/" + provider + "?return_to=" + url.QueryEscape(returnTo))
	id := res.url.Query().Get("authRequestID")
	if id == "" {
		b.t.Fatalf("no page to log in: %s: %s", res.url, page)
	}
	form := url.Values{"id": {id}, "username": {name}, "password": {"verysecure"}}
	res.url.RawQuery = ""
	status, body, _ = b.do(http.MethodPost, res.url.String(), map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, strings.NewReader(form.Encode()))
	return status, body
}

// TestLogInByZitadel goes from the first page to the end of the session, with a
// provider that is not ours.
func TestLogInByZitadel(t *testing.T) {
	t.Parallel()
	h := newLodge(t, func(home string) map[string]conf.AuthProvider {
		return map[string]conf.AuthProvider{"zit": {
			Issuer: zitadel(t, home+"/auth/callback/zit"), ClientID: "fold", ClientSecret: "s3cret-of-fold", RoleClaim: "email", Member: []string{"test-user2@zitadel.ch"},
		}}
	})
	b := newBrowser(t, h.url)
	if status, body, _ := b.get("/auth/me"); status != http.StatusUnauthorized {
		t.Fatalf("before the login: %d %s", status, body)
	}
	status, body := logInAtZitadel(b, "zit", "/auth/me?x=1", "test-user2")
	var me wire.Me
	if err := json.Unmarshal([]byte(body), &me); err != nil || status != http.StatusOK {
		t.Fatalf("after the login: %d %s\n%s", status, body, h.log)
	}
	if me.Name != "Test User2" || me.Email != "test-user2@zitadel.ch" || me.Role != "member" || me.Scope != "write" || me.Provider != "zit" || !strings.HasPrefix(me.ID, "user:") || len(me.Projects) != 0 {
		t.Errorf("me: %+v", me)
	}
	if c := b.cookies(); len(c) != 1 || len(c["foldwatch"]) != 43 {
		t.Errorf("cookies after the login: %v", c)
	}
	if status, body, _ := b.get("/api/projects"); status != http.StatusOK || !strings.Contains(body, `"app"`) {
		t.Errorf("projects: %d %s", status, body)
	}
	write := func(origin string) int {
		head := map[string]string{"Content-Type": "application/json"}
		if origin != "" {
			head["Origin"] = origin
		}
		status, _, _ := b.do(http.MethodPost, h.url+"/api/projects/app/memories", head, strings.NewReader(`{"content":"x"}`))
		return status
	}
	for origin, want := range map[string]int{h.url: http.StatusCreated, "": http.StatusForbidden, "http://127.0.0.1:1": http.StatusForbidden, "null": http.StatusForbidden} {
		if got := write(origin); got != want {
			t.Errorf("a write from %q: %d, want %d", origin, got, want)
		}
	}
	before := b.cookies()["foldwatch"]
	if status, body, _ := b.do(http.MethodPost, h.url+"/auth/logout", map[string]string{"Origin": h.url}, nil); status != http.StatusNoContent {
		t.Fatalf("logout: %d %s", status, body)
	}
	if c := b.cookies(); len(c) != 0 {
		t.Errorf("cookies after the logout: %v", c)
	}
	if status, _, _ := b.do(http.MethodGet, h.url+"/auth/me", map[string]string{"Cookie": "foldwatch=" + before}, nil); status != http.StatusUnauthorized {
		t.Errorf("the cookie of a session that ended: %d", status)
	}
}
