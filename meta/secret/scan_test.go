package secret_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/secret"
)

const (
	digits  = "0123456789"
	hexes   = "0123456789abcdef"
	lowers  = "abcdefghijklmnopqrstuvwxyz"
	uppers  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base32  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	letters = lowers + uppers
	alnum   = digits + lowers + uppers
)

// A maker makes values that look like secrets and open nothing. They are made
// at run time, so that this file holds none.
type maker struct{ r *rand.Rand }

func (m maker) of(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[m.r.IntN(len(set))]
	}
	b[n-1] = set[0] // of every alphabet but the hex ones, something that is no letter helps no rule
	return string(b)
}

// synthetic returns 48 kinds of secrets, each in a line as people write it.
func synthetic() map[string]string {
	m := maker{rand.New(rand.NewPCG(1, 2))}
	pem := func(kind string) string {
		return "-----BEGIN " + kind + "-----\n" + m.of(alnum, 64) + "\n" + m.of(alnum, 64) + "\n-----END " + kind + "-----"
	}
	b64 := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	jwt := b64(`{"alg":"HS256","typ":"JWT"}`) + "." + b64(`{"sub":"1234567890","name":"x y z"}`) + "." + m.of(alnum, 43)
	return map[string]string{
		"aws key":               "aws_id = " + "AK" + "IA" + m.of(base32, 16),
		"aws secret":            `aws_secret_access_key = "` + m.of(alnum, 40) + `"`,
		"github pat":            "gh" + "p_" + m.of(alnum, 36),
		"github fine pat":       "github" + "_pat_" + m.of(alnum, 82),
		"github oauth":          "gh" + "o_" + m.of(alnum, 36),
		"github app":            "gh" + "s_" + m.of(alnum, 36),
		"github refresh":        "gh" + "r_" + m.of(alnum, 36),
		"gitlab pat":            "gl" + "pat-" + m.of(alnum, 20),
		"gitlab runner":         "gl" + "rt-" + m.of(alnum, 20),
		"slack bot":             "xo" + "xb-" + m.of(digits, 12) + "-" + m.of(digits, 12) + "-" + m.of(alnum, 24),
		"slack user":            "xo" + "xp-" + m.of(digits, 12) + "-" + m.of(digits, 12) + "-" + m.of(digits, 12) + "-" + m.of(hexes, 32),
		"slack app":             "xa" + "pp-1-" + m.of(uppers+digits, 11) + "-" + m.of(digits, 13) + "-" + m.of(lowers+digits, 64),
		"slack hook":            "https://hooks.slack.com" + "/services/T" + m.of(uppers, 10) + "/B" + m.of(uppers, 10) + "/" + m.of(alnum, 24),
		"jwt":                   "Bearer " + jwt,
		"rsa key":               pem("RSA PRIVATE KEY"),
		"openssh key":           pem("OPENSSH PRIVATE KEY"),
		"ec key":                pem("EC PRIVATE KEY"),
		"pkcs8 key":             pem("PRIVATE KEY"),
		"pgp key":               pem("PGP PRIVATE KEY BLOCK"),
		"indented key":          "key: |\n  " + strings.ReplaceAll(pem("RSA PRIVATE KEY"), "\n", "\n  "),
		"age key":               "AGE-SECRET" + "-KEY-1" + m.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
		"openai":                "sk" + "-" + m.of(alnum, 20) + "T3Blbk" + "FJ" + m.of(alnum, 20),
		"anthropic":             "sk-ant" + "-api03-" + m.of(alnum, 93) + "AA",
		"google api":            "AI" + "za" + m.of(alnum, 35),
		"stripe live":           "sk" + "_live_" + m.of(alnum, 24),
		"stripe restricted":     "rk" + "_live_" + m.of(alnum, 24),
		"sendgrid":              "S" + "G." + m.of(alnum, 66),
		"twilio":                "S" + "K" + m.of(hexes, 32),
		"npm":                   "np" + "m_" + m.of(lowers+digits, 36),
		"pypi":                  "pypi" + "-AgEIcHlwaS5vcmc" + m.of(alnum, 60),
		"rubygems":              "rubygems" + "_" + m.of(hexes, 48),
		"digitalocean":          "dop" + "_v1_" + m.of(hexes, 64),
		"doppler":               "dp.pt" + "." + m.of(alnum, 43),
		"databricks":            "dap" + "i" + m.of(hexes, 32),
		"hugging face":          "hf" + "_" + m.of(lowers, 34),
		"grafana":               "glsa" + "_" + m.of(alnum, 32) + "_" + m.of(hexes, 8),
		"linear":                "lin" + "_api_" + m.of(alnum, 40),
		"mailgun":               `mailgun_key = "key` + "-" + m.of(hexes, 32) + `"`,
		"mailchimp":             `mailchimp_key = "` + m.of(hexes, 32) + `-us20"`,
		"new relic":             `new_relic_key = "NR` + "AK-" + m.of(alnum, 27) + `"`,
		"planetscale":           "pscale" + "_pw_" + m.of(alnum, 43),
		"postman":               "PM" + "AK-" + m.of(hexes, 24) + "-" + m.of(hexes, 34),
		"pulumi":                "pu" + "l-" + m.of(hexes, 40),
		"shopify":               "shp" + "at_" + m.of(hexes, 32),
		"vault":                 "hv" + "s." + m.of(alnum, 95),
		"sumologic id":          `SUMO_ACCESS_ID := 'su` + m.of(letters, 11) + `z';`,
		"sumologic id, shell":   "export sumo.id=su" + m.of(alnum, 12),
		"sumologic key":         `sumo_key = "` + m.of(lowers+digits, 64) + `"`,
		"telegram":              "telegram_token = " + m.of("123456789", 10) + ":A" + m.of(alnum, 34),
		"heroku":                "HRKU" + "-AA" + m.of(alnum, 58),
		"a password":            `password = "` + m.of(alnum, 24) + `"`,
		"a secret in yaml":      "client_secret: " + m.of(alnum, 32),
		"an api key in a shell": "export API_KEY=" + m.of(alnum, 32),
	}
}

