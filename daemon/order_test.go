package daemon_test

import (
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
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
	p.sameAfterRebuild()
}
