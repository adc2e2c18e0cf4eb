package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// LstatAll says of every path what Lstat says, and nothing of what lies beyond a
// link.
func TestLstatAll(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, p := range []string{"a.go", "d/b.go", "d/c.go", "d/e/f.go", "z.go"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p), []byte(p), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	if err := os.Symlink("d", filepath.Join(dir, "link")); err != nil {
		t.Skipf("SKIP: links cannot be made here: %v", err)
	}
	for i := len(paths); i < 5000; i++ {
		paths = append(paths, paths[i%5])
	}
	paths = append(paths, "link", "gone.go", "gone/x.go", "link/b.go")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	got, errs := make([]disk.Info, len(paths)), make([]error, len(paths))
	if err := disk.LstatAll(root, paths, 2, func(i int, info disk.Info, err error) error {
		got[i], errs[i] = info, err
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, p := range paths[:5001] {
		fi, err := os.Lstat(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		if want := disk.InfoOf(fi); errs[i] != nil || got[i] != want {
			t.Errorf("%s: %+v, %v; want %+v", p, got[i], errs[i], want)
		}
	}
	for i := 5001; i < 5003; i++ {
		if !errors.Is(errs[i], fs.ErrNotExist) {
			t.Errorf("%s: %v", paths[i], errs[i])
		}
	}
	var n atomic.Int64
	stop := errors.New("stop")
	if err := disk.LstatAll(root, paths, 2, func(int, disk.Info, error) error { n.Add(1); return stop }); !errors.Is(err, stop) || n.Load() > 2 {
		t.Errorf("an error of the callback: %v after %d calls", err, n.Load())
	}
}
