package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const mainGo = "package main\n\n// Quokka smiles.\nfunc Quokka() {}\n\nfunc main() {}\n"

// userTree is every byte of a checkout that is the user's: all but fold/ and
// our folder in the git directory.
func userTree(t *testing.T, dir string) string {
	t.Helper()
	return tree(t, dir, "fold", ".git/foldwatch")
}

func TestEdgeStarts(t *testing.T) {
	t.Parallel()
	type start struct {
		make      func(t *testing.T) (dir string) // the checkout to add
		described string                          // source that has a memory file; "" for none
		not       string                          // source that has none
		found     string                          // source that is found by "quokka smiles"
		fold      func(dir string) string         // where fold/ lies, if not in dir
	}
	for name, s := range map[string]start{
		"feature branch": {
			make: func(t *testing.T) string {
				dir := New(t, map[string]string{"main.go": mainGo})
				git(t, dir, "checkout", "-q", "-b", "feature")
				writeFile(t, filepath.Join(dir, "feature.go"), "package main\n\n// Feature is on its branch only: quokka smiles.\nfunc Feature() {}\n")
				git(t, dir, "add", "-A")
				git(t, dir, "commit", "-q", "-m", "Feature")
				return dir
			},
			described: "main.go", not: "feature.go", found: "feature.go",
		},
		"unborn branch": {
			make: func(t *testing.T) string {
				dir := New(t, nil)
				writeFile(t, filepath.Join(dir, "main.go"), mainGo)
				return dir
			},
			described: "main.go", found: "main.go",
		},
		"empty repository": {make: func(t *testing.T) string { return New(t, nil) }},
		"detached HEAD": {
			make: func(t *testing.T) string {
				dir := New(t, map[string]string{"main.go": mainGo})
				git(t, dir, "checkout", "-q", "--detach")
				return dir
			},
			described: "main.go", found: "main.go",
		},
		"submodule": {
			make: func(t *testing.T) string {
				inner := New(t, map[string]string{"main.go": mainGo})
				dir := New(t, map[string]string{"outer.go": "package outer\n"})
				git(t, dir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "lib")
				git(t, dir, "commit", "-q", "-m", "Add lib")
				return filepath.Join(dir, "lib")
			},
			described: "main.go", found: "main.go",
		},
		"bare with worktree": {
			make: func(t *testing.T) string {
				origin := New(t, map[string]string{"main.go": mainGo})
				bare := filepath.Join(realDir(t), "app.git")
				git(t, origin, "clone", "-q", "--bare", origin, bare)
				dir := filepath.Join(realDir(t), "work")
				git(t, bare, "worktree", "add", "-q", dir, "main")
				return dir
			},
			described: "main.go", found: "main.go",
			fold: func(dir string) string {
				return filepath.Join(strings.TrimSpace(git(t, dir, "rev-parse", "--git-common-dir")), "foldwatch", "fold")
			},
		},
		"no fold files wanted": {
			make: func(t *testing.T) string {
				return New(t, map[string]string{"main.go": mainGo, ".gitignore": "*.log\n", "x.log": "quokka smiles"})
			},
			found: "main.go", described: "main.go", not: "x.log",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := s.make(t)
			before := userTree(t, dir)
			p := newMachine(t).add(dir, wire.ProjectCreate{Slug: "app"})
			if st := p.status(); st.State != "ready" || st.ProblemCount != 0 {
				t.Errorf("state %s (%s), problems %v", st.State, st.Reason, st.Problems)
			}
			at := filepath.Join(dir, "fold")
			if s.fold != nil {
				at = s.fold(dir)
			}
			has := func(source string) bool {
				_, err := os.Stat(filepath.Join(at, filepath.FromSlash(fold.FileID(p.slug, source).Path())))
				return err == nil
			}
			if s.described != "" && !has(s.described) {
				t.Errorf("%s is not described in %s", s.described, at)
			}
			if s.not != "" && has(s.not) {
				t.Errorf("%s is described", s.not)
			}
			if s.found != "" && !p.found("quokka smiles", s.found) {
				t.Errorf("%s is not found", s.found)
			}
			r := p.addMemory(wire.MemoryCreate{Content: "Written at an edge."})
			p.committed(r.Path)
			p.restart()
			p.settle()
			if _, err := p.get(r.ID); err != nil {
				t.Error(err)
			}
			if now := userTree(t, dir); now != before {
				t.Errorf("the user's bytes changed:\n%s", differ(before, now))
			}
			if out := git(t, dir, "status", "--porcelain"); name != "unborn branch" && out != "" {
				t.Errorf("git status: %s", out)
			}
			if err := p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{Purge: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("purge left %s: %v", at, err)
			}
			if now := tree(t, dir); now != before {
				t.Errorf("purge left something:\n%s", differ(before, now))
			}
		})
	}
}

