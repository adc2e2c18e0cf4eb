package gitops_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func wantDescribed(t *testing.T, s *gitops.Store, path, want string) {
	t.Helper()
	b, err := s.LastDescribed(t.Context(), path)
	if want == "" {
		if !errors.Is(err, fold.ErrNotFound) {
			t.Errorf("LastDescribed = %q, %v, want ErrNotFound", b, err)
		}
		return
	}
	if err != nil || string(b) != want {
		t.Errorf("LastDescribed = %q, %v, want %q", b, err, want)
	}
}

// TestLastDescribedIsPure shows that what was described is given back as it
// was, whatever a person made of the file, at every step to the mirror.
func TestLastDescribedIsPure(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	mirror := filepath.Join(t.TempDir(), "mirror.git")
	var s *gitops.Store
	s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: locate(t, dir), Slug: "app", Now: later, Mirror: mirror})
	must(t, err)
	id, one := memoryFile("pool.go", "Keeps connections.")
	_, two := memoryFile("pool.go", "Keeps connections.\n\nDrains them.")
	wantDescribed(t, s, id.Path(), "")
	n, _, err := s.PutMany(t.Context(), []gitops.Write{{ID: id, New: one, Described: one}})
	if err != nil || n != 1 {
		t.Fatalf("PutMany = %d, %v", n, err)
	}
	wantDescribed(t, s, id.Path(), string(one))

	file := filepath.Join(dir, "fold", id.Path())
	edited := strings.Replace(string(one), "# pool.go\n", "# pool.go\n\nAsk Ada first.\n", 1)
	must(t, os.WriteFile(file, []byte(edited), 0o644))
	p, err := s.Put(t.Context(), gitops.Write{ID: id, Base: one, New: two, Merge: true, Described: two})
	must(t, err)
	if !p.Merged || !strings.Contains(string(p.Bytes), "Ask Ada first.") {
		t.Fatalf("Put = %+v", p)
	}
	wantDescribed(t, s, id.Path(), string(two)) // from the log
	// a person's write that comes before the commit does not hide it
	must2(s.Put(t.Context(), gitops.Write{ID: id, Base: p.Bytes, New: append(slices.Clip(p.Bytes), "More.\n"...)}))(t)
	must(t, s.Close())

	s = openStore(t, dir, func(o *gitops.StoreOptions) { o.Mirror = mirror })
	wantDescribed(t, s, id.Path(), string(two)) // from the log that was read back
	must2(s.Commit(t.Context(), nil, ""))(t)
	if st := s.Status(); st.WalEntries != 0 {
		t.Errorf("Status = %+v", st)
	}
	wantDescribed(t, s, id.Path(), string(two))
	must(t, s.Mirror(t.Context()))
	fsck(t, dir)
	repoGit(t, dir, "repack", "-a", "-d", "-q")
	wantDescribed(t, s, id.Path(), string(two))

	other := checkout(t)
	from := openStore(t, other, nil)
	must2(from.RestoreMirror(t.Context(), mirror))(t)
	wantDescribed(t, from, id.Path(), string(two))

	must2(s.Put(t.Context(), gitops.Write{ID: id, Base: must2(s.Read(id.Path()))(t), Described: []byte{}}))(t)
	wantDescribed(t, s, id.Path(), "")
	must2(s.Commit(t.Context(), nil, ""))(t)
	wantDescribed(t, s, id.Path(), "")
}

// TestDescribedCostsNoObjects shows that what was only described is stored once.
func TestDescribedCostsNoObjects(t *testing.T) {
	t.Parallel()
	count := func(described bool) string {
		dir := checkout(t)
		s := openStore(t, dir, nil)
		var ws []gitops.Write
		for i := range 300 {
			id, b := memoryFile("f"+strings.Repeat("x", i), "Text.")
			w := gitops.Write{ID: id, New: b}
			if described {
				w.Described = b
			}
			ws = append(ws, w)
		}
		_, _, err := s.PutMany(context.Background(), ws)
		must(t, err)
		return repoGit(t, dir, "rev-list", "--all", "--objects", "--count")
	}
	if with, without := count(true), count(false); with != without {
		t.Errorf("%s objects with descriptions, %s without", with, without)
	}
}

// must2 is must for a call that returns a value too.
func must2[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}
