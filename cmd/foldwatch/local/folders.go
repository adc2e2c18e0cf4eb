package local

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// Makeable reports why no folder can be made at dir.
func Makeable(dir string) error {
	for !Exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	return Writable(dir)
}

// Writable reports why no file can be made in dir.
func Writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".doctor-")
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err // the name is of no use to anyone
	}
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Exists reports whether anything is at path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// InRepository reports whether path or a folder above it is a work tree or a
// bare repository. What the daemon makes of it, it decides by asking git.
func InRepository(path string) bool {
	for {
		if Exists(filepath.Join(path, ".git")) {
			return true
		}
		if Exists(filepath.Join(path, "HEAD")) && Exists(filepath.Join(path, "objects")) && Exists(filepath.Join(path, "refs")) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

// Runnable reports whether a program that a configuration names can be run.
func Runnable(program string) bool {
	_, err := exec.LookPath(strings.Trim(program, `'"`))
	return err == nil
}

// LockHolder returns who holds the lock at path, and since when; "" if nobody does, or
// whoever does has left no note.
func LockHolder(path string) (holder string, since time.Time) {
	info, err := os.Stat(path + ".holder")
	if err != nil {
		return "", time.Time{} // it was let go of, or never taken
	}
	if holder, held := disk.LockHolder(path); held {
		return holder, info.ModTime()
	}
	return "", time.Time{} // its holder ended without a word
}
