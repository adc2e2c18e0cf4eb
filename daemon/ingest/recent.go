package ingest

import (
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// recentBytes bounds what is held of sources that were just read.
const recentBytes = 8 << 20

// Recent holds the sources that the last call of [Ingester.Source] read, for the
// vectors of their chunks, which follow at once: a branch switch need not read and
// hash thousands of files twice. It is not for a first index, of which vectors take
// long. The zero value holds none.
type recent struct {
	byHash map[string][]byte
	files  map[string]*index.File // by path: the manifest that was written with them
	kept   map[fold.ID]bool       // memories of files
	chunks map[fold.ID][]fold.Chunk
	size   int
}

// keep holds the source of what was read, if it is of a change and there is room.
func (r *recent) keep(pr *cut.File) {
	if !pr.Remember || r.size+len(pr.Src) > recentBytes {
		return
	}
	if r.byHash == nil {
		r.byHash, r.files = map[string][]byte{}, map[string]*index.File{}
		r.kept, r.chunks = map[fold.ID]bool{}, map[fold.ID][]fold.Chunk{}
	}
	if _, have := r.byHash[pr.File.Hash]; !have {
		r.byHash[pr.File.Hash] = pr.Src
		r.size += len(pr.Src)
	}
	r.files[pr.Path], r.kept[pr.ID] = &pr.File, true
}

// cut holds the chunks of the sources it holds, as they were stored.
func (r *recent) cut(now map[fold.ID][]fold.Chunk) {
	for id, chunks := range now {
		if r.kept[id] {
			r.chunks[id] = chunks
		}
	}
}

// change forgets the chunks that changes may replace.
func (r *recent) change(changes []index.Change) {
	if len(r.chunks) == 0 {
		return
	}
	for i := range changes {
		if c := &changes[i]; c.SetChunks {
			delete(r.chunks, c.About())
		}
		delete(r.chunks, changes[i].Forget)
	}
}
