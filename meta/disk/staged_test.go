package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestStaged: changes that are ready come to their places by names alone; a file that is
// not what its change says, or has become another since, is left as it is.
func TestStaged(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, from := filepath.Join(base, "fold"), filepath.Join(base, "state")
	for _, d := range []string{dir, from} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(p, text string) {
		t.Helper()
		full := filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"a/changed.md", "a/saved.md", "a/other.md", "a/removed.md", "b/goes.md", "b/stays.md"} {
		write(p, "was")
	}
	r, err := OpenRoot(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	was, now := []byte("was"), []byte("now")
	s, err := r.Stage(from, []Change{
		{"a/changed.md", was, now},
		{"a/saved.md", was, now},
		{"a/other.md", []byte("another"), now},
		{"a/removed.md", was, now},
		{"a/missing.md", was, now},
		{"b/goes.md", was, nil},
		{"b/stays.md", was, nil},
		{"c/new.md", nil, now},
		{"c/made.md", nil, now},
		{"d/never.md", nil, now},
	})
	if err != nil {
		t.Fatal(err)
	}
	write("a/saved.md", "saved")
	write("b/stays.md", "saved")
	write("c/made.md", "saved")
	if err := errors.Join(os.Remove(filepath.Join(dir, "a/removed.md")), os.Remove(filepath.Join(dir, "d"))); err != nil {
		t.Fatal(err)
	}
	left, err := s.Place()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range left {
		paths = append(paths, c.Path)
	}
	if want := []string{"a/saved.md", "a/other.md", "a/removed.md", "a/missing.md", "b/stays.md", "c/made.md", "d/never.md"}; !slices.Equal(paths, want) {
		t.Errorf("left are %q, want %q", paths, want)
	}
	if err := s.Sync(); err != nil {
		t.Error(err)
	}
	old, ok := s.Placed("a/changed.md")
	if _, saved := s.Placed("a/saved.md"); !ok || saved {
		t.Errorf("placed: %v, and the one that was saved: %v", ok, saved)
	}
	s.Close()
	if f, err := os.OpenFile(filepath.Join(dir, "a/changed.md"), os.O_RDONLY, 0); err != nil {
		t.Error(err)
	} else if fi, err := f.Stat(); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", fi.Mode(), err)
	} else {
		_ = f.Close()
	}
	if _, changed, err := old.Late(); changed || err != nil {
		t.Errorf("the old file changed: %v, %v", changed, err)
	}
	_ = old.Close()
	for p, want := range map[string]string{
		"a/changed.md": "now", "a/saved.md": "saved", "a/other.md": "was", "a/removed.md": "", "a/missing.md": "", "b/goes.md": "",
		"b/stays.md": "saved", "c/new.md": "now", "c/made.md": "saved", "d/never.md": "",
	} {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p)))
		if string(b) != want || want == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s holds %q, %v, want %q", p, b, err, want)
		}
	}
	for _, d := range []string{from, filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")} {
		list, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if IsTemp(e.Name()) {
				t.Errorf("%s is left in %s", e.Name(), d)
			}
		}
	}
}

// TestStagedWhereNothingCanBeExchanged: where the file system has no way to do it all is
// left to be written in another way.
func TestStagedWhereNothingCanBeExchanged(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if err := os.WriteFile(filepath.Join(base, "file.md"), []byte("was"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRoot(base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	no := func(*os.File, string, string) error { return errUnsupported }
	r.swap, r.put = no, no
	s, err := r.Stage(t.TempDir(), []Change{{"file.md", []byte("was"), []byte("now")}, {"new.md", nil, []byte("now")}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if left, err := s.Place(); err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v", left, err)
	}
	if b, err := os.ReadFile(filepath.Join(base, "file.md")); err != nil || string(b) != "was" {
		t.Errorf("it holds %q, %v", b, err)
	}
}

// TestStagedKeepsWhatCannotBePutBack: what somebody saved at the last moment, and cannot
// go back to its place, is kept under a name that no sweep removes, and told.
func TestStagedKeepsWhatCannotBePutBack(t *testing.T) {
	t.Parallel()
	base, from := t.TempDir(), t.TempDir()
	file := filepath.Join(base, "file.md")
	if err := os.WriteFile(file, []byte("was"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRoot(base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	swap, times := r.swap, 0
	r.swap = func(d *os.File, temp, name string) error {
		if times++; times > 1 {
			return syscall.EIO
		}
		return swap(d, temp, name)
	}
	s, err := r.Stage(from, []Change{{"file.md", []byte("was"), []byte("now")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("saved"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Place()
	s.Close()
	if times < 2 {
		t.Skip("no way here to exchange two files")
	}
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("Place = %v, want EIO", err)
	}
	list, err := os.ReadDir(from)
	if err != nil || len(list) != 1 || IsTemp(list[0].Name()) {
		t.Fatalf("there are %v, %v, want one that is not temporary", list, err)
	}
	if b, err := os.ReadFile(filepath.Join(from, list[0].Name())); err != nil || string(b) != "saved" {
		t.Errorf("it holds %q, %v", b, err)
	}
}
