package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// spent is what the daemon did between two looks at its counters.
type spent struct{ reads, parses, embeds, stats int64 }

func (p *project) spentSince(before map[string]int64) spent {
	p.t.Helper()
	now := p.counters()
	d := func(name string) int64 { return now[name] - before[name] }
	return spent{d("files_read"), d("parses"), d("embeds"), d("stats")}
}

// TestBranchSwitchOverKnownContent is goal 3: nothing is parsed or embedded
// again, and only files that differ are read.
func TestBranchSwitchOverKnownContent(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("p%d/f%d.go", i%20, i)] = fmt.Sprintf("package p%d\n\n// Ruff%d runs.\nfunc Ruff%d() int { return %d }\n", i%20, i, i, i)
	}
	p := newLocalProject(t, files)
	p.git("checkout", "-q", "-b", "other")
	const differ = 20 // 5 %
	for i := range differ {
		p.write(fmt.Sprintf("p%d/f%d.go", i%20, i), fmt.Sprintf("package p%d\n\n// Reeve%d runs.\nfunc Reeve%d() int { return %d }\n", i%20, i, i, -i))
	}
	p.commit("Change")
	on := func(branch, query, not string) {
		t.Helper()
		p.git("checkout", "-q", branch)
		p.eventually("the content of "+branch, func() bool {
			return namesChunk(p, query+"3") && namesChunk(p, query+"19") && !namesChunk(p, not+"3") && !namesChunk(p, not+"19")
		})
		p.settle()
	}
	p.eventually("the branch is indexed", func() bool { return namesChunk(p, "Reeve19") })
	p.settle()
	on("main", "Ruff", "Reeve")
	on("other", "Reeve", "Ruff") // seen at the first index, described once more
	on("main", "Ruff", "Reeve")
	for _, to := range []string{"other", "main"} {
		before := p.counters()
		if to == "other" {
			on(to, "Reeve", "Ruff")
		} else {
			on(to, "Ruff", "Reeve")
		}
		if n := p.counters()["describes"] - before["describes"]; n != 0 {
			t.Errorf("the switch to %s made %d descriptions of what was described before", to, n)
		}
		// A file that is written while it is read is read once more.
		if w := p.spentSince(before); w.parses != 0 || w.embeds != 0 || w.reads < differ || w.reads > 2*differ {
			t.Errorf("the switch to %s took %+v, want %d reads and nothing else", to, w, differ)
		}
	}
}

// TestBranchSwitchWithinFunctions: where two branches differ only within
// functions a switch makes no description, and asks for no vector but those of the
// functions, in few changes of the index.
func TestBranchSwitchWithinFunctions(t *testing.T) {
	t.Parallel()
	const n = 40
	text := func(i, value int) string {
		return fmt.Sprintf("package birds\n\n// Ruff%d runs.\nfunc Ruff%d() int { return %d }\n", i, i, value)
	}
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("f%d.go", i)] = text(i, 1000+i)
	}
	p := newLocalProject(t, files)
	p.git("checkout", "-q", "-b", "other")
	for i := range n {
		p.write(fmt.Sprintf("f%d.go", i), text(i, 2000+i))
	}
	p.commit("Change")
	on := func(branch string) {
		t.Helper()
		before := p.counters()["files_read"]
		p.git("checkout", "-q", branch)
		p.eventually("the content of "+branch, func() bool { return p.counters()["files_read"] >= before+n })
		p.settle()
	}
	p.eventually("the branch is indexed", func() bool { return p.counters()["files_read"] >= 2*n })
	p.settle()
	for _, branch := range []string{"main", "other", "main"} {
		on(branch)
	}
	before := p.counters()
	on("other")
	now := p.counters()
	did := func(name string) int64 { return now[name] - before[name] }
	if did("describes") != 0 || did("parses") != 0 || did("vector_cache_hits")+did("embeds") > n+n/4 || did("index_operations") > 6 {
		t.Errorf("the switch made %d descriptions, %d parses, asked for %d vectors and changed the index %d times",
			did("describes"), did("parses"), did("vector_cache_hits")+did("embeds"), did("index_operations"))
	}
	// Of each file its function is put, and its memory not; nothing is read back
	// of what was just stored.
	if did("documents_put") > n+n/4 || did("rows_read") > n/4 {
		t.Errorf("the switch put %d documents into the text index and read %d rows back", did("documents_put"), did("rows_read"))
	}
}

