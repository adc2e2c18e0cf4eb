package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// makeable reports why no folder can be made at dir.
func makeable(dir string) error {
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	return writable(dir)
}

// writable reports why no file can be made in dir.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".doctor-")
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err // the name is of no use to anyone
	}
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
