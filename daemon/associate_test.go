package daemon_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// claimsGo is a function with words that only files made of it have.
func claimsGo(pkg string) string {
	return fmt.Sprintf("package %s\n\nimport \"time\"\n\n"+
		"// Verify looks at the audience, the issuer and the leeway of a bearer.\n"+
		"func Verify(bearer string) bool {\n\taudience, issuer := claimAudience(bearer), claimIssuer(bearer)\n"+
		"\tleeway := claimLeeway(bearer)\n\treturn audience && issuer && leeway > time.Second\n}\n", pkg)
}

// associationTree has one function in folders auth and web, copies of another in
// many folders and in one, and many files that have little in common.
func associationTree() map[string]string {
	tree := map[string]string{"auth/token.go": claimsGo("auth"), "web/session.go": claimsGo("web")}
	sweep := func(pkg string) string {
		return "package " + pkg + "\n\n// Sweep has the janitor broom the attic and the cellar.\nfunc Sweep() {\n\tjanitor := hireJanitor()\n\tbroom := janitor.Broom()\n\tbroom.Attic()\n\tbroom.Cellar()\n}\n"
	}
	for i := range 7 {
		tree[fmt.Sprintf("rooms/r%d/sweep.go", i)] = sweep(fmt.Sprintf("r%d", i))
	}
	for i := range 6 {
		tree[fmt.Sprintf("flood/f%d.go", i)] = fmt.Sprintf("package flood\n\n// Dam%d keeps the river from the meadow by a levee of gravel.\nfunc Dam%d() {\n\triver := levee(gravel)\n\triver.Meadow(sluice)\n}\n", i, i)
	}
	word := func(n int) string { return string([]byte{'k' + byte(n%7), 'a' + byte(n/7%5), 'l' + byte(n/35%9), 'o'}) }
	for i := range 60 {
		tree[fmt.Sprintf("plain/p%d/p.go", i)] = fmt.Sprintf("package p\n\nfunc Plain%s() string {\n\tx := %q\n\treturn x + %q\n}\n", word(i), word(i+100), word(i+200))
	}
	return tree
}

// fromChunks are the links from chunks of the memory of a file.
func (p *project) fromChunks(file string) []wire.Link {
	p.t.Helper()
	list, err := p.d.Links(p.ctx(), local(), p.slug, p.fileID(file))
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(l wire.Link) bool { return len(l.Chunks) == 0 })
}

