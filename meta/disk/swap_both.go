//go:build linux || darwin

package disk

import "os"

// withBoth calls fn with the descriptors of two directories.
func withBoth(a, b *os.File, fn func(x, y int) error) error {
	ca, err := a.SyscallConn()
	if err != nil {
		return err
	}
	cb, err := b.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	err = ca.Control(func(x uintptr) {
		err := cb.Control(func(y uintptr) { ferr = fn(int(x), int(y)) })
		if ferr == nil {
			ferr = err
		}
	})
	if ferr != nil {
		return ferr
	}
	return err
}
