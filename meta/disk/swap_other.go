//go:build !linux && !darwin

package disk

import (
	"os"
	"runtime"
)

func exchange(*os.File, string, string) error { return errUnsupported }

func place(*os.File, string, string) error { return errUnsupported }

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
