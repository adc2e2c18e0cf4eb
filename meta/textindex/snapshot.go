package textindex

import (
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A snapshot is the segments of the index at one moment, with what is deleted
// in each. It must be closed.
type snapshot struct {
	*scorch.IndexSnapshot

	leaves     []leaf
	docs       int // document numbers are below it
	live       [len(kinds)]int
	hasDeleted bool // something is deleted
}

// A leaf is one segment of a snapshot.
type leaf struct {
	*segment

	deleted *roaring.Bitmap // nil: none
	offset  uint32          // its documents are numbered from here
	gone    [len(kinds)]int // how many of each kind are deleted
}

// reader returns what the index holds now, as Bleve keeps it. It returns
// ErrUnavailable once the index is closed, where Bleve returns a nil snapshot
// and no error.
func (x *Index) reader() (*scorch.IndexSnapshot, error) {
	r, err := x.store.Reader()
	if err != nil {
		return nil, err
	}
	snap, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.Join(errors.New("reader is not a snapshot"), r.Close())
	}
	if snap == nil {
		return nil, fmt.Errorf("text index is closed: %w", fold.ErrUnavailable)
	}
	return snap, nil
}

func (x *Index) snapshot() (*snapshot, error) {
	snap, err := x.reader()
	if err != nil {
		return nil, err
	}
	s := &snapshot{IndexSnapshot: snap}
	for _, part := range snap.Segments() {
		seg, err := ownSegment(part.Segment())
		if err != nil {
			return nil, errors.Join(err, snap.Close())
		}
		l := leaf{segment: seg, offset: uint32(s.docs)}
		for k := range kinds {
			s.live[k] += int(seg.docs[k])
		}
		if d := part.Deleted(); d != nil && !d.IsEmpty() {
			l.deleted, s.hasDeleted = d, true
			for k := range kinds {
				l.gone[k] = below(d, seg.first[k+1]) - below(d, seg.first[k])
				s.live[k] -= l.gone[k]
			}
		}
		s.leaves = append(s.leaves, l)
		s.docs += int(seg.Count())
	}
	return s, nil
}

// below returns how many of set are less than n.
func below(set *roaring.Bitmap, n uint32) int {
	if n == 0 {
		return 0
	}
	return int(set.Rank(n - 1))
}

// leafOf returns the segment of a document.
func (s *snapshot) leafOf(doc uint32) *leaf {
	lo, hi := 0, len(s.leaves)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.leaves[mid].offset <= doc {
			lo = mid
		} else {
			hi = mid
		}
	}
	return &s.leaves[lo]
}

// liveSet returns the documents that are not deleted, nil if none is.
func (s *snapshot) liveSet() bitset {
	if !s.hasDeleted {
		return nil
	}
	set := newBitset(s.docs)
	for i := range set {
		set[i] = ^uint64(0)
	}
	for _, l := range s.leaves {
		if l.deleted != nil {
			for it := l.deleted.Iterator(); it.HasNext(); {
				set.drop(l.offset + it.Next())
			}
		}
	}
	return set
}

// passing returns the documents that pass f, deleted ones too; nil if all do.
func (s *snapshot) passing(f Filter) (bitset, error) {
	filter, err := f.compile()
	if err != nil || filter.Empty() {
		return nil, err
	}
	set := newBitset(s.docs)
	for i, ok := range s.owners(filter) {
		l := &s.leaves[i]
		for doc := range uint32(l.Count()) {
			if ok[l.ownerOf(doc)] {
				set.add(l.offset + doc)
			}
		}
	}
	return set, nil
}

// owners returns which owners of each leaf pass.
func (s *snapshot) owners(filter *compiledFilter) [][]bool {
	out := make([][]bool, len(s.leaves))
	for i, l := range s.leaves {
		out[i] = filter.passing(l.segment)
	}
	if filter.hasTimeBounds() {
		s.dropByTime(filter, out)
	}
	return out
}

// dropByTime takes out of ok, which has the owners of each leaf, those whose
// memory is not of the time. When a file is saved the chunks that did not change
// are not put again, so that the time stored with them may be an older one: only
// that of the memory's own document holds, or a later one of a chunk that dates
// it. A chunk of a memory without a document is of no time.
func (s *snapshot) dropByTime(filter *compiledFilter, ok [][]bool) {
	own := make([][]bool, len(s.leaves)) // owners that a live document of a memory has
	rest := map[string]bool{}            // memories of the others that may pass
	for i, l := range s.leaves {
		own[i] = l.memoryOwners()
		for o, yes := range ok[i] {
			if yes && !own[i][o] {
				rest[string(l.value(uint32(o), ownerMemory))] = false
			}
		}
	}
	dated := s.datedByChunks()
	for i, l := range s.leaves {
		for o, yes := range own[i] {
			timely := yes && filter.inTime(l.timeOf(uint32(o), dated))
			ok[i][o] = ok[i][o] && (!yes || timely)
			if !timely || len(rest) == 0 {
				continue
			}
			if _, asked := rest[string(l.value(uint32(o), ownerMemory))]; asked {
				rest[string(l.value(uint32(o), ownerMemory))] = true
			}
		}
	}
	for i, l := range s.leaves {
		for o, yes := range ok[i] {
			if yes && !own[i][o] {
				ok[i][o] = rest[string(l.value(uint32(o), ownerMemory))]
			}
		}
	}
}

// datedByChunks returns, by memory, the latest time of its live chunks that date
// it.
func (s *snapshot) datedByChunks() map[string]uint64 {
	dated := map[string]uint64{}
	for _, l := range s.leaves {
		dates := make([]bool, l.owned)
		some := false
		for o := range dates {
			dates[o] = l.dates(uint32(o))
			some = some || dates[o]
		}
		if !some {
			continue
		}
		for _, k := range [...]int{chunkKind, sectionKind} {
			for doc := l.first[k]; doc < l.first[k+1]; doc++ {
				o := l.ownerOf(doc)
				if dates[o] && (l.deleted == nil || !l.deleted.Contains(doc)) {
					memory := string(l.value(o, ownerMemory))
					dated[memory] = max(dated[memory], l.updated(o))
				}
			}
		}
	}
	return dated
}

// timeOf returns the time of the memory whose document has owner o, see nanos.
func (l *leaf) timeOf(o uint32, dated map[string]uint64) uint64 {
	t := l.updated(o)
	if len(dated) == 0 || l.dates(o) {
		return t
	}
	return max(t, dated[string(l.value(o, ownerMemory))])
}

// memoryOwners returns which owners a live document of a memory has, rather than
// only chunks or what is deleted.
func (l *leaf) memoryOwners() []bool {
	out := make([]bool, l.owned)
	for k, kind := range kinds {
		if kind == Chunk || kind == Section {
			continue
		}
		for doc := l.first[k]; doc < l.first[k+1]; doc++ {
			if l.deleted == nil || !l.deleted.Contains(doc) {
				out[l.ownerOf(doc)] = true
			}
		}
	}
	return out
}

// A bitset is a set of document numbers. A nil one holds all.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) has(d uint32) bool { return b == nil || b[d/64]>>(d%64)&1 == 1 }

func (b bitset) add(d uint32) { b[d/64] |= 1 << (d % 64) }

func (b bitset) drop(d uint32) { b[d/64] &^= 1 << (d % 64) }
