package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestWithoutExchange takes the ways that are left where two files cannot be
// exchanged and nothing can be placed without replacing.
func TestWithoutExchange(t *testing.T) {
	dir := t.TempDir()
	var edit func() // runs right before our file would take its place
	r, err := OpenRoot(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.swap = func(*os.File, string, *os.File, string) error {
		if edit != nil {
			edit()
		}
		return errUnsupported
	}
	r.put = func(*os.File, string, *os.File, string) error { return errUnsupported }
	name := filepath.Join(dir, "n.md")
	if err := r.Create("n.md", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := r.Create("n.md", []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of an existing file = %v, want fs.ErrExist", err)
	}
	if err := r.Replace("n.md", []byte("one"), []byte("two")); err != nil {
		t.Fatal(err)
	}
	edit = func() {
		if err := os.WriteFile(name, []byte("edited"), 0o644); err != nil {
			t.Error(err)
		}
	}
	var ce *ChangedError
	if err := r.Replace("n.md", []byte("two"), []byte("ours")); !errors.As(err, &ce) || string(ce.Have) != "edited" {
		t.Errorf("Replace = %v, want ChangedError with the edited text", err)
	}
	edit = nil
	if err := r.CreateMany([]File{{Path: "a/m.md", Data: []byte("m")}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Remove("n.md", []byte("edited")); err != nil {
		t.Fatal(err)
	}
	es, err := os.ReadDir(dir)
	if err != nil || len(es) != 1 || es[0].Name() != "a" {
		t.Errorf("there is %v, %v", es, err)
	}
}
