package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// walName is the write-ahead log of writes that are not yet in the journal
// (G3).
const walName = "wal"

// An Entry is one acknowledged write.
type Entry struct {
	Seq    uint64
	ID     fold.ID
	Path   string // below fold/
	Base   []byte // what the file held; nil = did not exist
	New    []byte // nil = deleted
	Author string // of an agent; "" for the user
	Reason string

	Described []byte // see Write.Described
	Head      string // commit that HEAD named then, in tracked mode; "" before the first
}

// held returns how many bytes of files the entry holds.
func (e *Entry) held() int64 {
	n := len(e.Base) + len(e.New)
	if !Same(e.Described, e.New) {
		n += len(e.Described)
	}
	return int64(n)
}

// The log begins with walMagic. Each record is recMagic, length and CRC-32C of
// the body (4 bytes each, little endian), and the body.
const (
	walMagic = "foldwatch wal 1\n"
	recMagic = "\xf0\x1dwr"
	recHead  = 12
	maxRec   = 4 << 20 // three files of 1 MiB and room
)

// What a record holds beside the six fields that each has. Records of an earlier version
// may have known and heads, and a flag without a field, which nothing reads any more.
const (
	flagBase = 1 << iota
	flagNew
	flagDescribedAsNew
	flagDescribed // a field behind the six; so have the next, in this order
	flagKnown
	flagHeads
	_
	flagHead
)

func crcTable() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once by the library

