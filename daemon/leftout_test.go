package daemon_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestAFileThatIsLeftOutLosesItsMemory leaves files out by each kind of rule and
// takes them in again.
func TestAFileThatIsLeftOutLosesItsMemory(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"main.go": mainGo, "docs/heron.md": "# Heron\n\nThe heron waits.\n", "docs/ibis.md": "# Ibis\n\nThe ibis probes.\n",
	})
	heron, ibis, keep := p.described("docs/heron.md"), p.described("docs/ibis.md"), p.read(p.described("main.go"))
	was := p.read(heron)
	p.committed(fold.ID(p.fileID("docs/ibis.md")).Path())
	p.editMemory(ibis, func(s string) string { return s + "\n## Notes\n\nAda feeds the ibis.\n" })
	p.eventually("the edit is searchable", func() bool { return p.found("Ada feeds", "docs/ibis.md") })
	p.settle()

	toml := p.read("fold/project.toml")
	for _, rule := range []struct {
		name      string
		out, back func()
	}{
		{"an ignore file", func() { p.write(".foldwatchignore", "docs/\n") }, func() { p.write(".foldwatchignore", "") }},
		{
			"project.toml",
			func() {
				p.write("fold/project.toml", strings.Replace(toml, "exclude = []", `exclude = ["docs/**"]`, 1))
			},
			func() { p.write("fold/project.toml", toml) },
		},
		{"attributes", func() { p.write(".gitattributes", "docs/** linguist-vendored\n") }, func() { p.write(".gitattributes", "") }},
	} {
		rule.out()
		p.eventually(rule.name+": the memory goes", func() bool { return !p.exists(heron) })
		p.eventually(rule.name+": it is not found", func() bool {
			_, err := p.get(p.fileID("docs/heron.md"))
			return errors.Is(err, fold.ErrNotFound) && !p.found("heron waits", "docs/heron.md")
		})
		p.eventually(rule.name+": what a person wrote is kept", func() bool { return strings.Contains(p.read(ibis), "moved_from: docs/ibis.md") })
		p.eventually(rule.name+": and told", func() bool { return strings.Contains(strings.Join(p.status().Notices, "\n"), "hold words of yours") })
		if m := p.mustGet(p.fileID("docs/ibis.md")); m.Type != "general" || !strings.Contains(m.Content, "Ada feeds the ibis.") {
			t.Errorf("%s: kept as %s:\n%s", rule.name, m.Type, m.Content)
		}
		p.eventually(rule.name+": the deletion is in the journal", func() bool { return p.gone(heron) })

		rule.back()
		p.eventually(rule.name+": it is described again", func() bool { return p.exists(heron) })
		if now := p.read(heron); now != was {
			t.Errorf("%s: the memory is another:\n%s", rule.name, differ(was, now))
		}
		p.eventually(rule.name+": what was kept is its description again", func() bool {
			m, err := p.get(p.fileID("docs/ibis.md"))
			return err == nil && m.Type == "codebase" && m.FilePath == "docs/ibis.md" && strings.Contains(m.Content, "Ada feeds the ibis.")
		})
		p.eventually(rule.name+": both are found", func() bool { return p.found("heron waits", "docs/heron.md") && p.found("ibis probes", "docs/ibis.md") })
		p.settle()
	}

	// What somebody brings back stays.
	p.write(".foldwatchignore", "docs/heron.md\n")
	p.eventually("the memory goes", func() bool { return !p.exists(heron) })
	p.eventually("the deletion is in the journal", func() bool { return p.gone(heron) })
	if _, err := p.d.Restore(p.ctx(), local(), p.slug, wire.Restore{ID: p.fileID("docs/heron.md")}); err != nil {
		t.Fatal(err)
	}
	p.settle()
	p.sweep(wire.Reindex{})
	p.restart()
	p.settle()
	p.sweep(wire.Reindex{})
	if now := p.read(heron); now != was {
		t.Errorf("what was restored is another:\n%s", differ(was, now))
	}
	if now := p.read(p.described("main.go")); now != keep {
		t.Errorf("a memory that no rule names is another:\n%s", differ(keep, now))
	}
}

// gone reports whether the journal knows that a memory file was deleted.
func (p *project) gone(file string) bool {
	p.t.Helper()
	out := p.git("--git-dir", p.file(".git/foldwatch/repo.git"), "ls-tree", "-r", "--name-only", "refs/foldwatch/journal")
	return !strings.Contains(out, strings.TrimPrefix(file, "fold/"))
}

// TestManyFilesLeftOutAreNoAccident leaves out more than may vanish by mistake.
func TestManyFilesLeftOutAreNoAccident(t *testing.T) {
	t.Parallel()
	files := map[string]string{"main.go": mainGo}
	for i := range 120 {
		files[fmt.Sprintf("made/unit%d.go", i)] = fmt.Sprintf("package made\n\n// Unit%d is number %d.\nfunc Unit%d() {}\n", i, i, i)
	}
	p := newProject(t, files)
	count := func() int {
		found, err := filepath.Glob(p.file("fold/*/*/*.md"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if n := count(); n != 121 {
		t.Fatalf("%d memory files of 121", n)
	}
	p.committed(fold.ID(p.fileID("made/unit7.go")).Path())
	before := tree(t, p.file("fold"))
	p.write(".foldwatchignore", "made/\n")
	p.eventually("their memories go", func() bool { return count() == 1 })
	p.settle()
	p.eventually("the journal has it", func() bool { return p.gone(p.described("made/unit7.go")) && p.gone(p.described("made/unit99.go")) })
	if n := strings.Join(p.status().Notices, "\n"); strings.Contains(n, "vanish") || strings.Contains(n, "restored") {
		t.Errorf("taken for an accident: %s", n)
	}
	p.restart()
	p.settle()
	p.sweep(wire.Reindex{})
	if n := count(); n != 1 {
		t.Errorf("%d memory files after a restart", n)
	}
	p.write(".foldwatchignore", "")
	p.eventually("they are back", func() bool { return count() == 121 })
	p.settle()
	if now := tree(t, p.file("fold")); now != before {
		t.Errorf("they are others:\n%s", differ(before, now))
	}
}

// TestRulesOfAnotherBranchRemoveNothing: memory files describe the default
// branch, whatever is checked out.
func TestRulesOfAnotherBranchRemoveNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo, "docs/heron.md": "# Heron\n\nThe heron waits.\n"})
	heron := p.described("docs/heron.md")
	p.git("checkout", "-q", "-b", "side")
	p.write(".foldwatchignore", "docs/\n")
	p.commit("Leave docs out")
	p.eventually("the rule is in force", func() bool { return strings.Contains(strings.Join(p.status().Notices, "\n"), "all in docs") })
	p.settle()
	p.sweep(wire.Reindex{})
	if !p.exists(heron) {
		t.Fatal("a rule of another branch removes a memory of the default one")
	}
	p.git("checkout", "-q", "main")
	p.git("merge", "-q", "--ff-only", "side")
	p.eventually("the rule holds on the default branch too", func() bool { return !p.exists(heron) })
}
