package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// freeSpace returns how many bytes the user can still write where dir lies.
func freeSpace(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, &os.PathError{Op: "free space", Path: dir, Err: err}
	}
	return int64(free), nil
}