func TestScanFindsEveryKind(t *testing.T) {
	kinds := synthetic()
	if len(kinds) < 40 {
		t.Fatalf("only %d kinds", len(kinds))
	}
	filler := strings.Repeat("The token of a session is renewed at each request, see the key exchange.\n", 100)
	for name, text := range kinds {
		doc := filler + "# Notes\r\nhere:\n" + text + "\n" + filler
		found := secret.Scan([]byte(doc))
		if len(found) == 0 {
			t.Errorf("%s was not found", name)
			continue
		}
		if f := found[0]; f.Line < 103 || f.Line > 103+strings.Count(text, "\n") {
			t.Errorf("%s was found by %s at line %d, want 103", name, f.Rule, f.Line)
		}
		var allow []string
		for _, f := range found {
			allow = append(allow, f.Rule)
			if len(f.Rule) > 60 || strings.Contains(text, f.Rule) {
				t.Errorf("%s: the rule %q repeats the value", name, f.Rule)
			}
		}
		// What was found by one rule may then be found by the general one.
		if again := secret.Scan([]byte(doc), append(allow, "generic-api-key")...); len(again) > 0 {
			t.Errorf("%s was found by %v although %v are allowed", name, again, allow)
		}
	}
}

func TestScanAtTheEdges(t *testing.T) {
	key := "gh" + "p_" + maker{rand.New(rand.NewPCG(3, 4))}.of(alnum, 36)
	for _, doc := range []string{key, key + "\n", "\n" + key, "x " + key + " y", strings.Repeat("a", 50_000) + " " + key + " " + strings.Repeat("b", 50_000), `{"t":"` + key + `"}`} {
		if found := secret.Scan([]byte(doc)); len(found) != 1 || found[0].Line != 1+strings.Count(doc[:strings.Index(doc, key)], "\n") {
			t.Errorf("Scan(%.60q) = %v", doc, found)
		}
	}
	two := key + "\n\n" + key
	if found := secret.Scan([]byte(two)); len(found) != 2 || found[1].Line != 3 {
		t.Errorf("Scan of two = %v", found)
	}
	for _, doc := range []string{"", "\n", "\x00\xff", "e", strings.Repeat("ey", 100_000), strings.Repeat("key=", 50_000), strings.Repeat("-----BEGIN ", 3000)} {
		start := time.Now()
		if found := secret.Scan([]byte(doc)); len(found) > 0 {
			t.Errorf("Scan(%.20q) = %v", doc, found)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("Scan(%.20q) took %v", doc, took)
		}
	}
}

