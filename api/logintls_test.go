package api_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// selfSigned writes the certificate of net/http/httptest, which is for loopback and
// example.com, as files, and returns who trusts it.
func selfSigned(t *testing.T) (opt api.TCPOptions, pool *x509.CertPool) {
	t.Helper()
	web := httptest.NewTLSServer(http.NotFoundHandler())
	defer web.Close()
	pair, dir := web.TLS.Certificates[0], t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	opt.CertFile, opt.KeyFile, opt.Address = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), "127.0.0.1:0"
	for file, block := range map[string]*pem.Block{opt.CertFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, opt.KeyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AddCert(web.Certificate())
	return opt, pool
}

// TestCookiesOverTLS logs in over TLS: each cookie is bound to the host, out of reach
// of scripts and of plain http, and none is taken by another name.
func TestCookiesOverTLS(t *testing.T) {
	t.Parallel()
	op := newFaultyOP(t)
	opt, pool := selfSigned(t)
	h := newLodgeAt(t, opt, func(string) map[string]conf.AuthProvider {
		return map[string]conf.AuthProvider{"none": {Issuer: op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, Viewer: []string{"*"}}}
	})
	if !strings.HasPrefix(h.url, "https://127.0.0.1:") {
		t.Fatalf("it is called %s", h.url)
	}
	var set []*http.Cookie
	b := newBrowser(t, h.url)
	b.http.Transport = seeing{&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, func(res *http.Response) { set = append(set, res.Cookies()...) }}
	if status, body, _ := b.get("/auth/login/none"); status != http.StatusOK || !strings.Contains(body, `"role":"viewer"`) {
		t.Fatalf("logged in: %d %s", status, body)
	}
	if len(set) != 3 { // of the login, its end, the session
		t.Errorf("%d cookies: %v", len(set), set)
	}
	for _, c := range set {
		if !strings.HasPrefix(c.Name, "__Host-foldwatch") || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("cookie %s", c)
		}
	}
	value := b.cookies()["__Host-foldwatch"]
	for name, want := range map[string]int{"__Host-foldwatch": http.StatusOK, "foldwatch": http.StatusUnauthorized, "__Secure-foldwatch": http.StatusUnauthorized} {
		other := newBrowser(t, h.url)
		other.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
		if status, _, _ := other.do("GET", h.url+"/auth/me", map[string]string{"Cookie": name + "=" + value}, nil); len(value) != 43 || status != want {
			t.Errorf("a session by the name %s: %d, want %d", name, status, want)
		}
	}
}

// seeing shows each answer before redirects are followed.
type seeing struct {
	http.RoundTripper
	see func(*http.Response)
}

func (s seeing) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		s.see(res)
	}
	return res, err
}

// TestLoginsBeginWhereTheyEnd: behind a proxy with a name, who comes by the address
// goes to the name first, where the cookie of the login belongs; nobody is sent where
// the request says.
func TestLoginsBeginWhereTheyEnd(t *testing.T) {
	t.Parallel()
	op := newFaultyOP(t)
	h := newLodgeAt(t, api.TCPOptions{Address: "127.0.0.1:0", URL: "https://Fold.example.com"}, func(string) map[string]conf.AuthProvider {
		return map[string]conf.AuthProvider{"none": {Issuer: op.issuer("none"), ClientID: "fold", ClientSecret: faultySecret, Viewer: []string{"*"}}}
	})
	type answer struct {
		status   int
		location string
		cookies  []*http.Cookie
	}
	ask := func(host string) answer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", h.at+"/auth/login/none?return_to=%2Fapi%2Fprojects", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return answer{res.StatusCode, res.Header.Get("Location"), res.Cookies()}
	}
	res := ask("")
	const begins = "https://fold.example.com/auth/login/none?return_to=%2Fapi%2Fprojects"
	if res.status != http.StatusTemporaryRedirect || res.location != begins || len(res.cookies) > 0 {
		t.Errorf("by the address: %+v", res)
	}
	for _, host := range []string{"fold.example.com", "FOLD.example.com"} {
		res = ask(host)
		to, err := url.Parse(res.location)
		if err != nil || res.status != http.StatusSeeOther {
			t.Fatalf("by the name %s: %+v, %v", host, res, err)
		}
		if back := to.Query().Get("redirect_uri"); back != "https://fold.example.com/auth/callback/none" || len(res.cookies) != 1 || !res.cookies[0].Secure {
			t.Errorf("by the name %s: back to %s, %v", host, back, res.cookies)
		}
	}
	for _, host := range []string{"evil.example", "fold.example.com.evil.example", "fold.example.com:80", "fold.example.com@evil.example"} {
		if res = ask(host); res.status != http.StatusForbidden || res.location != "" {
			t.Errorf("by the name %s: %+v", host, res)
		}
	}
}

// TestNamelessListeners: where browsers cannot be sent back to, nobody logs in.
func TestNamelessListeners(t *testing.T) {
	t.Parallel()
	opt, _ := selfSigned(t)
	opt.AuthRequired = true
	for _, tc := range []struct {
		address, url string
		want         bool
	}{
		{"0.0.0.0:0", "", true}, {":0", "", true}, {"[::]:0", "", true}, {"0.0.0.0:0", "https://fold.example.com", false}, {"127.0.0.1:0", "", false},
	} {
		opt.Address, opt.URL = tc.address, tc.url
		ln, err := api.ListenTCP(t.Context(), opt)
		if err != nil {
			if strings.HasPrefix(tc.address, "[") {
				continue // a machine without IPv6
			}
			t.Fatal(err)
		}
		_ = ln.Close()
		if ln.Nameless() != tc.want {
			t.Errorf("%q, %q: nameless = %v", tc.address, tc.url, ln.Nameless())
		}
	}
}
