package meta_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestLogins(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, again := openStateTwice(t, filepath.Join(t.TempDir(), "state.db"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	one := meta.User{ID: "one", Issuer: "https://id", Subject: "1", Name: "Ada", Provider: "corp", Role: "viewer", Projects: []string{}, Created: at, LastLogin: at}
	two := meta.User{ID: "two", Issuer: "https://id", Subject: "2", Provider: "corp", Projects: []string{}, Created: at.Add(1000), LastLogin: at}
	must(s.PutUser(ctx, one))
	must(s.PutUser(ctx, two))
	if err := s.PutUser(ctx, meta.User{ID: "three", Issuer: "https://id", Subject: "1"}); err == nil {
		t.Error("two users have one identity")
	}
	one.Assigned, one.Projects, one.LastLogin, one.Email = "admin", []string{"p"}, at.Add(time.Hour), "a@b"
	must(s.PutUser(ctx, one))

	must(s.PutSession(ctx, meta.Session{Hash: "h1", UserID: "one", Created: at, Seen: at, Expires: at.Add(time.Hour)}))
	must(s.PutSession(ctx, meta.Session{Hash: "h2", UserID: "one", Created: at.Add(1000), Seen: at, Expires: at.Add(time.Hour)}, "h1"))
	must(s.PutSession(ctx, meta.Session{Hash: "h3", UserID: "two", Created: at.Add(2000), Seen: at, Expires: at.Add(time.Hour)}))
	must(s.PutSession(ctx, meta.Session{Hash: "h4", UserID: "one", Created: at.Add(3000), Seen: at, Expires: at.Add(time.Hour)}))
	must(s.SetSessionsSeen(ctx, map[string]time.Time{"h2": at.Add(time.Minute), "none": at}))
	must(s.SetSessionsSeen(ctx, map[string]time.Time{"h2": at}))
	must(s.DeleteSessions(ctx, []string{"h4", "none"}))
	must(s.DeleteUser(ctx, "two"))
	if err := s.DeleteUser(ctx, "two"); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("delete a user twice: %v", err)
	}

	corp := meta.AuthProvider{ID: "corp", Name: "Corp", Issuer: "https://id", ClientID: "fold", SecretRef: "file", Settings: json.RawMessage(`{"kind":"oidc"}`), Enabled: true, Created: at}
	must(s.PutAuthProvider(ctx, corp))
	must(s.PutAuthProvider(ctx, meta.AuthProvider{ID: "other", Settings: json.RawMessage(`{}`)}))
	must(s.DeleteAuthProvider(ctx, "other"))
	if err := s.DeleteAuthProvider(ctx, "other"); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("delete a provider twice: %v", err)
	}

	s = again()
	users, err := s.Users(ctx)
	if d := cmp.Diff([]meta.User{one}, users); err != nil || d != "" {
		t.Errorf("Users: %v, -want +got %s", err, d)
	}
	sessions, err := s.Sessions(ctx)
	want := []meta.Session{{Hash: "h2", UserID: "one", Created: at.Add(1000).Truncate(time.Microsecond), Seen: at.Add(time.Minute), Expires: at.Add(time.Hour)}}
	if d := cmp.Diff(want, sessions); err != nil || d != "" {
		t.Errorf("Sessions: %v, -want +got %s", err, d)
	}
	providers, err := s.AuthProviders(ctx)
	if d := cmp.Diff([]meta.AuthProvider{corp}, providers); err != nil || d != "" {
		t.Errorf("AuthProviders: %v, -want +got %s", err, d)
	}
}

// TestLoginsUnderWay holds them to one use, to their time, and to a number.
func TestLoginsUnderWay(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), openState(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	put := func(n int) meta.OAuthState {
		x := meta.OAuthState{
			State: fmt.Sprintf("s%d", n), Provider: "corp", Nonce: "n", Verifier: "v", Binding: "b", ReturnTo: "/",
			Expires: at.Add(time.Duration(n) * time.Second),
		}
		if err := s.PutOAuthState(ctx, x, at, 3); err != nil {
			t.Fatal(err)
		}
		return x
	}
	put(0) // over at once
	put(1)
	put(2)
	put(3)
	four := put(4)
	if got, err := s.TakeOAuthState(ctx, "s4"); err != nil || got != four {
		t.Errorf("TakeOAuthState = %+v, %v", got, err)
	}
	for name, want := range map[string]error{"s0": fold.ErrNotFound, "s1": fold.ErrNotFound, "s2": nil, "s3": nil, "s4": fold.ErrNotFound, "": fold.ErrNotFound} {
		if _, err := s.TakeOAuthState(ctx, name); !errors.Is(err, want) {
			t.Errorf("TakeOAuthState(%q): %v, want %v", name, err, want)
		}
	}
}
