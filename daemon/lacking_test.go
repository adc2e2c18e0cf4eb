package daemon_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// numbatPen is a project in which some names occur, whole and within longer ones.
func numbatPen(t *testing.T) *project {
	p := newProject(t, map[string]string{
		"pen/gate.go":  "package pen\n\n// CloseGateAtDusk closes the command-line widget.\nfunc CloseGateAtDusk() {\n\tresetGateTimer(dbMaxOpenConns)\n}\n",
		"pen/flags.md": "# Flags\n\nThere is no flag for the wombat. Use `--dry-run`.\n",
	})
	p.addMemory(wire.MemoryCreate{Title: "Widget limits", Type: "decision", Author: "Anna", Tags: []string{"Limits"}, Content: "A widget has seven numbats, and errors are ERR_1234."})
	p.search(wire.SearchRequest{Query: "widget", WaitForPending: true})
	return p
}

func (p *project) reply(in wire.SearchRequest) wire.SearchReply {
	p.t.Helper()
	r, err := p.d.Search(p.ctx(), local(), p.slug, in)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// TestWhatOccursNowhereIsSaid asks for names of which only parts are there. Nothing may
// be as good as what has the whole.
func TestWhatOccursNowhereIsSaid(t *testing.T) {
	t.Parallel()
	p := numbatPen(t)
	for _, tc := range []struct {
		query string
		want  []string
		most  float64 // of a score
	}{
		{"frobnicateWidget", []string{"frobnicateWidget"}, .5},
		{"ERR_9999", []string{"ERR_9999"}, .5},
		{"--no-such-flag", []string{"no-such-flag"}, .5},
		{"wombat frobnicateWidget", []string{"frobnicateWidget"}, .8},
		{"numbats retrievex", []string{"retrievex"}, .6},
		{"xyzzy qwrtz", []string{"xyzzy", "qwrtz"}, .5},
		{"widgetNumbats", []string{"widgetNumbats"}, .5},
		// what is there, as it is or within a longer name
		{"ERR_1234", nil, 1},
		{"err-1234", nil, 1},
		{"maxOpenConns", nil, 1},
		{"max_open", nil, 1},
		{"closeGateAt", nil, 1},
		{"--dry-run", nil, 1},
		{"command-line widgets", nil, 1},
		{"what is the numbat", nil, 1},
	} {
		r := p.reply(wire.SearchRequest{Query: tc.query, Explain: true})
		if !slices.Equal(r.NotFound, tc.want) {
			t.Errorf("%q: not found %q, want %q", tc.query, r.NotFound, tc.want)
		}
		for _, res := range r.Results {
			sum := 0.0
			for _, term := range res.Explain {
				sum += term.Adds
			}
			if res.Score > tc.most || sum-res.Score > 1e-9 || res.Score-sum > 1e-9 {
				t.Errorf("%q: %q has score %.3f, at most %.2f; its terms are %.3f", tc.query, res.Title, res.Score, tc.most, sum)
			}
		}
		if len(tc.want) == 0 && len(r.Results) == 0 {
			t.Errorf("%q: no results", tc.query)
		}
	}
	// What is missing makes all scores less, and their order stays; a bound holds for
	// what is shown.
	whole := p.reply(wire.SearchRequest{Query: "widget numbats gate"})
	part := p.reply(wire.SearchRequest{Query: "widget numbats gate zzzyx"})
	if len(whole.Results) < 2 || len(part.Results) < 2 || !slices.Equal(ids(part.Results), ids(whole.Results)) || part.Results[0].Score >= whole.Results[0].Score {
		t.Fatalf("without the word: %+v\nwith it: %+v", whole.Results, part.Results)
	}
	bound := (part.Results[0].Score + part.Results[1].Score) / 2 // strength fades between two searches
	if r := p.reply(wire.SearchRequest{Query: "widget numbats gate zzzyx", MinScore: bound}); len(r.Results) != 1 {
		t.Errorf("%d results are above the second", len(r.Results))
	}
	other := p.add(New(t, map[string]string{"a.go": "package a\n\nfunc frobnicateWidget() {}\n"}), wire.ProjectCreate{Slug: "other"})
	other.search(wire.SearchRequest{Query: "frobnicateWidget", WaitForPending: true})
	r, err := p.d.SearchAll(p.ctx(), local(), wire.SearchRequest{Query: "frobnicateWidget"})
	if err != nil || len(r.NotFound) > 0 || r.Results[0].Project != "other" {
		t.Errorf("in all projects: not found %q, first %+v, %v", r.NotFound, r.Results[0], err)
	}
}

// TestEveryPageIsAsSure: of a name of which all pairs of words occur and the whole does
// not, each page says so, and no result has less than the least score.
func TestEveryPageIsAsSure(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"a.go": "package pen\n\nfunc quollDen() {}\nfunc denGuard() {}\n",
		"b.go": "package pen\n\n// denGuard before quollDen.\nfunc Other() { denGuard(); quollDen() }\n",
	})
	in := wire.SearchRequest{Query: "quollDenGuard", Limit: 1, WaitForPending: true}
	first := p.reply(in)
	in.Cursor = first.NextCursor
	next := p.reply(in)
	for i, r := range []wire.SearchReply{first, next} {
		if !slices.Equal(r.NotFound, []string{"quollDenGuard"}) || len(r.Results) != 1 || r.Results[0].Score > .5 {
			t.Errorf("page %d: not found %q, %+v", i+1, r.NotFound, r.Results)
		}
	}
	if r := p.reply(wire.SearchRequest{Query: "quollDenGuard", MinScore: .5}); len(r.Results) > 0 {
		t.Errorf("with a least score of .5: %+v", r.Results)
	}
}

