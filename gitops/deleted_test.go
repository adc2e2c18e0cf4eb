package gitops_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestDeletedBeforeCommitted: what is written and deleted before a commit, or
// saved by hand just before it is deleted, can be restored all the same.
func TestDeletedBeforeCommitted(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	id, b := memoryFile("soon gone", "said once")
	if _, err := s.Put(ctx, gitops.Write{ID: id, New: b}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, gitops.Write{ID: id, Base: b}); err != nil {
		t.Fatal(err)
	}
	other, was := memoryFile("edited by hand", "as it was")
	if _, err := s.Put(ctx, gitops.Write{ID: other, New: was}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, nil, ""); err != nil {
		t.Fatal(err)
	}
	byHand := append(slices.Clip(was), "by hand\n"...)
	if err := os.WriteFile(filepath.Join(dir, "fold", other.Path()), byHand, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, gitops.Write{ID: other, Base: byHand}); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Commit(ctx, nil, "")
	if err != nil || len(rec.Removed) != 1 {
		t.Fatalf("Commit = %+v, %v", rec, err)
	}
	for path, want := range map[string][]byte{id.Path(): b, other.Path(): byHand} {
		got, _, err := s.History().LastBlob(ctx, path)
		if err != nil || string(got) != string(want) {
			t.Errorf("the journal's last %s is %q, %v, want %q", path, got, err, want)
		}
	}
}
