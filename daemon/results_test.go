package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/tokens"
)

// quokkas is a project with n files and as many memories about one thing.
func quokkas(t *testing.T, n int) *project {
	files := map[string]string{"main.go": "package main\n\nfunc main() {}\n"}
	for i := range n {
		files[fmt.Sprintf("lib/q%02d.go", i)] = fmt.Sprintf("package lib\n\n// Feed%02d feeds the quokka %s.\nfunc Feed%02d() {\n\tquokka(%d)\n}\n", i, strings.Repeat("again ", i), i, i)
	}
	p := newProject(t, files)
	for i := range n {
		p.addMemory(wire.MemoryCreate{
			Title: fmt.Sprintf("Quokka %02d", i), Type: []string{"decision", "episode", "general"}[i%3],
			Content: fmt.Sprintf("The quokka eats %02d times. %s", i, strings.Repeat("Leaves and grass. ", i)),
		})
	}
	p.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
	return p
}

func ids(results []wire.SearchResult) []string {
	out := make([]string, len(results))
	for i, r := range results {
		out[i] = r.Project + "/" + r.ID
	}
	return out
}

// TestPagesFitTogether reads a search page by page: each result once, in the order
// of the whole, also while time passes and results are read.
func TestPagesFitTogether(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 13)
	other := p.add(New(t, map[string]string{"lib.go": "package lib\n\n// Quokka is fed.\nfunc Quokka() {}\n"}), wire.ProjectCreate{Slug: "other"})
	other.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
	one := func(in wire.SearchRequest) (wire.SearchReply, error) { return p.d.Search(p.ctx(), local(), p.slug, in) }
	all := func(in wire.SearchRequest) (wire.SearchReply, error) { return p.d.SearchAll(p.ctx(), local(), in) }
	for _, tc := range []struct {
		name   string
		search func(wire.SearchRequest) (wire.SearchReply, error)
		in     wire.SearchRequest
		least  int
	}{
		{"one project", one, wire.SearchRequest{Query: "feed the quokka"}, 26},
		{"chunks first", one, wire.SearchRequest{Query: "feed the quokka", ChunksFirst: true}, 26},
		{"filtered", one, wire.SearchRequest{Query: "quokka", Type: "episode"}, 4},
		{"all projects", all, wire.SearchRequest{Query: "feed the quokka"}, 27},
		{"small budget", one, wire.SearchRequest{Query: "feed the quokka", TokenBudget: 700}, 26},
	} {
		in := tc.in
		in.Limit, in.TokenBudget = 100, 0
		whole, err := tc.search(in)
		if err != nil || len(whole.Results) < tc.least || whole.NextCursor != "" || len(whole.Results) != whole.Total {
			t.Fatalf("%s: %d of %d results, next %q, %v", tc.name, len(whole.Results), whole.Total, whole.NextCursor, err)
		}
		in = tc.in
		in.Limit = 4
		var got []string
		for page := 0; ; page++ {
			reply, err := tc.search(in)
			if err != nil || len(reply.Results) == 0 || len(reply.Results)+reply.Omitted > 4 || page > 30 {
				t.Fatalf("%s: page %d: %d results, %v", tc.name, page, len(reply.Results), err)
			}
			got = append(got, ids(reply.Results)...)
			if _, err := p.d.GetMemory(p.ctx(), local(), reply.Results[0].Project, reply.Results[0].ID); err != nil {
				t.Fatal(err)
			}
			if in.Cursor = reply.NextCursor; in.Cursor == "" {
				break
			}
		}
		if want := ids(whole.Results); !slices.Equal(got, want) {
			t.Errorf("%s: pages hold\n%q, want\n%q", tc.name, got, want)
		}
	}
	first, err := one(wire.SearchRequest{Query: "quokka", Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []wire.SearchRequest{
		{Query: "quokkas", Cursor: first.NextCursor}, {Query: "quokka", Type: "episode", Cursor: first.NextCursor}, {Query: "quokka", Cursor: "2"}, {Query: "quokka", Cursor: "-1-0-0"},
	} {
		if _, err := one(in); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("search %q with cursor %q = %v", in.Query, in.Cursor, err)
		}
	}
	past, err := wire.ParseSearchCursor(first.NextCursor)
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := one(wire.SearchRequest{Query: "quokka", Cursor: past.Plus(1000).String()}); err != nil || len(reply.Results) > 0 || reply.NextCursor != "" {
		t.Errorf("beyond the end: %d results, next %q, %v", len(reply.Results), reply.NextCursor, err)
	}
}

// TestExplainAddsUp shows that the terms of a score are its addends, whatever
// found the result.
func TestExplainAddsUp(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 5)
	for _, in := range []wire.SearchRequest{
		{Query: "feed the quokka again"}, {Query: "Feed03"}, {Query: "quokka", ChunksFirst: true}, {Query: "qoukka fedd"}, {Query: "quokka", Source: "agent"},
	} {
		in.Explain = true
		for _, r := range p.search(in) {
			sum := 0.0
			for _, term := range r.Explain {
				if math.Abs(term.Value*term.Weight-term.Adds) > 1e-12 || term.Channel == "" || term.Value < 0 || term.Value > 1 {
					t.Errorf("%q: term %+v", in.Query, term)
				}
				sum += term.Adds
			}
			if math.Abs(sum-r.Score) > 1e-9 || len(r.Explain) < 2 {
				t.Errorf("%q: the terms of %s add up to %v, its score is %v", in.Query, r.ID, sum, r.Score)
			}
		}
	}
}

