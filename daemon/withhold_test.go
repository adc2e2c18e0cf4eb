package daemon_test

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestWhatIsWithheldIsNotShown shows that no way out prints a credential that
// the index holds back.
func TestWhatIsWithheldIsNotShown(t *testing.T) {
	t.Parallel()
	key, lines := plantedKey()
	_, key, _ = strings.Cut(key, "\n\n")
	p := newProject(t, map[string]string{
		"key.go": "package main\n\n// Before comes first.\nfunc Before() {}\n\n// DeployKey unlocks the pelican.\nconst DeployKey = `" + key + "`\n\n// After comes last.\nfunc After() {}\n",
	})
	secretIn := func(s string) bool {
		for _, l := range lines {
			if strings.Contains(s, l) {
				return true
			}
		}
		return false
	}
	src, err := p.d.MemorySource(p.ctx(), local(), p.slug, p.fileID("key.go"), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if secretIn(src.Content) || !strings.Contains(src.Content, "func Before()") || !strings.Contains(src.Content, "func After()") || !strings.Contains(src.Content, "withheld") {
		t.Errorf("source:\n%s", src.Content)
	}
	if got, want := strings.Count(src.Content, "\n"), strings.Count(p.read("key.go"), "\n"); got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
	m := p.mustGet(p.fileID("key.go"))
	if secretIn(m.Content) || secretIn(m.Context) {
		t.Errorf("the description quotes it:\n%s", m.Content)
	}
	id := fold.SlugID(p.slug, "leak")
	p.write("fold/"+id.Path(), "---\nid: \""+string(id)+"\"\ntitle: Leak\nmemory_type: general\nsource: agent\n---\n# Leak\n\n"+key+"\n")
	if m, err := p.get(string(id)); err == nil || secretIn(m.Content) {
		t.Errorf("before it is indexed: %v\n%s", err, m.Content)
	}
	p.eventually("it is set aside", func() bool { return strings.Contains(p.problem("fold/"+id.Path()), "private-key") })
	if m, err := p.get(string(id)); !errors.Is(err, fold.ErrSecret) || secretIn(m.Content) || secretIn(err.Error()) {
		t.Errorf("get = %v\n%s", err, m.Content)
	}
}

// plantedKey makes a text with a private key in it, and the key's own lines.
func plantedKey() (text string, lines []string) {
	raw := make([]byte, 600)
	rand.Read(raw)
	body := base64.StdEncoding.EncodeToString(raw)
	for len(body) > 64 {
		lines, body = append(lines, body[:64]), body[64:]
	}
	lines = append(lines, body)
	return "How the deploy key looks:\n\n-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Join(lines, "\n") + "\n-----END RSA " + "PRIVATE KEY-----\n", lines
}
