package index

import (
	"context"
	"strconv"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A span is where a chunk lies in its file. Its id is that of [fold.ChunkID], which
// is 16 hex digits, as a number.
type span struct {
	id         uint64
	start, end uint32
}

// Places numbers chunks, which are given by memory, so that those of a memory
// that touch in its file have consecutive numbers. It returns the numbers by the
// ids of the chunks that exist.
func (x *DB) Places(ctx context.Context, chunks map[fold.ID][]string) (map[string]int, error) {
	ids := make([]fold.ID, 0, len(chunks))
	for id := range chunks {
		ids = append(ids, id)
	}
	spans := make([][]span, len(ids))
	missing, drops := x.spans.get(ids, spans)
	if len(missing) > 0 {
		stored, err := x.ChunksOf(ctx, idsAt(ids, missing))
		if err != nil {
			return nil, err
		}
		read := make(map[fold.ID][]span, len(missing))
		for _, i := range missing {
			spans[i] = spansOf(stored[ids[i]])
			read[ids[i]] = spans[i]
		}
		x.spans.put(read, drops)
	}
	places := map[string]int{}
	for i, all := range spans {
		id := ids[i]
		wanted := make(map[uint64]string, len(chunks[id]))
		for _, c := range chunks[id] {
			if n, ok := chunkNumber(c); ok {
				wanted[n] = c
			}
		}
		last, n := uint32(0), 0
		for _, s := range all {
			if c, ok := wanted[s.id]; ok {
				if n++; s.start != last {
					n++
				}
				places[c], last = n, s.end
			}
		}
	}
	return places, nil
}

// spansOf returns where chunks lie, without those whose id is none of ours.
func spansOf(chunks []fold.Chunk) []span {
	spans := make([]span, 0, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		if id, ok := chunkNumber(c.ID); ok {
			spans = append(spans, span{id, uint32(c.StartByte), uint32(c.EndByte)})
		}
	}
	return spans
}

func chunkNumber(id string) (uint64, bool) {
	if !isHex16(id) {
		return 0, false
	}
	n, err := strconv.ParseUint(id, 16, 64)
	return n, err == nil
}
