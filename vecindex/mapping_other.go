//go:build !unix

package vecindex

import "os"

// A mapping only reads the file here: on Windows a mapped file cannot be
// replaced or cut.
type mapping struct {
	f     *os.File
	first int64 // where the first group begins
	group int   // bytes of one
}

func (m *mapping) reserve(int) error { return nil }

func (m *mapping) release() {}

// read returns len(buf) bytes of a group, in buf, or nil if they cannot be read.
func (m *mapping) read(group, at int, buf []byte) []byte {
	if _, err := m.f.ReadAt(buf, m.first+int64(group)*int64(m.group)+int64(at)); err != nil {
		return nil
	}
	return buf
}

func (m *mapping) unmap() error { return nil }
