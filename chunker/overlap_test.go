package chunker_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestShiftedNamesWhatOverlapsWithOtherBytes changes texts of many chunks at
// random, and compares what is embedded of the chunks that stay.
func TestShiftedNamesWhatOverlapsWithOtherBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	part := func() string {
		b := make([]byte, 0, 2048)
		for range 1 + rnd.IntN(40) {
			b = fmt.Appendf(b, "line %d of some length\n", rnd.IntN(1000))
		}
		return string(b)
	}
	build := func(parts []string) (src []byte, chunks []fold.Chunk) {
		for i, p := range parts {
			if i%7 == 3 {
				src = append(src, "\n\n"[:1+len(p)%2]...) // lies between two chunks
			}
			c := fold.Chunk{NodeType: "lines", Hash: p, StartByte: len(src), EndByte: len(src) + len(p), Hidden: len(p)%11 == 0}
			if len(p)%5 == 0 {
				c.NodeName = "named"
			}
			chunks, src = append(chunks, c), append(src, p...)
		}
		return src, chunker.Assign("0123456789abcdef", chunks)
	}
	stays, differs := 0, 0
	for range 400 {
		var parts []string
		for range rnd.IntN(30) {
			parts = append(parts, part())
		}
		was, before := build(parts)
		parts = slices.Clone(parts)
		for range rnd.IntN(3) {
			at := rnd.IntN(len(parts) + 1)
			switch {
			case rnd.IntN(2) == 0 || at == len(parts):
				parts = slices.Insert(parts, at, part())
			case rnd.IntN(2) == 0:
				parts = slices.Delete(parts, at, at+1)
			default:
				parts[at] = part()
			}
		}
		now, after := build(parts)
		shifted := chunker.Shifted(before, after)
		old := map[string][]byte{}
		for i, c := range before {
			old[c.ID] = chunker.WithOverlap(was, before, i, 10)
		}
		for i, c := range after {
			text, there := old[c.ID]
			if !there || slices.Contains(shifted, c.ID) {
				continue
			}
			if stays++; chunker.Overlaps(after, i) {
				differs++
			}
			if is := chunker.WithOverlap(now, after, i, 10); !bytes.Equal(is, text) {
				t.Fatalf("chunk %d of %d is embedded as %d bytes, was %d, and is not named", i, len(after), len(is), len(text))
			}
		}
	}
	if stays == 0 || differs == 0 {
		t.Errorf("%d chunks stay, %d of them overlap: nothing was compared", stays, differs)
	}
}
