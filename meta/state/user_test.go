package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

func TestLogins(t *testing.T) {
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
	one := state.User{ID: "one", Issuer: "https://id", Subject: "1", Name: "Ada", Provider: "corp", Role: "viewer", Claims: state.Claims{Known: true, Claim: "groups", Values: []string{"a", "b"}, Projects: []string{"p"}}, Projects: []string{}, Created: at, LastLogin: at}
	two := state.User{ID: "two", Issuer: "https://id", Subject: "2", Provider: "corp", Projects: []string{}, Created: at.Add(1000), LastLogin: at}
	must(s.PutUser(ctx, one))
	must(s.PutUser(ctx, two))
	if err := s.PutUser(ctx, state.User{ID: "three", Issuer: "https://id", Subject: "1"}); err == nil {
		t.Error("two users have one identity")
	}
	one.Assigned, one.Projects, one.LastLogin, one.Email = "admin", []string{"p"}, at.Add(time.Hour), "a@b"
	must(s.PutUser(ctx, one))

	must(s.PutSession(ctx, state.Session{Hash: "h1", UserID: "one", Created: at, Seen: at, Expires: at.Add(time.Hour)}))
	must(s.PutSession(ctx, state.Session{Hash: "h2", UserID: "one", Created: at.Add(1000), Seen: at, Expires: at.Add(time.Hour)}, "h1"))
	must(s.PutSession(ctx, state.Session{Hash: "h3", UserID: "two", Created: at.Add(2000), Seen: at, Expires: at.Add(time.Hour)}))
	must(s.PutSession(ctx, state.Session{Hash: "h4", UserID: "one", Created: at.Add(3000), Seen: at, Expires: at.Add(time.Hour)}))
	must(s.SetSessionsSeen(ctx, map[string]time.Time{"h2": at.Add(time.Minute), "none": at}))
	must(s.SetSessionsSeen(ctx, map[string]time.Time{"h2": at}))
	must(s.DeleteSessions(ctx, []string{"h4", "none"}))
	must(s.DeleteUser(ctx, "two"))
	if err := s.DeleteUser(ctx, "two"); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("delete a user twice: %v", err)
	}

	corp := state.AuthProvider{ID: "corp", Name: "Corp", Issuer: "https://id", ClientID: "fold", SecretRef: "file", Settings: json.RawMessage(`{"kind":"oidc"}`), Enabled: true, Created: at}
	must(s.PutAuthProvider(ctx, corp))
	must(s.PutAuthProvider(ctx, state.AuthProvider{ID: "other", Settings: json.RawMessage(`{}`)}))
	must(s.DeleteAuthProvider(ctx, "other"))
	if err := s.DeleteAuthProvider(ctx, "other"); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("delete a provider twice: %v", err)
	}

	s = again()
	users, err := s.Users(ctx)
	if d := cmp.Diff([]state.User{one}, users); err != nil || d != "" {
		t.Errorf("Users: %v, -want +got %s", err, d)
	}
	sessions, err := s.Sessions(ctx)
	want := []state.Session{{Hash: "h2", UserID: "one", Created: at.Add(1000).Truncate(time.Microsecond), Seen: at.Add(time.Minute), Expires: at.Add(time.Hour)}}
	if d := cmp.Diff(want, sessions); err != nil || d != "" {
		t.Errorf("Sessions: %v, -want +got %s", err, d)
	}
	providers, err := s.AuthProviders(ctx)
	if d := cmp.Diff([]state.AuthProvider{corp}, providers); err != nil || d != "" {
		t.Errorf("AuthProviders: %v, -want +got %s", err, d)
	}
}

// TestLoginsGoOnOnce: also when others do, and as long as they may.
func TestLoginsGoOnOnce(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), openState(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	use := func(n int, now time.Time) error {
		return s.UseOAuthState(ctx, fmt.Sprintf("s%d", n), "corp", at.Add(time.Duration(n)*time.Second), now, 3)
	}
	for n := 1; n < 4; n++ {
		if err := use(n, at); err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n < 4; n++ {
		if err := use(n, at); !errors.Is(err, fold.ErrConflict) {
			t.Errorf("login %d goes on again: %v", n, err)
		}
	}
	if err := use(3, at.Add(3*time.Second)); err != nil {
		t.Errorf("a login whose time was over is remembered: %v", err)
	}
	for n := 4; n < 8; n++ {
		if err := use(n, at); err != nil {
			t.Errorf("login %d: %v", n, err)
		}
	}
	for n, want := range map[int]error{7: fold.ErrConflict, 3: nil} { // of three
		if err := use(n, at); !errors.Is(err, want) {
			t.Errorf("login %d goes on again: %v, want %v", n, err, want)
		}
	}
}
