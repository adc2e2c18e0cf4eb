package fold

import "bytes"

// MarkedDeleted reports whether b is a memory file that says `deleted: true`: it is
// there for merges to see, and no memory. A file that cannot be read is not marked.
func MarkedDeleted(b []byte) bool {
	if !bytes.Contains(b, []byte("deleted")) { // spares reading nearly all of them
		return false
	}
	m, err := Decode("", pathOf(b), b)
	return err == nil && m.Deleted
}
