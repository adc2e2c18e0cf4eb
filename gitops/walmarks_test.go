package gitops_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestDeletedByHandAfterACrash: a change came to the file of a memory, and a crash before
// the journal had it. Who deletes the file then has deleted what was there; its bytes are
// in history. Where the crash came before the file, or all of fold/ went, it comes back.
func TestDeletedByHandAfterACrash(t *testing.T) {
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
			history, err := s.Log(t.Context(), paths[0], 10)
			must(t, err)
			kept := false
			for _, r := range history {
				b, err := s.At(t.Context(), r.Oid, paths[0])
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
