package gitops

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// lockMark begins what we write into a lock file of git. Git's own begin with DIRC
// or an object name, or are empty: which of them are ours is told by what is in
// them (F05).
const lockMark = "foldwatch lock "

// A gitLock is a lock file of git that we hold: no git program changes what it
// guards meanwhile.
type gitLock struct{ path, text string }

// errLocked says that somebody else holds a lock of git.
var errLocked = fmt.Errorf("git holds a lock: %w", fold.ErrUnavailable)

// lockText is what the locks of one commit hold: who made them, in which run of
// the machine, and a number of their own.
func lockText() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return fmt.Sprintf("%spid %d boot %s %s\n", lockMark, os.Getpid(), bootID(), hex.EncodeToString(b[:]))
}

// lockGit makes path+".lock" with the bytes of from in it, both at once, so that a
// crash leaves no lock that does not say whose it is. It returns errLocked if
// there is one.
func lockGit(path, from, text string) (*gitLock, error) {
	l := &gitLock{path + ".lock", text}
	err := os.Link(from, l.path)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", filepath.Base(l.path), errLocked)
	}
	// A file system without hard links.
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", filepath.Base(l.path), errLocked)
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(l.path)
		return nil, err
	}
	return l, nil
}

// release removes the lock, if it is still ours.
func (l *gitLock) release() error {
	if l == nil {
		return nil
	}
	text, ours := ownLock(l.path)
	if !ours || text != l.text {
		return nil
	}
	return os.Remove(l.path)
}

// ownLock reports whether a lock file was made by a foldwatch, and what it holds.
func ownLock(path string) (text string, ours bool) {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 500 {
		return "", false
	}
	b, err := os.ReadFile(path)
	return string(b), err == nil && strings.HasPrefix(string(b), lockMark)
}

// clearLocks removes the locks a crash of ours left at paths. The caller holds the
// lock of the store, so that no other foldwatch is at work in this repository.
func clearLocks(paths ...string) error {
	var errs []error
	for _, p := range paths {
		if _, ours := ownLock(p + ".lock"); ours {
			if err := os.Remove(p + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
