package state_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/state"
)

// TestCheckoutsAreChangedTogether: where one of several checkouts cannot be changed, none is.
func TestCheckoutsAreChangedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := state.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := []state.Checkout{{Key: "one", Slug: "p", CommitTo: "sidecar"}, {Key: "two", Slug: "p", CommitTo: "sidecar"}}
	if err := s.PutCheckouts(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `create trigger refuse before update on repositories when new.key = 'two'
		begin select raise(abort, 'refused'); end`); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].CommitTo = "tracked"
	}
	if err := s.PutCheckouts(t.Context(), all); err == nil {
		t.Error("no error, though one was refused")
	}
	got, err := s.Checkouts(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatalf("Checkouts = %v, %v", got, err)
	}
	for _, c := range got {
		if c.CommitTo != "sidecar" {
			t.Errorf("%s is in mode %s though another could not be changed", c.Key, c.CommitTo)
		}
	}
}
