package gitops_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// openPatient opens a store that waits before it takes a file for deleted, and
// returns what moves its clock.
func openPatient(t *testing.T, dir string) (s *gitops.Store, pass func(time.Duration)) {
	t.Helper()
	clock := later()
	s = openStore(t, dir, func(o *gitops.StoreOptions) {
		o.GoneAfter = time.Second
		o.Now = func() time.Time {
			clock = clock.Add(time.Microsecond) // as time does
			return clock
		}
	})
	return s, func(d time.Duration) { clock = clock.Add(d) }
}

// The folder goes file by file while what was just written there is committed.
func TestFirstOfManyIsNoDeletion(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s, pass := openPatient(t, dir)
	ctx := t.Context()
	paths := fill(t, s, 30)
	id, b := memoryFile("written a moment ago", "y")
	_, err := s.Put(ctx, gitops.Write{ID: id, New: b})
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "fold", paths[0])))
	must(t, os.Remove(filepath.Join(dir, "fold", id.Path())))

	rec, err := s.Commit(ctx, paths[:1], "")
	must(t, err)
	want := slices.Sorted(slices.Values([]string{paths[0], id.Path()}))
	if len(rec.Removed) > 0 || !slices.Equal(rec.Written, []string{id.Path()}) || !slices.Equal(rec.Unsettled, want) {
		t.Fatalf("Commit while files go = %+v, want no deletion and %q for later", rec, want)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "fold", paths[1][:1])))
	for _, p := range paths[1:20] {
		_ = os.Remove(filepath.Join(dir, "fold", p))
	}
	pass(2 * time.Second)
	if rec, err = s.Commit(ctx, rec.Unsettled, ""); err != nil || !rec.Guarded {
		t.Fatalf("Commit of what went = %+v, %v, want the vanish guard", rec, err)
	}
	pass(2 * time.Minute)
	got, err := s.RestoreVanished(ctx)
	must(t, err)
	if !slices.Contains(got, paths[0]) || !slices.Contains(got, id.Path()) {
		t.Errorf("RestoreVanished = %q, want also %q", got, want)
	}
}

func TestOneDeletionByHandIsOne(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s, pass := openPatient(t, dir)
	ctx := t.Context()
	paths := fill(t, s, 3)
	file := filepath.Join(dir, "fold", paths[0])
	text, err := os.ReadFile(file)
	must(t, err)

	must(t, os.Remove(file))
	s.SawGone(paths[0])
	pass(2 * time.Second)
	rec, err := s.Commit(ctx, paths[:1], "")
	if err != nil || !slices.Equal(rec.Removed, paths[:1]) {
		t.Fatalf("Commit of a file that was seen to be gone = %+v, %v", rec, err)
	}

	// One that came back has not been gone since.
	must(t, os.WriteFile(file, text, 0o600))
	_, err = s.Commit(ctx, paths[:1], "")
	must(t, err)
	must(t, os.Remove(file))
	if rec, err = s.Commit(ctx, paths[:1], ""); err != nil || len(rec.Removed) > 0 || !slices.Equal(rec.Unsettled, paths[:1]) {
		t.Errorf("Commit of a file that went again = %+v, %v", rec, err)
	}

	// What is deleted by an acknowledged write waits for nothing.
	have, err := s.Read(paths[1])
	must(t, err)
	_, err = s.Put(ctx, gitops.Write{Path: paths[1], Base: have})
	must(t, err)
	if rec, err = s.Commit(ctx, nil, ""); err != nil || !slices.Equal(rec.Removed, paths[1:2]) {
		t.Errorf("Commit of an acknowledged deletion = %+v, %v", rec, err)
	}
}

// A removal that a write met may leave the folder, and too few memories for a
// number to say anything.
func TestFewThatGoWithTheirProjectVanish(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	ctx := t.Context()
	paths := fill(t, s, 3)
	write(t, filepath.Join(dir, "fold", fold.ProjectFile), "slug = \"app\"\n")
	if _, err := s.CommitAll(ctx); err != nil {
		t.Fatal(err)
	}
	must(t, os.Remove(filepath.Join(dir, "fold", paths[0])))
	must(t, os.Remove(filepath.Join(dir, "fold", paths[1])))
	must(t, os.Remove(filepath.Join(dir, "fold", fold.ProjectFile)))
	if rec, err := s.CommitAll(ctx); err != nil || !rec.Guarded {
		t.Errorf("CommitAll = %+v, %v, want the vanish guard", rec, err)
	}
}

// What may not be committed any more stays in the log until a person has replaced it.
func TestRefusedWriteEndsWhenReplaced(t *testing.T) {
	t.Parallel()
	refuse := false
	dir := checkout(t)
	s := openStore(t, dir, func(o *gitops.StoreOptions) {
		o.Check = func(_ string, b []byte) error {
			if refuse && bytes.Contains(b, []byte("Thirty")) {
				return fmt.Errorf("it says thirty: %w", fold.ErrSecret)
			}
			return nil
		}
	})
	id, b := memoryFile("Session timeout", "Thirty minutes.")
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	refuse = true
	_, err = s.CommitAll(t.Context())
	must(t, err)
	if st := s.Status(); st.WalEntries != 1 || st.SetAside[id.Path()] == "" {
		t.Fatalf("refused: %+v", st)
	}
	write(t, filepath.Join(dir, "fold", filepath.FromSlash(id.Path())), string(edited(string(b), "Thirty", "Forty")))
	_, err = s.CommitAll(t.Context())
	must(t, err)
	if st := s.Status(); st.WalEntries != 0 || len(st.SetAside) > 0 {
		t.Errorf("replaced: %+v", st)
	}
}
