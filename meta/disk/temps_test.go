package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// onlooker looks into a folder before each step of a write there.
type onlooker struct {
	t     *testing.T
	dir   string
	steps int
}

func (o *onlooker) Before(op disk.Op, path string, size int) (int, error) {
	if o.steps++; o.dir == "" {
		return size, nil // the folder is just being opened
	}
	for _, name := range entries(o.t, o.dir) {
		if disk.IsTemp(name) {
			o.t.Errorf("before %s of %s there is %s", op, path, name)
		}
	}
	return size, nil
}

// TestTemporaryFilesLieApart: who reads the folder in the middle of a write finds
// nothing but its files.
func TestTemporaryFilesLieApart(t *testing.T) {
	o := &onlooker{t: t}
	r, dir := open(t, o)
	o.dir = dir
	temps := filepath.Join(t.TempDir(), "tmp")
	if err := r.SetTempDir(temps); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		r.Create("a/x.md", []byte("one")),
		r.Replace("a/x.md", []byte("one"), []byte("two")),
		r.Remove("a/x.md", []byte("two")),
		r.CreateMany([]disk.File{{Path: "b/y.md", Data: []byte("y")}, {Path: "z.md", Data: []byte("z")}}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if o.steps < 12 {
		t.Errorf("looked %d times", o.steps)
	}
	if left := entries(t, temps); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if got := entries(t, dir); !slices.Equal(got, []string{"a/", "b/", "b/y.md", "z.md"}) && !slices.Equal(got, []string{"b/", "b/y.md", "z.md"}) {
		t.Errorf("in the folder: %v", got)
	}
}

// TestTemporaryFilesApartAreCleaned: what a crash left goes, and a file that was being
// taken away comes back to its place, unless another is there by now.
func TestTemporaryFilesApartAreCleaned(t *testing.T) {
	r, dir := open(t, nil)
	temps := filepath.Join(t.TempDir(), "tmp")
	if err := r.SetTempDir(temps); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(temps, ".fw-0123456789abcdef.tmp"), "half")
	write(t, filepath.Join(temps, ".fw-0123456789abcde0.a%2Fmy%20note.md.del"), "going")
	write(t, filepath.Join(temps, ".fw-0123456789abcde1.there.md.del"), "older")
	write(t, filepath.Join(dir, "there.md"), "newer")
	write(t, filepath.Join(temps, ".fw-0123456789abcde2.a%2Fb.md.tmp"), "apart")
	write(t, filepath.Join(dir, ".fw-0123456789abcde3.c.md.tmp"), "beside")
	seen := map[string]string{}
	failed := errors.New("not now")
	if _, err := r.CleanTemps(func(string, []byte) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("CleanTemps = %v, want %v", err, failed)
	}
	n, err := r.CleanTemps(func(path string, b []byte) error {
		seen[path] = string(b)
		return nil
	})
	if n != 5 || err != nil {
		t.Errorf("CleanTemps = %d, %v", n, err)
	}
	if len(seen) != 2 || seen["a/b.md"] != "apart" || seen["c.md"] != "beside" {
		t.Errorf("told of %v", seen)
	}
	if got := read(t, filepath.Join(dir, "a", "my note.md")); got != "going" {
		t.Errorf("put back %q", got)
	}
	if got := read(t, filepath.Join(dir, "there.md")); got != "newer" {
		t.Errorf("the newer one holds %q", got)
	}
	if left, err := os.ReadDir(temps); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	if strings.Contains(strings.Join(entries(t, dir), " "), ".fw-") {
		t.Errorf("in the folder: %v", entries(t, dir))
	}
}
