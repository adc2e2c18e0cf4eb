package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// serveOther runs handlers behind TCP until the test ends.
func serveOther(t *testing.T, keeper *auth.Tokens, log *slog.Logger) (*api.TCPListener, *apitest.Fake) {
	t.Helper()
	ln, err := api.ListenTCP(t.Context(), api.TCPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, handlers := make(chan error, 1), apitest.New("app")
	go func() {
		ended <- api.NewServer(handlers, nil, api.Options{Auth: keeper, Tokens: keeper, Log: log}).ServeTCP(ctx, ln)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ServeTCP: %v", err)
		}
	})
	return ln, handlers
}

// say sends bytes and returns the answer.
func say(t *testing.T, ln *api.TCPListener, text string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, text) }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestListenLetsInNoMoreThanWasDecided(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none.pem")
	for _, tc := range []struct {
		opt  api.TCPOptions
		want string
	}{
		{api.TCPOptions{Address: "0.0.0.0:0"}, "without TLS and auth.required"},
		{api.TCPOptions{Address: ":0"}, "without TLS and auth.required"},
		{api.TCPOptions{Address: "[::]:0", AuthRequired: true}, "without TLS"},
		{api.TCPOptions{Address: "192.0.2.1:0", CertFile: missing, KeyFile: missing}, "without auth.required"},
		{api.TCPOptions{Address: "127.0.0.1:0", CertFile: missing, KeyFile: missing}, "auth.tls_cert"},
		{api.TCPOptions{Address: "example.invalid:0"}, "neither an address nor localhost"},
		{api.TCPOptions{Address: "7350"}, "is not host:port"},
		{api.TCPOptions{Address: "127.0.0.1:0", URL: "x"}, "auth.url"},
		{api.TCPOptions{Address: "127.0.0.1:0", URL: "http://fold.example.com"}, "in the clear"},
	} {
		if _, err := api.ListenTCP(t.Context(), tc.opt); !errors.Is(err, fold.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ListenTCP(%+v): %v, want %q", tc.opt, err, tc.want)
		}
	}
	first, err := api.ListenTCP(t.Context(), api.TCPOptions{Address: "localhost:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := api.ListenTCP(t.Context(), api.TCPOptions{Address: first.Addr().String()}); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("an address that is taken: %v", err)
	}
}

// TestPagesElsewhereDoNothing sends what a browser sends for a page of another
// origin, with a token that may everything (F57).
func TestPagesElsewhereDoNothing(t *testing.T) {
	t.Parallel()
	keeper := tokens(t)
	made, err := keeper.Create(t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	ln, handlers := serveOther(t, keeper, nil)
	at, token := ln.Addr().String(), "Authorization: Bearer "+made.Secret+"\r\n"
	for name, head := range map[string]string{
		"form":          "POST /api/projects/app/pause HTTP/1.1\r\nHost: " + at + "\r\nOrigin: http://evil.example\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n",
		"text fetch":    "POST /api/projects/app/pause HTTP/1.1\r\nHost: " + at + "\r\nOrigin: http://evil.example\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n",
		"preflight":     "OPTIONS /api/projects/app/pause HTTP/1.1\r\nHost: " + at + "\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n",
		"events":        "GET /api/events HTTP/1.1\r\nHost: " + at + "\r\nOrigin: http://evil.example\r\n",
		"rebinding":     "GET /api/projects/app HTTP/1.1\r\nHost: evil.example:" + at[strings.LastIndex(at, ":")+1:] + "\r\n",
		"rebound page":  "POST /api/projects/app/pause HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n",
		"null":          "POST /api/projects/app/pause HTTP/1.1\r\nHost: " + at + "\r\nOrigin: null\r\nContent-Type: application/json\r\nContent-Length: 2\r\n",
		"mcp":           "POST /mcp HTTP/1.1\r\nHost: " + at + "\r\nOrigin: http://localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n",
		"public, too":   "GET /health HTTP/1.1\r\nHost: evil.example\r\n",
		"other port":    "GET /health HTTP/1.1\r\nHost: 127.0.0.1:1\r\n",
		"no port":       "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n",
		"two origins":   "GET /health HTTP/1.1\r\nHost: " + at + "\r\nOrigin: http://a\r\nOrigin: http://b\r\n",
		"absolute form": "GET http://evil.example/health HTTP/1.1\r\nHost: " + at + "\r\n",
	} {
		if status, body := say(t, ln, head+token+"Connection: close\r\n\r\n{}"); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if st, err := handlers.ProjectStatus(t.Context(), fold.LocalScope(), "app"); err != nil || st.State != "ready" || handlers.Subscribers() != 0 {
		t.Errorf("it had an effect: %+v, %v", st, err)
	}
}

// TestTokensStayOutOfURLsAndLogs sends tokens where they do not belong (F59).
func TestTokensStayOutOfURLsAndLogs(t *testing.T) {
	t.Parallel()
	keeper, log := tokens(t), &strings.Builder{}
	made, err := keeper.Create(t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	s := api.NewServer(apitest.New("app"), nil, api.Options{Auth: keeper, Tokens: keeper, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	for _, path := range []string{
		"/api/projects?access_token=" + made.Secret, "/api/projects?q=" + made.Secret, "/api/projects?q=fwt%5F" + made.Secret[4:], "/api/projects/" + made.Secret,
		"/health?access_token=x", "/me/tokens/" + made.Secret, "/nope?" + made.Secret,
	} {
		for _, h := range []http.Handler{s.Owner(), s.OtherAt("7350")} {
			r := httptest.NewRequest("GET", path, http.NoBody)
			r.Host = "127.0.0.1:7350"
			r.Header.Set("Authorization", "Bearer "+made.Secret)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), made.Secret[4:]) {
				t.Errorf("GET %s = %d %s", path, w.Code, w.Body)
			}
		}
	}
	if strings.Contains(log.String(), made.Secret[4:]) {
		t.Errorf("a token is in the log: %s", log)
	}
}

// TestRevocationEndsStreams revokes the token of a client that listens.
func TestRevocationEndsStreams(t *testing.T) {
	t.Parallel()
	keeper := tokens(t)
	made, err := keeper.Create(t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: "read"})
	if err != nil {
		t.Fatal(err)
	}
	ln, _ := serveOther(t, keeper, nil)
	r, err := http.NewRequestWithContext(t.Context(), "GET", ln.URL()+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+made.Secret)
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	if err := keeper.Revoke(t.Context(), auth.Owner(), made.ID); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Errorf("the stream: %v", err)
	}
	if took := time.Since(begun); took > 5*time.Second { // a busy machine; idle it takes milliseconds
		t.Errorf("it ended after %s", took)
	}
	if res, err = http.DefaultClient.Do(r); err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after it was revoked: %v, %v", res, err)
	}
	_ = res.Body.Close()
}

func TestTooManyConnectionsAreToldToComeBack(t *testing.T) {
	t.Parallel()
	ln, _ := serveOther(t, tokens(t), nil)
	for i := range 256 {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Skipf("SKIP: this system gives only %d connections: %v", i, err)
		}
		defer conn.Close()
	}
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /health HTTP/1.1\r\nHost: %s\r\n\r\n", ln.Addr())
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !res.Close {
		t.Errorf("connection 257: %s %v", res.Status, res.Header)
	}
}

