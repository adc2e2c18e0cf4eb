package main

import (
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
)

// TestANamelessListenerLetsNobodyLogIn: on every address of the machine, with a
// certificate, and without a name to send browsers back to.
func TestANamelessListenerLetsNobodyLogIn(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(http.NotFoundHandler())
	defer web.Close()
	pair, dir := web.TLS.Certificates[0], t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state, err := state.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	for url, opens := range map[string]bool{"": false, "https://fold.example.com": true} {
		cfg, _, err := conf.Load(filepath.Join(dir, "none.toml"), []string{
			"FOLDWATCH_LISTEN=0.0.0.0:0", "FOLDWATCH_AUTH_REQUIRED=true", "FOLDWATCH_AUTH_TLS_CERT=" + cert, "FOLDWATCH_AUTH_TLS_KEY=" + keyFile, "FOLDWATCH_AUTH_URL=" + url,
			"AUTH_PROVIDER_CORP_ISSUER=https://id.example.com", "AUTH_PROVIDER_CORP_CLIENT_ID=fold",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var l tcpListener
		if err := l.open(t.Context(), cfg, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		defer l.close()
		tokens, err := auth.OpenTokens(t.Context(), state, auth.TokensOptions{})
		if err != nil {
			t.Fatal(err)
		}
		logins, err := l.logins(t.Context(), state, local.Settings{Config: cfg, Dirs: conf.Dirs{State: dir}}, tokens, slog.New(slog.DiscardHandler))
		if err != nil || (logins != nil) != opens {
			t.Errorf("auth.url %q: logins open: %v, %v", url, logins != nil, err)
		}
		if _, notices := l.status(); opens != (len(notices) == 0) || !opens && !strings.Contains(notices[0], "set auth.url") {
			t.Errorf("auth.url %q: %q", url, notices)
		}
		// What is asked there is answered by the routes, which say so.
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/auth/login/corp", http.NoBody)
		r.Host = "127.0.0.1:" + strings.TrimPrefix(l.ln.Addr().String()[strings.LastIndex(l.ln.Addr().String(), ":"):], ":")
		if api.NewServer(nil, nil, api.Options{Logins: logins}).Other(l.ln).ServeHTTP(w, r); opens == (w.Code == http.StatusServiceUnavailable) {
			t.Errorf("auth.url %q: a login is answered by %d %s", url, w.Code, w.Body)
		}
	}
}

// TestNoSecretSaysWhy: where no webhook can be taken, the notice names what to set or
// to mend, and never the secret.
func TestNoSecretSaysWhy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("too-short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		env  []string
		want string
	}{
		{nil, "secret_env and webhooks.secret_file name nothing"},
		{[]string{"FOLDWATCH_WEBHOOKS_SECRET_ENV=S", "S=too-short"}, "the secret in $S is shorter"},
		{[]string{"FOLDWATCH_WEBHOOKS_SECRET_FILE=" + file}, "the secret in " + file + " is shorter"},
		{[]string{"FOLDWATCH_WEBHOOKS_SECRET_FILE=" + file + "-none"}, "webhooks.secret_file: open"},
		{[]string{"FOLDWATCH_WEBHOOKS_SECRET_ENV=S", "S=long-enough-for-a-secret", "FOLDWATCH_WEBHOOKS_SECRET_FILE=" + file}, ""},
	} {
		cfg, _, err := conf.Load(filepath.Join(t.TempDir(), "none.toml"), tc.env, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := noSecret(cfg); tc.want == "" && got != "" || !strings.Contains(got, tc.want) || strings.Contains(got, "too-short") {
			t.Errorf("%q: %q, want %q", tc.env, got, tc.want)
		}
	}
}
