//go:build unix

package vecindex

import (
	"os"

	"golang.org/x/sys/unix"
)

// A mapping reads a file of groups of equal size through memory maps, one for
// each group. A group is mapped whole before it is written: pages past the end
// of a file may be mapped, only not read.
type mapping struct {
	f      *os.File
	first  int64 // where the first group begins
	group  int   // bytes of one
	groups [][]byte
}

// reserve maps the first n groups.
func (m *mapping) reserve(n int) error {
	for len(m.groups) < n {
		at := m.first + int64(len(m.groups))*int64(m.group)
		b, err := unix.Mmap(int(m.f.Fd()), at, m.group, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		_ = unix.Madvise(b, unix.MADV_RANDOM) // a hint
		m.groups = append(m.groups, b)
	}
	return nil
}

// release returns the memory of pages that were read: a page fault maps its
// neighbours too, so a few hundred searches hold the whole file. What is read
// again comes from the system's cache.
func (m *mapping) release() {
	for _, b := range m.groups {
		_ = unix.Madvise(b, unix.MADV_DONTNEED) // a hint
	}
}

// read returns len(buf) bytes of a group. Where the file was cut off meanwhile,
// to look at them is a fault of the processor: see [catchFault].
func (m *mapping) read(group, at int, buf []byte) []byte {
	return m.groups[group][at : at+len(buf)]
}

func (m *mapping) unmap() error {
	var first error
	for _, b := range m.groups {
		if err := unix.Munmap(b); err != nil && first == nil {
			first = err
		}
	}
	m.groups = nil
	return first
}
