package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// TestReadingSeesAFolderThatWasReplaced: what a held folder does not have is
// missing only if the folder that stands there by then has not got it either.
func TestReadingSeesAFolderThatWasReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fold")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := disk.Folder{Dir: dir}
	err := f.Reading(func(r disk.Reader) error {
		if _, _, err := r.Read("a.md", 10); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no folder: %v", err)
		}
		write("a.md", "late")
		if b, _, err := r.Read("a.md", 10); err != nil || string(b) != "late" {
			t.Errorf("a folder that came: %q, %v", b, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = f.Reading(func(r disk.Reader) error {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if _, err := r.Lstat("a.md"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder that went: %v", err)
		}
		write("b.md", "new")
		if b, _, err := r.Read("b.md", 10); err != nil || string(b) != "new" {
			t.Errorf("a folder that was replaced: %q, %v", b, err)
		}
		if info, err := r.Lstat("b.md"); err != nil || info.Size != 3 {
			t.Errorf("a folder that was replaced: %+v, %v", info, err)
		}
		return errors.New("passed on")
	})
	if err == nil || err.Error() != "passed on" {
		t.Errorf("the error of fn: %v", err)
	}
}