func (e *Entry) encode(b []byte) []byte {
	at := len(b)
	b = append(b, recMagic+"\x00\x00\x00\x00\x00\x00\x00\x00"...)
	b = binary.AppendUvarint(b, e.Seq)
	var flags byte
	if e.Base != nil {
		flags |= flagBase
	}
	if e.New != nil {
		flags |= flagNew
	}
	fields := [][]byte{[]byte(e.ID), []byte(e.Path), []byte(e.Author), []byte(e.Reason), e.Base, e.New}
	switch {
	case e.Described == nil:
	case Same(e.Described, e.New):
		flags |= flagDescribedAsNew
	default:
		flags |= flagDescribed
		fields = append(fields, e.Described)
	}
	if e.Head != "" {
		flags |= flagHead
		fields = append(fields, []byte(e.Head))
	}
	b = append(b, flags)
	for _, f := range fields {
		b = binary.AppendUvarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	body := b[at+recHead:]
	binary.LittleEndian.PutUint32(b[at+4:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[at+8:], crc32.Checksum(body, crcTable()))
	return b
}

// decodeRecord reads the record at the start of b; n is its length.
func decodeRecord(b []byte) (e Entry, n int, ok bool) {
	if len(b) < recHead || string(b[:4]) != recMagic {
		return e, 0, false
	}
	size := int(binary.LittleEndian.Uint32(b[4:]))
	if size > maxRec || size > len(b)-recHead {
		return e, 0, false
	}
	body := b[recHead : recHead+size]
	if crc32.Checksum(body, crcTable()) != binary.LittleEndian.Uint32(b[8:]) {
		return e, 0, false
	}
	seq, k := binary.Uvarint(body)
	if k <= 0 || len(body) <= k {
		return e, 0, false
	}
	flags := body[k]
	body = body[k+1:]
	n = 6
	for _, more := range []byte{flagDescribed, flagKnown, flagHeads, flagHead} {
		if flags&more != 0 {
			n++
		}
	}
	f := make([][]byte, n)
	for i := range f {
		l, k := binary.Uvarint(body)
		if k <= 0 || l > uint64(len(body)-k) {
			return e, 0, false
		}
		f[i], body = body[k:k+int(l):k+int(l)], body[k+int(l):]
	}
	e = Entry{Seq: seq, ID: fold.ID(f[0]), Path: string(f[1]), Author: string(f[2]), Reason: string(f[3])}
	if flags&flagBase != 0 {
		e.Base = bytes.Clone(f[4])
	}
	if flags&flagNew != 0 {
		e.New = bytes.Clone(f[5])
	}
	switch {
	case flags&flagDescribedAsNew != 0:
		e.Described = e.New
	case flags&flagDescribed != 0:
		e.Described = append([]byte{}, f[6]...)
	}
	if flags&flagHead != 0 {
		e.Head = string(f[n-1])
	}
	return e, recHead + size, true
}

// Decode returns the whole records of a log, in order. A torn or damaged
// record is skipped up to the next whole one, since each was acknowledged by
// itself; whole says that there was none.
func Decode(b []byte) (entries []Entry, whole bool) {
	whole = true
	rest, ok := bytes.CutPrefix(b, []byte(walMagic))
	if !ok {
		rest, whole = b, len(b) == 0
	}
	for len(rest) > 0 {
		e, n, ok := decodeRecord(rest)
		if ok {
			entries, rest = append(entries, e), rest[n:]
			continue
		}
		whole = false
		i := bytes.Index(rest[1:], []byte(recMagic))
		if i < 0 {
			break
		}
		rest = rest[1+i:]
	}
	return entries, whole
}

// A Log is the open log. Writers that come while a sync is under way share the
// next one. Safe for concurrent use.
type Log struct {
	path   string
	faults disk.Faults

	mu    sync.Mutex // guards the fields below; held across writes, not across syncs
	f     *os.File
	size  int64    // of what is whole in the file
	seq   uint64   // last one given out
	marks *os.File // see placed; nil before the first
	live  []Entry  // not yet in the journal, by seq
	bytes int64    // of live
	bad   bool     // the file must be written anew before it is used again
	sync  *walSync // the sync that is to cover what is written now; nil if none is waiting

	running sync.Mutex // held during a sync

	before map[string]bool // what placed had marked in the last run
}

// A walSync is one fsync that several writers wait for.
type walSync struct {
	done chan struct{}
	err  error
}

// Open opens or makes the log in a state folder. What of it is whole is in live. A
// damaged log is kept beside it once, as wal.damaged. The file tells also whether the
// state folder is still ours.
func Open(dir string, faults disk.Faults) (*Log, error) {
	w := &Log{path: filepath.Join(dir, walName), faults: faults}
	b, err := os.ReadFile(w.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", walName, err)
	}
	entries, whole := Decode(b)
	w.readMarks(len(entries) > 0)
	if !whole {
		if err := disk.WriteFile(w.path+".damaged", b, 0o600); err != nil {
			return nil, fmt.Errorf("keep damaged %s: %w", walName, err)
		}
	}
	for _, e := range entries {
		w.seq = max(w.seq, e.Seq)
		w.bytes += e.held()
	}
	w.live = entries
	w.mu.Lock()
	defer w.mu.Unlock()
	if whole && len(b) > 0 {
		w.size = int64(len(b))
		w.f, err = os.OpenFile(w.path, os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", walName, err)
		}
		return w, nil
	}
	return w, w.rewrite()
}

// errClosed says that the log is closed: its file may be another's by now.
func errClosed() error {
	return fmt.Errorf("write %s: the log is closed: %w", walName, fold.ErrUnavailable)
}

// Close closes the log: whoever writes to it then gets an error.
func (w *Log) Close() error {
	w.running.Lock()
	defer w.running.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	if w.marks != nil {
		_ = w.marks.Close() // not synced
		w.marks = nil
	}
	return err
}

func (w *Log) fault(op disk.Op, size int) (int, error) {
	if w.faults == nil {
		return size, nil
	}
	return w.faults.Before(op, walName, size)
}

// Append adds entries, gives them their numbers, and returns when they are
// durable. On error none of them is in the log.
func (w *Log) Append(entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	w.mu.Lock()
	if w.f == nil {
		w.mu.Unlock()
		return errClosed()
	}
	if w.bad {
		if err := w.rewrite(); err != nil {
			w.mu.Unlock()
			return fmt.Errorf("write %s: %w", walName, disk.Unavailable(err))
		}
	}
	var b []byte
	var n int64
	for i := range entries {
		w.seq++
		entries[i].Seq = w.seq
		b = entries[i].encode(b)
		n += entries[i].held()
	}
	if err := w.write(b); err != nil {
		w.bad = true // cut what was half written before the next use
		if terr := w.f.Truncate(w.size); terr == nil {
			w.bad = false
		}
		w.mu.Unlock()
		return fmt.Errorf("write %s: %w", walName, disk.Unavailable(err))
	}
	w.size += int64(len(b))
	w.live = append(w.live, entries...)
	w.bytes += n
	mine := w.sync
	lead := mine == nil
	if lead {
		mine = &walSync{done: make(chan struct{})}
		w.sync = mine
	}
	w.mu.Unlock()

	if lead {
		w.running.Lock() // writers that come until the last sync ends join this one
		w.mu.Lock()
		w.sync = nil
		f := w.f
		w.mu.Unlock()
		mine.err = w.fsync(f)
		close(mine.done)
		w.running.Unlock()
	}
	<-mine.done
	if mine.err != nil {
		// What a failed sync left behind is not known, and a second sync would
		// not tell: the log is written anew, without these (F12).
		seqs := make([]uint64, len(entries))
		for i := range entries {
			seqs[i] = entries[i].Seq
		}
		w.mu.Lock()
		w.bad = true
		w.mu.Unlock()
		_ = w.Cut(seqs) // if that fails too it stays bad, and the next use tries again
		return fmt.Errorf("sync %s: %w", walName, disk.Unavailable(mine.err))
	}
	return nil
}

// write appends b to the file; called with mu held.
func (w *Log) write(b []byte) error {
	n, err := w.fault(disk.OpWrite, len(b))
	n = max(0, min(n, len(b)))
	if _, werr := w.f.WriteAt(b[:n], w.size); werr != nil {
		return werr
	}
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

func (w *Log) fsync(f *os.File) error {
	if _, err := w.fault(disk.OpSync, 0); err != nil {
		return err
	}
	if f == nil {
		return fs.ErrClosed
	}
	return f.Sync()
}

// Entries returns what is not yet in the journal, by number.
func (w *Log) Entries() []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.live)
}

// Count returns how many entries are live, and their bytes.
func (w *Log) Count() (n int, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.live), w.bytes
}

