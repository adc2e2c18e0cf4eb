//go:build !linux && !darwin

package disk

import (
	"os"
	"runtime"
)

func exchange(*os.File, string, *os.File, string) error { return errUnsupported }

func place(*os.File, string, *os.File, string) error { return errUnsupported }

func move(*os.File, string, *os.File, string) error { return errUnsupported }

// canMove reports that no file is moved between directories: temporary files stay
// beside their targets.
func canMove(_, _ *os.File) bool { return false }

const hasSyncFS = false

func syncFS(*os.File) error { return errUnsupported }

// syncDir makes the names in d durable. NTFS journals names itself, and a
// directory handle opened for reading cannot be flushed there.
func syncDir(d *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return d.Sync()
}
