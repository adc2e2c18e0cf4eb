package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/conf"
)

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
		{[]string{"FOLDWATCH_WEBHOOKS_SECRET_FILE=" + file + "-none"}, "webhooks.secret_file: stat"},
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
