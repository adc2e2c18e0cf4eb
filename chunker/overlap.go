package chunker

import (
	"bytes"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxOverlap is how many bytes WithOverlap puts before a chunk, at most.
const maxOverlap = 4 << 10

// Overlaps reports whether chunks[i] begins where a text was cut without regard
// to what it means: by lines or paragraphs, or within a node of syntax that was
// too long and has no name. What has a name begins with it, and a gap between
// nodes begins behind the end of one: they need no more.
func Overlaps(chunks []fold.Chunk, i int) bool {
	if i == 0 {
		return false
	}
	c, before := &chunks[i], &chunks[i-1]
	return (c.NodeType == "lines" || c.NodeType == "paragraph") && c.NodeName == "" &&
		before.NodeType == c.NodeType && before.NodeName == "" && before.Parent == c.Parent && !before.Hidden
}

// WithOverlap returns the bytes of chunks[i] in src with up to lines lines before
// them, at most 4 KiB: the text to embed for a chunk that may begin in the middle
// of a thought, see [Overlaps]. Other chunks come as they are. Nothing is taken
// from a chunk that is hidden, nor from behind one. The result is a slice of src.
func WithOverlap(src []byte, chunks []fold.Chunk, i, lines int) []byte {
	c := &chunks[i]
	first := i // of the chunks that lines may be taken from
	for Overlaps(chunks, first) && c.StartByte-chunks[first].StartByte <= maxOverlap {
		first--
	}
	start := c.StartByte
	for range lines {
		if start == chunks[first].StartByte {
			break
		}
		prev := max(chunks[first].StartByte, bytes.LastIndexByte(src[:start-1], '\n')+1)
		if c.StartByte-prev > maxOverlap {
			break
		}
		start = prev
	}
	return src[start:c.EndByte]
}

// Shifted returns the ids of chunks of now for which [WithOverlap] may return
// another text than it did when was were the chunks of the same file; both are in
// the order of the file. Of all others that were there it returns the same.
func Shifted(was, now []fold.Chunk) []string {
	head := 0
	for head < len(was) && head < len(now) && was[head].StartByte == now[head].StartByte && alike(&was[head], &now[head]) {
		head++
	}
	tail := 0
	for tail < min(len(was), len(now))-head {
		a, b := &was[len(was)-1-tail], &now[len(now)-1-tail]
		if !alike(a, b) || a.StartByte-b.StartByte != was[len(was)-1].StartByte-now[len(now)-1].StartByte {
			break
		}
		tail++
	}
	var ids []string
	firm := -1 // from here on the bytes are those that were; all are before it is set
	for i := range now {
		c := &now[i]
		if i == head && head < len(now)-tail || i == len(now)-tail {
			firm = c.StartByte
		}
		if i >= head && i < len(now)-tail || i == len(now)-tail && Overlaps(was, len(was)-tail) {
			ids = append(ids, c.ID)
			continue // also if it overlaps with nothing any more
		}
		if !Overlaps(now, i) {
			continue
		}
		if now[i-1].EndByte != c.StartByte {
			firm = c.StartByte // nothing tells what lies between two chunks
		}
		if firm >= 0 && c.StartByte-firm <= maxOverlap {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// alike reports whether two chunks have the same bytes, and overlap with the same
// ones.
func alike(a, b *fold.Chunk) bool {
	return a.ID == b.ID && a.EndByte-a.StartByte == b.EndByte-b.StartByte && a.Hidden == b.Hidden &&
		a.NodeType == b.NodeType && a.NodeName == b.NodeName && a.Parent == b.Parent
}
