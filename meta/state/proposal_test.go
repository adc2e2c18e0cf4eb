package state_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

func proposalOf(kind state.ProposalKind, at time.Time, ids ...fold.ID) state.Proposal {
	p := state.Proposal{
		ID: fold.ProposalID(string(kind), "", ids...), Kind: kind, Maker: "consolidation", Confidence: .97, State: state.ProposalOpen, CreatedAt: at,
		ProposalBody: state.ProposalBody{Reason: "same words", Evidence: "cosine 0.99", LinkType: "related", Context: "c", Tags: []string{"x"}},
	}
	for _, id := range ids {
		p.Memories = append(p.Memories, state.ProposalEnd{ID: id, Hash: "hash of " + string(id)})
	}
	return p
}

// TestProposalsAreRemembered stores proposals, decides, and opens the file again: what
// was decided is not proposed anew.
func TestProposalsAreRemembered(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, reopen := openStateTwice(t, t.TempDir())
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a, b, c := fold.ID(strings.Repeat("a", 16)), fold.ID(strings.Repeat("b", 16)), fold.ID(strings.Repeat("c", 16))
	one, two, three := proposalOf(state.ProposeMerge, at, a, b), proposalOf(state.ProposeMerge, at.Add(time.Second), a, c), proposalOf(state.ProposeLink, at.Add(2*time.Second), b, c)
	if n, err := s.PutProposals(ctx, "app", []state.Proposal{one, two, three}, 10); err != nil || n != 3 {
		t.Fatalf("PutProposals = %d, %v", n, err)
	}
	if err := s.DecideProposal(ctx, "app", one.ID, state.ProposalRejected, "ann", at.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.DecideProposal(ctx, "app", one.ID, state.ProposalAccepted, "ann", at.Add(time.Hour)); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("decided twice: %v", err)
	}
	s = reopen()
	one.Memories[0].Hash, two.Memories[0].Hash = "another", "another"
	if n, err := s.PutProposals(ctx, "app", []state.Proposal{one, two}, 10); err != nil || n != 0 {
		t.Errorf("the same again: %d, %v", n, err)
	}
	got, err := s.Proposal(ctx, "app", one.ID[:6])
	if err != nil {
		t.Fatal(err)
	}
	one.State, one.DecidedBy, one.DecidedAt, one.Memories[0].Hash = state.ProposalRejected, "ann", at.Add(time.Hour), "hash of "+string(a)
	if diff := cmp.Diff(one, got); diff != "" {
		t.Error(diff)
	}
	open, err := s.Proposals(ctx, "app", state.ProposalOpen, state.ProposalCursor{}, 10)
	if diff := cmp.Diff([]state.Proposal{three, two}, open); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if n, err := s.OpenProposals(ctx, "app"); err != nil || n != 2 {
		t.Errorf("OpenProposals = %d, %v", n, err)
	}
	if err := s.DropProposals(ctx, "app", []string{one.ID, two.ID}); err != nil {
		t.Fatal(err)
	}
	all, err := s.Proposals(ctx, "app", "", state.ProposalCursor{}, 10)
	if err != nil || len(all) != 2 || all[0].ID != three.ID || all[1].ID != one.ID {
		t.Errorf("after the drop: %+v, %v", all, err)
	}
	if _, err := s.Proposal(ctx, "web", one.ID); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("of another project: %v", err)
	}
	checkout := state.Checkout{Key: "00112233445566aa", Path: "/x", Slug: "web", ProjectID: "p", AddedAt: at}
	if err := s.Rename(ctx, "app", checkout, nil); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Proposal(ctx, "web", one.ID); err != nil || p.State != state.ProposalRejected {
		t.Errorf("under the new slug: %+v, %v", p, err)
	}
	if err := s.ForgetProposals(ctx, "app"); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Proposals(ctx, "app", "", state.ProposalCursor{}, 10); err != nil || len(all) > 0 {
		t.Errorf("forgotten: %+v, %v", all, err)
	}
}

// TestProposalsComeInPages goes through them, of which some were made in one moment,
// and refuses a cursor that is none. More than may wait are not kept.
func TestProposalsComeInPages(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), openState(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var ps []state.Proposal
	for i := range 7 {
		ps = append(ps, proposalOf(state.ProposeMerge, at.Add(time.Duration(i/3)*time.Second), fold.SlugID("app", string(rune('a'+i))), "0123456789abcdef"))
	}
	if n, err := s.PutProposals(ctx, "app", ps, 5); err != nil || n != 5 {
		t.Fatalf("PutProposals = %d, %v", n, err)
	}
	seen := map[string]bool{}
	var after state.ProposalCursor
	for {
		page, err := s.Proposals(ctx, "app", state.ProposalOpen, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			if seen[p.ID] {
				t.Errorf("%s comes twice", p.ID)
			}
			seen[p.ID] = true
		}
		last := page[len(page)-1]
		if after, err = state.ParseProposalCursor(state.ProposalCursor{CreatedAt: last.CreatedAt, ID: last.ID}.String()); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d came, want 5", len(seen))
	}
	for _, bad := range []string{"x", "1-2", "-0123456789abcdef", "-1-0123456789abcdef"} {
		if _, err := state.ParseProposalCursor(bad); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}