// TestABudgetIsKept asks for ever fewer tokens.
func TestABudgetIsKept(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 8)
	for budget := 300; budget < 6000; budget += 97 {
		reply, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "feed the quokka again", Limit: 12, TokenBudget: budget, Explain: budget%2 == 0})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		if n := tokens.Count(string(b)); n > budget {
			t.Errorf("%d tokens for a budget of %d", n, budget)
		}
		if len(reply.Results)+reply.Omitted != 12 || reply.Omitted > 0 && reply.NextCursor == "" || budget > 400 && len(reply.Results) == 0 {
			t.Errorf("budget %d: %d results, %d omitted, next %q", budget, len(reply.Results), reply.Omitted, reply.NextCursor)
		}
	}
	long := p.addMemory(wire.MemoryCreate{Title: "Long", Content: strings.Repeat("Quokkas 袋鼠 are fed. ", 200)})
	for _, r := range p.search(wire.SearchRequest{Query: "quokka", Source: "agent", WaitForPending: true}) {
		if r.ID == long.ID {
			continue
		}
		if _, err := p.d.AddLink(p.ctx(), local(), p.slug, long.ID, wire.LinkCreate{TargetID: r.ID}); err != nil {
			t.Fatal(err)
		}
	}
	for budget := 600; budget < 9000; budget += 400 {
		reply, err := p.d.Context(p.ctx(), local(), p.slug, long.ID, wire.ContextRequest{TokenBudget: budget})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		if n := tokens.Count(string(b)); n > budget || budget < 2000 && (!reply.Truncated || reply.Memory.Content == "") {
			t.Errorf("context of %d tokens for a budget of %d: %d linked, %d omitted, %d bytes of text", n, budget, len(reply.RelatedMemories), reply.Omitted, len(reply.Memory.Content))
		}
	}
	for budget := 300; budget < 5000; budget += 400 {
		reply, err := p.d.TaskContext(p.ctx(), local(), p.slug, wire.TaskContextRequest{Task: "feed the quokka again", TokenBudget: budget})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		if n := tokens.Count(string(b)); n > budget || len(reply.Context) == 0 || budget < 1000 && reply.Omitted == 0 {
			t.Errorf("task context of %d tokens for a budget of %d: %d items, %d omitted", n, budget, len(reply.Context), reply.Omitted)
		}
	}
	if _, err := p.d.TaskContext(p.ctx(), local(), p.slug, wire.TaskContextRequest{Task: "quokka", TokenBudget: 20}); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("task context with a budget of 20: %v", err)
	}
	if _, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "quokka", TokenBudget: 20}); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("a budget of 20: %v", err)
	}
}

// TestResultsSayWhy follows each reason to what it names.
func TestResultsSayWhy(t *testing.T) {
	t.Parallel()
	key, lines := plantedKey()
	_, key, _ = strings.Cut(key, "\n\n")
	dir := New(t, map[string]string{
		"pen/gate.go": "package pen\n\n// Close shuts the gate at dusk.\nfunc Close() {}\n",
		"pen/key.go":  "package pen\n\n// PelicanKey opens the wombat house.\nconst PelicanKey = `" + key + "`\n",
	})
	writeFile(t, filepath.Join(dir, "pen", "gate.go"), "package pen\n\n// Close shuts the gate at dusk, always.\nfunc Close() {}\n")
	git(t, dir, "commit", "-q", "-a", "-m", "Keep numbats from escaping\n\nThey dug below it.")
	p := newMachine(t).add(dir, wire.ProjectCreate{Slug: "zoo"})
	p.addMemory(wire.MemoryCreate{Title: "Dusk", Content: "It is at seven.", Type: "decision"})
	why := func(query, path, kind string) wire.Reason {
		t.Helper()
		for _, r := range p.search(wire.SearchRequest{Query: query, WaitForPending: true}) {
			if r.Metadata.FilePath != path {
				continue
			}
			for _, reason := range r.Why {
				if reason.Kind == kind {
					return reason
				}
			}
			t.Errorf("%q: %s is a result by %+v", query, path, r.Why)
		}
		return wire.Reason{}
	}
	if r := why("when does the gate close", "pen/gate.go", wire.WhyChunk); !slices.Equal(r.Words, []string{"gate", "close"}) || r.Text != "function Close has gate, close" || r.Chunk == "" {
		t.Errorf("by its chunk: %+v", r)
	}
	if r := why("numbat escape", "pen/gate.go", wire.WhyCommit); r.Subject != "Keep numbats from escaping" || len(r.Commit) != 40 || !strings.Contains(r.Text, r.Commit[:7]) || len(r.Words) != 2 {
		t.Errorf("by a commit: %+v", r)
	}
	if r := why("seven at dusk", "", wire.WhyText); len(r.Words) != 2 {
		t.Errorf("by its text: %+v", r)
	}
	// What is withheld is found by its name, and nothing says what it holds.
	for _, query := range []string{"PelicanKey wombat", "PelicanKey " + lines[0][:12]} {
		for _, r := range p.search(wire.SearchRequest{Query: query, Explain: true}) {
			if part := query[len("PelicanKey "):]; part == lines[0][:12] && !strings.Contains(part, strings.Join(r.Lacks[max(len(r.Lacks)-1, 0):], "")) {
				t.Errorf("%q: %s tells by what it lacks, %q, that it holds the rest", query, r.Metadata.FilePath, r.Lacks)
			}
			r.Lacks = nil // words of the query
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.ReplaceAll(string(b), query, ""), lines[0][:12]) || r.Metadata.FilePath == "pen/key.go" && r.MatchedChunks[0].Snippet != "" {
				t.Errorf("%q shows what is withheld: %s", query, b)
			}
		}
	}
}

