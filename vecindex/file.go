package vecindex

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The snapshot and the graph are files of the same outer form: a mark with the
// format number, a body, and the SHA-256 of both. The sum is compared before
// anything is decoded.

var errDamaged = errors.New("damaged")

// replaceFile writes what write produces, followed by its SHA-256, to a
// temporary file and renames it to name once it is on disk.
func replaceFile(dir, name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(dir, "vectors-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there once it is renamed
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<18)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		_, err = f.Write(sum.Sum(nil))
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	return err
}

// verified compares the checksum of f and returns a reader of its body, which
// begins with mark.
func verified(f io.ReadSeeker, mark string) (*reader, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	body := size - sha256.Size
	if body < int64(len(mark)) {
		return nil, fmt.Errorf("%w: too short", errDamaged)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := io.CopyN(h, f, body); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	sum := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f, sum); err != nil || !bytes.Equal(sum, h.Sum(nil)) {
		return nil, fmt.Errorf("%w: checksum differs", errDamaged)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r := &reader{r: bufio.NewReaderSize(f, 1<<18), left: body}
	if got := string(r.take(len(mark))); got != mark {
		return nil, errors.New("of another format")
	}
	return r, nil
}

// A reader decodes values from a file. After a value that goes past the end,
// failed is set and every value is zero.
type reader struct {
	r      io.Reader
	left   int64
	buf    []byte
	failed bool
}

// take returns the next n bytes, valid until the next call.
func (r *reader) take(n int) []byte {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.into(r.buf[:n])
	return r.buf[:n]
}

// into fills b.
func (r *reader) into(b []byte) {
	if !r.failed && int64(len(b)) <= r.left {
		if _, err := io.ReadFull(r.r, b); err == nil {
			r.left -= int64(len(b))
			return
		}
	}
	r.failed = true
	clear(b)
}

func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) name() string {
	return string(r.take(int(binary.LittleEndian.Uint16(r.take(2)))))
}

func appendName(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(s))), s...)
}
