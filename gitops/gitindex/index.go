// Package gitindex changes single entries of git's index file and keeps every
// other byte of it (gitformat-index(5)).
//
// A library that decodes the whole index and encodes it again loses what it does
// not know: conflict stages out of order, extensions, bits of entries. Here the
// bytes of all entries that are not to change are copied as they are.
package gitindex

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"sort"
)

// ErrOdd is returned for an index that only git itself may change: version 4,
// whose entries lean on each other, a split or a sparse one, one with unknown
// extensions that must be understood, or a damaged one.
var ErrOdd = errors.New("an index that only git may change")

const (
	headSize = 12 // signature, version, count
	statSize = 40 // what precedes the object name of an entry
)

// An Entry is one entry of an index. Its slices are parts of the parsed bytes.
type Entry struct {
	Path  []byte
	Oid   []byte
	Mode  uint32
	Stage int // 0, or 1 to 3 of a path that is not merged
	raw   []byte
	at    int // of raw in the file
}

// A File is a parsed index. It refers to the bytes it was made from, which may
// not change while it is in use. It is safe for concurrent reading.
type File struct {
	Entries  []Entry // sorted by path, then stage
	version  uint32
	hashSize int
	nullSum  bool // written under index.skipHash
	exts     []extension
	b        []byte // all of it
	end      int    // of the entries in b
}

type extension struct {
	name string
	data []byte
}

// NewHash returns the hash of a repository whose object names have size bytes.
func NewHash(size int) hash.Hash {
	if size == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// Parse reads an index of version 2 or 3 in a repository whose object names have
// hashSize bytes. Empty b is the index of a repository that has none yet. It
// returns ErrOdd for all that Patch could not write back.
func Parse(b []byte, hashSize int) (*File, error) { return parse(b, hashSize, true) }

// ParseKnown is Parse of an index of which the caller knows that the hash it ends
// with is that of its bytes, since it made them.
func ParseKnown(b []byte, hashSize int) (*File, error) { return parse(b, hashSize, false) }

func parse(b []byte, hashSize int, check bool) (*File, error) {
	f := &File{version: 2, hashSize: hashSize, b: b}
	if len(b) == 0 {
		return f, nil
	}
	if len(b) < headSize+hashSize || string(b[:4]) != "DIRC" {
		return nil, ErrOdd
	}
	f.version = binary.BigEndian.Uint32(b[4:])
	if f.version != 2 && f.version != 3 {
		return nil, ErrOdd
	}
	end := len(b) - hashSize
	if err := f.checkSum(b[:end], b[end:], check); err != nil {
		return nil, err
	}
	var err error
	if f.end, err = f.parseEntries(b[:end], binary.BigEndian.Uint32(b[8:])); err != nil {
		return nil, err
	}
	return f, f.parseExtensions(b[f.end:end])
}

func (f *File) checkSum(b, sum []byte, check bool) error {
	f.nullSum = bytes.Equal(sum, make([]byte, f.hashSize))
	if f.nullSum || !check {
		return nil
	}
	h := NewHash(f.hashSize)
	h.Write(b)
	if !bytes.Equal(h.Sum(nil), sum) {
		return ErrOdd
	}
	return nil
}

func (f *File) parseEntries(b []byte, count uint32) (int, error) {
	least := statSize + f.hashSize + 2
	if uint64(count)*uint64(least) > uint64(len(b)) {
		return 0, ErrOdd
	}
	f.Entries = make([]Entry, 0, count)
	at := headSize
	for range count {
		raw := b[at:]
		if len(raw) < least {
			return 0, ErrOdd
		}
		e := Entry{at: at, Mode: binary.BigEndian.Uint32(raw[24:]), Oid: raw[statSize : statSize+f.hashSize]}
		flags := binary.BigEndian.Uint16(raw[least-2:])
		e.Stage = int(flags >> 12 & 3)
		name := least
		if flags&0x4000 != 0 { // extended: skip-worktree, intent-to-add
			if f.version < 3 || len(raw) < least+2 {
				return 0, ErrOdd
			}
			name += 2
		}
		n := bytes.IndexByte(raw[name:], 0)
		if n <= 0 {
			return 0, ErrOdd
		}
		size := padded(name + n)
		if size > len(raw) {
			return 0, ErrOdd
		}
		e.Path, e.raw = raw[name:name+n], raw[:size:size]
		if k := len(f.Entries); k > 0 && !less(&f.Entries[k-1], &e) {
			return 0, ErrOdd
		}
		f.Entries = append(f.Entries, e)
		at += size
	}
	return at, nil
}

// padded is the size of an entry whose name ends at n: filled up with 1 to 8
// zeros to a multiple of 8.
func padded(n int) int { return n/8*8 + 8 }

func less(a, b *Entry) bool {
	c := bytes.Compare(a.Path, b.Path)
	return c < 0 || c == 0 && a.Stage < b.Stage
}

func (f *File) parseExtensions(b []byte) error {
	for len(b) > 0 {
		if len(b) < 8 {
			return ErrOdd
		}
		size := binary.BigEndian.Uint32(b[4:])
		if b[0] < 'A' || b[0] > 'Z' || uint64(size) > uint64(len(b)-8) {
			return ErrOdd // one that must be understood, or a damaged one
		}
		f.exts = append(f.exts, extension{string(b[:4]), b[8 : 8+size : 8+size]})
		b = b[8+size:]
	}
	return nil
}

// Unmerged reports whether a path has conflict stages.
func (f *File) Unmerged() bool {
	for i := range f.Entries {
		if f.Entries[i].Stage != 0 {
			return true
		}
	}
	return false
}

// Below returns the entries in the folder dir, at any depth.
func (f *File) Below(dir string) []Entry {
	return f.Entries[f.search(dir+"/"):f.search(dir+"0")] // '0' follows '/'
}

// Find returns the entry at path that is merged, or nil.
func (f *File) Find(path string) *Entry {
	i := f.search(path)
	if i == len(f.Entries) || string(f.Entries[i].Path) != path || f.Entries[i].Stage != 0 {
		return nil
	}
	return &f.Entries[i]
}

// search returns the first entry whose path is not less than path.
func (f *File) search(path string) int {
	return sort.Search(len(f.Entries), func(i int) bool { return string(f.Entries[i].Path) >= path })
}

// SkipsWorktree reports whether the entry is marked as one that a sparse checkout
// leaves out of the work tree, or whose file git was told to take for unchanged.
func (f *File) SkipsWorktree(e *Entry) bool {
	least := statSize + f.hashSize + 2
	flags := binary.BigEndian.Uint16(e.raw[least-2:])
	return flags&0x8000 != 0 || flags&0x4000 != 0 && binary.BigEndian.Uint16(e.raw[least:])&0x4000 != 0
}

// TreeOf returns the name of the tree that the entries below dir come to ("" is
// the root), where the index knows it.
func (f *File) TreeOf(dir string) (oid []byte, ok bool) {
	for _, x := range f.exts {
		if x.name != "TREE" {
			continue
		}
		root, err := parseTree(x.data, f.hashSize)
		if err != nil {
			return nil, false
		}
		if n := root.find(dir); n != nil && n.count >= 0 {
			return n.oid, true
		}
	}
	return nil, false
}
