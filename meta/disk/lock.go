package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A LockFile is a held lock of the operating system: it ends with the process,
// however that ends.
type LockFile struct {
	lock *flock.Flock
	info string // path of the note about the holder
}

// A LockedError says that another process holds a lock. It is a
// fold.ErrUnavailable.
type LockedError struct {
	Path string
	Info string // what the holder said of itself, "" if not known
}

func (e *LockedError) Error() string {
	if e.Info == "" {
		return "lock " + e.Path + ": held by another process"
	}
	return "lock " + e.Path + ": held by " + e.Info
}

// Is reports whether target is fold.ErrUnavailable.
func (e *LockedError) Is(target error) bool { return target == fold.ErrUnavailable }

// lockWait is for how long Lock waits for a lock whose holder is gone, and
// lockLook how often it looks.
const (
	lockWait = 2 * time.Second
	lockPoll = 10 * time.Millisecond
)

// Lock takes the lock at name and leaves info (such as "pid 4711") in a file beside
// it for whoever comes next. It returns a *LockedError if the lock is taken: at once,
// or after two seconds where the process that left its pid has ended. A program that
// it was just starting has its lock until that program runs, and who looks whether
// there is a holder has it for a moment; neither is another daemon. The lock file
// itself stays when the lock is released: removing it would let two processes hold
// two files of one name.
func Lock(name, info string) (*LockFile, error) {
	l := flock.New(name, flock.SetPermissions(0o600))
	note := name + noteSuffix
	for until := time.Now().Add(lockWait); ; time.Sleep(lockPoll) {
		ok, err := l.TryLock()
		if err != nil {
			return nil, wrap(OpOpen, name, err)
		}
		if ok {
			break
		}
		if held := noteOf(name); holderRuns(held) || time.Now().After(until) {
			return nil, &LockedError{Path: name, Info: held}
		}
	}
	// The lock is held with or without its note.
	_ = os.WriteFile(note, []byte(cleanInfo(info)+"\n"), 0o600)
	return &LockFile{lock: l, info: note}, nil
}

// holderRuns reports whether the process runs that left info, which it does if
// nothing else is known.
func holderRuns(info string) bool {
	var pid int
	if info == "" {
		return false
	}
	if n, err := fmt.Sscanf(info, "pid %d", &pid); n != 1 || err != nil || pid <= 0 {
		return true
	}
	return processRuns(pid)
}

// LockHolder returns what the holder of the lock at name said of itself, and whether
// there is one. It changes nothing: who takes the lock at that very moment may find
// it taken, as by another who looks.
func LockHolder(name string) (info string, held bool) {
	if _, err := os.Lstat(name); err != nil {
		return "", false
	}
	l := flock.New(name, flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock()
	if err != nil {
		return "", false
	}
	if free {
		_ = l.Unlock() // it ends with the file, which is closed with or without an error
		return "", false
	}
	return noteOf(name), true
}

// noteOf is what the holder of a lock left beside it.
func noteOf(name string) string {
	b, _ := os.ReadFile(name + noteSuffix) // only for the message
	return cleanInfo(string(b[:min(len(b), 512)]))
}

const noteSuffix = ".holder"

// cleanInfo keeps a lock's note to one printable line.
func cleanInfo(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, s)
}

// Intact reports whether the file at the lock's name is still the one that is locked.
// Where somebody deleted it, or the folder around it, or put a file in the folder's
// place, the next to come takes another. What cannot be looked at stands.
func (l *LockFile) Intact() bool {
	held, err := l.lock.Stat()
	if err != nil {
		return true
	}
	there, err := os.Lstat(l.lock.Path())
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return os.SameFile(held, there)
}

// Close releases the lock.
func (l *LockFile) Close() error {
	if l.Intact() { // else the note is that of who took the next one
		_ = os.Remove(l.info)
	}
	if err := l.lock.Unlock(); err != nil {
		return fmt.Errorf("release lock: %w", err)
	}
	return nil
}