func TestALaterFirstCommitIsDescribed(t *testing.T) {
	t.Parallel()
	p := newMachine(t).add(New(t, nil), wire.ProjectCreate{Slug: "app"})
	p.write("main.go", mainGo)
	p.eventually("a save in an empty repository is found", func() bool { return p.found("quokka smiles", "main.go") })
	p.commit("First")
	p.eventually("the first commit is described", func() bool { return p.exists(p.described("main.go")) })
	p.settle()
	if st := p.status(); st.State != "ready" || st.ProblemCount != 0 {
		t.Errorf("state %s, problems %v", st.State, st.Problems)
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	foreign := New(t, map[string]string{"main.go": mainGo, "fold/unfold.go": "package fold\n"})
	plain := realDir(t)
	for name, c := range map[string]struct {
		in   wire.ProjectCreate
		kind error
		hint string
	}{
		"a foreign fold folder":    {wire.ProjectCreate{Path: foreign}, fold.ErrInvalid, "--fold-dir"},
		"no repository":            {wire.ProjectCreate{Path: plain}, fold.ErrNotFound, "git"},
		"nothing there":            {wire.ProjectCreate{Path: filepath.Join(plain, "nowhere")}, fold.ErrNotFound, ""},
		"a fold folder outside":    {wire.ProjectCreate{Path: foreign, FoldDir: "../x"}, fold.ErrInvalid, ""},
		"a slug that is none":      {wire.ProjectCreate{Path: foreign, Slug: "A b"}, fold.ErrInvalid, "--slug a-b"},
		"a caller without a right": {wire.ProjectCreate{Path: foreign}, fold.ErrForbidden, ""},
	} {
		sc := local()
		sc.Admin = !errors.Is(c.kind, fold.ErrForbidden)
		_, err := m.d.AddProject(m.ctx(), sc, c.in)
		if !errors.Is(err, c.kind) || !strings.Contains(fold.Hint(err), c.hint) {
			t.Errorf("%s: %v, hint %q", name, err, fold.Hint(err))
		}
	}
	if got := tree(t, plain); got != "./" {
		t.Errorf("something was written: %s", got)
	}
	if got := userTree(t, foreign); !strings.Contains(got, ".git/") || strings.Contains(got, "foldwatch") {
		t.Errorf("something was written:\n%s", got)
	}
	p := m.add(foreign, wire.ProjectCreate{FoldDir: "memories", Slug: "app"})
	if !p.exists("memories/project.toml") || p.exists("fold/project.toml") || !p.found("quokka smiles", "main.go") {
		t.Error("the way out does not work")
	}
	if !p.found("package fold", "fold/unfold.go") {
		t.Error("the foreign folder is not indexed as source")
	}
	if out := p.git("status", "--porcelain"); out != "" {
		t.Errorf("git status: %s", out)
	}
}

func TestLinkedWorktrees(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	linked := filepath.Join(realDir(t), "linked")
	p.git("worktree", "add", "-q", "-b", "side", linked)
	writeFile(t, filepath.Join(linked, "side.go"), "package main\n\n// Bilby is on the side branch.\nfunc Bilby() {}\n")
	git(t, linked, "add", "-A")
	git(t, linked, "commit", "-q", "-m", "Side")
	q := p.add(linked, wire.ProjectCreate{})
	if q.slug != p.slug {
		t.Fatalf("slug %s, want %s", q.slug, p.slug)
	}
	both, err := p.d.Project(p.ctx(), local(), p.slug)
	if err != nil || len(both.Checkouts) != 2 {
		t.Fatalf("%+v, %v", both, err)
	}
	for _, c := range both.Checkouts {
		if c.Fold != p.file("fold") {
			t.Errorf("%s has its memories in %s", c.Path, c.Fold)
		}
	}
	if a, b := p.d.IndexDir(p.dir), p.d.IndexDir(linked); a == b || a == "" || b == "" {
		t.Errorf("index folders %q and %q", a, b)
	}
	if _, err := os.Stat(filepath.Join(linked, "fold")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the linked worktree has a fold/ of its own")
	}
	// each shows its own lines
	name, err := p.d.ProjectOfPath(p.ctx(), local(), filepath.Join(linked, "side.go"))
	if err != nil {
		t.Fatal(err)
	}
	q.slug = name
	if !namesChunk(q, "Bilby") || namesChunk(p, "Bilby") {
		t.Errorf("the side branch is found in the linked worktree: %v, in the main one: %v", namesChunk(q, "Bilby"), namesChunk(p, "Bilby"))
	}
	writeFile(t, filepath.Join(linked, "main.go"), mainGo+"\n// Numbat digs here only.\nfunc Numbat() {}\n")
	q.eventually("a save in the linked worktree is found there", func() bool { return namesChunk(q, "Numbat") })
	if namesChunk(p, "Numbat") {
		t.Error("and in the main one")
	}
	writeFile(t, filepath.Join(linked, "main.go"), mainGo)
	// and they share what is remembered
	r := q.addMemory(wire.MemoryCreate{Title: "Shared", Content: "Shared by both worktrees."})
	p.committed(r.Path)
	for _, w := range []*project{p, q} {
		w.eventually("the memory is found from "+w.slug, func() bool { return w.found("shared by both worktrees", "Shared") })
	}
	if out := git(t, linked, "status", "--porcelain"); out != "" {
		t.Errorf("git status: %s", out)
	}
	// one goes, the other and its memories stay
	if err := p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{Path: linked, Purge: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.get(r.ID); err != nil || !p.exists("fold/project.toml") {
		t.Errorf("purging one worktree took the shared memory: %v", err)
	}
	w := p.addMemory(wire.MemoryCreate{Content: "Still writable."})
	p.committed(w.Path)
}

// TestVanishedMemoriesComeBack is G8 and I8.
func TestVanishedMemoriesComeBack(t *testing.T) {
	t.Parallel()
	for name, vanish := range map[string]func(p *project){
		"rm -rf fold": func(p *project) {
			if err := os.RemoveAll(p.file("fold")); err != nil {
				p.t.Fatal(err)
			}
		},
		"git clean -fdx": func(p *project) { p.git("clean", "-fdxq") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, sampleTree())
			r := p.addMemory(wire.MemoryCreate{Content: "Not to be lost to a broom."})
			p.committed(r.Path)
			p.sweep(wire.Reindex{})
			p.eventually("everything is committed", func() bool { m, err := p.get(r.ID); return err == nil && m.State.Committed })
			before := tree(t, p.file("fold"), ".gitignore")
			vanish(p)
			p.eventually("status says so", func() bool {
				return strings.Contains(strings.Join(p.status().Notices, "\n"), "foldwatch memory rm --missing")
			})
			if !p.found("lost to a broom", r.Title) {
				t.Error("what vanished is not found any more")
			}
			p.settle()
			if p.exists("fold/" + r.Path) {
				t.Fatal("restored before git was quiet for a minute")
			}
			p.clock.forward(2 * time.Minute)
			p.eventually("the memories are back", func() bool { return p.exists("fold/" + r.Path) })
			p.eventually("all of them", func() bool { return tree(t, p.file("fold"), ".gitignore") == before })
			p.eventually("status is silent again", func() bool { return !strings.Contains(strings.Join(p.status().Notices, "\n"), "--missing") })
			if out := p.git("status", "--porcelain"); out != "" {
				t.Errorf("git status: %s", out)
			}
			// a single file deleted in an editor is a deletion
			if err := os.Remove(p.file("fold/" + r.Path)); err != nil {
				t.Fatal(err)
			}
			p.eventually("the deletion counts", func() bool { return !p.found("lost to a broom", r.Title) })
		})
	}
}

