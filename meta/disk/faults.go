package disk

import (
	"io"
	"os"
)

// An Op is a step that can fail on its own.
type Op string

// The steps, by the names that errors and Faults show.
const (
	OpOpen    Op = "open"
	OpRead    Op = "read"
	OpWalk    Op = "walk"
	OpMkdir   Op = "mkdir"
	OpCreate  Op = "create" // of a temporary file
	OpWrite   Op = "write"
	OpSync    Op = "fsync"     // of a file
	OpSyncDir Op = "fsync dir" // of a directory, or of a whole file system
	OpRename  Op = "rename"    // also an exchange, and placing a new file
	OpRemove  Op = "remove"
)

// Faults is asked before each step, so that a test can fail, shorten, delay or
// stop it at the N-th call. Path is relative to the Root; for a temporary file
// it is that of the file to be. It must be safe for concurrent use.
type Faults interface {
	// Before may block. A non-nil error takes the place of the step, which is
	// then not done; but of a write, the first n bytes are written (n is size
	// unless the test shortens it). n < size without an error is a short write.
	Before(op Op, path string, size int) (n int, err error)
}

// injectFault asks f, which may be nil.
func injectFault(f Faults, op Op, path string) error {
	if f == nil {
		return nil
	}
	_, err := f.Before(op, path, 0)
	return err
}

// writeAll writes b to w as the faults allow.
func writeAll(f Faults, w *os.File, path string, b []byte) error {
	n, fail := len(b), error(nil)
	if f != nil {
		n, fail = f.Before(OpWrite, path, len(b))
		n = min(max(n, 0), len(b))
		if fail == nil && n < len(b) {
			fail = io.ErrShortWrite
		}
	}
	if _, err := w.Write(b[:n]); err != nil {
		return err
	}
	return fail
}
