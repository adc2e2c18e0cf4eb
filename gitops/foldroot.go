package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// IgnoreText makes fold/ hide itself from git and from packers, in every work
// tree, without a byte of the user's own files changing.
const IgnoreText = "# Memories are kept in a repository of their own (.git/foldwatch), not in this one.\n" +
	"# foldwatch wrote this file; without it git would show fold/ as untracked.\n*\n"

// foldDir is the name of the folder of memories.
func (s *Store) foldDir() string {
	if s.opt.FoldDir == "" {
		return "fold"
	}
	return s.opt.FoldDir
}

// hideFold writes fold/.gitignore where there is none. In tracked mode it takes away the
// one that we wrote.
func (s *Store) hideFold(root *disk.Root) error {
	if s.opt.Tracked {
		err := root.Remove(".gitignore", []byte(IgnoreText))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fold.ErrConflict) {
			return nil // there is none, or a person's
		}
		return err
	}
	if s.l.MainTree == "" {
		return nil // in the git directory nobody tracks it
	}
	err := root.Create(".gitignore", []byte(IgnoreText))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// openFold opens fold/ as it is now: the user may have removed and made it
// anew since the last time. It returns fs.ErrNotExist if it is missing, and
// ErrUnavailable if the checkout is. The caller closes it.
func (s *Store) openFold(create bool) (*disk.Root, error) {
	parent, name := s.l.FoldParent(s.opt.FoldDir)
	p, err := disk.OpenRoot(parent, disk.Options{Faults: s.opt.Faults})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errCheckoutMissing(parent)
		}
		return nil, err
	}
	defer p.Close()
	if create {
		if err := p.MkdirAll(name); err != nil {
			return nil, err
		}
	}
	root, err := p.OpenSub(name)
	if err != nil {
		return nil, err
	}
	// In tracked mode git shows, and adds, whatever lies in fold/ for a moment.
	if err := root.SetTempDir(filepath.Join(s.l.StateDir(), "temp")); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// errCheckoutMissing says that the checkout itself is not there. It hides
// fs.ErrNotExist: nothing may be taken for deleted.
func errCheckoutMissing(dir string) error {
	return fold.WithHint(fmt.Errorf("the checkout %s is missing: %w", dir, fold.ErrUnavailable),
		"mount or clone it again, or run: foldwatch remove")
}

// readFile returns the bytes of a file of fold/, or nil if there is none.
func readFile(root *disk.Root, path string) ([]byte, error) {
	b, _, err := root.Read(path, fold.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && b == nil {
		b = []byte{}
	}
	return b, err
}

// allowed reports whether path may be in the tree of memories.
func allowed(path string) bool { return fold.ValidPath(path) == nil }
