package daemon_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestLinksOfSource(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	emu, food, test := p.fileID("zoo/emu/emu.go"), p.fileID("zoo/emu/food/food.go"), p.fileID("zoo/emu/emu_test.go")
	for from, to := range map[string]string{emu: food, p.fileID("web/emu.ts"): p.fileID("web/page.ts")} {
		if !p.linksTo(from, to, "depends_on") {
			t.Errorf("%s does not depend on %s: %+v", p.mustGet(from).FilePath, p.mustGet(to).FilePath, p.mustGet(from).Links)
		}
	}
	derived := false
	for _, l := range p.mustGet(test).Links {
		if l.TargetID == emu {
			derived = derived || l.Derived && l.Evidence != ""
		}
	}
	if !derived {
		t.Errorf("the test is not tied to what it tests: %+v", p.mustGet(test).Links)
	}
	if text := p.read(p.described("zoo/emu/emu_test.go")); strings.Contains(text, emu) {
		t.Errorf("a derived link was written:\n%s", text)
	}
	for _, l := range p.mustGet(test).Links {
		if l.Derived {
			if err := p.d.RemoveLink(p.ctx(), local(), p.slug, l.ID); err == nil {
				t.Error("a derived link was removed")
			}
		}
	}
	// the link goes with the import
	p.write("zoo/emu/emu.go", "// Package emu feeds the emu.\npackage emu\n\n// FeedEmu gives the emu its food.\nfunc FeedEmu() int { return 1 }\n")
	p.commit("Feed without counting")
	p.eventually("the link has gone", func() bool { return !p.linksTo(emu, food, "depends_on") })

	// links added and removed over the door
	l, err := p.d.AddLink(p.ctx(), local(), p.slug, emu, wire.LinkCreate{TargetID: food[:8], Type: "related", Context: "once counted there"})
	if err != nil {
		t.Fatal(err)
	}
	p.eventually("the link is there", func() bool { return p.linksTo(emu, food, "related") })
	if err := p.d.RemoveLink(p.ctx(), local(), p.slug, l.ID); err != nil {
		t.Fatal(err)
	}
	p.eventually("the link is removed", func() bool { return !p.linksTo(emu, food, "related") })
}

func TestContextGoesOverLinks(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	var ids []string
	for i := range 6 {
		in := wire.MemoryCreate{Title: fmt.Sprintf("Step %d", i), Content: fmt.Sprintf("Step %d of the way.", i)}
		if i > 0 {
			in.Links = []wire.NewLink{{Target: ids[i-1], Type: "references"}}
		}
		ids = append(ids, p.addMemory(in).ID)
	}
	// a cycle, and two ways to the same memory
	for from, to := range map[int]int{0: 5, 1: 3} {
		if _, err := p.d.AddLink(p.ctx(), local(), p.slug, ids[from], wire.LinkCreate{TargetID: ids[to]}); err != nil {
			t.Fatal(err)
		}
	}
	p.write("fold/self.md", "---\nid: x1\n---\n# Self\n\nSee [[self]], [[Self]] and [[nothing there]].\n")
	p.eventually("links are indexed", func() bool {
		return p.linksTo(ids[5], ids[4], "references") && p.linksTo(ids[1], ids[3], "related") && p.found("self", "Self")
	})
	p.settle()
	for depth, want := range map[int][]string{1: {ids[1], ids[5]}, 2: {ids[1], ids[5], ids[2], ids[3], ids[4]}, 3: {ids[1], ids[5], ids[2], ids[3], ids[4]}} {
		c, err := p.d.Context(p.ctx(), local(), p.slug, ids[0], wire.ContextRequest{Depth: depth})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, r := range c.RelatedMemories {
			got[r.ID]++
			if r.Depth < 1 || r.Depth > depth || r.Via == "" {
				t.Errorf("depth %d: %+v", depth, r)
			}
		}
		for _, s := range c.SimilarMemories {
			got[s.ID] += 10
		}
		for _, id := range want {
			if got[id] != 1 {
				t.Errorf("depth %d: memory %s is named %d times: %v", depth, id, got[id], got)
			}
		}
		if got[ids[0]] != 0 || len(c.RelatedMemories) != len(want) {
			t.Errorf("depth %d: %v", depth, got)
		}
	}
	if _, err := p.d.Context(p.ctx(), local(), p.slug, ids[0], wire.ContextRequest{Depth: 4}); err == nil {
		t.Error("depth 4 was taken")
	}
	c, err := p.d.Context(p.ctx(), local(), p.slug, ids[0], wire.ContextRequest{Depth: 3, Limit: 2})
	if err != nil || len(c.RelatedMemories) != 2 || !c.Truncated {
		t.Errorf("limit 2: %d related, truncated %v, %v", len(c.RelatedMemories), c.Truncated, err)
	}
	if _, err := p.d.Context(p.ctx(), local(), p.slug, string(fold.NoteID(p.slug, "self.md")), wire.ContextRequest{Depth: 3}); err != nil {
		t.Errorf("a note that links to itself and to nothing: %v", err)
	}
}

