package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// sampleTree is a project of some thirty files in several languages, with
// imports, tests and prose.
func sampleTree() map[string]string {
	files := map[string]string{
		"go.mod":    "module example.invalid/app\n\ngo 1.26\n",
		"README.md": "# App\n\nSells tickets for the zoo.\n\n## Mail\n\nMail is queued and sent by a worker.\n",
	}
	animals := []string{"quokka", "numbat", "dingo", "emu"}
	for i, a := range animals {
		name := strings.ToUpper(a[:1]) + a[1:]
		files["zoo/"+a+"/"+a+".go"] = fmt.Sprintf("// Package %s feeds the %s.\npackage %s\n\nimport \"example.invalid/app/zoo/%s/food\"\n\n// Feed%s gives the %s its food, %d times a day.\nfunc Feed%s() int {\n\tn := food.Count()\n\tfor range %d {\n\t\tn++\n\t}\n\treturn n\n}\n", a, a, a, a, name, a, i+2, name, i+2)
		files["zoo/"+a+"/"+a+"_test.go"] = fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc TestFeed%s(t *testing.T) {\n\tif Feed%s() == 0 {\n\t\tt.Fatal(\"hungry\")\n\t}\n}\n", a, name, name)
		files["zoo/"+a+"/food/food.go"] = fmt.Sprintf("// Package food counts what the %s eats.\npackage food\n\n// Count counts leaves and roots.\nfunc Count() int { return %d }\n", a, i)
		files["web/"+a+".ts"] = fmt.Sprintf("import { render } from './page';\n\n/** Shows the enclosure of the %s. */\nexport function show%s(): string {\n  return render('%s');\n}\n", a, name, a)
		files["tools/"+a+".py"] = fmt.Sprintf("\"\"\"Weighs the %s.\"\"\"\n\n\ndef weigh_%s(day):\n    \"\"\"Returns the weight of the %s on a day.\"\"\"\n    return day * %d\n", a, a, a, i)
		files["doc/"+a+".md"] = fmt.Sprintf("# The %s\n\nThe %s sleeps %d hours.\n\n## Enclosure\n\nNumber %d, beside the pond.\n", a, a, 8+i, i)
	}
	files["web/page.ts"] = "/** Renders a page. */\nexport function render(text: string): string {\n  return `<p>${text}</p>`;\n}\n"
	return files
}

func sampleQueries() []string {
	var out []string
	for _, a := range []string{"quokka", "numbat", "dingo", "emu"} {
		out = append(out, "feed the "+a, "Feed"+strings.ToUpper(a[:1])+a[1:], "weight of "+a, "where is the enclosure of the "+a)
	}
	return append(out, "render page", "mail queue worker", "sleeps hours", "count leaves and roots", "hungry", "TestFeedEmu", "package food", "day weight returns")
}

// answers are the top ten of every sample query, with their scores.
func (p *project) answers() string {
	p.t.Helper()
	var b strings.Builder
	for _, q := range sampleQueries() {
		fmt.Fprintf(&b, "%s:", q)
		for _, r := range p.search(wire.SearchRequest{Query: q, Limit: 10}) {
			// Sums of float32, whose order depends on what is deleted: not exact.
			fmt.Fprintf(&b, " %s=%.5f", r.ID, r.Relevance)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTheSecondIndexReadsNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	s := p.status()
	if want := len(sampleTree()); s.Files.Indexed != want || s.Files.Failed != 0 || s.State != "ready" || s.ProblemCount != 0 {
		t.Fatalf("%d of %d files indexed, %d failed, state %s, problems %v", s.Files.Indexed, want, s.Files.Failed, s.State, s.Problems)
	}
	// files written while they were read are read once more: after that, none
	p.sweep(wire.Reindex{})
	before := p.counters()
	p.sweep(wire.Reindex{})
	after := p.counters()
	for _, name := range []string{"files_read", "bytes_read", "parses", "chunk_cache_hits", "described", "embeds"} {
		if after[name] != before[name] {
			t.Errorf("the second index: %s went from %d to %d", name, before[name], after[name])
		}
	}
	if after["stats"] == before["stats"] {
		t.Error("the second index looked at nothing")
	}
	fold := tree(t, p.file("fold"))
	p.restart()
	p.settle()
	if c := p.counters(); c["files_read"] != 0 || c["parses"] != 0 || c["described"] != 0 {
		t.Errorf("a start on a clean checkout: %v", c)
	}
	if now := tree(t, p.file("fold")); now != fold {
		t.Errorf("a start rewrote memories:\n%s", differ(fold, now))
	}

	// a branch switch over known content parses nothing
	p.git("checkout", "-q", "-b", "feature")
	p.write("zoo/emu/emu.go", strings.ReplaceAll(sampleTree()["zoo/emu/emu.go"], "FeedEmu", "NourishEmu"))
	p.eventually("a save is searchable", func() bool { return namesChunk(p, "NourishEmu") })
	p.commit("Rename on a branch")
	p.settle()
	before = p.counters()
	p.git("checkout", "-q", "main")
	p.eventually("the switch is noticed", func() bool { return !namesChunk(p, "NourishEmu") })
	p.git("checkout", "-q", "feature")
	p.eventually("and back", func() bool { return namesChunk(p, "NourishEmu") })
	p.settle()
	after = p.counters()
	for _, name := range []string{"parses", "embeds"} {
		if after[name] != before[name] {
			t.Errorf("a branch switch over known content: %s went from %d to %d", name, before[name], after[name])
		}
	}
}

// namesChunk reports whether a chunk of that name is found.
func namesChunk(p *project, name string) bool {
	p.t.Helper()
	for _, r := range p.search(wire.SearchRequest{Query: name, WaitForPending: true}) {
		for _, c := range r.MatchedChunks {
			if c.NodeName == name {
				return true
			}
		}
	}
	return false
}

func TestARebuiltIndexGivesEqualAnswers(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	p.addMemory(wire.MemoryCreate{Title: "Feeding times", Content: "The emu is fed at nine.", Links: []wire.NewLink{{Target: p.fileID("zoo/emu/emu.go")}}, Tags: []string{"zoo"}})
	p.write("fold/note.md", "See [[Feeding times]].\n")
	p.write("doc/new.md", "# New\n\nThe cassowary arrives in May.\n")
	p.eventually("the save is searchable", func() bool { return p.found("cassowary May", "doc/new.md") })
	p.eventually("the note is searchable", func() bool { return p.found("see feeding times", "note.md") })
	p.git("mv", "doc/emu.md", "doc/ostrich.md")
	p.git("rm", "-q", "tools/emu.py")
	p.commit("Move and remove")
	p.eventually("the tip is followed", func() bool { return p.exists(p.described("doc/ostrich.md")) && !p.exists(p.described("tools/emu.py")) })
	p.sweep(wire.Reindex{})
	dump, answers := p.dump(), p.answers()
	same := func(what string) {
		t.Helper()
		p.settle()
		if now := p.dump(); now != dump {
			t.Errorf("%s: the index differs:\n%s", what, differ(dump, now))
		}
		if now := p.answers(); now != answers {
			t.Errorf("%s: the answers differ:\n%s", what, differ(answers, now))
		}
	}
	index := p.d.IndexDir(p.dir)
	for _, part := range []string{"", "text.bleve", "vectors"} {
		p.stop()
		if err := os.RemoveAll(filepath.Join(index, part)); err != nil {
			t.Fatal(err)
		}
		p.start()
		same("without " + filepath.Join("index", part))
	}
	p.sweep(wire.Reindex{Rebuild: true})
	same("after rebuild")

	// damaged stores are begun anew, and status says so
	p.stop()
	path := filepath.Join(index, "index.db")
	if err := os.WriteFile(path, []byte("this is no database, whatever its name says"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{"-wal", "-shm"} {
		os.Remove(path + ext)
	}
	p.start()
	same("with a damaged index.db")
	if !strings.Contains(strings.Join(p.status().Notices, "\n"), "rebuilt") {
		t.Errorf("status does not say that the index was rebuilt: %v", p.status().Notices)
	}
}

// TestReopenAfterACrash takes everything as it lies there while the daemon
// works, as a crash would leave it, and starts on that.
func TestReopenAfterACrash(t *testing.T) {
	t.Parallel()
	base := realDir(t)
	dir, home := filepath.Join(base, "live", "app"), filepath.Join(base, "live", "home")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	for name, text := range sampleTree() {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "Begin")
	p := newMachineAt(t, home).add(dir, wire.ProjectCreate{Slug: "app"})
	var acked []wire.WriteReply
	for i := range 12 {
		acked = append(acked, p.addMemory(wire.MemoryCreate{Content: fmt.Sprintf("Acknowledged number %d of the crash.", i)}))
		if i == 8 {
			p.write("doc/late.md", "# Late\n\nWritten shortly before the crash.\n")
		}
	}
	copyTree(t, filepath.Join(base, "live"), filepath.Join(base, "crashed"))
	p.stop()
	if err := os.RemoveAll(filepath.Join(base, "live")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(base, "crashed"), filepath.Join(base, "live")); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.settle()
	for _, r := range acked {
		m, err := p.get(r.ID)
		if err != nil || m.ContentHash != r.ContentHash {
			t.Errorf("%s: %v", r.ID, err)
		}
		p.committed(r.Path)
	}
	if !p.found("written shortly before the crash", "doc/late.md") {
		t.Error("a saved source file is not found")
	}
	dump := p.dump()
	p.sweep(wire.Reindex{Rebuild: true})
	if now := p.dump(); now != dump {
		t.Errorf("the index is not that of an undisturbed run:\n%s", differ(dump, now))
	}
	git(t, dir, "--git-dir="+filepath.Join(dir, ".git/foldwatch/repo.git"), "fsck", "--strict", "--no-dangling")
}

func TestASecondDaemonIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	_, err := openAnother(m)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("a second daemon on the same state: %v", err)
	}
	if _, err := m.d.Status(context.Background(), local()); err != nil {
		t.Errorf("the first is disturbed: %v", err)
	}
}
