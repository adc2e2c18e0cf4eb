package daemon_test

import (
	"os"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// sameAfterRebuild reports where the index differs from one begun anew.
func (p *project) sameAfterRebuild() {
	p.t.Helper()
	p.settle()
	before := p.dump()
	p.sweep(wire.Reindex{Rebuild: true})
	p.settle()
	if now := p.dump(); now != before {
		p.t.Errorf("the index differs from a rebuilt one:\n%s", differ(before, now))
	}
}

func TestDerivedLinksDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	test := "package pool\n\nimport \"testing\"\n\nfunc TestPool(t *testing.T) {}\n"
	p := newProject(t, map[string]string{"a/pool.go": poolGo, "pool.go": poolGo + drainGo, "a/pool_test.go": test, "z_test.go": test, "z.go": drainGo})
	derived := func(name string) string {
		for _, l := range p.mustGet(p.fileID(name)).Links {
			if l.Derived {
				return l.TargetID
			}
		}
		return ""
	}
	if derived("a/pool_test.go") != p.fileID("a/pool.go") || derived("z_test.go") != p.fileID("z.go") {
		t.Fatalf("links lead to %q, %q", derived("a/pool_test.go"), derived("z_test.go"))
	}
	p.git("rm", "-q", "a/pool.go", "z.go")
	p.git("commit", "-q", "-m", "Drop what is tested")
	p.eventually("no link leads to what went", func() bool {
		return derived("z_test.go") == "" && derived("a/pool_test.go") != p.fileID("a/pool.go")
	})
	p.git("rm", "-q", "z_test.go")
	p.git("commit", "-q", "-m", "Drop a test")
	p.eventually("the test is gone", func() bool { return !p.exists(p.described("z_test.go")) })
	p.eventually("the commit is a memory", func() bool { return strings.Contains(p.dump(), `"Title":"Drop a test"`) })
	p.sameAfterRebuild()
}

func TestStaleDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"pool.go": poolGo, "edit.go": drainGo, "same.go": "package pool\n\nfunc Same() {}\n"})
	for _, name := range []string{"pool.go", "edit.go"} {
		p.committed(fold.ID(p.fileID(name)).Path())
	}
	for _, name := range []string{"pool.go", "edit.go"} {
		if err := os.Remove(p.file(name)); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("what went is stale", func() bool {
		return p.mustGet(p.fileID("pool.go")).Stale && p.mustGet(p.fileID("edit.go")).Stale
	})
	p.editMemory(p.described("edit.go"), func(s string) string { return s + "\nQuokkas drain it.\n" })
	p.sweep(wire.Reindex{})
	p.settle()
	for name, want := range map[string]bool{"pool.go": true, "edit.go": true, "same.go": false} {
		if got := p.mustGet(p.fileID(name)).Stale; got != want {
			t.Errorf("%s: stale %v, want %v", name, got, want)
		}
	}
	p.sameAfterRebuild()
}