// TestAnswersAreKeptForOneCaller repeats an Idempotency-Key as another caller.
func TestAnswersAreKeptForOneCaller(t *testing.T) {
	t.Parallel()
	keeper := tokens(t)
	s := api.NewServer(apitest.New("app", "web"), nil, api.Options{Auth: keeper, Tokens: keeper})
	made, err := keeper.Create(t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: "write", Projects: []string{"app"}})
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(s, "POST", "/api/projects/web/reindex", "{}", "Idempotency-Key", "k"); w.Code != http.StatusAccepted {
		t.Fatalf("reindex = %d", w.Code)
	}
	if w := ask(s, "POST", "/api/projects/web/reindex", "{}", "Idempotency-Key", "k", "Authorization", "Bearer "+made.Secret); w.Code != http.StatusNotFound {
		t.Errorf("another caller got %d %s", w.Code, w.Body)
	}
	body := `{"name":"x","scope":"read"}`
	one, two := ask(s, "POST", "/me/tokens", body, "Idempotency-Key", "t"), ask(s, "POST", "/me/tokens", body, "Idempotency-Key", "t")
	if one.Code != http.StatusCreated || two.Code != http.StatusCreated || one.Body.String() == two.Body.String() {
		t.Errorf("a token was shown twice: %s %s", one.Body, two.Body)
	}
}
