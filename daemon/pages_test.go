package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/recall"
)

// TestPagesHoldWhatFitsTheFilter changes a memory between two pages, so that it is none
// of those asked for: by what it is, and by when it was changed last.
func TestPagesHoldWhatFitsTheFilter(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 10)
	general, more := "general", "And again."
	soon := p.clock.now().Add(3 * time.Hour) // between the two changes
	for _, tc := range []struct {
		name   string
		in     wire.SearchRequest
		change wire.MemoryUpdate
		least  int
	}{
		{"type", wire.SearchRequest{Query: "quokka", Type: "decision"}, wire.MemoryUpdate{Type: &general}, 4},
		{"before", wire.SearchRequest{Query: "quokka", Source: "agent", Before: soon.Format(time.RFC3339)}, wire.MemoryUpdate{Append: more}, 10},
	} {
		in := tc.in
		in.Limit = 100
		whole := p.search(in)
		in.Limit = 1
		page, err := p.d.Search(p.ctx(), local(), p.slug, in)
		if err != nil || len(whole) != tc.least || page.NextCursor == "" {
			t.Fatalf("%s: %d memories, %+v, %v", tc.name, len(whole), page, err)
		}
		p.clock.forward(2 * time.Hour)
		if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, whole[1].ID, tc.change); err != nil {
			t.Fatal(err)
		}
		p.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
		got := ids(page.Results)
		for in.Cursor = page.NextCursor; in.Cursor != "" && len(got) < 2*tc.least; in.Cursor = page.NextCursor {
			if page, err = p.d.Search(p.ctx(), local(), p.slug, in); err != nil {
				t.Fatal(err)
			}
			got = append(got, ids(page.Results)...)
		}
		if want := slices.Delete(ids(whole), 1, 2); !slices.Equal(got, want) {
			t.Errorf("%s: pages hold\n%q, want\n%q", tc.name, got, want)
		}
	}
}

// TestASearchTouchesWhatItReturns: what a budget has no room for was not read.
func TestASearchTouchesWhatItReturns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.cfg.TouchOnSearch = true })
	p := m.add(New(t, map[string]string{"main.go": "package main\n"}), wire.ProjectCreate{Slug: "app"})
	for i := range 6 {
		p.addMemory(wire.MemoryCreate{Title: fmt.Sprintf("Quokka %d", i), Content: fmt.Sprintf("The quokka eats %02d times. ", i) + strings.Repeat("Leaves and grass. ", 30)})
	}
	p.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
	all, err := p.d.ListMemories(p.ctx(), local(), p.slug, wire.ListQuery{Source: "agent"})
	if err != nil || len(all.Items) != 6 {
		t.Fatalf("%d memories, %v", len(all.Items), err)
	}
	read := func(id string) int {
		got, err := p.d.GetMemory(p.ctx(), local(), p.slug, id) // which counts, too
		if err != nil {
			t.Fatal(err)
		}
		return got.RetrievalCount
	}
	before := map[string]int{}
	for _, one := range all.Items {
		before[one.ID] = read(one.ID)
	}
	reply, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: "quokka", TokenBudget: 700})
	if err != nil || len(reply.Results) == 0 || reply.Omitted == 0 {
		t.Fatalf("%d results, %d omitted, %v", len(reply.Results), reply.Omitted, err)
	}
	returned := ids(reply.Results)
	for _, one := range all.Items {
		want := 1
		if slices.Contains(returned, p.slug+"/"+one.ID) {
			want = 2
		}
		if n := read(one.ID) - before[one.ID]; n != want {
			t.Errorf("memory %s was read %d times, want %d", one.ID, n, want)
		}
	}
}

// TestAProjectThatIsAwayKeepsItsPlaces: a page is asked for while the stores of one
// project cannot be opened, and again when they can.
func TestAProjectThatIsAwayKeepsItsPlaces(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 2)
	other := p.add(New(t, map[string]string{"a.go": "package a\n\n// Quokka is fed.\nfunc Quokka() {}\n", "b.go": "package a\n\n// Feed feeds a quokka.\nfunc Feed() {}\n"}), wire.ProjectCreate{Slug: "other"})
	other.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
	away := false
	checkouts := []recall.Checkout{p.d.Lender(p.slug), p.d.Lender("other")}
	lend := checkouts[1].Acquire
	checkouts[1].Acquire = func(ctx context.Context) (*recall.Service, func(), error) {
		if away {
			return nil, nil, errors.New("no more files")
		}
		return lend(ctx)
	}
	var kept recall.ResultOrders
	ask := func(in wire.SearchRequest) wire.SearchReply {
		t.Helper()
		reply, err := recall.SearchAll(p.ctx(), checkouts, in, nil, &kept)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	first := ask(wire.SearchRequest{Query: "quokka", Limit: 1})
	in := wire.SearchRequest{Query: "quokka", Limit: 100, Cursor: first.NextCursor}
	want := ids(ask(in).Results)
	if !slices.ContainsFunc(want, func(id string) bool { return id[:6] == "other/" }) {
		t.Fatalf("the second page has nothing of the other project: %q", want)
	}
	away = true
	if got := ask(in); len(got.Results) == 0 || len(got.Results) >= len(want) || got.NextCursor != "" {
		t.Errorf("while it is away: %q of %q, next %q", ids(got.Results), want, got.NextCursor)
	}
	away = false
	if got := ids(ask(in).Results); !slices.Equal(got, want) {
		t.Errorf("when it is back: %q, want %q", got, want)
	}
}
