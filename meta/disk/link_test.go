//go:build linux || darwin

package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "x.md"), "secret")
	for _, tc := range []struct{ name, link, to, path string }{
		{"file to outside", "x.md", filepath.Join(outside, "x.md"), "x.md"},
		{"file to inside", "x.md", "real/x.md", "x.md"},
		{"directory to outside", "a", outside, "a/x.md"},
		{"directory to inside", "a", "real", "a/x.md"},
		{"loop", "a", "a", "a/x.md"},
		{"dangling", "x.md", "nothing", "x.md"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, dir := open(t, nil)
			write(t, filepath.Join(dir, "real/x.md"), "secret")
			if err := os.Symlink(tc.to, filepath.Join(dir, tc.link)); err != nil {
				t.Fatal(err)
			}
			if b, _, err := r.Read(tc.path, 100); !errors.Is(err, disk.ErrNotRegular) {
				t.Errorf("Read = %q, %v, want ErrNotRegular", b, err)
			}
			if err := r.Replace(tc.path, []byte("secret"), []byte("bad")); !errors.Is(err, disk.ErrNotRegular) {
				t.Errorf("Replace = %v, want ErrNotRegular", err)
			}
			if err := r.Remove(tc.path, []byte("secret")); !errors.Is(err, disk.ErrNotRegular) {
				t.Errorf("Remove = %v, want ErrNotRegular", err)
			}
			if err := r.Create(tc.path, []byte("bad")); !errors.Is(err, disk.ErrNotRegular) && !errors.Is(err, fs.ErrExist) {
				t.Errorf("Create = %v, want a refusal", err)
			}
			if err := r.CreateMany([]disk.File{{Path: tc.path, Data: []byte("bad")}}); err == nil {
				t.Error("CreateMany followed the link")
			}
			if _, err := r.OpenSub(tc.link); !errors.Is(err, disk.ErrNotRegular) {
				t.Errorf("OpenSub = %v, want ErrNotRegular", err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if b, _, _, err := disk.ReadSource(root, tc.path, 100, nil); !errors.Is(err, disk.ErrNotRegular) {
				t.Errorf("ReadSource = %q, %v, want ErrNotRegular", b, err)
			}
			// Reported, not entered.
			seen := map[string]fs.FileMode{}
			if err := r.Walk(func(p string, i disk.Info) error { seen[p] = i.Mode.Type(); return nil }); err != nil {
				t.Fatal(err)
			}
			if seen[tc.link] != fs.ModeSymlink || len(seen) != 2 {
				t.Errorf("Walk saw %v", seen)
			}
			if read(t, filepath.Join(outside, "x.md")) != "secret" || read(t, filepath.Join(dir, "real/x.md")) != "secret" {
				t.Error("the target was written")
			}
		})
	}
	if got := entries(t, outside); !slices.Equal(got, []string{"x.md"}) {
		t.Errorf("outside there is now %v", got)
	}
}

func TestIrregularFilesDoNotHang(t *testing.T) {
	r, dir := open(t, nil)
	makes := map[string]func(string) error{
		"fifo.md": func(p string) error { return unix.Mkfifo(p, 0o644) },
		"dir.md":  func(p string) error { return os.Mkdir(p, 0o755) },
		"sock.md": func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o644, 0) },
		"dev.md":  func(p string) error { return unix.Mknod(p, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))) },
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, mk := range makes {
		if err := mk(filepath.Join(dir, name)); err != nil {
			t.Logf("%s left out: %v", name, err)
			continue
		}
		done := make(chan error, 4)
		go func() {
			_, _, err := r.Read(name, 100)
			done <- err
			_, _, _, err = disk.ReadSource(root, name, 100, nil)
			done <- err
			done <- r.Replace(name, nil, []byte("bad"))
			done <- r.Remove(name, nil)
		}()
		for range 4 {
			select {
			case err := <-done:
				if !errors.Is(err, disk.ErrNotRegular) {
					t.Errorf("%s: %v, want ErrNotRegular", name, err)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: hangs", name)
			}
		}
	}
}

// TestLinkFlippedDuringAccess moves a directory away and puts a link in its
// place, again and again, while it is written and read: nothing outside may be
// touched, and nothing outside be returned.
func TestLinkFlippedDuringAccess(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "x.md"), "secret")
	r, dir := open(t, nil)
	write(t, filepath.Join(dir, "a/x.md"), "inside")
	a, away := filepath.Join(dir, "a"), filepath.Join(dir, "away")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(a, away)
			_ = os.Symlink(outside, a)
			_ = os.Remove(a)
			_ = os.Rename(away, a)
		}
	})
	for i := range 500 {
		if b, _, err := r.Read("a/x.md", 100); err == nil && string(b) == "secret" {
			t.Fatal("read through the link")
		}
		_ = r.Create(fmt.Sprintf("a/%d.md", i), []byte("n"))
		_ = r.Replace("a/x.md", []byte("secret"), []byte("bad"))
		_ = r.Remove("a/x.md", []byte("secret"))
		if b, _, _, err := disk.ReadSource(root, "a/x.md", 100, nil); err == nil && string(b) == "secret" {
			t.Fatal("read a source through the link")
		}
	}
	close(stop)
	wg.Wait()
	if got := entries(t, outside); !slices.Equal(got, []string{"x.md"}) || read(t, filepath.Join(outside, "x.md")) != "secret" {
		t.Errorf("outside there is now %v", got)
	}
}

// TestReplaceAgainstAnEditor lets an editor and Replace write one file for a
// while. Every text of the editor that Replace wrote over must have been what
// Replace was told is there.
func TestReplaceAgainstAnEditor(t *testing.T) {
	r, dir := open(t, nil)
	name := filepath.Join(dir, "n.md")
	write(t, name, "e0")
	const rounds = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; i <= rounds; i++ {
			tmp := name + "~"
			if err := os.WriteFile(tmp, fmt.Appendf(nil, "e%d", i), 0o644); err != nil {
				t.Error(err)
			}
			if err := os.Rename(tmp, name); err != nil {
				t.Error(err)
			}
		}
	})
	// Ours appends a mark: an editor's text may only ever be followed by marks.
	for range rounds {
		b, _, err := r.Read("n.md", 1<<20)
		if errors.Is(err, fold.ErrUnavailable) {
			continue // the editor was there twice while it was opened: later
		}
		if err != nil {
			t.Fatal(err)
		}
		err = r.Replace("n.md", b, append(slices.Clone(b), '.'))
		var ce *disk.ChangedError
		if err != nil && !errors.As(err, &ce) && !errors.Is(err, fold.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	wg.Wait()
	// The editor was last to write a text; ours may have added marks to it.
	got := strings.TrimRight(read(t, name), ".")
	if got != fmt.Sprintf("e%d", rounds) {
		t.Errorf("the editor's last text was lost: %q", got)
	}
	if left := entries(t, dir); !slices.Equal(left, []string{"n.md"}) {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriteFileFollowsALink(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "dotfiles/config"), "one")
	if err := os.Chmod(filepath.Join(dir, "dotfiles/config"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dotfiles/config", filepath.Join(dir, "config")); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(filepath.Join(dir, "config"), []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Lstat(filepath.Join(dir, "config"))
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", fi, err)
	}
	fi, err = os.Stat(filepath.Join(dir, "config"))
	if err != nil || fi.Mode().Perm() != 0o640 || read(t, filepath.Join(dir, "dotfiles/config")) != "two" {
		t.Errorf("target: %v, %v", fi, err)
	}
}