// TestPagesFitTogetherWhateverIsWritten adds, changes and deletes memories between
// two pages: the rest is shown once each, in the order of the first page.
func TestPagesFitTogetherWhateverIsWritten(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 10)
	in := wire.SearchRequest{Query: "quokka eats leaves", Source: "agent", Limit: 100}
	whole := ids(p.search(in))
	bare := func(i int) string { return strings.TrimPrefix(whole[i], p.slug+"/") }
	in.Limit = 2
	var got []string
	var added string
	for page := 0; ; page++ {
		reply, err := p.d.Search(p.ctx(), local(), p.slug, in)
		if err != nil || page > 20 || strings.Contains(reply.Notice, "anew") {
			t.Fatalf("page %d: %q, %v", page, reply.Notice, err)
		}
		got = append(got, ids(reply.Results)...)
		if in.Cursor = reply.NextCursor; in.Cursor == "" {
			break
		}
		switch page {
		case 0: // better than any other
			added = p.slug + "/" + p.addMemory(wire.MemoryCreate{Title: "A quokka eats leaves", Content: "Quokka, quokka: it eats leaves, leaves, leaves."}).ID
		case 1: // it would be the first now, and is one of a page to come
			if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, bare(8), wire.MemoryUpdate{Append: "The quokka eats leaves. Quokka! Leaves!"}); err != nil {
				t.Fatal(err)
			}
		case 2:
			if _, err := p.d.DeleteMemory(p.ctx(), local(), p.slug, bare(7), ""); err != nil {
				t.Fatal(err)
			}
		}
		p.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
	}
	if want := slices.Delete(slices.Clone(whole), 7, 8); len(whole) != 10 || !slices.Equal(got, want) {
		t.Errorf("pages hold\n%q, want\n%q", got, want)
	}
	in.Cursor = ""
	first, err := p.d.Search(p.ctx(), local(), p.slug, in)
	if err != nil || !slices.Contains(ids(first.Results), added) {
		t.Fatalf("a new search has %q, %v", ids(first.Results), err)
	}
	p.d.ForgetOrders() // as after a start
	in.Cursor = first.NextCursor
	second, err := p.d.Search(p.ctx(), local(), p.slug, in)
	if err != nil || len(second.Results) != 2 || !strings.Contains(second.Notice, "ranked anew") {
		t.Errorf("after a start: %d results, %q, %v", len(second.Results), second.Notice, err)
	}
	in.Cursor = second.NextCursor
	if third, err := p.d.Search(p.ctx(), local(), p.slug, in); err != nil || strings.Contains(third.Notice, "anew") {
		t.Errorf("the page after that: %q, %v", third.Notice, err)
	}
}

// TestStrengthsOfAllPagesAreOfOneTime moves the clock between two pages.
func TestStrengthsOfAllPagesAreOfOneTime(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 3)
	first, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "quokka", Source: "agent", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	p.clock.forward(200 * 24 * time.Hour)
	rest, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "quokka", Source: "agent", Cursor: first.NextCursor})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rest.Results {
		if r.Strength < 0.9 {
			t.Errorf("%s has strength %v on the second page", r.Title, r.Strength)
		}
	}
}

// TestANameIsFoundWhole: who asks for a name gets the memory that has it, not one
// that has its words more often.
func TestANameIsFoundWhole(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n"})
	var names []string
	for i := range 4 {
		for k := range 4 {
			names = append(names, fmt.Sprintf("kx%dw3n%d", 11+i, 11+k), fmt.Sprintf("kx%dw3n%d", 11+i, k))
		}
	}
	for _, name := range names {
		p.addMemory(wire.MemoryCreate{Title: name, Content: "Token " + name + " was written.\n"})
	}
	for _, name := range names {
		got := p.search(wire.SearchRequest{Query: name, Limit: 3, WaitForPending: true})
		if len(got) == 0 || got[0].Title != name {
			t.Errorf("%s is found as %v", name, ids(got))
		}
	}
}