// stormSize is how many files the tests of storms and switches use: enough for
// many batches. FOLDWATCH_TEST_FILES=10000 is what issue and faults name.
func stormSize(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("FOLDWATCH_TEST_FILES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 600
}

// TestBranchSwitchWhileIndexing is F27: all files change in the middle of the
// first index.
func TestBranchSwitchWhileIndexing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := New(t, map[string]string{"main.go": mainGo})
	n := stormSize(t)
	fill := func(word string) {
		t.Helper()
		for i := range n {
			writeFile(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.md", i%100, i)), fmt.Sprintf("# %s%d\n", word, i))
		}
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", "Fill with "+word)
	}
	fill("smew")
	git(t, dir, "checkout", "-q", "-b", "other")
	fill("garganey")
	git(t, dir, "checkout", "-q", "main")
	refs := git(t, dir, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
	if _, err := m.d.AddProject(m.ctx(), local(), wire.ProjectCreate{Path: dir, Slug: "app", FileMemories: "local"}); err != nil {
		t.Fatal(err)
	}
	p := &project{machine: m, dir: dir, slug: "app"}
	p.eventually("it is being indexed", func() bool { return p.counters()["files_read"] > int64(n/10) })
	p.git("checkout", "-q", "other")
	old := func() (name string) {
		for i := range n {
			name = fmt.Sprintf("d%d/f%d.md", i%100, i)
			if m, err := p.get(p.fileID(name)); err != nil || !strings.Contains(m.Content, fmt.Sprint("garganey", i)) || strings.Contains(m.Content, "smew") {
				return name
			}
		}
		return ""
	}
	deadline := time.Now().Add(4 * patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for p.status().Queued > 0 || old() != "" {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not as the branch has it\n%s", old(), tail(p.log.String(), 20))
		}
		<-tick.C
	}
	if s := p.status(); s.Files.Indexed != n+1 || s.Files.Failed != 0 {
		t.Errorf("%d files are indexed, %d failed, want %d and none", s.Files.Indexed, s.Files.Failed, n+1)
	}
	if now := p.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes"); now != refs {
		t.Errorf("refs = %s, before %s", now, refs)
	}
	if s := p.git("status", "--porcelain"); s != "" {
		t.Errorf("git status says %s", s)
	}
}

// TestStormOfFiles is goal 15: many new files at once.
func TestStormOfFiles(t *testing.T) {
	t.Parallel()
	p := newLocalProject(t, map[string]string{"main.go": mainGo})
	p.watches()
	n := stormSize(t)
	before := p.counters()
	commits := p.commits()
	for i := range n {
		p.write(fmt.Sprintf("gen%d/f%d.txt", i%50, i), fmt.Sprintf("pochard%d\n", i))
	}
	deadline := time.Now().Add(4 * patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for p.status().Files.Indexed < n+1 || p.status().Queued > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d files are indexed\n%s", p.status().Files.Indexed, n+1, tail(p.log.String(), 20))
		}
		<-tick.C
	}
	w := p.spentSince(before)
	if w.parses > int64(n+n/10) || w.reads > int64(n+n/5) {
		t.Errorf("%d new files took %+v", n, w)
	}
	if got := p.commits() - commits; got > 2 {
		t.Errorf("%d commits", got)
	}
	t.Logf("storm of %d files: %+v, %d jobs of source", n, w, p.jobs("source"))
	if jobs := p.jobs("source"); jobs > 20 { // directories are found level by level
		t.Errorf("%d jobs", jobs)
	}
}