func TestScanLetsTheHarmlessPass(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(5, 6))}
	img := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x89PNG\r\n\x1a\nabc"), 200))
	for _, text := range []string{
		"commit " + m.of(hexes, 40), "key: " + m.of(hexes, 40), "source_blob: " + m.of(hexes, 40), "token hash = " + m.of(hexes, 64),
		`id: "` + m.of(hexes, 16) + `"`, `related_to: ["` + m.of(hexes, 16) + `"]`, "key=" + m.of(hexes, 16),
		"access id: 123e4567-e89b-12d3-a456-426614174000", "key = 123e4567-e89b-12d3-a456-426614174000",
		"AKIA" + "IOSFODNN7EXAMPLE", `secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY` + `EXAMPLEKEY"`,
		"![logo](data:image/png;base64," + img + ")", `key="data:image/png;base64,` + img + `"`,
		`integrity="sha512-` + base64.StdEncoding.EncodeToString([]byte(m.of(alnum, 64))) + `"`,
		"api_key = os.environ['API_KEY']", "password: ${DB_PASSWORD}", "token := r.Header.Get(name)", `password = "changeme1234"`, "API_KEY=your_api_key_here_1",
		"cfg.PrivateKey = testRSA2048PrivateKey", "key, ed25519.PrivateKey or nil", "keywords: [validateToken, jwt, refresh]",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + m.of(alnum, 43) + " me@host", "-----BEGIN CERTIFICATE-----\n" + m.of(alnum, 64) + "\n-----END CERTIFICATE-----",
		"github.com/foldwatch/foldwatch v1.2.3 h1:" + base64.StdEncoding.EncodeToString([]byte(m.of(alnum, 32))),
	} {
		if found := secret.Scan([]byte("# Notes\n" + text + "\n")); len(found) > 0 {
			t.Errorf("Scan(%.80q) = %v", text, found)
		}
	}
}

func TestScanIsSafeForManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for name, text := range synthetic() {
		wg.Go(func() {
			for range 3 {
				if len(secret.Scan([]byte(text))) == 0 {
					t.Errorf("%s was not found", name)
				}
			}
		})
	}
	wg.Wait()
}

func TestIsSecretFile(t *testing.T) {
	for _, p := range []string{".env", ".env.example", "a/.env.local", "prod.env", "id_rsa", "keys/id_ed25519", "x/server.pem", "tls.key", "a.p12", ".netrc", ".npmrc", ".aws/credentials", ".ssh/config", "credentials.json", "Client_Secret_123.json", "app/secrets.yaml", "terraform.tfstate", "x.kdbx", "a.JKS", ".git-credentials", ".docker/config.json"} {
		if !secret.IsSecretFile(p) {
			t.Errorf("IsSecretFile(%q) = false", p)
		}
	}
	for _, p := range []string{"main.go", "environment.go", "key.go", "keys.md", "docs/credentials.md", "id_rsa.pub", ".ssh/id_ed25519.pub", ".docker/Dockerfile", "secret/scan.go", "config.json", "README"} {
		if secret.IsSecretFile(p) {
			t.Errorf("IsSecretFile(%q) = true", p)
		}
	}
}

// BenchmarkScan reads ordinary source: that of the net package.
func BenchmarkScan(b *testing.B) {
	var files [][]byte
	var size int64
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("no Go toolchain here: %v", err)
	}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src", "net"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".go" {
			return err
		}
		src, err := os.ReadFile(p)
		files, size = append(files, src), size+int64(len(src))
		return err
	})
	if err != nil || size == 0 {
		b.Skipf("no source of the Go toolchain here: %v", err)
	}
	secret.Scan([]byte("x"))
	b.SetBytes(size)
	for b.Loop() {
		for _, f := range files {
			secret.Scan(f)
		}
	}
}

func ExampleScan() {
	text := "user = me\npassword = \"" + "x7Kq9" + "pLw3Zt8vRb2N" + "\"\n"
	for _, f := range secret.Scan([]byte(text)) {
		fmt.Println(f.Rule, f.Line)
	}
	// Output: generic-api-key 2
}