// ends are the paths that the links of a file lead to, sorted.
func ends(file string, links []wire.Link) []string {
	var out []string
	for _, l := range links {
		for _, c := range l.Chunks {
			if c.FilePath != file {
				out = append(out, c.FilePath)
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestChunksThatAreAlikeLinkTheirMemories(t *testing.T) {
	t.Parallel()
	p := newProject(t, associationTree())
	if n := p.counters()["chunk_comparisons"]; n != 0 {
		t.Errorf("a first index compared the chunks of %d memories", n)
	}
	one, two := p.fromChunks("auth/token.go"), p.fromChunks("web/session.go")
	if len(one) != 1 || len(two) != 1 {
		t.Fatalf("links %+v and %+v, want one of each", one, two)
	}
	a, b := one[0], two[0]
	if a.Direction == b.Direction {
		t.Errorf("both ends say %s", a.Direction)
	}
	a.Direction, a.Title, b.Direction, b.Title = "", "", "", ""
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("the link differs seen from its ends:\n%+v\n%+v", a, b)
	}
	if !a.Derived || a.Type != "related" || a.Weight < .25 || a.Weight >= 1 {
		t.Errorf("link %+v", a)
	}
	for _, c := range a.Chunks {
		if c.NodeName != "Verify" || c.StartLine == 0 || c.EndLine < c.StartLine {
			t.Errorf("chunk %+v", c)
		}
		if place := fmt.Sprintf("%s:%d-%d", c.FilePath, c.StartLine, c.EndLine); !strings.Contains(a.Evidence, place) {
			t.Errorf("evidence %q does not name %s", a.Evidence, place)
		}
	}
	if !strings.Contains(a.Evidence, "claimAudience") {
		t.Errorf("evidence %q names no word that both have", a.Evidence)
	}
	// get and context tell it, no file does
	if m := p.mustGet(a.SourceID); !slices.ContainsFunc(m.Links, func(l wire.Link) bool { return l.ID == a.ID && l.Derived }) {
		t.Errorf("get tells %+v", m.Links)
	}
	around, err := p.d.Context(p.ctx(), local(), p.slug, a.SourceID, wire.ContextRequest{Depth: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(around.RelatedMemories, func(m wire.RelatedMemory) bool {
		return m.ID == a.TargetID && m.Derived && m.Evidence == a.Evidence && m.Depth == 1
	}) {
		t.Errorf("context tells %+v", around.RelatedMemories)
	}
	if err := filepath.WalkDir(p.file("fold"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), a.TargetID) && strings.Contains(string(text), a.SourceID) {
			t.Errorf("%s holds the link", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// once written it is not derived again
	if _, err := p.d.AddLink(p.ctx(), local(), p.slug, a.TargetID, wire.LinkCreate{TargetID: a.SourceID, Type: "references"}); err != nil {
		t.Fatal(err)
	}
	p.eventually("the written link is there", func() bool { return p.linksTo(a.TargetID, a.SourceID, "references") })
	if l := p.fromChunks("auth/token.go"); len(l) != 0 {
		t.Errorf("linked twice: %+v", l)
	}
}

func TestLinksFromChunksAreFew(t *testing.T) {
	t.Parallel()
	p := newProject(t, associationTree())
	of := map[string][]string{}
	for file := range associationTree() {
		of[file] = ends(file, p.fromChunks(file))
		if len(of[file]) > 5 {
			t.Errorf("%s has %d links: %v", file, len(of[file]), of[file])
		}
		beside := 0
		for _, other := range of[file] {
			if filepath.Dir(other) == filepath.Dir(file) {
				beside++
			}
		}
		if beside > 1 {
			t.Errorf("%s is linked to %d files beside it: %v", file, beside, of[file])
		}
		if strings.HasPrefix(file, "plain/") && len(of[file]) > 0 {
			t.Errorf("%s is linked to %v, with which it has nothing in common", file, of[file])
		}
	}
	rooms := 0
	for file, others := range of {
		if strings.HasPrefix(file, "rooms/") {
			rooms += len(others)
		}
		for _, other := range others {
			if !slices.Contains(of[other], file) {
				t.Errorf("%s is linked to %s, but not the other way", file, other)
			}
		}
	}
	if rooms == 0 {
		t.Error("copies in seven folders are not linked at all")
	}
}

// TestLinksFromChunksAreInStep counts what is compared, and that what is told is
// what an index made anew tells.
func TestLinksFromChunksAreInStep(t *testing.T) {
	t.Parallel()
	p := newProject(t, associationTree())
	compared := func() int64 { return p.counters()["chunk_comparisons"] }
	told := func() string {
		var all []any
		for _, f := range []string{"auth/token.go", "web/session.go", "rooms/r0/sweep.go", "rooms/r3/sweep.go", "flood/f1.go"} {
			all = append(all, p.fromChunks(f))
		}
		b, err := json.MarshalIndent(all, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// the memory that was asked for, and those it leans to
	if p.fromChunks("auth/token.go"); compared() < 1 || compared() > 6 {
		t.Errorf("%d memories were compared for one", compared())
	}
	n := compared()
	if p.fromChunks("auth/token.go"); compared() != n {
		t.Errorf("asked again, %d more were compared", compared()-n)
	}
	before := told()
	p.git("checkout", "-q", "-b", "other")
	n = compared()
	p.write("auth/token.go", "package auth\n\n// Token plays the xylophone.\nfunc Token() {}\n")
	p.commit("Forget claims")
	p.eventually("the save is indexed", func() bool { return p.found("xylophone", "auth/token.go") })
	if compared() != n {
		t.Errorf("a save compared %d memories", compared()-n)
	}
	if l := p.fromChunks("auth/token.go"); len(l) != 0 {
		t.Errorf("still linked: %+v", l)
	}
	if l := p.fromChunks("web/session.go"); len(l) != 0 {
		t.Errorf("the other end is still linked: %+v", l)
	}
	after := told()
	n = compared()
	p.git("checkout", "-q", "main")
	p.eventually("the branch is indexed", func() bool { return !p.found("xylophone", "auth/token.go") })
	p.settle()
	if compared() != n {
		t.Errorf("a branch switch compared %d memories", compared()-n)
	}
	if got := told(); got != before {
		t.Errorf("back on the branch it tells\n%s\nwant\n%s", got, before)
	}
	p.git("checkout", "-q", "other")
	p.eventually("the other branch is indexed", func() bool { return p.found("xylophone", "auth/token.go") })
	p.settle()
	if got := told(); got != after {
		t.Errorf("on the other branch it tells\n%s\nwant\n%s", got, after)
	}
	p.sweep(wire.Reindex{Rebuild: true})
	if got := told(); got != after {
		t.Errorf("after a rebuild it tells\n%s\nwant\n%s", got, after)
	}
}

// TestNotesLeanToCode links what people wrote to the function it is about.
func TestNotesLeanToCode(t *testing.T) {
	t.Parallel()
	p := newProject(t, associationTree())
	note := p.addMemory(wire.MemoryCreate{
		Title: "Bearer claims", Content: "We compare claimAudience, claimIssuer and claimLeeway, since a bearer of another issuer once passed.",
	})
	p.eventually("the note leads to code", func() bool {
		list, err := p.d.Links(p.ctx(), local(), p.slug, note.ID)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(list.Items, func(l wire.Link) bool {
			return len(l.Chunks) == 2 && strings.Contains(l.Evidence, "fold/") && strings.Contains(l.Evidence, ".go:")
		})
	})
}
