package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Pool and worker speak in frames: one byte of kind, four of length (little
// endian), the payload. Each side refuses what is longer than it can need.
const (
	frameHello  = 'h' // both: who is there, see hello
	frameWork   = 'w' // pool: a request
	frameResult = 'r' // worker: resident bytes as uvarint, the answer
)

// protocol is the version of frames and of what this package puts into them.
const protocol = "2"

const (
	// MaxRequest is the most bytes a request may have: a file of 64 MiB, and
	// what is said of it.
	MaxRequest = 64<<20 + maxHello

	maxAnswer = 64 << 20
	maxHello  = 16 << 10
)

// A hello is the first frame of either side.
type hello struct {
	Version string // of the protocol and of the rules: both sides must run the same
	// From the pool only:
	MemoryCap int64         // bytes the worker may take; 0 means no cap
	Watchdog  time.Duration // after so long on one request the worker ends itself
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
	h.Version = protocol + "/" + h.Version
	b, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	return writeFrame(w, frameHello, b)
}

// readHello reads the hello of a side whose rules are of the version wanted.
func readHello(r *bufio.Reader, version string) (hello, error) {
	b, err := readFrame(r, frameHello, maxHello, nil)
	if err != nil {
		return hello{}, err
	}
	var h hello
	if err := json.Unmarshal(b, &h); err != nil {
		return hello{}, fmt.Errorf("read hello: %w", err)
	}
	if version = protocol + "/" + version; h.Version != version {
		return hello{}, fmt.Errorf("the other side runs version %.20q, this one %q", h.Version, version)
	}
	return h, nil
}
