package ingest

import (
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/index"
)

// mostShifted bounds how many chunks are remembered.
const mostShifted = 100_000

// Shifted knows of which chunks the text to embed may be another although the
// chunk is the same: they overlap with what lies before them. A file that differs
// in one place would else have all its overlapping chunks embedded again. The zero
// value knows nothing.
type shifted struct {
	known bool
	since int64           // sequence of the index: of all later changes it is known
	ids   map[string]bool // of chunks
}

// note takes up one change of the index.
func (s *shifted) note(applied index.Applied, changes []index.Change, err error) {
	if err != nil || len(s.ids) > mostShifted {
		*s = shifted{} // it may have been written nevertheless
	}
	if !s.known {
		return
	}
	for i := range changes {
		c := &changes[i]
		if !c.SetChunks {
			continue
		}
		was, changed := applied.Was[c.About()]
		if !changed {
			continue
		}
		for _, id := range chunker.Shifted(was, c.Chunks) {
			s.ids[id] = true
		}
	}
}

// all begins anew: there are vectors of all that changed up to seq, unless some
// were left out.
func (s *shifted) all(seq int64, leftOut bool) {
	*s = shifted{known: !leftOut, since: seq, ids: map[string]bool{}}
}

// may reports whether the text of a chunk that had a vector at seq may be another
// than the one that was embedded.
func (s *shifted) may(id string, seq int64, overlaps bool) bool {
	if s.known && seq >= s.since {
		return s.ids[id]
	}
	return overlaps
}
