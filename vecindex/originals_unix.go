//go:build unix

package vecindex

import "golang.org/x/sys/unix"

// mapped are the groups of the file, each mapped by itself. A group is mapped
// whole before it is written: what lies past the end of the file may be mapped,
// only not read.
type mapped struct{ groups [][]byte }

// reserve maps what n rows need.
func (o *originals) reserve(n int) error {
	for len(o.groups)*groupRows < n {
		at := headBytes + int64(len(o.groups))*int64(o.group)
		b, err := unix.Mmap(int(o.f.Fd()), at, o.group, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		_ = unix.Madvise(b, unix.MADV_RANDOM) // a hint
		o.groups = append(o.groups, b)
	}
	return nil
}

// release gives the memory back that pages of the file took since they were read:
// a page fault maps its neighbours too, so that a few hundred searches hold the
// whole file. What is read again comes from the system's cache.
func (o *originals) release() {
	for _, b := range o.groups {
		_ = unix.Madvise(b, unix.MADV_DONTNEED) // a hint
	}
}

// read returns the record of a row. What was cut off the file meanwhile is a
// fault of the processor: see [table.rescore].
func (o *originals) read(row int32, _ []byte) []byte {
	at := int(row%groupRows) * o.record
	return o.groups[row/groupRows][at : at+o.record]
}

func (o *originals) unmap() error {
	var first error
	for _, b := range o.groups {
		if err := unix.Munmap(b); err != nil && first == nil {
			first = err
		}
	}
	o.groups = nil
	return first
}
