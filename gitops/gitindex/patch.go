package gitindex

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
)

// A Stat is what git keeps of a file to see that it has not changed, as lstat
// gave it, cut to 32 bits. The zero value says that nothing is known.
type Stat struct {
	CtimeSec, CtimeNsec, MtimeSec, MtimeNsec, Dev, Ino, UID, GID, Size uint32
}

// An Edit changes the entry at Path if it is what Was says: the object name that
// it has at stage 0, or nil for no entry at all. Now is its new name, or nil to
// take it out.
type Edit struct {
	Path     string
	Was, Now []byte
	Mode     uint32 // of Now, such as 0o100644
	Stat     Stat   // of the file that Now was made from
}

// A TreeChange is what edits come to for one folder: the names of its tree
// before and after, nil where there is none.
type TreeChange struct{ Was, Now []byte }

// Patch returns the bytes of the index with edits applied, and the paths, sorted,
// of those that were not, since the entry was something else. No two edits may
// have one path. The bytes of all other entries are those of f. Trees says what
// the folders of all edits come to, by path, "" for the root: the index goes on
// knowing the trees that it knew. Nil trees is always right: those of the edits
// are then forgotten.
func (f *File) Patch(edits []Edit, trees map[string]TreeChange) (out []byte, left []string) {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int { return strings.Compare(a.Path, b.Path) })
	var done []Edit
	for i := range edits {
		if f.applies(&edits[i]) {
			done = append(done, edits[i])
		} else {
			left = append(left, edits[i].Path)
		}
	}
	if len(left) > 0 {
		trees = nil
	}
	out = make([]byte, 0, len(f.b)+len(done)*128+headSize+f.hashSize)
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, f.version)
	count, moved := len(f.Entries), false
	at := 0
	start := func(i int) int { // of entry i in f.b
		if i == len(f.Entries) {
			return f.end
		}
		return f.Entries[i].at
	}
	put := func(to int) {
		if at < to {
			out = append(out, f.b[start(at):start(to)]...)
			at = to
		}
	}
	out = binary.BigEndian.AppendUint32(out, 0) // count, known below
	for i := range done {
		e := &done[i]
		put(f.search(e.Path))
		switch {
		case e.Was == nil:
			out = f.appendNew(out, e)
			count, moved = count+1, true
		case e.Now == nil:
			at++
			count, moved = count-1, true
		default:
			out = f.appendChanged(out, &f.Entries[at], e)
			at++
		}
	}
	put(len(f.Entries))
	binary.BigEndian.PutUint32(out[8:], uint32(count))
	out = f.appendExtensions(out, done, trees, moved)
	if f.nullSum {
		return append(out, make([]byte, f.hashSize)...), left
	}
	h := NewHash(f.hashSize)
	h.Write(out)
	return h.Sum(out), left
}

// applies reports whether the entry is as the edit wants it.
func (f *File) applies(e *Edit) bool {
	if len(e.Now) != f.hashSize && e.Now != nil || e.Was == nil && e.Now == nil || e.Path == "" {
		return false
	}
	i := f.search(e.Path)
	there := i < len(f.Entries) && string(f.Entries[i].Path) == e.Path
	if e.Was == nil {
		return !there && !f.blocked(e.Path)
	}
	return there && f.Entries[i].Stage == 0 && bytes.Equal(f.Entries[i].Oid, e.Was) && !f.Intended(&f.Entries[i])
}

// blocked reports whether a file cannot be at path since one of its folders is a
// file, or it is a folder.
func (f *File) blocked(path string) bool {
	if len(f.Below(path)) > 0 {
		return true
	}
	for i, c := range path {
		if c != '/' {
			continue
		}
		k := f.search(path[:i])
		if k < len(f.Entries) && string(f.Entries[k].Path) == path[:i] {
			return true
		}
	}
	return false
}

