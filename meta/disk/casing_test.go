package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/testdata/nocasetest"
)

// TestNamesHaveOneSpelling: a file that is asked for by its name in other case is not
// there, whether or not the case of names counts; nor is one below a folder so asked for.
func TestNamesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]func(t testing.TB) string{
		"where case counts":         func(t testing.TB) string { return t.TempDir() },
		"where case does not count": nocasetest.Dir,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := dir(t)
			if err := os.MkdirAll(filepath.Join(at, "Zoo"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{"Zoo/Owl.md", "emu.md", "Zoo/42", "Ünï.md"} {
				if err := os.WriteFile(filepath.Join(at, filepath.FromSlash(p)), []byte(p), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			folder := disk.Folder{Dir: at}
			look := func(read func(string, int64) ([]byte, disk.Info, error), lstat func(string) (disk.Info, error)) {
				for _, p := range []string{"Zoo/Owl.md", "emu.md", "Zoo/42", "Ünï.md"} {
					if b, _, err := read(p, 100); err != nil || string(b) != p {
						t.Errorf("%s holds %q, %v", p, b, err)
					}
					if info, err := lstat(p); err != nil || !info.Mode.IsRegular() {
						t.Errorf("%s is %v, %v", p, info.Mode, err)
					}
				}
				for _, p := range []string{"Zoo/owl.md", "zoo/Owl.md", "Emu.md", "zoo/42", "Ünï.MD", "ünï.md"} {
					if b, _, err := read(p, 100); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s holds %q, %v", p, b, err)
					}
					if info, err := lstat(p); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s is %v, %v", p, info.Mode, err)
					}
				}
			}
			look(folder.Read, folder.Lstat)
			err := folder.Reading(func(from disk.Reader) error {
				look(from.Read, from.Lstat)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
