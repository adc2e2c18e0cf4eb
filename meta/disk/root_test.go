package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func open(t *testing.T, faults disk.Faults) (*disk.Root, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := disk.OpenRoot(dir, disk.Options{Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// entries returns every path below dir, directories with a slash at the end.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		rel = filepath.ToSlash(rel)
		if d != nil && d.IsDir() {
			rel += "/"
		}
		if rel != "./" {
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCreateReadReplaceRemove(t *testing.T) {
	r, dir := open(t, nil)
	if err := r.Create("a/b/x.md", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := r.Create("a/b/x.md", []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of an existing file = %v, want fs.ErrExist", err)
	}
	b, info, err := r.Read("a/b/x.md", 100)
	if err != nil || string(b) != "one" || info.Size != 3 || !info.Mode.IsRegular() {
		t.Fatalf("Read = %q, %+v, %v", b, info, err)
	}
	if li, err := r.Lstat("a/b/x.md"); err != nil || li != info {
		t.Errorf("Lstat = %+v, %v, want %+v", li, err, info)
	}
	if err := r.Replace("a/b/x.md", []byte("one"), []byte("three")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "a/b/x.md")); got != "three" {
		t.Errorf("after Replace: %q", got)
	}
	if err := r.Remove("a/b/x.md", []byte("three")); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("after Remove there is still %v", got)
	}
}

func TestReplaceAndRemoveRefuseOtherContent(t *testing.T) {
	r, dir := open(t, nil)
	write(t, filepath.Join(dir, "n.md"), "edited")
	var ce *disk.ChangedError
	for name, err := range map[string]error{
		"Replace": r.Replace("n.md", []byte("read"), []byte("mine")),
		"Remove":  r.Remove("n.md", []byte("read")),
	} {
		if !errors.As(err, &ce) || string(ce.Have) != "edited" || ce.Gone || !errors.Is(err, fold.ErrConflict) {
			t.Errorf("%s = %v, want ChangedError with the edited text", name, err)
		}
	}
	for name, err := range map[string]error{
		"Replace": r.Replace("a/gone.md", []byte("read"), []byte("mine")),
		"Remove":  r.Remove("a/gone.md", []byte("read")),
	} {
		if !errors.As(err, &ce) || !ce.Gone || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a missing file = %v, want ChangedError, gone", name, err)
		}
	}
	if got := entries(t, dir); !slices.Equal(got, []string{"n.md"}) || read(t, filepath.Join(dir, "n.md")) != "edited" {
		t.Errorf("the disk was changed: %v", got)
	}
}

func TestReplaceKeepsPermissions(t *testing.T) {
	r, dir := open(t, nil)
	name := filepath.Join(dir, "n.md")
	write(t, name, "one")
	for _, perm := range []fs.FileMode{0o600, 0o640, 0o664} {
		if err := os.Chmod(name, perm); err != nil {
			t.Fatal(err)
		}
		was := read(t, name)
		want, err := os.Stat(name) // what the system keeps of it
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Replace("n.md", []byte(was), []byte(was+"+")); err != nil {
			t.Fatal(err)
		}
		got, err := os.Stat(name)
		if err != nil || got.Mode() != want.Mode() {
			t.Errorf("mode after Replace = %v, %v, want %v", got.Mode(), err, want.Mode())
		}
	}
}

func TestPathsThatLeave(t *testing.T) {
	r, dir := open(t, nil)
	write(t, filepath.Join(filepath.Dir(dir), "outside"), "secret")
	for _, p := range []string{"", ".", "/etc/passwd", "../outside", "a/../../outside", "a//b", "a/", "a\x00b", "./a", strings.Repeat("a/", 3000) + "b"} {
		for name, err := range map[string]error{
			"Create":   r.Create(p, []byte("x")),
			"Replace":  r.Replace(p, []byte("secret"), []byte("x")),
			"Remove":   r.Remove(p, []byte("secret")),
			"MkdirAll": r.MkdirAll(p),
		} {
			if !errors.Is(err, fold.ErrInvalid) {
				t.Errorf("%s(%.20q) = %v, want ErrInvalid", name, p, err)
			}
		}
		if b, _, err := r.Read(p, 100); err == nil {
			t.Errorf("Read(%.20q) = %q", p, b)
		}
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("written: %v", got)
	}
}

func TestReadRefusesTooLarge(t *testing.T) {
	r, dir := open(t, nil)
	write(t, filepath.Join(dir, "n.md"), "12345")
	if _, _, err := r.Read("n.md", 4); !errors.Is(err, disk.ErrTooLarge) {
		t.Errorf("Read of 5 bytes, at most 4 = %v, want ErrTooLarge", err)
	}
	if b, _, err := r.Read("n.md", 5); err != nil || string(b) != "12345" {
		t.Errorf("Read of 5 bytes, at most 5 = %q, %v", b, err)
	}
}

func TestWalkIsLexicalAndSkipsTemps(t *testing.T) {
	r, dir := open(t, nil)
	for _, p := range []string{"b.md", "a/z.md", "a/b/1.md", "a.md", ".fw-0123.tmp", "a/.fw-0123.x.md.del", "c/d/e/f.md"} {
		write(t, filepath.Join(dir, filepath.FromSlash(p)), p)
	}
	var got []string
	err := r.Walk(func(p string, info disk.Info) error {
		if info.Size != int64(len(p)) {
			t.Errorf("%s: size %d", p, info.Size)
		}
		got = append(got, p)
		return nil
	})
	if want := []string{"a/b/1.md", "a/z.md", "a.md", "b.md", "c/d/e/f.md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Walk = %v, %v, want %v", got, err, want)
	}
	got = nil
	err = r.Walk(func(p string, _ disk.Info) error {
		got = append(got, p)
		switch p {
		case "a/b/1.md":
			return fs.SkipDir
		case "a.md":
			return fs.SkipAll
		}
		return nil
	})
	if want := []string{"a/b/1.md", "a/z.md", "a.md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Walk with skips = %v, %v, want %v", got, err, want)
	}
}

