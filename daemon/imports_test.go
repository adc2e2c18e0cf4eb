package daemon_test

import (
	"os"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestImportsFollowTheTree: what an import means depends on other files, so that a
// description changes when those come, go, or call their package otherwise, although its
// own file does not.
func TestImportsFollowTheTree(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := New(t, map[string]string{
		"cmd/a.go":     "package cmd\n\nimport \"example.com/zoo/deep\"\n\nfunc A() { deep.B() }\n",
		"deep/deep.go": "package deep\n\nfunc B() {}\n",
		"web/app.js":   "import { feed } from './feed'\nexport function start() { feed() }\n",
	})
	p := m.add(dir, wire.ProjectCreate{FileMemories: "local"})
	p.settle()
	says := func(file, part string, want bool) {
		t.Helper()
		p.eventually("what "+file+" depends on is told", func() bool {
			return strings.Contains(p.mustGet(p.fileID(file)).Content, part) == want
		})
	}
	says("cmd/a.go", "`deep/deep.go`", false)
	p.write("go.mod", "module example.com/zoo\n")
	says("cmd/a.go", "`deep/deep.go`", true)
	p.write("go.mod", "module example.com/farm\n")
	says("cmd/a.go", "`deep/deep.go`", false)
	p.write("go.mod", "module example.com/zoo\n")
	says("cmd/a.go", "`deep/deep.go`", true)
	must(t, os.RemoveAll(p.file("deep")))
	says("cmd/a.go", "`deep/deep.go`", false)
	says("web/app.js", "`web/feed.js`", false)
	p.write("web/feed.js", "export function feed() {}\n")
	says("web/app.js", "`web/feed.js`", true)
}
