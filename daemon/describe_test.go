package daemon_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
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

// TestASourceThatIsBackIsDescribedInItsOldMemory shows that what was kept of a
// description by a person's words becomes one again with its source.
func TestASourceThatIsBackIsDescribedInItsOldMemory(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"pool.go": poolGo, "main.go": "package main\n\nfunc main() {}\n"})
	file := p.described("pool.go")
	p.committed(strings.TrimPrefix(file, "fold/"))
	p.editMemory(file, func(s string) string { return s + "\n## Notes\n\nAsk Ada first.\n" })
	p.eventually("the edit is searchable", func() bool { return p.found("ask Ada first", "pool.go") })
	p.git("rm", "-q", "pool.go")
	p.git("commit", "-q", "-m", "Drop the pool")
	p.eventually("the memory stands by itself", func() bool { return strings.Contains(p.read(file), "moved_from: pool.go") })
	p.settle()
	p.write("pool.go", poolGo+drainGo)
	p.commit("Bring the pool back")
	p.eventually("it is described again", func() bool { return strings.Contains(p.read(file), "Drain") })
	p.settle()
	m := p.mustGet(p.fileID("pool.go"))
	blob := strings.TrimSpace(p.git("rev-parse", "HEAD:pool.go"))
	if m.Type != "codebase" || m.Source != "file" || m.FilePath != "pool.go" || m.MovedFrom != "" || m.SourceBlob != blob {
		t.Errorf("type %s, source %s, file_path %s, moved_from %s, source_blob %s", m.Type, m.Source, m.FilePath, m.MovedFrom, m.SourceBlob)
	}
	if !strings.Contains(m.Content, "Ask Ada first.") || strings.Count(m.Content, "Acquire") != strings.Count(m.Content, "Drain") {
		t.Errorf("content:\n%s", m.Content)
	}
	if !p.found("Drain idle", "pool.go") {
		t.Error("the source is not found under its memory")
	}
}

// TestARenameOntoATakenPathLosesNothing shows that a person's words follow a
// file to a path that has a memory already.
func TestARenameOntoATakenPathLosesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"pool.go": poolGo, "taken.go": "package pool\n\n// Taken is in the way.\nfunc Taken() {}\n",
		"main.go": "package main\n\nfunc main() {}\n", "next.go": strings.ReplaceAll(poolGo+drainGo, "ool", "ail"),
	})
	file, taken := p.described("pool.go"), p.described("taken.go")
	p.committed(strings.TrimPrefix(file, "fold/"))
	p.editMemory(file, func(s string) string { return s + "\n## Notes\n\nAsk Ada first.\n" })
	p.editMemory(taken, func(s string) string { return s + "\n## Notes\n\nBob took it.\n" })
	p.eventually("the edits are searchable", func() bool {
		return p.found("ask Ada first", "pool.go") && p.found("Bob took it", "taken.go")
	})
	p.git("rm", "-q", "taken.go")
	p.git("commit", "-q", "-m", "Drop what is in the way")
	p.eventually("the memory stands by itself", func() bool { return strings.Contains(p.read(taken), "moved_from: taken.go") })
	p.settle()
	p.git("mv", "pool.go", "taken.go")
	p.git("commit", "-q", "-m", "Rename")
	p.eventually("the memory has moved", func() bool { return !p.exists(file) })
	p.settle()
	m := p.mustGet(p.fileID("taken.go"))
	if m.Type != "codebase" || m.Source != "file" || m.FilePath != "taken.go" || m.MovedFrom != "pool.go" {
		t.Errorf("type %s, source %s, file_path %s, moved_from %s", m.Type, m.Source, m.FilePath, m.MovedFrom)
	}
	for _, want := range []string{"Bob took it.", "Acquire"} {
		if !strings.Contains(m.Content, want) {
			t.Errorf("%q is not in the text:\n%s", want, m.Content)
		}
	}
	// two wrote at one place: the other note is a memory beside it
	p.eventually("the other note is found", func() bool {
		return slices.ContainsFunc(p.search(wire.SearchRequest{Query: "ask Ada first", Type: fold.TypeConflict}), func(r wire.SearchResult) bool {
			other := p.mustGet(r.ID)
			return strings.Contains(other.Content, "Ask Ada first.") && len(other.Links) == 1 && other.Links[0].TargetID == m.ID
		})
	})
	if strings.Contains(m.Content, "in the way") {
		t.Errorf("the old description is still there:\n%s", m.Content)
	}
	// out of sight: a name that is never described
	p.git("mv", "taken.go", ".env.go")
	p.git("commit", "-q", "-m", "Hide")
	p.eventually("the words stand by themselves", func() bool { return strings.Contains(p.read(taken), "moved_from: taken.go") })
	// a memory at the new path that cannot be read is left as it is
	next := p.described("next.go")
	p.editMemory(next, func(s string) string { return s + "\n## Notes\n\nCora knows.\n" })
	p.eventually("the edit is searchable", func() bool { return p.found("Cora knows", "next.go") })
	p.write(p.described("new.go"), "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
	p.git("mv", "next.go", "new.go")
	p.git("commit", "-q", "-m", "Rename again")
	p.eventually("the words stand by themselves", func() bool { return strings.Contains(p.read(next), "moved_from: next.go") })
	if !strings.Contains(p.read(next), "Cora knows.") || !strings.Contains(p.read(p.described("new.go")), "<<<<<<<") {
		t.Errorf("%s\n%s", p.read(next), p.read(p.described("new.go")))
	}
}

// TestASourceThatIsBackIsDescribedAgain shows that removing a description with
// its source is no person's decision, and that a person's ends with the source.
func TestASourceThatIsBackIsDescribedAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"pool.go": poolGo, "hand.go": "package pool\n\nfunc Hand() {}\n", "main.go": "package main\n\nfunc main() {}\n"})
	file, hand := p.described("pool.go"), p.described("hand.go")
	p.committed(strings.TrimPrefix(file, "fold/"))
	if err := os.Remove(p.file(hand)); err != nil {
		t.Fatal(err)
	}
	p.eventually("the deletion is in the index", func() bool {
		m, err := p.get(p.fileID("hand.go"))
		return err == nil && m.Described == "index"
	})
	p.git("rm", "-q", "pool.go", "hand.go")
	p.git("commit", "-q", "-m", "Drop both")
	p.eventually("the description is removed", func() bool { return !p.exists(file) })
	p.settle()
	p.git("revert", "--no-edit", "HEAD")
	p.eventually("both are described again", func() bool { return p.exists(file) && p.exists(hand) })
	p.settle()
	if m := p.mustGet(p.fileID("pool.go")); m.Described != "fold" || m.Stale || m.MovedFrom != "" {
		t.Errorf("%+v", m)
	}
}

// TestASaveIsDescribedBeforeTheFirstCommit shows that where there is no commit
// the memory follows what is saved, at once.
func TestASaveIsDescribedBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	p.write("pool.go", poolGo)
	file := p.described("pool.go")
	p.eventually("it is described", func() bool { return p.exists(file) })
	p.settle()
	p.editMemory(file, func(s string) string { return s + "\n## Notes\n\nAsk Ada first.\n" })
	p.write("pool.go", poolGo+drainGo)
	p.eventually("it is described again", func() bool { return strings.Contains(p.read(file), "Drain") })
	if !strings.Contains(p.read(file), "Ask Ada first.") {
		t.Errorf("the words of a person are gone:\n%s", p.read(file))
	}
}
