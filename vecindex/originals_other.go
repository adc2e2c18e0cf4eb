//go:build !unix

package vecindex

// mapped is empty where records are read: a file that is mapped cannot be
// replaced or cut on Windows.
type mapped struct{}

func (o *originals) reserve(int) error { return nil }

func (o *originals) release() {}

// read returns the record of a row, in buf, or nil if it cannot be read.
func (o *originals) read(row int32, buf []byte) []byte {
	buf = buf[:o.record]
	if _, err := o.f.ReadAt(buf, o.offset(row)); err != nil {
		return nil
	}
	return buf
}

func (o *originals) unmap() error { return nil }