func TestFiltersActInsideTheChannels(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	for i := range 210 { // many that fit better than what is looked for
		p.write(fmt.Sprintf("fold/many/%03d.md", i), fmt.Sprintf("# Enclosure enclosure %d\n\nThe enclosure, the enclosure, number %d.\n", i, i))
	}
	var rare []string
	for i := range 12 {
		rare = append(rare, p.addMemory(wire.MemoryCreate{
			Title: fmt.Sprintf("Order %d", i), Content: "Among other things, " + strings.Repeat("words and more words, ", 20) + "and one enclosure, ordered as " + fmt.Sprint(i) + ".", Type: "decision", Tags: []string{"rare", fmt.Sprintf("n%d", i)}, Author: "grace",
		}).ID)
	}
	p.eventually("the notes are indexed", func() bool { return p.status().Memories >= 210+12+len(sampleTree()) })
	p.settle()
	for name, c := range map[string]struct {
		in   wire.SearchRequest
		want int
		ok   func(r wire.SearchResult) bool
	}{
		"type":   {wire.SearchRequest{Type: "decision", Limit: 12}, 12, func(r wire.SearchResult) bool { return r.Type == "decision" }},
		"tag":    {wire.SearchRequest{Tags: []string{"rare"}, Limit: 12}, 12, func(r wire.SearchResult) bool { return r.Type == "decision" }},
		"tags":   {wire.SearchRequest{Tags: []string{"rare", "n7"}, Limit: 12}, 1, func(r wire.SearchResult) bool { return r.ID == rare[7] }},
		"author": {wire.SearchRequest{Author: "grace", Limit: 12}, 12, func(r wire.SearchResult) bool { return r.Metadata.Author == "grace" }},
		"language": {wire.SearchRequest{Language: "typescript", Limit: 4}, 4, func(r wire.SearchResult) bool {
			return strings.HasSuffix(r.Metadata.FilePath, ".ts")
		}},
		"source": {wire.SearchRequest{Source: "file", Limit: 8}, 8, func(r wire.SearchResult) bool { return r.Metadata.Source == "file" }},
		"path": {wire.SearchRequest{FilePattern: "doc/**", Limit: 4}, 4, func(r wire.SearchResult) bool {
			return strings.HasPrefix(r.Metadata.FilePath, "doc/")
		}},
		"before": {wire.SearchRequest{Before: "2001-01-01"}, 0, nil},
		"after":  {wire.SearchRequest{After: "2001-01-01", Type: "decision", Limit: 12}, 12, func(r wire.SearchResult) bool { return r.Type == "decision" }},
	} {
		c.in.Query = "enclosure"
		got := p.search(c.in)
		if len(got) != c.want {
			t.Errorf("%s: %d results, want %d", name, len(got), c.want)
		}
		for _, r := range got {
			if !c.ok(r) {
				t.Errorf("%s: %s %q passed", name, r.ID, r.Title)
			}
		}
	}
	for _, q := range []string{"enclosure", "weight of the emu", "FeedEmu", "where does the dingo sleep"} {
		for _, first := range []bool{false, true} {
			for _, r := range p.search(wire.SearchRequest{Query: q, Explain: true, ChunksFirst: first}) {
				sum := 0.0
				for _, term := range r.Explain {
					sum += term.Adds
					if math.Abs(term.Adds-term.Value*term.Weight) > 1e-9 {
						t.Errorf("%s: %s adds %v, not %v × %v", q, term.Name, term.Adds, term.Value, term.Weight)
					}
				}
				if len(r.Explain) < 2 || math.Abs(sum-r.Score) > 1e-6 || r.Relevance < 0 || r.Relevance > 1 || r.Score > 1 {
					t.Errorf("%s: the terms sum up to %v, the score is %v, relevance %v: %+v", q, sum, r.Score, r.Relevance, r.Explain)
				}
			}
		}
	}
	for name, in := range map[string]wire.SearchRequest{"empty": {}, "source": {Query: "x", Source: "moon"}, "date": {Query: "x", After: "yesterday-ish"}, "long": {Query: strings.Repeat("x", 5000)}} {
		if _, err := p.d.Search(p.ctx(), local(), p.slug, in); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestSearchOverAllProjects(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	q := p.add(New(t, map[string]string{"lib.go": "package lib\n\n// QuokkaHabitat is where they live.\nfunc QuokkaHabitat() {}\n"}), wire.ProjectCreate{Slug: "lib"})
	reply, err := p.d.SearchAll(p.ctx(), local(), wire.SearchRequest{Query: "quokka", WaitForPending: true, Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	from := map[string]string{}
	for i, r := range reply.Results {
		from[r.Project] = r.Metadata.FilePath
		if i > 0 && r.Score > reply.Results[i-1].Score {
			t.Errorf("not in order: %+v", reply.Results)
		}
	}
	if from[p.slug] != "main.go" || from[q.slug] != "lib.go" {
		t.Errorf("found %v", from)
	}
	// one project that is gone does not hide the others
	q.stop()
	if err := os.RemoveAll(q.dir); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.settle()
	reply, err = p.d.SearchAll(p.ctx(), local(), wire.SearchRequest{Query: "quokka"})
	if err != nil || len(reply.Results) == 0 || reply.Results[0].Project != p.slug {
		t.Errorf("with a missing checkout: %+v, %v", reply.Results, err)
	}
	s, err := p.d.ProjectStatus(p.ctx(), local(), q.slug)
	if err != nil || s.State != "missing" || s.Reason == "" {
		t.Errorf("the missing checkout: state %s, reason %q, %v", s.State, s.Reason, err)
	}
	// a caller sees only what it may read
	only := fold.Scope{Projects: []string{"lib"}}
	if _, err := p.d.Search(p.ctx(), only, p.slug, wire.SearchRequest{Query: "quokka"}); err == nil {
		t.Error("another project was searched")
	}
	reply, err = p.d.SearchAll(p.ctx(), only, wire.SearchRequest{Query: "quokka"})
	if err != nil || len(reply.Results) != 0 {
		t.Errorf("another project shows: %+v, %v", reply.Results, err)
	}
	if _, err := p.d.ProjectOfPath(p.ctx(), local(), filepath.Join(p.dir, "main.go")); err != nil {
		t.Error(err)
	}
}
