package daemon_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestSessionsAreAskedByPersonAndTime ranks what was said in a session, which has
// the same words, by whom and when the question names.
func TestSessionsAreAskedByPersonAndTime(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	said := func(name, author, day, text string) {
		p.write("fold/"+name+".md", fmt.Sprintf("---\ntitle: %s\nauthor: %s\nsession: walk\noriginal_date: %s\n---\n# %s\n\n%s\n", name, author, day, name, text))
	}
	said("one", "Ann", "2026-02-03", "The quokka garden has grown well.")
	said("two", "Bob", "2026-03-03", "The quokka garden has grown well.")
	said("three", "Ann", "2026-04-03", "The quokka garden has grown well?")
	first := func(query string) (string, []wire.ScoreTerm) {
		for _, r := range p.search(wire.SearchRequest{Query: query, WaitForPending: true, Explain: true}) {
			return r.Title, r.Explain
		}
		return "", nil
	}
	p.eventually("all are indexed", func() bool {
		return p.found("quokka", "one") && p.found("quokka", "two") && p.found("quokka", "three")
	})
	for query, want := range map[string]struct{ title, term string }{
		"How has the quokka garden of Bob grown?":       {"two", "person"},
		"How has the quokka garden grown in March 2026": {"two", "time"},
		"What does Ann say of the quokka garden?":       {"one", "person"},
	} {
		title, terms := first(query)
		if title != want.title || !slices.ContainsFunc(terms, func(s wire.ScoreTerm) bool { return s.Name == want.term && s.Adds > 0 }) {
			t.Errorf("%q finds %q by %+v, want %q by %s", query, title, terms, want.title, want.term)
		}
	}
}

// TestWordsComeBeforeTheirNeighbours asks for a word in a session: what has it comes
// before what was said in between, which tells what it is next to.
func TestWordsComeBeforeTheirNeighbours(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	for i, text := range []string{
		"Zorilla zorilla zorilla zorilla.", "It snowed in May 2020.", "Zorilla, the zorilla, zorilla, zorilla!", "It rained in May 2020.", "No.",
		"Nothing happened in the park for a while but rain and mud on every path, and at last one zorilla came " + strings.Repeat("slowly along the muddy path ", 60),
	} {
		name := fmt.Sprintf("told%d", i)
		p.write("fold/"+name+".md", fmt.Sprintf("---\ntitle: %s\nsession: walk\noriginal_date: 2026-02-%02d\n---\n# %s\n\n%s\n", name, i+1, name, text))
	}
	p.eventually("all are indexed", func() bool {
		return p.found("zorilla", "told0") && p.found("zorilla", "told5") && p.found("rained", "told3")
	})
	for _, query := range []string{"when zorilla", "when was the zorilla?"} {
		got := p.search(wire.SearchRequest{Query: query, Explain: true})
		if len(got) != 6 {
			t.Fatalf("%q: %d results", query, len(got))
		}
		for i, r := range got {
			beside := r.Title == "told1" || r.Title == "told3" || r.Title == "told4"
			if beside != (i >= 3) || i > 0 && r.Score > got[i-1].Score+1e-9 {
				t.Errorf("%q: %d is %s with score %.3f", query, i, r.Title, r.Score)
			}
			sum := 0.0
			for _, term := range r.Explain {
				sum += term.Adds
			}
			if math.Abs(sum-r.Score) > 1e-9 {
				t.Errorf("%q: the terms of %s are %.4f, its score %.4f", query, r.Title, sum, r.Score)
			}
			if beside && (len(r.Why) != 1 || r.Why[0].Kind != wire.WhySession || !strings.Contains(r.Why[0].Text, `said next to "told`) || !slices.Equal(r.Why[0].Words, []string{"zorilla"})) {
				t.Errorf("%q: %s is a result by %+v", query, r.Title, r.Why)
			}
		}
	}
}
