package daemon_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestANewDescriberDescribesAnew starts on memory files that an older describer
// made.
func TestANewDescriberDescribesAnew(t *testing.T) {
	t.Parallel()
	files := map[string]string{"pool.go": poolGo, "main.go": mainGo}
	for i := range 40 {
		files[fmt.Sprintf("part/unit%d.go", i)] = fmt.Sprintf("package part\n\n// Unit%d is number %d.\nfunc Unit%d() {}\n", i, i, i)
	}
	p := newProject(t, files)
	if v, err := p.d.Describer(p.ctx(), p.slug); err != nil || v != describe.Version {
		t.Fatalf("after a first index the descriptions are of version %q, %v", v, err)
	}
	p.settle()
	if n := p.jobs("describe"); n != 0 {
		t.Errorf("%d jobs describe anew what was just described", n)
	}
	p.committed(fold.ID(p.fileID("main.go")).Path())
	right := map[string]string{}
	for _, name := range []string{"pool.go", "part/unit1.go", "part/unit7.go", "part/unit8.go"} {
		right[name] = p.read(p.described(name))
		older := func(s string) string {
			s = strings.Replace(s, "\n## Key Components\n", "\nWritten as they were in the old days.\n\n## Parts\n", 1)
			return strings.Replace(s, "\nkeywords: [", "\nkeywords: [oldish, ", 1)
		}
		if err := p.d.DescribeAs(p.ctx(), p.slug, name, "3", older); err != nil {
			t.Fatal(err)
		}
		if p.read(p.described(name)) == right[name] {
			t.Fatalf("the older description of %s is the same:\n%s", name, right[name])
		}
	}
	p.settle()
	// What people made of two of them.
	p.editMemory(p.described("pool.go"), func(s string) string { return addTag(s, "quokka") + "\n## Notes\n\nAsk Ada first.\n" })
	p.editMemory(p.described("part/unit7.go"), func(s string) string {
		return strings.Replace(s, "Written as they were in the old days.", "Ada wrote this instead.", 1)
	})
	p.eventually("the edits are searchable", func() bool {
		return p.found("Ask Ada first", "pool.go") && p.found("Ada wrote this instead", "part/unit7.go")
	})
	p.settle()
	stat := func(name string) os.FileInfo {
		t.Helper()
		fi, err := os.Lstat(p.file(p.described(name)))
		if err != nil {
			t.Fatal(err)
		}
		return fi
	}
	untouched := stat("part/unit9.go")

	p.restart()
	p.eventually("all is described by this version", func() bool {
		v, err := p.d.Describer(p.ctx(), p.slug)
		return err == nil && v == describe.Version
	})
	p.settle()
	for _, name := range []string{"part/unit1.go", "part/unit8.go"} {
		if now := p.read(p.described(name)); now != right[name] {
			t.Errorf("%s is not described anew:\n%s", name, differ(right[name], now))
		}
	}
	pool, unit := p.read(p.described("pool.go")), p.read(p.described("part/unit7.go"))
	for _, want := range []string{"quokka", "Ask Ada first.", "## Key Components", "Acquire"} {
		if !strings.Contains(pool, want) {
			t.Errorf("%q is not in the memory:\n%s", want, pool)
		}
	}
	for _, not := range []string{"old days", "oldish"} {
		if strings.Contains(pool, not) {
			t.Errorf("%q is still in the memory:\n%s", not, pool)
		}
	}
	if !strings.Contains(unit, "Ada wrote this instead.") || strings.Contains(unit, "oldish") {
		t.Errorf("what a person wrote over the description:\n%s", unit)
	}
	if now := stat("part/unit9.go"); !os.SameFile(now, untouched) || !now.ModTime().Equal(untouched.ModTime()) {
		t.Error("a memory file that says the same was written")
	}
	if !p.found("Ask Ada first", "pool.go") || p.found("oldish", "part/unit1.go") {
		t.Error("the index is not what the files say")
	}

	// Once is enough; and what a newer describer made stays.
	after := tree(t, p.file("fold"))
	p.restart()
	p.settle()
	if n := p.jobs("describe"); n != 0 {
		t.Errorf("%d jobs describe anew after a restart", n)
	}
	if err := p.d.DescribeAs(p.ctx(), p.slug, "part/unit1.go", "99", func(s string) string { return s + "\nMore.\n" }); err != nil {
		t.Fatal(err)
	}
	later := tree(t, p.file("fold"))
	if later == after {
		t.Fatal("nothing was described otherwise")
	}
	p.restart()
	p.settle()
	if now := tree(t, p.file("fold")); now != later {
		t.Errorf("what a newer describer made is described again:\n%s", differ(later, now))
	}
}
