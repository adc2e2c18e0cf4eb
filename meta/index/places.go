package index

import (
	"context"
	"strconv"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A span is where a chunk lies in its file. The id is that of 16 hex digits, as
// nearly all are.
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
	places := map[string]int{}
	if len(missing) > 0 {
		read := make(map[fold.ID][]span, len(missing))
		of, err := x.ChunksOf(ctx, pick(ids, missing))
		if err != nil {
			return nil, err
		}
		for _, i := range missing {
			all, id := of[ids[i]], ids[i]
			s, ok := spansOf(all)
			if !ok {
				number(places, all, chunks[id])
				continue
			}
			spans[i], read[id] = s, s
		}
		x.spans.put(read, drops)
	}
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

// spansOf returns where chunks lie, false if a number is too large or an id of
// another form.
func spansOf(chunks []fold.Chunk) ([]span, bool) {
	spans := make([]span, len(chunks))
	for i := range chunks {
		c := &chunks[i]
		id, ok := chunkNumber(c.ID)
		if !ok || uint64(c.EndByte) > 1<<32-1 {
			return nil, false
		}
		spans[i] = span{id, uint32(c.StartByte), uint32(c.EndByte)}
	}
	return spans, true
}

// number puts the numbers of the chunks that are wanted into places. All are in
// the order of the file.
func number(places map[string]int, all []fold.Chunk, wanted []string) {
	want := make(map[string]bool, len(wanted))
	for _, id := range wanted {
		want[id] = true
	}
	last, n := 0, 0
	for i := range all {
		if c := &all[i]; want[c.ID] {
			if n++; c.StartByte != last {
				n++
			}
			places[c.ID], last = n, c.EndByte
		}
	}
}

func chunkNumber(id string) (uint64, bool) {
	if !isHex16(id) {
		return 0, false
	}
	n, err := strconv.ParseUint(id, 16, 64)
	return n, err == nil
}
