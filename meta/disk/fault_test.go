package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestEveryStepFails lets each step of each write fail once: the write must not
// be acknowledged, the old state must stand, nothing may be left behind, and
// the next try must succeed.
func TestEveryStepFails(t *testing.T) {
	ops := []disk.Op{disk.OpMkdir, disk.OpCreate, disk.OpWrite, disk.OpSync, disk.OpRename, disk.OpSyncDir}
	writes := []struct {
		name  string
		ops   []disk.Op
		was   string // "" if the file is not there
		run   func(r *disk.Root) error
		after string
	}{
		{"Create", ops, "", func(r *disk.Root) error { return r.Create("a/b/x.md", []byte("new text")) }, "new text"},
		{"Replace", ops[1:], "old text", func(r *disk.Root) error { return r.Replace("a/b/x.md", []byte("old text"), []byte("new text")) }, "new text"},
		{"Remove", []disk.Op{disk.OpRemove, disk.OpSyncDir}, "old text", func(r *disk.Root) error { return r.Remove("a/b/x.md", []byte("old text")) }, ""},
		{"CreateMany", []disk.Op{disk.OpMkdir, disk.OpCreate, disk.OpWrite, disk.OpRename}, "", func(r *disk.Root) error {
			return r.CreateMany([]disk.File{{Path: "a/b/x.md", Data: []byte("new text")}})
		}, "new text"},
	}
	for _, w := range writes {
		for _, op := range w.ops {
			for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
				t.Run(fmt.Sprintf("%s/%s/%s", w.name, op, cause), func(t *testing.T) {
					s := newScript()
					r, dir := open(t, s)
					temps := filepath.Join(t.TempDir(), "tmp")
					if err := r.SetTempDir(temps); err != nil {
						t.Fatal(err)
					}
					defer func() {
						if left := entries(t, temps); len(left) > 0 {
							t.Errorf("left %v", left)
						}
					}()
					name := filepath.Join(dir, "a/b/x.md")
					if w.was != "" {
						write(t, name, w.was)
					}
					before := entries(t, dir)
					s.fail(op, 1, cause)
					err := w.run(r)
					if !errors.Is(err, fold.ErrUnavailable) || !errors.Is(err, cause) || fold.Hint(err) == "" {
						t.Fatalf("error = %v (hint %q), want ErrUnavailable by %v", err, fold.Hint(err), cause)
					}
					if disk.NoSpace(err) != errors.Is(cause, syscall.ENOSPC) {
						t.Errorf("NoSpace(%v) = %v", err, disk.NoSpace(err))
					}
					got := slices.DeleteFunc(entries(t, dir), func(p string) bool { return p == "a/" || p == "a/b/" })
					want := slices.DeleteFunc(before, func(p string) bool { return p == "a/" || p == "a/b/" })
					if !slices.Equal(got, want) {
						t.Errorf("left %v, want %v", got, want)
					}
					if w.was != "" && read(t, name) != w.was {
						t.Errorf("old version is %q", read(t, name))
					}
					writesBefore := s.calls[disk.OpWrite]
					if err := w.run(r); err != nil {
						t.Fatalf("second try: %v", err)
					}
					if w.after != "" {
						if read(t, name) != w.after {
							t.Errorf("after the second try: %q", read(t, name))
						}
						if s.calls[disk.OpWrite] != writesBefore+1 {
							t.Error("second try did not write the whole file again")
						}
					} else if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("after the second try the file is there: %v", err)
					}
				})
			}
		}
	}
}

func TestShortWriteIsNotAcknowledged(t *testing.T) {
	s := newScript()
	r, dir := open(t, s)
	s.acts[disk.OpWrite] = func(_ int, _ string, size int) (int, error) { return min(4, size), nil }
	if err := r.Create("x.md", []byte("0123456789")); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Create = %v, want ErrUnavailable", err)
	}
	if err := r.CreateMany([]disk.File{{Path: "y.md", Data: []byte("0123456789")}}); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("CreateMany = %v, want ErrUnavailable", err)
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("left %v", got)
	}
}