func TestWalkPassesOverFolderThatGoes(t *testing.T) {
	f := newScript()
	r, dir := open(t, f)
	write(t, filepath.Join(dir, "a", "1.md"), "x")
	write(t, filepath.Join(dir, "b.md"), "x")
	f.acts[disk.OpWalk] = func(_ int, at string, size int) (int, error) {
		if at == "a" { // open already
			return size, os.RemoveAll(filepath.Join(dir, "a"))
		}
		return size, nil
	}
	var got []string
	err := r.Walk(func(p string, _ disk.Info) error { got = append(got, p); return nil })
	if want := []string{"b.md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Walk = %v, %v, want %v", got, err, want)
	}
}

func TestWalkReportsWhatItCannotRead(t *testing.T) {
	s := newScript()
	r, dir := open(t, s)
	write(t, filepath.Join(dir, "a/x.md"), "x")
	write(t, filepath.Join(dir, "b/x.md"), "x")
	s.fail(disk.OpWalk, 3, errors.New("input/output error"))
	if err := r.Walk(func(string, disk.Info) error { return nil }); err == nil {
		t.Error("Walk hid an error: what it did not see would be taken for deleted")
	}
}

func TestMkdirAll(t *testing.T) {
	r, dir := open(t, nil)
	write(t, filepath.Join(dir, "z.md"), "z")
	if err := r.MkdirAll("c/d"); err != nil {
		t.Fatal(err)
	}
	if err := r.MkdirAll("z.md/d"); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("MkdirAll through a file = %v, want ErrNotRegular", err)
	}
	if got, want := entries(t, dir), []string{"c/", "c/d/", "z.md"}; !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
}

