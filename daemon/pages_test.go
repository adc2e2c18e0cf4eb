package daemon_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/recall"
)

// TestPagesHoldWhatFitsTheFilter changes a memory between two pages, so that it is none
// of those asked for.
func TestPagesHoldWhatFitsTheFilter(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 10)
	in := wire.SearchRequest{Query: "quokka", Type: "decision", Limit: 100}
	whole := p.search(in)
	in.Limit = 1
	page, err := p.d.Search(p.ctx(), local(), p.slug, in)
	if err != nil || len(whole) != 4 || page.NextCursor == "" {
		t.Fatalf("%d decisions, %+v, %v", len(whole), page, err)
	}
	other := "general"
	if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, whole[1].ID, wire.MemoryUpdate{Type: &other}); err != nil {
		t.Fatal(err)
	}
	p.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
	got := ids(page.Results)
	for in.Cursor = page.NextCursor; in.Cursor != "" && len(got) < 9; in.Cursor = page.NextCursor {
		if page, err = p.d.Search(p.ctx(), local(), p.slug, in); err != nil {
			t.Fatal(err)
		}
		got = append(got, ids(page.Results)...)
	}
	if want := slices.Delete(ids(whole), 1, 2); !slices.Equal(got, want) {
		t.Errorf("pages of decisions hold\n%q, want\n%q", got, want)
	}
}

// TestAProjectThatIsAwayKeepsItsPlaces: a page is asked for while the stores of one
// project cannot be opened, and again when they can.
func TestAProjectThatIsAwayKeepsItsPlaces(t *testing.T) {
	t.Parallel()
	p := quokkas(t, 2)
	other := p.add(newCheckout(t, map[string]string{"a.go": "package a\n\n// Quokka is fed.\nfunc Quokka() {}\n", "b.go": "package a\n\n// Feed feeds a quokka.\nfunc Feed() {}\n"}), wire.ProjectCreate{Slug: "other"})
	other.search(wire.SearchRequest{Query: "quokka", WaitForPending: true})
	away := false
	doors := []recall.Lender{p.d.Lender(p.slug), p.d.Lender("other")}
	lend := doors[1].Lend
	doors[1].Lend = func(ctx context.Context) (*recall.Door, func(), error) {
		if away {
			return nil, nil, errors.New("no more files")
		}
		return lend(ctx)
	}
	var kept recall.Kept
	ask := func(in wire.SearchRequest) wire.SearchReply {
		t.Helper()
		reply, err := recall.SearchAll(p.ctx(), doors, in, nil, &kept)
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
