package gitops

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// lockMark begins the side file that says whose the locks of git are which we
// hold.
const lockMark = "foldwatch lock "

// A gitLock is a lock file of git that we hold: no git program changes what it
// guards meanwhile. Where the file system can, it is another name of a file of our
// state folder, which is how it is known as ours after a crash (F05); where it
// cannot, it begins with lockMark.
type gitLock struct {
	path   string // of what is guarded
	from   string // the file of ours
	linked bool   // the lock is that file
	gone   bool   // put or released
}

// errLocked says that somebody else holds a lock of git.
var errLocked = fmt.Errorf("git holds a lock: %w", fold.ErrUnavailable)

// lockText says who made the locks of one commit, in which run of the machine, and
// a number of their own.
func lockText() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return fmt.Sprintf("%spid %d boot %s %s\n", lockMark, os.Getpid(), bootID(), hex.EncodeToString(b[:]))
}

// lockGit takes the lock of path: the file from, which is synced, becomes the lock
// file in one step, so that a crash leaves no lock of which nobody knows whose it
// is. It returns errLocked if there is one.
func lockGit(path, from, text string) (*gitLock, error) {
	l := &gitLock{path: path, from: from}
	err := os.Link(from, l.file())
	if err == nil {
		l.linked = true
		return l, nil
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", filepath.Base(l.file()), errLocked)
	}
	// A file system without hard links.
	f, err := os.OpenFile(l.file(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", filepath.Base(l.file()), errLocked)
	}
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(l.file())
		return nil, err
	}
	return l, nil
}

// file is the lock file itself.
func (l *gitLock) file() string { return l.path + ".lock" }

// put has the file of ours take the place of what is guarded, and lets go of the
// lock, in one step as git does it.
func (l *gitLock) put() error {
	if !l.linked {
		if err := os.Rename(l.from, l.path); err != nil {
			return err
		}
		return l.release()
	}
	err := os.Rename(l.file(), l.path)
	l.gone = err == nil
	return err
}

// release removes the lock, if it is still ours.
func (l *gitLock) release() error {
	if l == nil || l.gone {
		return nil
	}
	l.gone = true
	if !ownLock(l.file(), l.from) {
		return nil
	}
	return os.Remove(l.file())
}

// ownLock reports whether a lock file was made by a foldwatch: it is one of the
// files, or says so.
func ownLock(lock string, files ...string) bool {
	fi, err := os.Lstat(lock)
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	for _, p := range files {
		if mine, err := os.Lstat(p); err == nil && os.SameFile(fi, mine) {
			return true
		}
	}
	if fi.Size() > 500 {
		return false
	}
	b, err := os.ReadFile(lock)
	return err == nil && bytes.HasPrefix(b, []byte(lockMark))
}

// clearLocks removes the locks that a crash of ours left at paths; state is the
// folder of the files that they may be. The caller holds the lock of the store, so
// that no other foldwatch is at work in this repository.
func clearLocks(state string, paths ...string) error {
	var files []string
	for _, name := range branchFiles() {
		files = append(files, filepath.Join(state, name))
	}
	var errs []error
	for _, p := range paths {
		if !ownLock(p+".lock", files...) {
			continue
		}
		if err := os.Remove(p + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
