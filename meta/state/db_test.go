package state_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// openState opens a state of its own for a test.
func openState(t testing.TB) *state.DB {
	t.Helper()
	s, _ := openStateTwice(t, t.TempDir())
	return s
}

// openStateTwice is openState in a folder; again closes the state and opens what it
// has kept.
func openStateTwice(t testing.TB, dir string) (s *state.DB, again func() *state.DB) {
	t.Helper()
	open := func() *state.DB {
		t.Helper()
		var err error
		if s, err = state.Open(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		return s
	}
	end := func() {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { end() })
	return open(), func() *state.DB {
		t.Helper()
		end()
		return open()
	}
}

// id returns the id of memory n.
func id(n int) fold.ID { return fold.ID(fmt.Sprintf("%016x", n)) }

func TestState(t *testing.T) {
	ctx := t.Context()
	// A path with characters that mean something in a URI.
	dir := filepath.Join(t.TempDir(), "a b?c#%41")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(t.TempDir(), "a b#%41")
	}
	s, again := openStateTwice(t, dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	one := state.Checkout{
		Key: "0123456789abcdef", Path: "/src/p", CommonDir: "/src/p/.git", MainTree: "/src/p", FoldDir: "/src/p/fold", Slug: "p", Name: "P",
		ProjectID: "id", CommitTo: "sidecar", FileMemories: "auto", RemoteURL: "https://host/p", AddedAt: now,
	}
	two := state.Checkout{Key: "two", Slug: "p", Name: "P", ProjectID: "id", Linked: true, Paused: true, PausedUntil: now, AddedAt: now.Add(time.Second)}
	for _, c := range []state.Checkout{two, one, one} {
		if err := s.PutCheckout(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.SetCursor(ctx, one.Key, "oid"))
	must(s.SetNote(ctx, one.Key, "n", "v1"))
	must(s.SetNote(ctx, one.Key, "n", "v2"))
	must(s.SetFact(ctx, "remote:https://host/p", "project", "id p"))
	must(s.SetSettings(ctx, "p", []byte(`{"w":1}`)))
	must(s.SetGone(ctx, "p", id(1), true))
	must(s.SetGone(ctx, "p", id(2), true))
	must(s.SetGone(ctx, "p", id(2), false))
	must(s.Touch(ctx, "p", id(1), now))
	must(s.Touch(ctx, "p", id(1), now.Add(-time.Hour))) // the clock was set back
	must(s.SetPaused(ctx, one.Key, true, time.Time{}))
	one.Paused = true
	must(s.PutCheckout(ctx, one)) // changes neither cursor nor notes
	s = again()
	if s.Lost != "" {
		t.Errorf("Lost = %q", s.Lost)
	}
	if fi, err := os.Stat(filepath.Join(dir, "state.db")); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("state.db: %v, %v", fi.Mode(), err)
	}
	cs, err := s.Checkouts(ctx)
	if d := cmp.Diff([]state.Checkout{one, two}, cs); err != nil || d != "" {
		t.Errorf("Checkouts: %v, -want +got %s", err, d)
	}
	for name, get := range map[string]func() (string, error){
		"oid":     func() (string, error) { return s.Cursor(ctx, one.Key) },
		"v2":      func() (string, error) { return s.Note(ctx, one.Key, "n") },
		`{"w":1}`: func() (string, error) { b, err := s.Settings(ctx, "p"); return string(b), err },
		`{}`:      func() (string, error) { b, err := s.Settings(ctx, "nobody"); return string(b), err },
		"":        func() (string, error) { return s.Note(ctx, one.Key, "other") },
	} {
		if got, err := get(); err != nil || got != name {
			t.Errorf("got %q, %v, want %q", got, err, name)
		}
	}
	gone, err := s.Gone(ctx, "p")
	if d := cmp.Diff(map[fold.ID]bool{id(1): true}, gone); err != nil || d != "" {
		t.Errorf("Gone: %v, %s", err, d)
	}
	access, err := s.Access(ctx, "p", []fold.ID{id(1), id(2)})
	if d := cmp.Diff([]state.Access{{Count: 2, Last: now}, {}}, access); err != nil || d != "" {
		t.Errorf("Access: %v, %s", err, d)
	}

	must(s.DeleteCheckout(ctx, one.Key))
	if n, err := s.Note(ctx, one.Key, "n"); err != nil || n != "" {
		t.Errorf("note of a deleted checkout = %q, %v", n, err)
	}
	if f, err := s.Fact(ctx, "remote:https://host/p", "project"); err != nil || f != "id p" {
		t.Errorf("a fact went with the checkout: %q, %v", f, err)
	}
	if access, err = s.Access(ctx, "p", []fold.ID{id(1)}); err != nil || access[0].Count != 2 {
		t.Errorf("counters went with the checkout: %v, %v", access, err)
	}
	for name, err := range map[string]error{
		"DeleteCheckout": s.DeleteCheckout(ctx, one.Key),
		"SetPaused":      s.SetPaused(ctx, "nobody", true, now),
		"SetCursor":      s.SetCursor(ctx, "nobody", "x"),
		"SetNote":        s.SetNote(ctx, "nobody", "n", "v"),
		"SetSettings":    s.SetSettings(ctx, "nobody", []byte("{}")),
	} {
		if !errors.Is(err, fold.ErrNotFound) {
			t.Errorf("%s of nobody = %v, want ErrNotFound", name, err)
		}
	}
}
