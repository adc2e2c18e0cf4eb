package usergit

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// errOddIndex says that the index file is one that only git itself can read: a
// split or sparse one, an unknown version or extension, or one that is damaged,
// which git then says better.
var errOddIndex = errors.New("an index that only git reads")

// maxIndex bounds what is read of an index file, in bytes: some five million
// entries.
const maxIndex = 1 << 30

// An indexEntry is one entry of git's index file. Its path and oid are valid
// until the callback returns.
type indexEntry struct {
	mode  uint32
	mtime int64  // ns
	size  uint32 // low 32 bits
	flags uint64 // as `ls-files --debug` prints them
	stage int
	oid   []byte
	path  []byte
}

const (
	gitTypeMask = 0o170000
	gitRegular  = 0o100000
	gitGitlink  = 0o160000
)

// readIndex calls fn with each entry of the index, in its order. It starts no
// process. An index that is not there has no entries; errOddIndex means that git
// has to be asked, and may come after fn was called.
func (l *Repo) readIndex(fn func(e *indexEntry) error) error {
	f, err := os.OpenFile(filepath.Join(l.GitDir, "index"), os.O_RDONLY|openFlags, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return errOddIndex
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() < 12+sha1.Size || fi.Size() > maxIndex {
		return errOddIndex
	}
	b := make([]byte, fi.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return errOddIndex
	}
	return parseIndex(b, fn)
}

// parseIndex reads an index file of version 2 to 4 (gitformat-index(5)).
func parseIndex(b []byte, fn func(e *indexEntry) error) error {
	n := sha1.Size // bytes of an object name
	if sum := sha1.Sum(b[:len(b)-n]); !bytes.Equal(sum[:], b[len(b)-n:]) {
		if n = sha256.Size; len(b) < 12+n {
			return errOddIndex
		}
		if sum := sha256.Sum256(b[:len(b)-n]); !bytes.Equal(sum[:], b[len(b)-n:]) {
			return errOddIndex // also one without a sum, by index.skipHash
		}
	}
	end := len(b) - n
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if string(b[:4]) != "DIRC" || version < 2 || version > 4 {
		return errOddIndex
	}
	if err := knownExtensions(b, n, version, count); err != nil {
		return err
	}
	_, err := eachEntry(b[:end], n, version, count, fn)
	return err
}

// knownExtensions refuses an index whose entries are not all in the file. The
// extensions come last, so it walks the entries first.
func knownExtensions(b []byte, n int, version, count uint32) error {
	end := len(b) - n
	at, err := eachEntry(b[:end], n, version, count, func(*indexEntry) error { return nil })
	if err != nil {
		return err
	}
	for at < end {
		if end-at < 8 {
			return errOddIndex
		}
		size := int(binary.BigEndian.Uint32(b[at+4:]))
		if b[at] < 'A' || b[at] > 'Z' || size > end-at-8 { // one that must be understood
			return errOddIndex
		}
		at += 8 + size
	}
	return nil
}

// eachEntry calls fn with count entries and returns where they end.
func eachEntry(b []byte, n int, version, count uint32, fn func(e *indexEntry) error) (int, error) {
	const head = 40 // stat data
	at := 12
	var e indexEntry
	var path []byte
	for range count {
		start := at
		if len(b)-at < head+n+2 {
			return 0, errOddIndex
		}
		word := func(i int) uint32 { return binary.BigEndian.Uint32(b[start+4*i:]) }
		e.mtime = int64(word(2))*1e9 + int64(word(3))
		e.mode, e.size = word(6), word(9)
		e.oid = b[at+head : at+head+n]
		at += head + n
		flags := binary.BigEndian.Uint16(b[at:])
		at += 2
		e.flags, e.stage = uint64(flags&0x8000), int(flags>>12&3)
		if flags&0x4000 != 0 {
			if version < 3 || len(b)-at < 2 {
				return 0, errOddIndex
			}
			e.flags |= uint64(binary.BigEndian.Uint16(b[at:])) << 16
			at += 2
		}
		if version == 4 {
			strip, used := indexOffset(b[at:])
			if used == 0 || strip > uint64(len(path)) {
				return 0, errOddIndex
			}
			at += used
			path = path[:len(path)-int(strip)]
		} else {
			path = path[:0]
		}
		size := bytes.IndexByte(b[at:], 0)
		if size < 0 {
			return 0, errOddIndex
		}
		path = append(path, b[at:at+size]...)
		at += size + 1
		if version < 4 { // filled up with 1 to 8 zeros
			at = start + (at-1-start)/8*8 + 8
			if at > len(b) {
				return 0, errOddIndex
			}
		}
		if e.path = path; len(path) == 0 {
			return 0, errOddIndex
		}
		if err := fn(&e); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// indexOffset reads a number in git's offset encoding (gitformat-pack, "offset
// encoding") and how many bytes it takes; 0 of them if it is cut off or longer
// than the 9 bytes that 64 bits hold.
func indexOffset(b []byte) (v uint64, used int) {
	for i, c := range b[:min(len(b), 9)] {
		if i > 0 {
			v++
		}
		v = v<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return v, i + 1
		}
	}
	return 0, 0
}
