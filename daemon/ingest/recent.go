package ingest

import "github.com/foldwatch/foldwatch/meta"

// recentBytes bounds what is held of sources that were just read.
const recentBytes = 8 << 20

// Recent holds the sources that the last call of [Ingester.Source] read, for the
// vectors of their chunks, which follow at once: a branch switch need not read and
// hash thousands of files twice. It is not for a first index, of which vectors take
// long. The zero value holds none.
type recent struct {
	byHash map[string][]byte
	files  map[string]*meta.File // by path: the manifest that was written with them
	size   int
}

// keep holds the source of what was read, if it is of a change and there is room.
func (r *recent) keep(pr *prepared) {
	if !pr.remember || r.size+len(pr.src) > recentBytes {
		return
	}
	if r.byHash == nil {
		r.byHash, r.files = map[string][]byte{}, map[string]*meta.File{}
	}
	if _, have := r.byHash[pr.file.Hash]; !have {
		r.byHash[pr.file.Hash] = pr.src
		r.size += len(pr.src)
	}
	r.files[pr.path] = &pr.file
}
