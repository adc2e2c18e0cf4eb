package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// manyFiles are n Go files in folders of 30.
func manyFiles(n int) map[string]string {
	files := map[string]string{".gitignore": "*.log\n", "go.mod": "module example.org/many\n"}
	for i := range n {
		dir := fmt.Sprintf("part%02d", i/30)
		files[fmt.Sprintf("%s/unit%d.go", dir, i)] = fmt.Sprintf("package part\n\n// Unit%d does the work of number %d.\nfunc Unit%d() int { return %d }\n", i, i, i, i)
	}
	return files
}

// old sets the times of a checkout back, and those of the machine's own
// configuration of git: what is as young as the look at it is looked at again.
func old(t *testing.T, dirs ...string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.Name() == "foldwatch" || d.Type()&os.ModeSymlink != 0 {
				if d != nil && d.IsDir() && err == nil {
					return filepath.SkipDir
				}
				return err
			}
			return os.Chtimes(p, then, then)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// work returns what the counters of name have gone up by since before.
func work(before, after map[string]int64, names ...string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "%s=%d ", n, after[n]-before[n])
	}
	return strings.TrimSpace(b.String())
}

// TestNothingMoved: a second index of a checkout reads nothing, cuts nothing,
// writes nothing and starts no git. It looks at each file once.
func TestNothingMoved(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: git is asked each time here")
	}
	t.Parallel()
	dir := New(t, manyFiles(300))
	old(t, dir)
	m := newMachine(t)
	p := m.add(dir, wire.ProjectCreate{FileMemories: "local"})
	p.settle()
	names := []string{"files_read", "parses", "embeds", "index_operations", "fold_scans", "git_processes"}
	last := ""
	p.eventually("a second index does nothing", func() bool { // the first ones after a start may still find young files
		p.settle()
		before := p.counters()
		p.sweep(wire.Reindex{})
		after := p.counters()
		last = work(before, after, names...)
		looks := after["stats"] - before["stats"]
		return last == "files_read=0 parses=0 embeds=0 index_operations=0 fold_scans=0 git_processes=0" && looks >= 300 && looks < 330
	})
	t.Log(last)
}

// TestASaveCostsTheSameInALargeCheckout: what a save does is counted, in a
// checkout and in one that is ten times as large.
func TestASaveCostsTheSameInALargeCheckout(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: indexes 1,000 files")
	}
	t.Parallel()
	names := []string{"files_read", "parses", "index_operations", "git_processes", "stats"}
	did := map[string][2]string{}
	for at, n := range []int{200, 800} {
		dir := New(t, manyFiles(n))
		old(t, dir)
		p := newMachine(t).add(dir, wire.ProjectCreate{FileMemories: "local"})
		p.settle()
		save := func(what, name, text string, query string) {
			before := p.counters()
			p.write(name, text)
			p.eventually(what+" is found", func() bool { return p.found(query, name) })
			p.settle()
			w := did[what]
			w[at] = work(before, p.counters(), names...)
			did[what] = w
		}
		save("a changed file", "part01/unit31.go", "package part\n\n// Unit31 sings zzqsong.\nfunc Unit31() {}\n", "zzqsong")
		save("a new file", "part02/fresh.go", "package part\n\n// Fresh dances zzqdance.\nfunc Fresh() {}\n", "zzqdance")
	}
	for what, w := range did {
		if w[0] != w[1] {
			t.Errorf("%s: %q among 200 files, %q among 800", what, w[0], w[1])
		}
		if !strings.Contains(w[1], "files_read=1 parses=1 ") || !strings.Contains(w[1], "git_processes=0") && !strings.Contains(w[1], "git_processes=1") {
			t.Errorf("%s: %q; one file, and at most one question to git", what, w[1])
		}
		t.Logf("%s: %s", what, w[1])
	}
}

// TestLinksByNameOfManyFiles: so many memory files at once that their names are
// known only at the end.
func TestLinksByNameOfManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: reads 1,100 memory files")
	}
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	const n = 1100
	for i := range n {
		text := fmt.Sprintf("# Note number %d\n\nIt goes on in [[Note number %d]].\n", i, (i+1)%n)
		writeFile(t, p.file(fmt.Sprintf("fold/notes/n%04d.md", i)), text)
	}
	p.sweep(wire.Reindex{})
	p.eventually("each note links to the next", func() bool { return p.status().Links >= n })
	before := p.counters()
	writeFile(t, p.file("fold/notes/n0007.md"), "# Another name\n\nIt goes on in [[Note number 8]].\n")
	p.eventually("the link to the old name goes", func() bool { return p.status().Links == n-1 })
	p.settle()
	if did := p.counters()["index_operations"] - before["index_operations"]; did > 4 {
		t.Errorf("a name that one memory uses cost %d changes of the index", did)
	}
}
