package daemon_test

import (
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestDescribingAgainAfterImportsResolve shows that our own words are known as
// ours when the tree they were written in resolved imports otherwise.
func TestDescribingAgainAfterImportsResolve(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"a.ts":    "import { b } from './b';\n\n// First is the first.\nexport function first() { return b; }\n",
		"keep.ts": "import { b } from './b';\n\n// Keep stays.\nexport function keep() { return b; }\n",
	})
	file, kept := p.described("a.ts"), p.described("keep.ts")
	p.committed(strings.TrimPrefix(file, "fold/"))
	p.editMemory(kept, func(s string) string { return s + "\n## Notes\n\nAsk Ada first.\n" })
	p.write("b.ts", "export const b = 1;\n")
	p.commit("Add b")
	p.eventually("b is described", func() bool { return p.exists(p.described("b.ts")) })
	p.settle()
	p.write("a.ts", "import { b } from './b';\n\n// Second is the second.\nexport function second() { return b; }\n")
	p.write("keep.ts", "import { b } from './b';\n\n// Other is another.\nexport function other() { return b; }\n")
	p.commit("Change a")
	blob := strings.TrimSpace(p.git("rev-parse", "HEAD:a.ts"))
	p.eventually("a is described again", func() bool { return strings.Contains(p.read(file), blob) })
	p.eventually("keep is described again", func() bool { return strings.Contains(p.read(kept), "other") })
	p.settle()
	got := p.read(file)
	if strings.Contains(got, "First is") || strings.Contains(got, "first") {
		t.Errorf("the old description is still there:\n%s", got)
	}
	if !strings.Contains(got, `depends_on: ["`+p.fileID("b.ts")+`"]`) {
		t.Errorf("the import is not a link:\n%s", got)
	}
	got = p.read(kept)
	if !strings.Contains(got, "Ask Ada first.") || strings.Contains(got, "Keep stays") || !strings.Contains(got, p.fileID("b.ts")) {
		t.Errorf("the edited description:\n%s", got)
	}
	// what is derived is no base: it comes from the history
	p.write("keep.ts", "// Third is a third.\nexport function third() { return 3; }\n")
	p.commit("Change keep")
	p.eventually("keep is described once more", func() bool { return strings.Contains(p.read(kept), "third") })
	p.settle()
	got = p.read(kept)
	if !strings.Contains(got, "Ask Ada first.") || strings.Contains(got, "Other is") || strings.Contains(got, p.fileID("b.ts")) {
		t.Errorf("the edited description, once more:\n%s", got)
	}

	p.git("rm", "-q", "a.ts", "keep.ts")
	p.git("commit", "-q", "-m", "Drop both")
	p.eventually("the unedited one is removed", func() bool { return !p.exists(file) })
	p.eventually("the edited one stands by itself", func() bool { return strings.Contains(p.read(kept), "moved_from: keep.ts") })
	if m := p.mustGet(string(fold.FileID(p.slug, "keep.ts"))); m.Type != "general" {
		t.Errorf("type %s", m.Type)
	}
}
