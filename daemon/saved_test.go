package daemon_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// fromWorkTree are the checkouts whose work tree is described: one without a
// commit, and one with a commit whose settings ask for it.
var fromWorkTree = map[string]func(t *testing.T, files map[string]string) (dir string, set func(m *machine)){
	"unborn": func(t *testing.T, files map[string]string) (string, func(m *machine)) {
		dir := New(t, nil)
		for name, text := range files {
			writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
		}
		return dir, func(*machine) {}
	},
	"worktree": func(t *testing.T, files map[string]string) (string, func(m *machine)) {
		return New(t, files), func(m *machine) { m.cfg.Describe = "worktree" }
	},
}

// TestASaveIsDescribedAlone: where the work tree is described, a save costs the
// same among 800 files as among 200.
func TestASaveIsDescribedAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: indexes hundreds of files four times")
	}
	t.Parallel()
	names := []string{"files_read", "parses", "described", "git_processes", "stats"}
	for kind, create := range fromWorkTree {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			// A busy machine settles a save in two batches now and then, and does
			// something twice: what a size can do is seen in some tries.
			var did [2]map[string][]string
			for at, n := range fulltest.Pick([]int{60, 240}, []int{200, 800}) {
				dir, set := create(t, manyFiles(n))
				old(t, dir)
				p := newMachineWith(t, filepath.Join(realDir(t), "home"), set).add(dir, wire.ProjectCreate{})
				p.settle()
				did[at] = map[string][]string{}
				save := func(what, name, text string, done func(memory string) bool) {
					before := p.counters()
					if text == "" {
						p.drop(name)
					} else {
						p.write(name, text)
					}
					file := p.described(name)
					p.eventually(what+" is described", func() bool {
						text, err := os.ReadFile(p.file(file)) // it may go while it is looked for
						if err != nil && !errors.Is(err, fs.ErrNotExist) {
							t.Fatal(err)
						}
						return done(string(text))
					})
					p.settle()
					did[at][what] = append(did[at][what], work(before, p.counters(), names...))
				}
				for try := range 3 {
					save("a changed file", "part01/unit31.go", fmt.Sprintf("package part\n\n// Sings zzqsong%d.\nfunc Unit() {}\n", try),
						func(m string) bool { return strings.Contains(m, fmt.Sprint("zzqsong", try)) })
					save("a new file", fmt.Sprintf("part02/fresh%d.go", try), fmt.Sprintf("package part\n\n// Dances zzqdance%d.\nfunc Fresh() {}\n", try),
						func(m string) bool { return strings.Contains(m, fmt.Sprint("zzqdance", try)) })
					save("a deleted file", fmt.Sprintf("part01/unit%d.go", 41+try), "", func(m string) bool { return m == "" })
				}
			}
			for what, few := range did[0] {
				many := did[1][what]
				if !slices.ContainsFunc(few, func(w string) bool { return slices.Contains(many, w) }) {
					t.Errorf("%s: %q among few files, %q among four times as many", what, few, many)
				}
				t.Logf("%s: %q", what, many)
			}
		})
	}
}

// TestASourceThatWentFromTheWorkTree: its memory file goes, too, unless a person
// wrote into it; and also where it went while no daemon ran.
func TestASourceThatWentFromTheWorkTree(t *testing.T) {
	t.Parallel()
	for kind, create := range fromWorkTree {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, set := create(t, map[string]string{
				"main.go": mainGo, "pool.go": poolGo, "kept.go": strings.ReplaceAll(poolGo, "ool", "ail"),
				"late.go": "package pool\n\n// Late goes at night.\nfunc Late() {}\n",
			})
			m := newMachineWith(t, filepath.Join(realDir(t), "home"), set)
			p := m.add(dir, wire.ProjectCreate{})
			file, kept, late := p.described("pool.go"), p.described("kept.go"), p.described("late.go")
			p.committed(strings.TrimPrefix(kept, "fold/"))
			p.editMemory(kept, func(s string) string { return s + "\n## Notes\n\nAsk Ada first.\n" })
			p.eventually("the edit is searchable", func() bool { return p.found("ask Ada first", "kept.go") })

			p.drop("pool.go")
			p.drop("kept.go")
			p.eventually("the unedited one is removed", func() bool { return !p.exists(file) })
			p.eventually("the edited one stands by itself", func() bool { return strings.Contains(p.read(kept), "moved_from: kept.go") })
			p.settle()
			if m := p.mustGet(string(fold.FileID(p.slug, "kept.go"))); m.Type != "general" || !strings.Contains(m.Content, "Ask Ada first.") {
				t.Errorf("type %s, content:\n%s", m.Type, m.Content)
			}
			if _, err := p.get(string(fold.FileID(p.slug, "pool.go"))); err == nil {
				t.Error("the removed one is still there")
			}

			p.write("kept.go", strings.ReplaceAll(poolGo+drainGo, "ool", "ail"))
			p.write("pool.go", poolGo)
			p.eventually("both are described again", func() bool {
				return p.exists(file) && strings.Contains(p.read(kept), "Drain") && !strings.Contains(p.read(kept), "moved_from: kept.go")
			})
			p.settle()
			if m := p.mustGet(string(fold.FileID(p.slug, "kept.go"))); m.Type != "codebase" || !strings.Contains(m.Content, "Ask Ada first.") {
				t.Errorf("type %s, content:\n%s", m.Type, m.Content)
			}

			m.stop()
			p.drop("late.go")
			m.start()
			p.eventually("what went meanwhile is removed", func() bool { return !p.exists(late) })
			p.settle()
		})
	}
}

// drop deletes a file of the checkout.
func (p *project) drop(name string) {
	p.t.Helper()
	if err := os.Remove(p.file(name)); err != nil {
		p.t.Fatal(err)
	}
}

// TestALinkByTitleCostsTheSame: what a memory that links by a title costs, and
// what a new name does, is counted among 200 memories and among 800. The first
// after a start costs no more than others.
func TestALinkByTitleCostsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: indexes 1,000 memories")
	}
	t.Parallel()
	did := map[string][2]string{}
	for at, n := range fulltest.Pick([]int{60, 240}, []int{200, 800}) {
		dir := New(t, map[string]string{"main.go": mainGo})
		m := newMachine(t)
		p := m.add(dir, wire.ProjectCreate{})
		for i := range n {
			p.write(fmt.Sprintf("fold/notes/note%d.md", i), fmt.Sprintf("# Roost %d\n\nBirds sleep here, see [[Roost %d]] and [[Nest of %d]].\n", i, (i+1)%n, i))
		}
		p.eventually("all notes are there", func() bool { return p.status().Memories > n })
		p.settle()
		m.restart()
		p.settle()
		save := func(what, title, text string) {
			before := p.counters()
			r := p.addMemory(wire.MemoryCreate{Title: title, Content: text})
			p.settle()
			w := did[what]
			w[at] = work(before, p.counters(), "names_read", "files_read")
			did[what] = w
			if what == "a name that others use" {
				p.eventually("the link leads there", func() bool { return p.linksTo(string(fold.NoteID(p.slug, "notes/note7.md")), r.ID, "references") })
			}
		}
		save("a name that others use", "Nest of 7", "It is empty.")
		save("a link by title", "Way to roost", "See [[Roost 42]] and [[Roost 43|that]].")
		save("a name of its own", "Nobody links here", "Nothing.")
	}
	for what, w := range did {
		if w[0] != w[1] {
			t.Errorf("%s: %q among 200 memories, %q among 800", what, w[0], w[1])
		}
		t.Logf("%s: %s", what, w[1])
	}
}