// TestSaveLoop is goal 16: one file written 100 times in 5 s.
func TestSaveLoop(t *testing.T) {
	t.Parallel()
	p := newLocalProject(t, map[string]string{"main.go": mainGo})
	p.watches()
	before := p.counters()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := range 100 {
		p.write("loop.go", fmt.Sprintf("package main\n\nfunc scaup%d() {}\n", i))
		<-tick.C
	}
	p.eventually("the last content is found", func() bool { return namesChunk(p, "scaup99") })
	p.settle()
	if w := p.spentSince(before); w.parses > 10 || w.reads > 10 {
		t.Errorf("100 saves took %+v", w)
	} else {
		t.Logf("100 saves took %+v", w)
	}
}

// TestSameSizeAndTimeOtherFile: a file that was replaced by one of the same size
// and time is noticed by the sweep, and one written in the moment it was read.
func TestSameSizeAndTimeOtherFile(t *testing.T) {
	t.Parallel()
	p := newLocalProject(t, map[string]string{"a.md": "# Wigeon one\n", "b.md": "# Shoveler one\n"})
	p.stop()
	fi, err := os.Stat(p.file("a.md"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("new", "# Wigeon two\n")
	if err := os.Chtimes(p.file("new"), fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.file("new"), p.file("a.md")); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.settle()
	p.eventually("the other file is seen", func() bool {
		m, err := p.get(p.fileID("a.md"))
		return err == nil && strings.Contains(m.Content, "two")
	})
	p.stop()
	// Within the resolution of the clock, as the manifest has it: no stat tells.
	now := time.Now().Add(time.Hour) // later than any read
	p.start()
	p.settle()
	for _, text := range []string{"# Shoveler too\n", "# Shoveler six\n"} {
		p.write("b.md", text)
		if err := os.Chtimes(p.file("b.md"), now, now); err != nil {
			t.Fatal(err)
		}
		p.sweep(wire.Reindex{})
		if m, err := p.get(p.fileID("b.md")); err != nil || !strings.Contains(m.Content, text[2:14]) {
			t.Errorf("after %q: %v, %q", text, err, m.Content)
		}
	}
}

// TestLinkedWorkTreesShareWork: five of them cause no parse and no embedding
// beyond those of what differs, and each shows its own lines.
func TestLinkedWorkTreesShareWork(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("src/f%d.go", i)] = fmt.Sprintf("package src\n\n// Merlin%d hunts.\nfunc Merlin%d() {}\n", i, i)
	}
	p := newProject(t, files)
	r := p.addMemory(wire.MemoryCreate{Title: "Hobby decision", Content: "The hobby hunts dragonflies."})
	p.settle()
	trees := make([]string, 5)
	for i := range trees {
		trees[i] = filepath.Join(realDir(t), fmt.Sprint("tree", i))
		p.git("worktree", "add", "-q", "-b", fmt.Sprint("topic", i), trees[i])
	}
	before := p.counters()
	var all []*project
	for _, dir := range trees {
		q := p.add(dir, wire.ProjectCreate{})
		all = append(all, &project{machine: p.machine, dir: dir, slug: p.slugOf(dir)})
		q.settle()
	}
	for _, q := range all {
		q.settle()
	}
	if w := p.spentSince(before); w.parses != 0 || w.embeds != 0 {
		t.Errorf("five linked work trees took %+v", w)
	}
	for i, q := range all {
		text := strings.Repeat("\n", i+3) + fmt.Sprintf("// Kestrel%d hovers.\nfunc Kestrel%d() {}\n", i, i)
		q.write("src/f7.go", "package src\n"+text)
	}
	for i, q := range all {
		name := fmt.Sprintf("Kestrel%d", i)
		q.eventually(name+" is found in its work tree", func() bool { return namesChunk(q, name) })
		for _, other := range append(all[:i:i], all[i+1:]...) {
			if namesChunk(other, name) {
				t.Errorf("%s is found in %s", name, other.slug)
			}
		}
		if namesChunk(p, name) {
			t.Errorf("%s is found in the main work tree", name)
		}
		for _, res := range q.search(wire.SearchRequest{Query: name, IncludeChunks: new(true)}) {
			for _, c := range res.MatchedChunks {
				if c.NodeName == name && c.StartLine != i+5 {
					t.Errorf("%s begins in line %d, want %d", name, c.StartLine, i+5)
				}
			}
		}
		if _, err := q.get(r.ID); err != nil {
			t.Errorf("%s does not have the memory of the project: %v", q.slug, err)
		}
	}
	if !namesChunk(p, "Merlin7") || namesChunk(all[0], "Merlin7") {
		t.Error("the main work tree does not show its own lines")
	}
}