func TestVanishedMemoriesMayGo(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	p.sweep(wire.Reindex{})
	r := p.addMemory(wire.MemoryCreate{Content: "Meant to go."})
	p.committed(r.Path)
	if err := os.RemoveAll(p.file("fold")); err != nil {
		t.Fatal(err)
	}
	p.eventually("status says so", func() bool { return strings.Contains(strings.Join(p.status().Notices, "\n"), "--missing") })
	done, err := p.d.RemoveMissing(p.ctx(), local(), p.slug, wire.RemoveMissing{})
	if err != nil || len(done.Removed) < len(sampleTree()) {
		t.Fatalf("%d removed, %v", len(done.Removed), err)
	}
	p.eventually("it is gone", func() bool { _, err := p.get(r.ID); return errors.Is(err, fold.ErrNotFound) })
	p.clock.forward(time.Hour)
	w := p.addMemory(wire.MemoryCreate{Content: "Begun anew."})
	p.committed(w.Path)
	p.settle()
	if p.exists("fold/" + r.Path) {
		t.Error("it came back")
	}
	back, err := p.d.Restore(p.ctx(), local(), p.slug, wire.Restore{ID: r.ID})
	if err != nil || back.ID != r.ID || !p.exists("fold/"+r.Path) {
		t.Errorf("history lost it: %v", err)
	}
}

