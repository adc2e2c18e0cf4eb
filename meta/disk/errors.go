package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/foldwatch/foldwatch/meta/fold"
)

var (
	// ErrNotRegular says that a path leads through or to something that is
	// neither file nor directory: a symbolic link, FIFO, socket or device, or
	// a directory where a file was expected. It is never followed or opened.
	ErrNotRegular = fmt.Errorf("not a regular file: %w", fold.ErrInvalid)
	// ErrTooLarge says that a file has more bytes than the caller takes.
	ErrTooLarge = fmt.Errorf("file too large: %w", fold.ErrInvalid)
)

// A ChangedError says that a file is not what the caller read: somebody else
// wrote or removed it. The disk is left as it was found. It is a
// fold.ErrConflict, and fs.ErrNotExist if the file is gone.
type ChangedError struct {
	Path string
	Have []byte // what is there now; nil if Gone
	Gone bool
	// Aside is what somebody else had saved there a moment before somebody else
	// again wrote Have over ours, and so over a version that never saw it; nil in
	// nearly all cases. The caller merges it, or it is lost.
	Aside []byte
}

func (e *ChangedError) Error() string {
	if e.Gone {
		return e.Path + ": removed since it was read"
	}
	return e.Path + ": changed since it was read"
}

// Is reports whether target is the kind of e.
func (e *ChangedError) Is(target error) bool {
	return target == fold.ErrConflict || e.Gone && target == fs.ErrNotExist
}

// An ExistError names the files that [Root.CreateMany] did not write because
// something is there already. All others are written. It is an fs.ErrExist.
type ExistError struct{ Paths []string }

func (e *ExistError) Error() string {
	return fmt.Sprintf("create: %d files exist already, first %s", len(e.Paths), e.Paths[0])
}

// Is reports whether target is fs.ErrExist.
func (e *ExistError) Is(target error) bool { return target == fs.ErrExist }

// NoSpace reports whether err comes from a full disk or quota.
func NoSpace(err error) bool { return err != nil && isNoSpace(err) }

// Exhausted reports whether err comes from too many open files.
func Exhausted(err error) bool { return err != nil && isExhausted(err) }

// Unavailable marks what may work later, a full or failing disk, as such.
func Unavailable(err error) error {
	if err == nil || errors.Is(err, fold.ErrUnavailable) {
		return err
	}
	if NoSpace(err) {
		return fold.WithHint(fmt.Errorf("%w: %w", fold.ErrUnavailable, err), "free some disk space; it is tried again by itself")
	}
	return fmt.Errorf("%w: %w", fold.ErrUnavailable, err)
}

// wrap adds what was done to which path. What may work later (no space, disk
// read-only or broken, too many open files, no permission) becomes a
// fold.ErrUnavailable with a hint; the cause stays in the chain.
func wrap(op Op, path string, err error) error {
	if err == nil {
		return nil
	}
	var ce *ChangedError
	if errors.As(err, &ce) || errors.Is(err, fold.ErrInvalid) || errors.Is(err, fold.ErrUnavailable) {
		return err
	}
	// The system's error repeats the path, sometimes absolute; ours is relative.
	switch e := err.(type) { //nolint:errorlint // only the outermost: what a wrapper says must stay
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	}
	var hint string
	switch {
	case isNoSpace(err):
		hint = "free some disk space; nothing was half written"
	case isReadOnly(err):
		hint = "the disk is mounted read-only; mount it writable again"
	case isBroken(err), errors.Is(err, io.ErrShortWrite):
		hint = "the disk reported a fault; look at the system log, then try again"
	case isExhausted(err):
		hint = "too many files are open; raise the limit (ulimit -n) or close some clients"
	case errors.Is(err, fs.ErrPermission):
		hint = "check who owns the folder and its permissions"
	default:
		return fmt.Errorf("%s %s: %w", op, path, err)
	}
	return fold.WithHint(fmt.Errorf("%s %s: %w: %w", op, path, fold.ErrUnavailable, err), hint)
}