// Cut removes entries whose effect is safe elsewhere, durably.
func (w *Log) Cut(seqs []uint64) error {
	if len(seqs) == 0 {
		return nil
	}
	gone := make(map[uint64]bool, len(seqs))
	for _, s := range seqs {
		gone[s] = true
	}
	w.running.Lock() // no sync of the old file may be under way
	defer w.running.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return errClosed()
	}
	before := len(w.live)
	w.live = slices.DeleteFunc(w.live, func(e Entry) bool { return gone[e.Seq] })
	if len(w.live) == before && !w.bad {
		return nil
	}
	w.bytes = 0
	for i := range w.live {
		w.bytes += w.live[i].held()
	}
	if err := w.rewrite(); err != nil {
		w.bad = true
		return fmt.Errorf("cut %s: %w", walName, disk.Unavailable(err))
	}
	return nil
}

// rewrite makes the file hold the live entries and nothing else; called with
// mu held. With none the file is only shortened.
func (w *Log) rewrite() error {
	if len(w.live) == 0 {
		w.dropMarks()
	}
	if len(w.live) == 0 && w.f != nil && !w.bad {
		if err := w.f.Truncate(int64(len(walMagic))); err != nil {
			return err
		}
		w.size = int64(len(walMagic))
		return w.fsync(w.f)
	}
	b := []byte(walMagic)
	for i := range w.live {
		b = w.live[i].encode(b)
	}
	n, err := w.fault(disk.OpWrite, len(b))
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	if err := disk.WriteFile(w.path, b, 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(w.path, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if w.f != nil {
		_ = w.f.Close() // replaced
	}
	w.f, w.size, w.bad = f, int64(len(b)), false
	return nil
}

// Present reports whether the file at the log's path is still ours; it is not
// once somebody removed or replaced the git directory.
func (w *Log) Present() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return false
	}
	mine, err := w.f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(w.path)
	return err == nil && os.SameFile(mine, there)
}

// Same compares two states of a file; nil is one that does not exist.
func Same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// Described returns what the newest entry of path that describes it says, and
// whether there is one.
func (w *Log) Described(path string) ([]byte, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.live) - 1; i >= 0; i-- {
		if e := &w.live[i]; e.Path == path && e.Described != nil {
			return bytes.Clone(e.Described), true
		}
	}
	return nil, false
}
