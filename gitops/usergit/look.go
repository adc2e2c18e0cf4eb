package usergit

import (
	"crypto/sha256"
	"io"
	"os"
	"time"
)

// lookBytes bounds what is read of a file whose time proves nothing: settings,
// rules and references that lie in files of their own are smaller.
const lookBytes = 64 << 10

// Racy is how much older than the look a file must be for its time stamp to
// prove that it has not changed since: coarser than any file system's clock.
const Racy = int64(2e9)

// A look is a stamp that goes by content where time proves nothing: a file as young
// as the look may change once more without moving its time. So a repository that
// was written to a moment ago is not asked the same again and again. Once the file
// has come of age it is asked once more, and from then on the stamp suffices.
type look struct {
	stamp stamp             // never equal if the file is young and could not be read
	sum   [sha256.Size]byte // of the content; zero unless the file was young
}

// lookAt looks at a file by its absolute path. What git answers after that is true
// for as long as looks find the same: content is read here before git reads it.
func lookAt(p string, now time.Time) look {
	at := stampAt(p)
	l := look{stamp: at.settled(now)}
	if l.stamp.mtime != -1 || at.size > lookBytes {
		return l
	}
	f, err := os.OpenFile(p, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return l
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return l
	}
	b, err := io.ReadAll(io.LimitReader(f, lookBytes+1))
	if err != nil || len(b) > lookBytes {
		return l
	}
	return look{stamp: at, sum: sha256.Sum256(b)}
}

// same reports whether two looks found the same, and prove it.
func (l look) same(o look) bool { return l.stamp.same(o.stamp) && l.sum == o.sum }

// still reports whether a look now finds the same.
func (l look) still(p string, now time.Time) bool { return l.same(lookAt(p, now)) }
