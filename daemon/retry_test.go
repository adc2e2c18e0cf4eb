//go:build !windows && cgo

package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// newMachineParsing is a machine whose parser processes are what the script does.
func newMachineParsing(t *testing.T, script string) (m *machine, rewrite func(script string)) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	path := filepath.Join(t.TempDir(), "parser")
	rewrite = func(script string) {
		t.Helper()
		if script == "" {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			return
		}
		if err := os.WriteFile(path+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(script)
	m = newMachineWith(t, t.TempDir(), func(m *machine) { m.worker = []string{path} })
	return m, rewrite
}

// parserThatWorks is the script of a real parser process.
func parserThatWorks(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("exec '%s' %s", exe, workerArg)
}

const quollPy = "def quoll_den(depth):\n    \"\"\"Where quolls sleep.\"\"\"\n    return depth\n\n\nclass Quoll:\n    def bite(self):\n        return 1\n"

// TestAFileThatCrashesItsParserIsNotTriedAgain shows that such a file is
// searchable as text, is named with its reason, and is parsed twice and then no
// more, whatever is swept or restarted, until a person asks (F53).
func TestAFileThatCrashesItsParserIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	m, rewrite := newMachineParsing(t, parserThatWorks(t)+" quoll_den")
	p := m.add(New(t, map[string]string{"quoll.py": quollPy, "plain.txt": "Nothing to parse.\n"}), wire.ProjectCreate{Slug: "app"})
	want := "cut as text (parser crashed)"
	if got := p.problem("quoll.py"); got != want {
		t.Fatalf("quoll.py: %q, want %q", got, want)
	}
	st := p.status()
	if st.ProblemCount != 1 || len(st.Problems) != 1 || st.Problems[0].State != "partial" {
		t.Errorf("status tells of %d problems: %+v", st.ProblemCount, st.Problems)
	}
	if !p.found("quoll_den", "quoll.py") {
		t.Error("its text is not found")
	}
	if n := p.counters()["parser_crashes"]; n != 2 {
		t.Errorf("%d crashes, want 2", n)
	}
	if at := m.d.RetryAt(p.dir); !at.IsZero() {
		t.Errorf("it is to be tried again at %v", at)
	}
	p.sweep(wire.Reindex{})
	p.sweep(wire.Reindex{Full: true})
	if n := p.counters()["parser_crashes"]; n != 2 {
		t.Errorf("after sweeps: %d crashes", n)
	}
	m.restart()
	p.settle()
	p.sweep(wire.Reindex{})
	if n := p.counters()["parser_crashes"]; n != 0 {
		t.Errorf("after a restart: %d crashes", n)
	}
	rewrite(parserThatWorks(t))
	p.sweep(wire.Reindex{RetryFailed: true})
	if got := p.problem("quoll.py"); got != "" {
		t.Errorf("after a person asked for it: %q", got)
	}
	if c := p.counters(); c["parser_crashes"] != 0 || c["parses"] != 1 {
		t.Errorf("after a person asked for it: %d crashes, %d parses", c["parser_crashes"], c["parses"])
	}
}

// TestAFileThatFailsIsTriedAgain shows that a file is named with its reason and
// the way out while no parser can be started, and is tried again by itself.
func TestAFileThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	m, rewrite := newMachineParsing(t, "")
	p := m.add(New(t, map[string]string{"quoll.py": quollPy}), wire.ProjectCreate{Slug: "app", FileMemories: "local"})
	if got := p.problem("quoll.py"); !strings.Contains(got, "start chunk worker") {
		t.Fatalf("quoll.py: %q", got)
	}
	st := p.status()
	if st.Files.Failed != 1 || len(st.Problems) != 1 || !strings.Contains(st.Problems[0].Hint, "foldwatch index --retry-failed") {
		t.Errorf("status tells of %d failed files: %+v", st.Files.Failed, st.Problems)
	}
	first := m.d.RetryAt(p.dir)
	if first.IsZero() {
		t.Fatal("it is not tried again")
	}
	m.d.RetrySoon(p.dir)
	m.eventually("it is tried again and fails again", func() bool { return m.d.RetryAt(p.dir).After(first) })
	rewrite(parserThatWorks(t))
	m.d.RetrySoon(p.dir)
	m.eventually("it is tried again and succeeds", func() bool { return p.problem("quoll.py") == "" })
	if !p.found("Quoll", "quoll.py") {
		t.Error("it is not found")
	}
	m.eventually("nothing is waited for", func() bool { return m.d.RetryAt(p.dir).IsZero() })
}

// TestProblemsComeInPages shows all files set aside, each once.
func TestProblemsComeInPages(t *testing.T) {
	t.Parallel()
	files := map[string]string{"main.go": mainGo}
	for i := range 25 {
		files[fmt.Sprintf("bin/%02d.dat", i)] = "\x00\x01\x02"
	}
	p := newProject(t, files)
	seen := map[string]bool{}
	q := wire.ProblemQuery{Limit: 10}
	for pages := 1; ; pages++ {
		list, err := p.d.Problems(p.ctx(), local(), p.slug, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list.Items {
			if seen[f.Path] || f.Reason != "binary" || f.State != "skipped" {
				t.Errorf("%+v, seen before: %v", f, seen[f.Path])
			}
			seen[f.Path] = true
		}
		if q.Cursor = list.NextCursor; q.Cursor == "" {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if len(seen) != 25 {
		t.Errorf("%d problems, want 25", len(seen))
	}
	if _, err := p.d.Problems(p.ctx(), local(), p.slug, wire.ProblemQuery{Cursor: "nonsense"}); err == nil {
		t.Error("a cursor of nobody's is taken")
	}
}
