package gitops_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// TestDeletedByHandAfterACrash: a change came to the file of a memory, and a crash before
// the journal had it. Who deletes the file then has deleted what was there; its bytes are
// in history. Where the crash came before the file, or all of fold/ went, it comes back.
func TestDeletedByHandAfterACrash(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		do    func(t *testing.T, dir string, paths []string)
		stays bool
	}{
		{"one file", func(t *testing.T, dir string, paths []string) {
			must(t, os.Remove(filepath.Join(dir, "fold", paths[0])))
		}, false},
		{"crash before the file", func(t *testing.T, dir string, paths []string) {
			must(t, os.Remove(filepath.Join(dir, "fold", paths[0])))
			must(t, os.Remove(filepath.Join(dir, ".git/foldwatch/placed")))
		}, true},
		{"rm -rf fold", func(t *testing.T, dir string, _ []string) {
			must(t, os.RemoveAll(filepath.Join(dir, "fold")))
		}, true},
		{"all of its files", func(t *testing.T, dir string, paths []string) {
			for _, p := range paths {
				must(t, os.Remove(filepath.Join(dir, "fold", p)))
			}
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			s := openStore(t, dir, nil)
			var paths []string
			for _, title := range []string{"Session timeout", "Another", "A third"} {
				paths = append(paths, remember(t, s, title, "Thirty minutes."))
			}
			was, err := s.Read(paths[0])
			must(t, err)
			now := edited(string(was), "Thirty", "Forty")
			_, err = s.Put(t.Context(), gitops.Write{Path: paths[0], Base: was, New: now})
			must(t, err)
			must(t, s.Close()) // with the change in the wal alone, as after a crash
			tc.do(t, dir, paths)
			s = openStore(t, dir, nil)
			_, err = s.CommitAll(t.Context())
			must(t, err)
			b, err := s.Read(paths[0])
			if tc.stays && (err != nil || string(b) != string(now)) {
				t.Errorf("it is %q, %v", b, err)
			}
			if tc.stays {
				return
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("deleted, and read again: %q, %v", b, err)
			}
			history, err := s.History().Log(t.Context(), paths[0], 10)
			must(t, err)
			kept := false
			for _, r := range history {
				b, err := s.History().At(t.Context(), r.Oid, paths[0])
				kept = kept || err == nil && strings.Contains(string(b), "Forty")
			}
			if !kept {
				t.Errorf("history has lost what was acknowledged: %+v", history)
			}
			must(t, s.Close())
			s = openStore(t, dir, nil)
			if _, err := s.Read(paths[0]); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("opened again it is back: %v", err)
			}
		})
	}
}

// TestMarksHaveABound: where a write never leaves the log the marks do not grow for ever.
func TestMarksHaveABound(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	path := remember(t, s, "Session timeout", "Thirty minutes.")
	was, err := s.Read(path)
	must(t, err)
	for _, word := range []string{"Forty", "Fifty"} {
		now := edited(string(was), map[string]string{"Forty": "Thirty", "Fifty": "Forty"}[word], word)
		_, err = s.Put(t.Context(), gitops.Write{Path: path, Base: was, New: now})
		must(t, err)
		was = now
		if word == "Forty" {
			f, err := os.OpenFile(filepath.Join(dir, ".git/foldwatch/placed"), os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.WriteString(strings.Repeat(strings.Repeat("0", 32)+"\n", 40_000))
			must(t, errors.Join(err, f.Close()))
		}
	}
	if n := len(read(t, filepath.Join(dir, ".git/foldwatch/placed"))); n == 0 || n > 100 {
		t.Errorf("the marks are %d bytes", n)
	}
}

// TestOpenAfterACrashWithAFolderUnread: what a person may have deleted is asked for where
// it can be. A folder that cannot be read keeps nobody from the rest.
func TestOpenAfterACrashWithAFolderUnread(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	s := openStore(t, dir, nil)
	path := remember(t, s, "Session timeout", "Thirty minutes.")
	was, err := s.Read(path)
	must(t, err)
	_, err = s.Put(t.Context(), gitops.Write{Path: path, Base: was, New: edited(string(was), "Thirty", "Forty")})
	must(t, err)
	must(t, s.Close())
	f := &faults{}
	f.set(0, func(op disk.Op, _ string) error {
		if op == disk.OpWalk {
			return syscall.EIO
		}
		return nil
	})
	s = openStore(t, dir, func(o *gitops.StoreOptions) { o.Faults = f })
	b, err := s.Read(path)
	if err != nil || !strings.Contains(string(b), "Forty") {
		t.Errorf("it is %q, %v", b, err)
	}
}