// TestFiltersSayWhatTheyTake asks with values that nothing has.
func TestFiltersSayWhatTheyTake(t *testing.T) {
	t.Parallel()
	p := numbatPen(t)
	for _, tc := range []struct {
		in    wire.SearchRequest
		name  string
		known string // one of the values there are
	}{
		{wire.SearchRequest{Type: "decisionx"}, "type", "decision"},
		{wire.SearchRequest{Tags: []string{"nope"}}, "tags", "limits"},
		{wire.SearchRequest{Author: "nope"}, "author", "anna"},
		{wire.SearchRequest{Language: "nope"}, "language", "go"},
		{wire.SearchRequest{Language: "rust"}, "language", "markdown"},
		{wire.SearchRequest{FilePattern: "nope/**"}, "file_pattern", "pen/"},
		{wire.SearchRequest{Source: "git", Type: "decision"}, "source", ""},
		{wire.SearchRequest{After: "2999-01-01"}, "after", "20"},
		{wire.SearchRequest{Before: "1970-01-02"}, "before", "20"},
		{wire.SearchRequest{MinScore: 1.5}, "min_score", "1."},
	} {
		tc.in.Query = "widget"
		r := p.reply(tc.in)
		if len(r.Results) > 0 || len(r.Filters) == 0 || r.Filters[0].Name != tc.name || len(r.Words) != 1 {
			t.Errorf("%+v: %d results, filters %+v, words %+v", tc.in, len(r.Results), r.Filters, r.Words)
			continue
		}
		f := r.Filters[0]
		if tc.known != "" && (f.Passing != 0 || f.Removed < 2 || !slices.ContainsFunc(f.Known, func(v string) bool { return strings.HasPrefix(v, tc.known) })) {
			t.Errorf("%+v: %+v, want %q among what is known", tc.in, f, tc.known)
		}
		if wantFiltered := tc.name != "min_score"; r.Words[0].Found < 2 || r.Words[0].Filtered != wantFiltered {
			t.Errorf("%+v: words %+v", tc.in, r.Words)
		}
	}
	r := p.reply(wire.SearchRequest{Query: "widget", Type: "decision", Tags: []string{"limits"}, MinScore: .01, Explain: true})
	if len(r.Results) != 1 || len(r.Filters) != 3 || r.Filters[0].Passing != 1 || r.Filters[0].Removed != 1 || r.Filters[2].Passing != 1 {
		t.Errorf("what passes: %d results, %+v", len(r.Results), r.Filters)
	}
	r = p.reply(wire.SearchRequest{Query: "CloseGateAtDusk widget", Type: "decision"})
	if len(r.NotFound) > 0 || !strings.Contains(r.Notice, `"CloseGateAtDusk"`) || len(r.Results) != 1 || r.Results[0].Score > .6 {
		t.Errorf("what only the filter leaves out: %+v", r)
	}
	if r = p.reply(wire.SearchRequest{Query: "GateAtDusk", Type: "decision"}); len(r.NotFound) > 0 {
		t.Errorf("what a longer name has that the filter leaves out: %+v", r)
	}
	if r = p.reply(wire.SearchRequest{Query: "DuskGateAt", Type: "decision"}); !slices.Equal(r.NotFound, []string{"DuskGateAt"}) {
		t.Errorf("what nothing has: %+v", r)
	}
	p.addMemory(wire.MemoryCreate{Title: "Hours", Type: "decision", Content: "At dusk nobody is at the gate."})
	r = p.reply(wire.SearchRequest{Query: "GateAtDusk", Type: "decision", WaitForPending: true})
	if len(r.NotFound) > 0 || !strings.Contains(r.Notice, `"GateAtDusk"`) || len(r.Results) != 1 {
		t.Errorf("what a longer name has that the filter leaves out, and its parts do not: %+v", r)
	}
	if r = p.reply(wire.SearchRequest{Query: "widget"}); r.Words != nil || r.Filters != nil {
		t.Errorf("nobody asked for %+v, %+v", r.Words, r.Filters)
	}
}

// TestWhyKeepsNamesWhole: a name is told as one, and its parts as parts.
func TestWhyKeepsNamesWhole(t *testing.T) {
	t.Parallel()
	p := numbatPen(t)
	for _, tc := range []struct{ query, want string }{
		{"resetGateTimer", "has resetGateTimer"},
		{"reset_gate_timer", "has reset_gate_timer"},
		{"gateWidget", "has gate and Widget of gateWidget"},
		{"frobnicateWidget", "has Widget of frobnicateWidget"},
		{"--dry-run", "has dry-run"},
		{"ERR_9999 numbats", "has ERR of ERR_9999, numbats"},
		{"widget opt-in", "has widget"},
	} {
		r := p.reply(wire.SearchRequest{Query: tc.query, Explain: true})
		if len(r.Results) == 0 || len(r.Results[0].Why) == 0 || !strings.HasSuffix(r.Results[0].Why[0].Text, tc.want) {
			t.Errorf("%q: %+v, want %q", tc.query, r.Results, tc.want)
		}
	}
	r := p.reply(wire.SearchRequest{Query: "numbats xyzzy gateWidget", Explain: true})
	if lacks := r.Results[0].Lacks; !slices.Contains(lacks, "xyzzy") || !slices.Contains(lacks, "gateWidget") {
		t.Errorf("it lacks %q", lacks)
	}
}
