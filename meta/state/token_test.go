package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/state"
)

func TestAPITokens(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, again := openStateTwice(t, t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	one := state.APIToken{ID: "one", Hash: "h1", Name: "ci", UserID: "owner", Scope: "read", Projects: []string{"p", "q"}, Created: at, Expires: at.Add(time.Hour)}
	two := state.APIToken{ID: "two", Hash: "h2", Name: "x", UserID: "token:one", Scope: "admin", Projects: []string{}, Created: at.Add(1000), Expires: at.Add(time.Hour)}
	must(s.PutAPIToken(ctx, one))
	must(s.PutAPIToken(ctx, two))
	if err := s.PutAPIToken(ctx, state.APIToken{ID: "three", Hash: "h1", Scope: "read"}); err == nil {
		t.Error("two tokens have one hash")
	}
	if err := s.PutAPIToken(ctx, state.APIToken{ID: "four", Hash: "h4", Scope: "root"}); err == nil {
		t.Error("an unknown scope was stored")
	}
	must(s.SetAPITokensUsed(ctx, map[string]time.Time{"one": at.Add(time.Minute), "nobody": at}))
	must(s.SetAPITokensUsed(ctx, map[string]time.Time{"one": at}))
	must(s.RevokeAPITokens(ctx, []string{"two"}, at.Add(time.Second)))
	must(s.RevokeAPITokens(ctx, []string{"two"}, at.Add(time.Minute)))
	s = again()
	one.Used, two.Revoked = at.Add(time.Minute), at.Add(time.Second)
	got, err := s.APITokens(ctx)
	if d := cmp.Diff([]state.APIToken{one, two}, got); err != nil || d != "" {
		t.Errorf("APITokens: %v, -want +got %s", err, d)
	}
	three := state.APIToken{ID: "three", Hash: "h3", Scope: "write", Projects: []string{}, Created: at.Add(time.Hour)}
	must(s.PutAPIToken(ctx, three, "two"))
	got, err = s.APITokens(ctx)
	if d := cmp.Diff([]state.APIToken{one, three}, got); err != nil || d != "" {
		t.Errorf("after making room: %v, -want +got %s", err, d)
	}
}
