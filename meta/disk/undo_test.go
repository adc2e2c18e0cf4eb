package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// edited opens a folder with a file that says "was", at path; write saves it as editors
// do.
func edited(t *testing.T) (r *Root, path string, write func(text string)) {
	t.Helper()
	dir := t.TempDir()
	r, err := OpenRoot(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	path = filepath.Join(dir, "m.md")
	write = func(text string) {
		t.Helper()
		if err := os.WriteFile(path+"~", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
	}
	write("was")
	return r, path, write
}

// TestUndoKeepsTheNewest has a third editor save over what is put back, too.
func TestUndoKeepsTheNewest(t *testing.T) {
	r, path, write := edited(t)
	saves := []string{"first", "second", "third"}
	save := func() {
		if len(saves) > 0 {
			write(saves[0])
			saves = saves[1:]
		}
	}
	r.swap = func(from *os.File, a string, to *os.File, b string) error {
		if len(saves) == 3 {
			save()
		}
		err := exchange(from, a, to, b)
		if errors.Is(err, errUnsupported) {
			t.Skip("SKIP: files cannot be exchanged here")
		}
		save()
		return err
	}
	err := r.Replace("m.md", []byte("was"), []byte("ours"))
	if ce, ok := errors.AsType[*ChangedError](err); !ok || string(ce.Aside) != "second" {
		t.Errorf("Replace = %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "third" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// TestUndoKeepsWhatWasOvertaken has one editor save just before our exchange,
// and another write over our provisional version before it is taken back: the
// second stays, and the first is handed to the caller.
func TestUndoKeepsWhatWasOvertaken(t *testing.T) {
	r, path, write := edited(t)
	calls := 0
	r.swap = func(from *os.File, a string, to *os.File, b string) error {
		calls++
		if calls == 1 {
			write("first editor")
		}
		err := exchange(from, a, to, b)
		if errors.Is(err, errUnsupported) {
			t.Skip("SKIP: files cannot be exchanged here")
		}
		if calls == 1 {
			write("ours, and the second editor")
		}
		return err
	}
	err := r.Replace("m.md", []byte("was"), []byte("ours"))
	var ce *ChangedError
	if !errors.As(err, &ce) || string(ce.Aside) != "first editor" || string(ce.Have) != "ours, and the second editor" {
		t.Fatalf("Replace = %v, %+v", err, ce)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "ours, and the second editor" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}
