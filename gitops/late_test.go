package gitops_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestLateSaveIsFollowedToItsEnd: an editor that still has the replaced file is looked
// at while it is saving, and saves once more. All that it wrote arrives, and half a
// save is nothing.
func TestLateSaveIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	now := later()
	s, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Layout: locate(t, dir), Slug: "app", Now: func() time.Time { return now }})
	must(t, err)
	defer s.Close()
	id, v1 := memoryFile("T", "one")
	must2(s.Put(t.Context(), gitops.Write{ID: id, New: v1}))(t)
	editor, err := os.OpenFile(filepath.Join(dir, "fold", id.Path()), os.O_RDWR, 0)
	must(t, err)
	defer editor.Close()
	must2(s.Put(t.Context(), gitops.Write{ID: id, Base: v1, New: append(slices.Clip(v1), "\ntwo\n"...)}))(t)
	if s.RecheckAt().IsZero() {
		t.Skip("SKIP: replaced files cannot be kept open here")
	}
	look := func() string {
		t.Helper()
		now = now.Add(time.Minute)
		must2(s.Recheck(t.Context()))(t)
		return string(must2(s.Read(id.Path()))(t))
	}
	must(t, editor.Truncate(0)) // os.WriteFile, on its way
	if got := look(); !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("half a save made\n%s", got)
	}
	for _, text := range []string{"ONE by hand", "ONE by hand, and again"} {
		must(t, editor.Truncate(0))
		must2(editor.WriteAt([]byte(strings.Replace(string(v1), "one", text, 1)), 0))(t)
		if got := look(); !strings.Contains(got, text) || !strings.Contains(got, "two") {
			t.Errorf("%q is not in\n%s", text, got)
		}
	}
	look()
	if !s.RecheckAt().IsZero() {
		t.Error("it is still waited for")
	}
}
