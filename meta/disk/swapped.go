package disk

import (
	"bytes"
	"io"
	"os"
)

// A Swapped is a file that was replaced and whose name is gone, kept open for
// a while: an editor that had it open may still write to it.
type Swapped struct {
	f   *os.File // nil where the old file cannot be kept
	was []byte
}

// keep opens the replaced file. Its bytes are remembered as they are now.
func (t *target) keep(name string) (*Swapped, error) {
	f, _, err := openIn(t.d, name, t.path)
	if err != nil {
		return nil, goneIf(t.path, err)
	}
	b, err := readFile(f, 0, maxCompare)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &Swapped{f: f, was: b}, nil
}

// release closes s, which may be nil, where no caller will.
func (s *Swapped) release() {
	if s != nil {
		_ = s.Close()
	}
}

// Late returns what was written in place to the replaced file since the swap, or
// what was Seen, and whether anything was. The caller merges it.
func (s *Swapped) Late() ([]byte, bool, error) {
	if s == nil || s.f == nil {
		return nil, false, nil
	}
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	b, err := readFile(s.f, 0, maxCompare)
	if err != nil {
		return nil, false, err
	}
	return b, !bytes.Equal(b, s.was), nil
}

// Seen says that the caller has b, which Late returned.
func (s *Swapped) Seen(b []byte) {
	if s != nil {
		s.was = b
	}
}

// Close lets go of the replaced file.
func (s *Swapped) Close() error {
	if s == nil || s.f == nil {
		return nil
	}
	return s.f.Close()
}
