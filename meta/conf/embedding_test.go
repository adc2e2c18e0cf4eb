package conf

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestEmbeddingWeight(t *testing.T) {
	for text, want := range map[string]string{`"auto"`: "auto", `"0.3"`: "0.3", "0.3": "0.3", "1": "1"} {
		c, _, err := parse("config.toml", []byte("[embedding]\nweight = "+text+"\n[projects.app.embedding]\nweight = 0\n"), nil, nil)
		if err != nil || c.Embedding.Weight != want || c.For("app").Embedding.Weight != "0" {
			t.Errorf("weight = %s: %+v, %v", text, c.Embedding, err)
		}
		if _, fixed := c.Embedding.FixedWeight(); fixed == (want == "auto") {
			t.Errorf("weight = %s is fixed: %v", text, fixed)
		}
	}
	for _, text := range []string{`"much"`, "1.5", "-1", "nan", "true"} {
		if _, _, err := parse("config.toml", []byte("[projects.app.embedding]\nweight = "+text), nil, nil); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("weight = %s: %v, want ErrInvalid", text, err)
		}
	}
}

func TestProviderBudgetAndKeyFile(t *testing.T) {
	key := "sk-" + "test"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	toml := "[providers.openai]\ndaily_texts = 1000\ndaily_tokens = 0\nkey_file = '" + file + "'\n"
	c, _, err := parse("config.toml", []byte(toml), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Provider("openai")
	if got, err := c.ReadKey(p); err != nil || got != key || p.DailyTexts != 1000 {
		t.Errorf("ReadKey = %q, %v; %+v", got, err, p)
	}
	for _, bad := range []string{"", "two words", "two\nlines"} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadKey(p); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("ReadKey of %q = %v", bad, err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ReadKey(p); !errors.Is(err, fold.ErrForbidden) || fold.Hint(err) == "" {
			t.Errorf("ReadKey of a file for all = %v", err)
		}
	}
	for _, bad := range []string{"daily_texts = -1", `daily_tokens = "many"`, "daily_text = 1"} {
		if _, _, err := parse("config.toml", []byte("[providers.openai]\n"+bad), nil, nil); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", bad, err)
		}
	}
}

// TestSecretFiles takes secrets from files, by the rules of keys.
func TestSecretFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, own, open := write("one", "of-all-projects\n", 0o600), write("own", "of-app", 0o600), write("open", "for-all-to-read", 0o644)
	text := "[webhooks]\nsecret_file = '" + one + "'\n[projects.app.webhooks]\nsecret_file = '" + own + "'\n[projects.env.webhooks]\nsecret_env = 'OF_ENV'\n" +
		"[projects.open.webhooks]\nsecret_file = '" + open + "'\n[projects.none.webhooks]\nsecret_file = '" + dir + "/none'\n" +
		"[auth.providers.corp]\nissuer = 'https://id'\nclient_id = 'fold'\nsecret_file = '" + one + "'\n"
	env := []string{"OF_ENV=of-env", "AUTH_PROVIDER_OTHER_ISSUER=https://id", "AUTH_PROVIDER_OTHER_SECRET_FILE=" + open}
	c, origins, err := parse("config.toml", []byte(text), env, nil)
	if err != nil {
		t.Fatal(err)
	}
	for slug, want := range map[string]string{"": "of-all-projects", "app": "of-app", "env": "of-env"} {
		if got, err := c.For(slug).WebhookSecret(); err != nil || got != want {
			t.Errorf("the secret of %q is %q, %v, want %q", slug, got, err, want)
		}
	}
	if _, err := c.For("none").WebhookSecret(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a secret that is not there: %v", err)
	}
	if got, err := c.Auth.Providers["corp"].ReadSecret(); err != nil || got != "of-all-projects" {
		t.Errorf("the secret of a client is %q, %v", got, err)
	}
	if runtime.GOOS != "windows" {
		for name, read := range map[string]func() (string, error){"webhooks": c.For("open").WebhookSecret, "client": c.Auth.Providers["other"].ReadSecret} {
			if got, err := read(); got != "" || !errors.Is(err, fold.ErrForbidden) || fold.Hint(err) == "" {
				t.Errorf("%s: a secret for all to read: %q, %v", name, got, err)
			}
		}
	}
	if err := os.WriteFile(one, []byte("another-one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.WebhookSecret(); err != nil || got != "another-one" {
		t.Errorf("a secret that was changed: %q, %v", got, err)
	}
	for _, o := range origins {
		if strings.Contains(o.Value, "of-") {
			t.Errorf("config show tells the secret: %+v", o)
		}
	}
}

// TestSecretsOfProjects: a project's own secret is its variable's, else its file's, in
// place of what the file says of all, and below the environment.
func TestSecretsOfProjects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, env, wantEnv, wantFile string }{
		{"both", "[projects.app.webhooks]\nsecret_env = 'OWN'\nsecret_file = '/own'\n", "", "OWN", "/own"},
		{"both, turned", "[projects.app.webhooks]\nsecret_file = '/own'\nsecret_env = 'OWN'\n", "", "OWN", "/own"},
		{"a file", "[projects.app.webhooks]\nsecret_file = '/own'\n", "", "", "/own"},
		{"a variable", "[projects.app.webhooks]\nsecret_env = 'OWN'\n", "", "OWN", ""},
		{"a file, below the environment", "[projects.app.webhooks]\nsecret_file = '/own'\n", "FOLDWATCH_WEBHOOKS_SECRET_ENV=FIXED", "FIXED", "/own"},
		{"a variable, below the environment", "[projects.app.webhooks]\nsecret_env = 'OWN'\n", "FOLDWATCH_WEBHOOKS_SECRET_ENV=FIXED", "FIXED", "/all"},
	} {
		text := "[webhooks]\nsecret_env = 'ALL'\nsecret_file = '/all'\n" + tc.text
		c, _, err := parse("config.toml", []byte(text), []string{tc.env}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if at := c.For("app").Webhooks; at.SecretEnv != tc.wantEnv || at.SecretFile != tc.wantFile {
			t.Errorf("%s: $%s, %s; want $%s, %s", tc.name, at.SecretEnv, at.SecretFile, tc.wantEnv, tc.wantFile)
		}
	}
}
