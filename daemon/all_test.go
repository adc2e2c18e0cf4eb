package daemon_test

import (
	"math"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestOneTextInTwoProjectsIsFoundTwice shows that equal memories of two projects
// do not hide each other, and are each scored by their own project's settings.
func TestOneTextInTwoProjectsIsFoundTwice(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	q := p.add(New(t, map[string]string{"lib.go": "package lib\n\nfunc Lib() {}\n"}), wire.ProjectCreate{Slug: "lib"})
	set, err := p.d.Algorithm(p.ctx(), local(), q.slug)
	if err != nil {
		t.Fatal(err)
	}
	set.StrengthWeight = 0.5
	if _, err := p.d.SetAlgorithm(p.ctx(), local(), q.slug, set); err != nil {
		t.Fatal(err)
	}
	text := wire.MemoryCreate{Title: "Quokka policy", Content: "Quokkas are fed at noon."}
	one, two := p.addMemory(text), q.addMemory(text)
	if one.ID != two.ID {
		t.Fatalf("ids %s and %s", one.ID, two.ID)
	}
	for _, req := range []wire.SearchRequest{
		{Query: "quokka noon", WaitForPending: true, Explain: true},
		{Query: "quokka noon", ChunksFirst: true, Explain: true},
	} {
		reply, err := p.d.SearchAll(p.ctx(), local(), req)
		if err != nil {
			t.Fatal(err)
		}
		weights := map[string]float64{}
		for _, r := range reply.Results {
			if r.ID != one.ID {
				continue
			}
			last := r.Explain[len(r.Explain)-1]
			weights[r.Project] = last.Weight
			if want := (1-last.Weight)*r.Relevance + last.Weight*r.Strength; math.Abs(want-r.Score) > 1e-6 {
				t.Errorf("%s: score %v, want %v", r.Project, r.Score, want)
			}
		}
		if len(weights) != 2 || weights[p.slug] != 0.05 || weights[q.slug] != 0.5 {
			t.Errorf("found with weights %v in %+v", weights, reply.Results)
		}
	}
}
