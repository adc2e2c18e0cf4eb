package daemon_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestACheckoutHasNobodyAsked fills memories, source and fold/project.toml with
// addresses of a server: whatever is read and searched, nobody asks it, and no file
// outside the checkout is taken in (F48, F51).
func TestACheckoutHasNobodyAsked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	stub := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(stub.Close)
	active := strings.ReplaceAll("# Quokka\n\n![beacon](URL/a.png) <img src=URL/b onerror=alert(1)> <script src=URL/c></script>\n\n"+
		"[run](javascript:fetch('URL/d')) [d](data:text/html,<script>1</script>) [[URL/e|wiki]] ![[URL/f.svg]]\n\n<svg onload=\"fetch('URL/g')\"><image href=URL/h /></svg>\n", "URL", stub.URL)
	dir := New(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n", "docs/zoo.md": active, "page.html": active})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.md"), []byte("# Wombat outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	p := m.add(dir, wire.ProjectCreate{})
	id := p.addMemory(wire.MemoryCreate{Title: "Quokka <script>", Content: active}).ID
	toml := p.read("fold/project.toml")
	p.write("fold/project.toml", strings.Replace(toml, `include = ["**/*"]`, `include = ["../**", "**/*"]`, 1)+fmt.Sprintf(
		"\n[embedding]\nprovider = \"openai\"\nurl = %[1]q\nmodel = \"x\"\nkey = \"k\"\n[llm]\nurl = %[1]q\n[providers.openai]\nurl = %[1]q\n[sync]\nremote = %[1]q\n", stub.URL))
	if !strings.Contains(p.read("fold/project.toml"), "../**") {
		t.Fatalf("the file is not what it was: %s", toml)
	}
	p.eventually("the settings are said to have no effect, with a line", func() bool {
		said := strings.Join(p.status().Notices, "\n")
		return strings.Contains(said, "project.toml") && strings.Contains(said, "line")
	})
	p.write("docs/more.md", "# Numbat\n\n"+active)
	p.settle()
	for _, query := range []string{"quokka", "numbat beacon", "wombat outside"} {
		for _, r := range p.search(wire.SearchRequest{Query: query, Explain: true, WaitForPending: true}) {
			if strings.Contains(r.Metadata.FilePath, "outside") {
				t.Errorf("%q finds %s", query, r.Metadata.FilePath)
			}
		}
	}
	got, err := p.d.GetMemory(p.ctx(), local(), p.slug, id)
	if err != nil || !strings.Contains(got.Content, "<script src="+stub.URL) {
		t.Errorf("the text is not what was written: %q, %v", got.Content, err)
	}
	if _, err := p.d.Context(p.ctx(), local(), p.slug, id, wire.ContextRequest{Depth: 2}); err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}
