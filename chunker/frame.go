package chunker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Pool and worker speak in frames: one byte of kind, four of length (little
// endian), the payload. Each side refuses what is longer than it can need.
const (
	frameHello  = 'h' // both: who is there, see hello
	frameWork   = 'w' // pool: sizes, see appendSizes; length of path as uvarint, path, source
	frameResult = 'r' // worker: resident bytes as uvarint, encoded Result
)

// wireVersion is what both sides say in their hello: the rules of cutting, and
// what stands in a frame.
const wireVersion = Version + ".1"

const (
	maxWork   = 64 << 20 // of source
	maxHello  = 4 << 10
	maxPath   = 4 << 10
	maxResult = 64 << 20
)

// A hello is the first frame of either side.
type hello struct {
	Version string // wireVersion: both sides must run the same
	// From the pool only:
	Options   Options
	MemoryCap int64         // bytes the worker may take; 0 means no cap
	Watchdog  time.Duration // after so long on one file the worker ends itself
}

func writeFrame(w *bufio.Writer, kind byte, parts ...[]byte) error {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	var head [5]byte
	head[0] = kind
	binary.LittleEndian.PutUint32(head[1:], uint32(n))
	if _, err := w.Write(head[:]); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return fmt.Errorf("write frame: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// readFrame reads a frame of the kind wanted and at most limit bytes. The
// payload is buf, grown if need be. It returns io.EOF if the other side ended
// between frames.
func readFrame(r *bufio.Reader, want byte, limit int, buf []byte) ([]byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read frame: %w", err)
	}
	n := int(binary.LittleEndian.Uint32(head[1:]))
	if head[0] != want || n > limit {
		return nil, fmt.Errorf("read frame: kind %q of %d bytes, want %q of at most %d", head[0], n, want, limit)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, fmt.Errorf("read frame: %w", err)
	}
	return buf, nil
}

func writeHello(w *bufio.Writer, h hello) error {
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	return writeFrame(w, frameHello, b)
}

func readHello(r *bufio.Reader) (hello, error) {
	b, err := readFrame(r, frameHello, maxHello, nil)
	if err != nil {
		return hello{}, err
	}
	var h hello
	if err := json.Unmarshal(b, &h); err != nil {
		return hello{}, fmt.Errorf("read hello: %w", err)
	}
	if h.Version != wireVersion {
		return hello{}, fmt.Errorf("the other side runs version %.20q, this one %q", h.Version, wireVersion)
	}
	return h, nil
}

// appendSizes writes what of the options may differ from file to file.
func appendSizes(b []byte, o Options) []byte {
	whole := uint64(0)
	if o.Whole {
		whole = 1
	}
	for _, n := range [...]uint64{uint64(o.MinLines), uint64(o.MaxLines), uint64(o.LineSize), uint64(o.MaxBytes), whole} {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// takeSizes reads what appendSizes wrote and returns the rest.
func takeSizes(b []byte) (o Options, rest []byte, err error) {
	var n [5]uint64
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<31 {
			return o, nil, errors.New("read frame: sizes that are none")
		}
		n[i], b = v, b[size:]
	}
	return Options{MinLines: int(n[0]), MaxLines: int(n[1]), LineSize: int(n[2]), MaxBytes: int(n[3]), Whole: n[4] == 1}, b, nil
}
