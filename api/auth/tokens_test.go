package auth_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A clock is set by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// open returns a keeper of a new state, and its clock.
func open(t testing.TB) (*auth.Tokens, *clock) {
	t.Helper()
	state, err := state.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	c := &clock{time.Date(2026, 2, 3, 10, 30, 0, 0, time.UTC)}
	keeper, err := auth.OpenTokens(t.Context(), state, auth.TokensOptions{Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return keeper, c
}

func create(t testing.TB, k *auth.Tokens, who auth.Caller, scope string, projects ...string) wire.TokenCreated {
	t.Helper()
	made, err := k.Create(t.Context(), who, wire.TokenCreate{Name: "n", Scope: scope, Projects: projects})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func try(k *auth.Tokens, values ...string) (auth.Caller, bool, error) {
	return k.Authenticate(&http.Request{Header: http.Header{"Authorization": values}})
}

func bearer(t testing.TB, k *auth.Tokens, made wire.TokenCreated) auth.Caller {
	t.Helper()
	who, known, err := try(k, "Bearer "+made.Secret)
	if err != nil || !known {
		t.Fatalf("Authenticate: %v, %v", known, err)
	}
	return who
}

func TestScopesOfTokens(t *testing.T) {
	t.Parallel()
	k, _ := open(t)
	for _, tc := range []struct {
		scope    string
		projects []string
		want     fold.Scope
	}{
		{"read", nil, fold.Scope{All: true}},
		{"write", []string{"b", "a", "b"}, fold.Scope{Projects: []string{"a", "b"}, Write: true}},
		{"admin", nil, fold.Scope{All: true, Write: true, Admin: true}},
	} {
		made := create(t, k, auth.Owner(), tc.scope, tc.projects...)
		who := bearer(t, k, made)
		sc := who.Scope
		if sc.All != tc.want.All || !slices.Equal(sc.Projects, tc.want.Projects) || sc.Write != tc.want.Write || sc.Admin != tc.want.Admin || sc.Local || sc.Author != "n" || who.ID != "token:"+made.ID {
			t.Errorf("%s of %v is %+v", tc.scope, tc.projects, who)
		}
		if life := made.ExpiresAt.Sub(made.CreatedAt); life != 90*24*time.Hour {
			t.Errorf("lasts %s", life)
		}
	}
}

// TestRefusalsLookAlike holds every way not to have a token to one answer.
func TestRefusalsLookAlike(t *testing.T) {
	t.Parallel()
	k, c := open(t)
	good := create(t, k, auth.Owner(), "read")
	revoked := create(t, k, auth.Owner(), "read")
	short, err := k.Create(t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: "read", Expires: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	life := bearer(t, k, revoked).Life
	bearer(t, k, short)
	if err := k.Revoke(t.Context(), auth.Owner(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	if life.Err() == nil {
		t.Error("what runs for a revoked token goes on")
	}
	if err := k.Revoke(t.Context(), auth.Owner(), revoked.ID); err != nil {
		t.Errorf("to revoke twice: %v", err)
	}
	c.at = c.at.Add(time.Hour)
	for name, values := range map[string][]string{
		"unknown": {"Bearer " + auth.Secret{9}.String()}, "revoked": {"Bearer " + revoked.Secret}, "expired": {"Bearer " + short.Secret},
		"garbage": {"Bearer x"}, "empty": {""}, "scheme": {"Basic " + good.Secret}, "no scheme": {good.Secret},
		"two": {"Bearer " + good.Secret, "Bearer " + good.Secret}, "list": {"Bearer " + good.Secret + ", x"},
	} {
		who, known, err := try(k, values...)
		if !known || who.ID != "" || !errors.Is(err, fold.ErrUnauthenticated) || err.Error() != auth.ErrNobody().Error() || fold.Hint(err) != fold.Hint(auth.ErrNobody()) {
			t.Errorf("%s: %+v, %v, %v", name, who, known, err)
		}
	}
	if _, known, err := try(k); known || err != nil {
		t.Errorf("no header: %v, %v", known, err)
	}
	bearer(t, k, good)
}

// TestNobodyMakesMoreThanTheyMay asks, with every caller, for every token.
func TestNobodyMakesMoreThanTheyMay(t *testing.T) {
	t.Parallel()
	k, _ := open(t)
	rank := map[string]int{"read": 0, "write": 1, "admin": 2}
	cells := 0
	for scope := range rank {
		for _, of := range [][]string{nil, {"a"}, {"a", "b"}} {
			who := bearer(t, k, create(t, k, auth.Owner(), scope, of...))
			for want := range rank {
				for _, asked := range [][]string{nil, {"a"}, {"b"}, {"c"}, {"a", "c"}} {
					made, err := k.Create(t.Context(), who, wire.TokenCreate{Name: "n", Scope: want, Projects: asked})
					may := rank[want] <= rank[scope]
					for _, p := range asked {
						may = may && (of == nil || slices.Contains(of, p))
					}
					cells++
					if may != (err == nil) || err != nil && !errors.Is(err, fold.ErrForbidden) {
						t.Errorf("%s of %v makes %s of %v: %v", scope, of, want, asked, err)
					}
					if err == nil && of != nil && len(made.Projects) == 0 {
						t.Errorf("%s of %v made a token of every project", scope, of)
					}
					if made.ExpiresAt.After(who.Until) {
						t.Errorf("a token made one that lasts longer: %s after %s", made.ExpiresAt, who.Until)
					}
				}
			}
			if _, err := k.Create(t.Context(), who, wire.TokenCreate{Name: "n", Scope: "read", Expires: "91d"}); !errors.Is(err, fold.ErrForbidden) {
				t.Errorf("a token made one that lasts longer: %v", err)
			}
		}
	}
	if cells != 3*3*3*5 {
		t.Errorf("%d cells", cells)
	}
	if _, err := k.Create(t.Context(), auth.Caller{}, wire.TokenCreate{Name: "n", Scope: "read"}); !errors.Is(err, fold.ErrForbidden) {
		t.Errorf("nobody made a token: %v", err)
	}
	for _, in := range []wire.TokenCreate{
		{Scope: "read"},
		{Name: " ", Scope: "read"},
		{Name: "a\nb", Scope: "read"},
		{Name: strings.Repeat("x", 101), Scope: "read"},
		{Name: "n", Scope: "root"},
		{Name: "n"},
		{Name: "n", Scope: "read", Expires: "0d"},
		{Name: "n", Scope: "read", Expires: "-1h"},
		{Name: "n", Scope: "read", Expires: "3651d"},
		{Name: "n", Scope: "read", Expires: "never"},
		{Name: "n", Scope: "read", Expires: "99999999999d"},
	} {
		if _, err := k.Create(t.Context(), auth.Owner(), in); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("Create(%+v): %v", in, err)
		}
	}
}

func TestRevokingTakesWhatWasMadeAlong(t *testing.T) {
	t.Parallel()
	k, _ := open(t)
	one := create(t, k, auth.Owner(), "write")
	two := create(t, k, bearer(t, k, one), "write", "a")
	three := create(t, k, bearer(t, k, two), "read")
	other := create(t, k, auth.Owner(), "read")
	narrow := bearer(t, k, two)
	var seen []string
	for _, item := range k.List(narrow).Items {
		seen = append(seen, item.ID)
	}
	slices.Sort(seen)
	if want := []string{two.ID, three.ID}; len(seen) != 2 || !slices.Contains(want, seen[0]) || !slices.Contains(want, seen[1]) {
		t.Errorf("a token sees %v", seen)
	}
	for _, id := range []string{one.ID, other.ID, "none", ""} {
		if err := k.Revoke(t.Context(), narrow, id); !errors.Is(err, fold.ErrNotFound) {
			t.Errorf("a token revoked %q: %v", id, err)
		}
	}
	if err := k.Revoke(t.Context(), auth.Owner(), one.ID); err != nil {
		t.Fatal(err)
	}
	for _, made := range []wire.TokenCreated{one, two, three} {
		if _, _, err := try(k, "Bearer "+made.Secret); err == nil {
			t.Errorf("%s is still let in", made.ID)
		}
	}
	bearer(t, k, other)
	if n := len(k.List(auth.Owner()).Items); n != 4 {
		t.Errorf("the owner sees %d tokens", n)
	}
}

// TestNoTokenIsOnDisk looks for the tokens in every file of the state folder, and
// for what is kept in a second run on it.
func TestNoTokenIsOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := state.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	k, err := auth.OpenTokens(t.Context(), st, auth.TokensOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, revoked := create(t, k, auth.Owner(), "write", "a"), create(t, k, auth.Owner(), "read")
	if err := k.Revoke(t.Context(), auth.Owner(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		bearer(t, k, made)
	}
	if recs, err := st.APITokens(t.Context()); err != nil || !recs[0].Used.IsZero() || !recs[1].Used.IsZero() {
		t.Errorf("each use is written down: %+v, %v", recs, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := k.Run(ctx); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{made.Secret, made.Secret[4:47], revoked.Secret} {
			if strings.Contains(string(b), part) {
				t.Errorf("%s holds a token", f.Name())
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}

	if st, err = state.Open(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if k, err = auth.OpenTokens(t.Context(), st, auth.TokensOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, item := range k.List(auth.Owner()).Items {
		if item.ID == made.ID && (item.LastUsed == nil || item.State != "active" || item.MadeBy != "owner") {
			t.Errorf("kept: %+v", item)
		}
	}
	if who := bearer(t, k, made); !who.Scope.Write || who.Scope.All {
		t.Errorf("after a restart: %+v", who)
	}
	if _, _, err := try(k, "Bearer "+revoked.Secret); err == nil {
		t.Error("after a restart a revoked token is let in")
	}
}

func TestTheTableIsBounded(t *testing.T) {
	t.Parallel()
	k, _ := open(t)
	first := create(t, k, auth.Owner(), "read")
	for range 999 {
		create(t, k, auth.Owner(), "read")
	}
	if _, err := k.Create(t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: "read"}); !errors.Is(err, fold.ErrInvalid) || fold.Hint(err) == "" {
		t.Fatalf("token 1001: %v", err)
	}
	if err := k.Revoke(t.Context(), auth.Owner(), first.ID); err != nil {
		t.Fatal(err)
	}
	bearer(t, k, create(t, k, auth.Owner(), "read"))
	if _, _, err := try(k, "Bearer "+first.Secret); err == nil {
		t.Error("a token that made room is let in")
	}
	if n := len(k.List(auth.Owner()).Items); n != 1000 {
		t.Errorf("%d tokens", n)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	scopes := []fold.Scope{
		{},
		{Projects: []string{"a"}},
		{Projects: []string{"a"}, Write: true},
		{Projects: []string{"a"}, Write: true, Admin: true},
		{All: true, Write: true, Admin: true},
	}
	classes := []auth.Access{auth.Public, auth.Read, auth.Write, auth.Admin, auth.AdminOfAll}
	for i, sc := range scopes {
		for j, class := range classes {
			if got := class.Allows(sc); got != (j <= i) {
				t.Errorf("%s allows %+v: %v", class, sc, got)
			}
		}
		if auth.Access("").Allows(sc) || auth.Access("root").Allows(sc) {
			t.Errorf("what declares nothing allows %+v", sc)
		}
	}
	if auth.Write.Allows(fold.Scope{Write: true, Admin: true}) {
		t.Error("a scope without projects writes")
	}
}