// TestPurgeLeavesNothing compares a checkout, and foldwatch's folders, with
// what they were.
func TestPurgeLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := New(t, sampleTree())
	before := tree(t, dir)
	p := m.add(dir, wire.ProjectCreate{})
	r := p.addMemory(wire.MemoryCreate{Content: "Soon gone."})
	p.committed(r.Path)
	if now := userTree(t, dir); now != before {
		t.Errorf("the user's bytes changed:\n%s", differ(before, now))
	}
	index := p.d.IndexDir(dir)
	// removing alone keeps what is the user's
	if err := p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(index); !errors.Is(err, os.ErrNotExist) || !p.exists("fold/"+r.Path) {
		t.Errorf("remove: index %v, memory there %v", err, p.exists("fold/"+r.Path))
	}
	p = m.add(dir, wire.ProjectCreate{})
	if _, err := p.get(r.ID); err != nil {
		t.Errorf("adding again does not find the memory: %v", err)
	}
	if err := p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{Purge: true}); err != nil {
		t.Fatal(err)
	}
	if now := tree(t, dir); now != before {
		t.Errorf("purge left something:\n%s", differ(before, now))
	}
	m.stop()
	for _, left := range []string{"Soon gone", r.ID} {
		if b, err := os.ReadFile(filepath.Join(m.dirs().State, "state.db")); err != nil || strings.Contains(string(b), left) && left == "Soon gone" {
			t.Errorf("state.db holds %q (%v)", left, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(m.dirs().Data, "mirrors")); err == nil && len(entries) > 0 {
		t.Errorf("mirrors left: %v", entries)
	}
	if entries, err := os.ReadDir(filepath.Join(m.dirs().State, "index")); err == nil && len(entries) > 0 {
		t.Errorf("indexes left: %v", entries)
	}
}