// Work trees that are registered together are indexed together, and still no
// content is parsed or embedded twice.
func TestWorkTreesIndexedAtOnceShareWork(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 120 {
		files[fmt.Sprintf("src/f%d.go", i)] = fmt.Sprintf("package src\n\n// Harrier%d glides.\nfunc Harrier%d() {}\n", i, i)
	}
	p := newProject(t, files)
	p.settle()
	alone := p.counters()
	trees := make([]string, 4)
	for i := range trees {
		trees[i] = filepath.Join(realDir(t), fmt.Sprint("tree", i))
		p.git("worktree", "add", "-q", "-b", fmt.Sprint("topic", i), trees[i])
		for f := range files { // content that nobody has seen
			text := strings.ReplaceAll(files[f], "Harrier", "Buzzard")
			if err := os.WriteFile(filepath.Join(trees[i], f), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	var all []*project
	for _, dir := range trees {
		p.add(dir, wire.ProjectCreate{})
		all = append(all, &project{machine: p.machine, dir: dir, slug: p.slugOf(dir)})
	}
	for _, q := range all {
		q.settle()
	}
	w := p.spentSince(alone)
	if w.parses != 120 {
		t.Errorf("120 new contents in four work trees took %d parses", w.parses)
	}
	if most := alone["embeds"]; w.embeds > most {
		t.Errorf("they took %d embeds, and one work tree took %d", w.embeds, most)
	}
}

// commits counts the commits of the journal.
func (p *project) commits() int {
	p.t.Helper()
	log, err := p.d.Log(p.ctx(), local(), p.slug, "", 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	return len(log.Items)
}

// jobs counts the jobs of a type that are remembered.
func (p *project) jobs(kind string) int {
	p.t.Helper()
	list, err := p.d.Jobs(p.ctx(), local(), p.slug, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	n := 0
	for _, j := range list.Items {
		if j.Type == kind {
			n++
		}
	}
	return n
}

// TestTimeOfUnchangedChunks: after a save all chunks of a file are of the new
// time, also those that did not change and were not filed again, and a rebuilt
// index gives the same answers.
func TestTimeOfUnchangedChunks(t *testing.T) {
	t.Parallel()
	const first = "package pool\n\n// Dunlin wades.\nfunc Dunlin() int { return 1 }\n\n// Knot roosts.\nfunc Knot() int { return %d }\n"
	p := newLocalProject(t, map[string]string{"pool.go": fmt.Sprintf(first, 2), "main.go": mainGo})
	chunks := func(q wire.SearchRequest) (n int) {
		t.Helper()
		q.Query, q.WaitForPending = "Dunlin", true
		for _, r := range p.search(q) {
			for _, c := range r.MatchedChunks {
				if c.NodeName == "Dunlin" {
					n++
				}
			}
		}
		return n
	}
	early, late := wire.SearchRequest{Before: "2020-01-01"}, wire.SearchRequest{After: "2020-01-01"}
	at := func(when time.Time, n int) {
		t.Helper()
		name := filepath.Join(p.dir, "pool.go")
		writeFile(t, name+".new", fmt.Sprintf(first, n))
		if err := os.Chtimes(name+".new", when, when); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, inEarly, inLate int) {
		t.Helper()
		p.eventually(when, func() bool { return chunks(early) == inEarly && chunks(late) == inLate })
		p.settle()
		p.sweep(wire.Reindex{Rebuild: true})
		p.settle()
		if e, l := chunks(early), chunks(late); e != inEarly || l != inLate {
			t.Errorf("%s: %d early chunks, %d late ones after a rebuild, want %d and %d", when, e, l, inEarly, inLate)
		}
	}
	check("it is young", 0, 1)
	at(time.Date(2010, 5, 1, 12, 0, 0, 0, time.UTC), 3)
	check("it is old", 1, 0)
	at(time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC), 4)
	check("it is young again", 0, 1)
}
