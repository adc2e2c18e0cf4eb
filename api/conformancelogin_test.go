package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/conf"
)

// npmProvider runs oidc-provider until the test ends. Where it is not installed,
// or not asked for, the test is skipped.
func npmProvider(t *testing.T, redirect, resource string) (issuer string) {
	t.Helper()
	if os.Getenv("FOLDWATCH_CONFORMANCE") == "" {
		t.Skip("SKIP: make conformance runs this")
	}
	modules, err := filepath.Abs(filepath.Join("..", "bin", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"oidc-provider", filepath.Join(".bin", "node")} {
		if _, err := os.Stat(filepath.Join(modules, name)); err != nil {
			t.Skipf("SKIP: oidc-provider is not installed (make conformance does it): %v", err)
		}
	}
	cmd := exec.Command(filepath.Join(modules, ".bin", "node"), filepath.Join("testdata", "provider.mjs"), modules, redirect, faultySecret, resource)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("oidc-provider says nothing: %v", err)
	}
	issuer, _, _ = strings.Cut(line, " ")
	return issuer
}

// TestConformanceLogin logs in by oidc-provider, another implementation than the
// one of zitadel, and has it give a program an access token for MCP.
func TestConformanceLogin(t *testing.T) {
	issuer := ""
	h := newLodge(t, func(home string) map[string]conf.AuthProvider {
		issuer = npmProvider(t, home+"/auth/callback/npm", home+"/mcp")
		return map[string]conf.AuthProvider{"npm": {
			Issuer: issuer, ClientID: "fold", ClientSecret: faultySecret, RoleClaim: "sub", Member: []string{"ada", "robot"},
		}}
	})
	b := newBrowser(t, h.url)
	status, page, res := b.get("/auth/login/npm")
	action := regexp.MustCompile(`action="([^"]+)"`)
	for range 2 { // who it is, and that they agree
		at := action.FindStringSubmatch(page)
		if at == nil {
			t.Fatalf("no form at %s: %s", res.url, page)
		}
		to, err := res.url.Parse(at[1])
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"prompt": {"consent"}}
		if strings.Contains(page, `name="login"`) {
			form = url.Values{"prompt": {"login"}, "login": {"ada"}, "password": {"x"}}
		}
		status, page, res = b.do(http.MethodPost, to.String(), map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, strings.NewReader(form.Encode()))
	}
	if status != http.StatusOK || !strings.Contains(page, `"name":"Ada of npm"`) || !strings.Contains(page, `"role":"member"`) {
		t.Fatalf("logged in: %d %s\n%s", status, page, h.log)
	}

	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"mcp"}, "resource": {h.url + "/mcp"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("robot", faultySecret)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var token struct {
		Access string `json:"access_token"`
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil || json.Unmarshal(body, &token) != nil || token.Access == "" {
		t.Fatalf("no access token: %v %s", err, body)
	}
	head := map[string]string{"Authorization": "Bearer " + token.Access, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	if status, body, _ := newBrowser(t, h.url).do(http.MethodPost, h.url+"/mcp", head, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)); status != http.StatusOK {
		t.Errorf("tools/list with an access token: %d %s\n%s", status, body, h.log)
	}
}
