package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

func TestSyncs(t *testing.T) {
	ctx, s := t.Context(), openState(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	y := state.Sync{CommonDir: "/src/p/.git", Remote: "https://host/p", OwnBranch: true, Since: at}
	must(s.PutCheckout(ctx, state.Checkout{Key: "one", CommonDir: y.CommonDir, Slug: "p", ProjectID: "id", AddedAt: at}))
	must(s.PutCheckout(ctx, state.Checkout{Key: "two", CommonDir: y.CommonDir, Slug: "p", ProjectID: "id", AddedAt: at, Linked: true}))
	must(s.PutSync(ctx, y))
	y.Synced, y.Behind, y.Stopped, y.Reason, y.Hint = at, at.Add(time.Hour), "auth", "no key", "log in"
	must(s.SetSyncStatus(ctx, y))
	other := y
	other.Remote, other.Reason = "https://host/q", "of another remote"
	must(s.SetSyncStatus(ctx, other))
	other = y
	other.OwnBranch, other.Reason = false, "of another branch"
	must(s.SetSyncStatus(ctx, other))
	expect := func(want ...state.Sync) {
		t.Helper()
		got, err := s.Syncs(ctx)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("Syncs: %v, -want +got %s", err, d)
		}
	}
	expect(y)
	must(s.DeleteCheckout(ctx, "one"))
	expect(y) // the linked work tree has the same fold/
	must(s.DeleteCheckout(ctx, "two"))
	expect()
	must(s.PutSync(ctx, y))
	must(s.DeleteSync(ctx, y.CommonDir))
	must(s.DeleteSync(ctx, y.CommonDir))
	expect()
}

func TestRename(t *testing.T) {
	ctx, s := t.Context(), openState(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := state.Checkout{Key: "one", CommonDir: "/p/.git", Slug: "old", ProjectID: "a", AddedAt: at}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.PutCheckout(ctx, c))
	must(s.SetSettings(ctx, "old", []byte(`{"w":1}`)))
	must(s.Touch(ctx, "old", id(1), at))
	must(s.Touch(ctx, "old", id(2), at))
	must(s.SetGone(ctx, "old", id(3), true))
	c.Slug, c.ProjectID = "new", "b"
	ids := map[fold.ID]fold.ID{id(2): id(4), id(3): id(5)}
	if used, err := s.Access(ctx, "new", []fold.ID{id(1)}); err != nil || used[0].Count != 0 {
		t.Errorf("Access before = %v, %v", used, err)
	}
	if b, err := s.Settings(ctx, "new"); err != nil || string(b) != "{}" {
		t.Errorf("Settings before = %s, %v", b, err)
	}
	for range 2 { // a second time changes nothing
		must(s.Rename(ctx, "old", c, ids))
	}
	got, err := s.Checkouts(ctx)
	if err != nil || len(got) != 1 || got[0].Slug != "new" || got[0].ProjectID != "b" {
		t.Errorf("Checkouts = %+v, %v", got, err)
	}
	used, err := s.Access(ctx, "new", []fold.ID{id(1), id(4)})
	if err != nil || used[0].Count != 1 || used[1].Count != 1 {
		t.Errorf("Access = %v, %v, want one of each", used, err)
	}
	gone, err := s.Gone(ctx, "new")
	if err != nil || !gone[id(5)] || gone[id(3)] {
		t.Errorf("Gone = %v, %v", gone, err)
	}
	if b, err := s.Settings(ctx, "new"); err != nil || string(b) != `{"w":1}` {
		t.Errorf("Settings = %s, %v", b, err)
	}
}
