package usergit

import (
	"crypto/sha256"
	"io"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// maxStampBytes bounds what is read of a file whose time proves nothing: settings,
// rules and references that lie in files of their own are smaller.
const maxStampBytes = 64 << 10

// Racy is how much older than the look a file must be for its time stamp to
// prove that it has not changed since: coarser than any file system's clock.
const Racy = int64(2e9)

// A contentStamp is a stamp that goes by content where time proves nothing: a file as young
// as the stamp may change once more without moving its time. So a repository that
// was written to a moment ago is not asked the same again and again. Once the file
// has come of age it is asked once more, and from then on the stamp suffices.
type contentStamp struct {
	stamp stamp             // never equal if the file is young and could not be read
	sum   [sha256.Size]byte // of the content; zero unless the file was young
}

// stampContent takes that of a file by its absolute path. What git answers after that is true
// for as long as later ones are the same: content is read here before git reads it.
func stampContent(p string, now time.Time) contentStamp {
	at := stampAt(p)
	l := contentStamp{stamp: at.settled(now)}
	if l.stamp.mtime != -1 || at.size > maxStampBytes {
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
	b, err := io.ReadAll(io.LimitReader(f, maxStampBytes+1))
	if err != nil || len(b) > maxStampBytes {
		return l
	}
	return contentStamp{stamp: at, sum: sha256.Sum256(b)}
}

// same reports whether two stamps are equal, and prove that nothing changed.
func (l contentStamp) same(o contentStamp) bool { return l.stamp.same(o.stamp) && l.sum == o.sum }

// unchanged reports whether the file at p is still the same.
func (l contentStamp) unchanged(p string, now time.Time) bool { return l.same(stampContent(p, now)) }

// A stamp is what tells that a file or folder is the one that was looked at.
type stamp struct {
	mtime int64 // ns; -1 is never equal: to be looked at again
	size  int64
	inode uint64
	there bool
}

func stampOf(info disk.Info) stamp {
	return stamp{mtime: info.MtimeNS, size: info.Size, inode: info.Inode, there: true}
}

// stampAt looks at a file by its absolute path.
func stampAt(p string) stamp {
	fi, err := os.Stat(p)
	if err != nil {
		return stamp{}
	}
	return stampOf(disk.InfoOf(fi))
}

// settled returns s, or one that is never equal if what it stands for may have
// changed after the look at now without moving the time.
func (s stamp) settled(now time.Time) stamp {
	if s.there && s.mtime > now.UnixNano()-Racy {
		s.mtime = -1
	}
	return s
}

func (s stamp) same(o stamp) bool { return s == o && s.mtime != -1 }
