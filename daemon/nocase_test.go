package daemon_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/testdata/nocasetest"
)

// TestRenamedWhereCaseDoesNotCount: a source file or a note whose name changes its case
// only is found once, by its new name, and the journal has it once.
func TestRenamedWhereCaseDoesNotCount(t *testing.T) {
	t.Parallel()
	dir := nocasetest.Dir(t)
	m := newMachine(t)
	git(t, dir, "init", "-q")
	p := &project{machine: m, dir: dir}
	p.write("Zoo/Owl.go", "package zoo\n\n// Heron waits.\nfunc Heron() {}\n")
	p.git("add", "Zoo")
	p.git("commit", "-q", "-m", "Begin")
	p = m.add(dir, wire.ProjectCreate{Slug: "app"})
	p.write("fold/notes/Ibis.md", "# Ibis\n\nThe ibis probes.\n")
	once := func(what, query, name string) {
		t.Helper()
		p.eventually(what, func() bool {
			p.sweep(wire.Reindex{})
			var names []string
			for _, r := range p.search(wire.SearchRequest{Query: query, WaitForPending: true}) {
				for _, n := range []string{r.Metadata.FilePath, r.Metadata.Path} {
					if strings.EqualFold(n, name) {
						names = append(names, n)
					}
				}
			}
			return slices.Equal(names, []string{name})
		})
	}
	once("the source is found", "heron waits", "Zoo/Owl.go")
	once("the note is found", "ibis probes", "notes/Ibis.md")

	p.git("mv", "Zoo/Owl.go", "Zoo/owl.go")
	p.commit("Rename")
	once("the source is found by its new name", "heron waits", "Zoo/owl.go")
	if err := os.Rename(p.file("fold/notes/Ibis.md"), p.file("fold/notes/ibis.md")); err != nil {
		t.Fatal(err)
	}
	once("the note is found by its new name", "ibis probes", "notes/ibis.md")
	p.committed("notes/ibis.md")
	p.eventually("the journal has no other", func() bool { return p.gone("fold/notes/Ibis.md") })
}
