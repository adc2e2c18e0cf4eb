package textindex

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/foldwatch/foldwatch/meta/fold"
)

var errTooLarge = fmt.Errorf("segment of the text index is too large: %w", fold.ErrInvalid)

// A writer gathers the bytes of a segment: in memory, or in file as they come.
// The first error stays.
type writer struct {
	file    *os.File // nil: all stays in buf
	buf     []byte
	flushed uint64
	sum     uint32 // of what was flushed
	err     error
}

// flushAt is how many bytes a writer with a file gathers.
const flushAt = 256 << 10

func (w *writer) offset() uint64 { return w.flushed + uint64(len(w.buf)) }

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) write(b []byte) {
	if w.file == nil {
		w.buf = append(w.buf, b...)
		return
	}
	if len(w.buf)+len(b) >= flushAt {
		w.flush(w.buf)
		w.buf = w.buf[:0]
	}
	if len(b) >= flushAt {
		w.flush(b)
		return
	}
	w.buf = append(w.buf, b...)
}

// flush adds b to the sum, and to the file if there is one.
func (w *writer) flush(b []byte) {
	w.sum = crc32.Update(w.sum, crc32.IEEETable, b)
	w.flushed += uint64(len(b))
	if w.file != nil && w.err == nil {
		_, w.err = w.file.Write(b)
	}
}

// numbers writes 4 bytes for each of list.
func (w *writer) numbers(list []uint32) {
	for _, n := range list {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, n)
		if len(w.buf) >= flushAt {
			w.write(nil)
		}
	}
}

// close writes where everything lies, and the sum over all of it, as Bleve's
// own segments end.
func (w *writer) close(at *layout) {
	w.buf = at.append(w.buf)
	w.flush(w.buf)
	sum := binary.BigEndian.AppendUint32(nil, w.sum)
	if w.file == nil {
		w.buf = append(w.buf, sum...)
		return
	}
	_, err := w.file.Write(sum)
	w.fail(err)
	w.fail(w.file.Sync())
}

// writeFile makes the file at path with write; it leaves none after an error.
func writeFile(path string, write func(f *os.File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path) // Bleve compares err with its own
		return err
	}
	return nil
}