// Intended reports whether the entry stands for a file that is only about to be
// added.
func (f *File) Intended(e *Entry) bool {
	least := statSize + f.hashSize + 2
	return binary.BigEndian.Uint16(e.raw[least-2:])&0x4000 != 0 && binary.BigEndian.Uint16(e.raw[least:])&0x2000 != 0
}

func appendStat(b []byte, s *Stat, mode uint32) []byte {
	for _, w := range []uint32{s.CtimeSec, s.CtimeNsec, s.MtimeSec, s.MtimeNsec, s.Dev, s.Ino, mode, s.UID, s.GID, s.Size} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func (f *File) appendNew(b []byte, e *Edit) []byte {
	start := len(b)
	b = appendStat(b, &e.Stat, e.Mode)
	b = append(b, e.Now...)
	b = binary.BigEndian.AppendUint16(b, uint16(min(len(e.Path), 0xfff)))
	b = append(b, e.Path...)
	for size := padded(len(b) - start); len(b)-start < size; {
		b = append(b, 0)
	}
	return b
}

// appendChanged keeps the flags and the path of the entry.
func (f *File) appendChanged(b []byte, was *Entry, e *Edit) []byte {
	b = appendStat(b, &e.Stat, e.Mode)
	b = append(b, e.Now...)
	return append(b, was.raw[statSize+f.hashSize:]...)
}

// appendExtensions copies the extensions and mends those that speak of entries:
// of moved entries, whose places others refer to by number.
func (f *File) appendExtensions(b []byte, done []Edit, trees map[string]TreeChange, moved bool) []byte {
	var out []extension
	resized := moved
	for _, x := range f.exts {
		data, keep := x.data, true
		switch x.name {
		case "TREE":
			data, keep = f.mendTree(x.data, done, trees), true
		case "REUC": // what a resolved conflict was: by path, never by place
		case "UNTR":
			if moved {
				data, keep = emptyUntracked(x.data, f.hashSize)
			}
		case "FSMN": // which entries are to be looked at, by number
			keep = !moved
		case "EOIE", "IEOT": // where things are in the file; they come last
			keep = !resized
		default:
			keep = false // not known; git leaves it out as well
		}
		resized = resized || !keep || len(data) != len(x.data)
		if keep {
			out = append(out, extension{x.name, data})
		}
	}
	if resized {
		out = slices.DeleteFunc(out, func(x extension) bool { return x.name == "EOIE" || x.name == "IEOT" })
	}
	for _, x := range out {
		b = append(b, x.name...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(x.data)))
		b = append(b, x.data...)
	}
	return b
}

// emptyUntracked returns the untracked cache with what identifies it and without
// the folders it knows: one of them may list a file that is tracked now. Git
// fills it again; without the extension it would not.
func emptyUntracked(b []byte, hashSize int) (out []byte, ok bool) {
	n, used := Offset(b)
	at := uint64(used) + n + 2*36 + 4 + 2*uint64(hashSize) // ident, two stats, flags, two hashes
	if used == 0 || n > uint64(len(b)) || at > uint64(len(b)) {
		return nil, false
	}
	end := bytes.IndexByte(b[at:], 0) // name of the ignore file in each folder
	if end < 0 {
		return nil, false
	}
	return append(slices.Clone(b[:at+uint64(end)+1]), 0), true
}

// Offset reads a number in git's offset encoding (gitformat-pack, "offset
// encoding") and how many bytes it takes; 0 of them if it is cut off or longer
// than the 9 bytes that 64 bits hold.
func Offset(b []byte) (v uint64, used int) {
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

// below returns how many more entries the edits leave below dir.
func below(done []Edit, dir string) (n int) {
	from, to := 0, len(done)
	if dir != "" {
		from = sort.Search(len(done), func(i int) bool { return done[i].Path >= dir+"/" })
		to = sort.Search(len(done), func(i int) bool { return done[i].Path >= dir+"0" })
	}
	for _, e := range done[from:to] {
		switch {
		case e.Was == nil:
			n++
		case e.Now == nil:
			n--
		}
	}
	return n
}