// TestOrderOfSteps holds the promise that nothing gets its name before its
// bytes are on the disk, and nothing is acknowledged before its name is.
func TestOrderOfSteps(t *testing.T) {
	s := newScript()
	r, _ := open(t, s)
	s.steps = nil
	if err := r.Create("a/x.md", []byte("1")); err != nil {
		t.Fatal(err)
	}
	want := []disk.Op{disk.OpMkdir, disk.OpSyncDir, disk.OpCreate, disk.OpWrite, disk.OpSync, disk.OpRename, disk.OpSyncDir}
	if !slices.Equal(s.steps, want) {
		t.Errorf("Create did %v, want %v", s.steps, want)
	}
	s.steps = nil
	if err := r.Replace("a/x.md", []byte("1"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	want = []disk.Op{disk.OpCreate, disk.OpWrite, disk.OpSync, disk.OpRename, disk.OpSyncDir, disk.OpRemove}
	if !slices.Equal(s.steps, want) {
		t.Errorf("Replace did %v, want %v", s.steps, want)
	}
}

// TestCleanTemps lets the clean-up fail, too, as a crash would.
func TestCleanTemps(t *testing.T) {
	s := newScript()
	r, dir := open(t, s)
	s.fail(disk.OpSync, 0, syscall.EIO)
	s.fail(disk.OpRemove, 0, syscall.EIO)
	if err := r.Create("a/b/x.md", []byte("x")); err == nil {
		t.Fatal("Create succeeded")
	}
	write(t, filepath.Join(dir, "c/.fw-0123456789abcdef.y.md.del"), "y") // Remove was interrupted
	write(t, filepath.Join(dir, "c/.fw-0123456789abcdef.z.md.del"), "old z")
	write(t, filepath.Join(dir, "c/z.md"), "newer z")
	delete(s.acts, disk.OpRemove)
	if n, err := r.CleanTemps(nil); n != 3 || err != nil {
		t.Errorf("CleanTemps = %d, %v, want 3", n, err)
	}
	if got, want := entries(t, dir), []string{"a/", "a/b/", "c/", "c/y.md", "c/z.md"}; !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
	if got := read(t, filepath.Join(dir, "c/z.md")); got != "newer z" {
		t.Errorf("z.md holds %q", got)
	}
}

func TestEditorWritesDuringReplace(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(name string) error
	}{
		{"in place", func(name string) error { return os.WriteFile(name, []byte("edited"), 0o644) }},
		{"by rename", func(name string) error {
			if err := os.WriteFile(name+"~", []byte("edited"), 0o644); err != nil {
				return err
			}
			return os.Rename(name+"~", name)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScript()
			r, dir := open(t, s)
			name := filepath.Join(dir, "n.md")
			write(t, name, "one")
			// After Replace looked at the file, right before it puts its own.
			s.acts[disk.OpRename] = func(_ int, _ string, size int) (int, error) { return size, tc.edit(name) }
			var ce *disk.ChangedError
			if err := r.Replace("n.md", []byte("one"), []byte("ours")); !errors.As(err, &ce) || string(ce.Have) != "edited" {
				t.Errorf("Replace = %v, want ChangedError with the edited text", err)
			}
			if got := read(t, name); got != "edited" {
				t.Errorf("the editor's text was lost: %q", got)
			}
			// And Remove.
			s.acts[disk.OpRemove] = func(_ int, _ string, size int) (int, error) { return size, tc.edit(name) }
			write(t, name, "two")
			if err := r.Remove("n.md", []byte("two")); !errors.As(err, &ce) || string(ce.Have) != "edited" {
				t.Errorf("Remove = %v, want ChangedError with the edited text", err)
			}
			if got := entries(t, dir); !slices.Equal(got, []string{"n.md"}) || read(t, name) != "edited" {
				t.Errorf("there is %v", got)
			}
		})
	}
}
