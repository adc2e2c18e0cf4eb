package daemon_test

import (
	"fmt"
	"slices"
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