func TestCreateMany(t *testing.T) {
	r, dir := open(t, nil)
	write(t, filepath.Join(dir, "a/b/taken.md"), "before")
	files := []disk.File{
		{Path: "z.md", Data: []byte("z")},
		{Path: "a/b/taken.md", Data: []byte("after")},
		{Path: "a/b/one.md", Data: []byte("one")},
		{Path: "a/c/two.md", Data: []byte("two")},
	}
	var ee *disk.ExistError
	err := r.CreateMany(files)
	if !errors.As(err, &ee) || !slices.Equal(ee.Paths, []string{"a/b/taken.md"}) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("CreateMany = %v, want ExistError of the one that was there", err)
	}
	want := []string{"a/", "a/b/", "a/b/one.md", "a/b/taken.md", "a/c/", "a/c/two.md", "z.md"}
	if got := entries(t, dir); !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
	if got := read(t, filepath.Join(dir, "a/b/taken.md")); got != "before" {
		t.Errorf("the file that was there holds %q", got)
	}
	if err := r.CreateMany(nil); err != nil {
		t.Errorf("CreateMany of nothing = %v", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "config.toml")
	for _, text := range []string{"one", "two, longer", ""} {
		if err := disk.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, name); got != text {
			t.Errorf("WriteFile(%q) left %q", text, got)
		}
	}
	if got := entries(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
	if err := disk.WriteFile(dir, nil, 0o600); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("WriteFile of a directory = %v, want ErrNotRegular", err)
	}
}

func TestReadSource(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "src/a.go"), "0123456789")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tc := range []struct {
		max  int64
		want string
		cut  bool
	}{{100, "0123456789", false}, {10, "0123456789", false}, {9, "012345678", true}, {0, "", true}} {
		for _, buf := range [][]byte{nil, make([]byte, 4), make([]byte, 64)} {
			b, info, cut, err := disk.ReadSource(root, "src/a.go", tc.max, buf)
			if err != nil || string(b) != tc.want || cut != tc.cut || info.Size != 10 {
				t.Errorf("ReadSource(max %d, buf %d) = %q, %v, %v", tc.max, len(buf), b, cut, err)
			}
		}
	}
	if _, _, _, err := disk.ReadSource(root, "src", 10, nil); !errors.Is(err, disk.ErrNotRegular) {
		t.Errorf("ReadSource of a directory = %v, want ErrNotRegular", err)
	}
	if _, _, _, err := disk.ReadSource(root, "src/b.go", 10, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadSource of nothing = %v, want fs.ErrNotExist", err)
	}
}

func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	me := fmt.Sprintf("pid %d", os.Getpid())
	l, err := disk.Lock(name, me)
	if err != nil {
		t.Fatal(err)
	}
	var le *disk.LockedError
	if info, held := disk.LockHolder(name); info != me || !held {
		t.Errorf("LockHolder = %q, %v, want %s", info, held, me)
	}
	if _, err := disk.Lock(name, "pid 1"); !errors.As(err, &le) || le.Info != me || !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("second Lock = %v, want LockedError that names %s", err, me)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = disk.Lock(name, "pid 2")
	if err != nil {
		t.Fatalf("Lock after Close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadParts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	got := map[int]string{}
	parts := [][2]int{{2, 5}, {0, 3}, {4, 4}, {5, 9}, {6, 11}, {3, 2}, {-1, 1}}
	if err := root.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	err = disk.ReadParts(root, "a.go", 8, parts, func(i int, part []byte) { got[i] = string(part) })
	if want := map[int]string{0: "234", 1: "012", 2: ""}; err != nil || !maps.Equal(got, want) {
		t.Errorf("ReadParts = %v, %v, want %v", got, err, want)
	}
	for path, want := range map[string]error{"none.go": fs.ErrNotExist, "sub": disk.ErrNotRegular} {
		if err := disk.ReadParts(root, path, 8, parts, func(int, []byte) { t.Errorf("%s was read", path) }); !errors.Is(err, want) {
			t.Errorf("ReadParts(%s) = %v, want %v", path, err, want)
		}
	}
}
