package secret_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/foldwatch/foldwatch/meta/secret"
)

// TestVersionTellsRulesApart: verdicts are cached under Version, so other rules
// need another one.
func TestVersionTellsRulesApart(t *testing.T) {
	const known = "2 e163e53b9e7e8a85"
	sum := sha256.Sum256([]byte(config.DefaultConfig))
	if is := secret.Version + " " + hex.EncodeToString(sum[:8]); is != known {
		t.Errorf("rules %s, known are %s: give new ones a new Version, and note both here", is, known)
	}
}
