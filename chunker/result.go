package chunker

import "github.com/foldwatch/foldwatch/meta/fold"

// Version names the rules of this package. It is part of the key of cached
// results: whoever changes what Cut returns changes it.
const Version = "4"

// A Result is what one file was cut into.
type Result struct {
	Language string // see [Language]; "" if not known
	Strategy string // syntax, markdown, html, text or lines; text (parser crashed), text (parser timed out)

	// Chunks partition the file, or its first Options.MaxBytes if Truncated.
	// They have no ID and MemoryID yet, see [Assign].
	Chunks []fold.Chunk

	Imports   []string // as written in the source, in order, each once
	Package   string   // as declared by the file; "" if its language has none
	Doc       string   // first sentence of the file's header comment, package doc or module docstring
	Truncated bool     // the file is longer than Options.MaxBytes
}

// Provisional reports whether cutting the same bytes again may give more, because
// the parser ran out of time, which it also does on a machine that is too busy.
// Such a result is good to use but not to be cached.
func (r Result) Provisional() bool { return r.Strategy == timedOutStrategy }

const (
	timedOutStrategy = "text (parser timed out)"
	crashedStrategy  = "text (parser crashed)"
)

// asOneChunk returns r with its chunks as one, if that is wanted.
func (r Result) asOneChunk(src []byte, opt Options) Result {
	n := len(r.Chunks)
	if !opt.Whole || n < 2 {
		return r
	}
	last := r.Chunks[n-1]
	r.Chunks = []fold.Chunk{{
		Hash: fold.ChunkHash(src[:last.EndByte]), StartLine: 1, EndLine: last.EndLine, EndByte: last.EndByte,
		NodeType: "lines", Language: r.Language,
	}}
	return r
}

// byteOrderMark is what some editors put before all text.
var byteOrderMark = []byte("\ufeff")

// withByteOrderMark returns r, which is of src without its byte order mark, with the
// mark as a part of the first chunk.
func (r Result) withByteOrderMark(src []byte) Result {
	for i := range r.Chunks {
		c := &r.Chunks[i]
		c.EndByte += len(byteOrderMark)
		if i > 0 {
			c.StartByte += len(byteOrderMark)
			continue
		}
		c.Hash = fold.ChunkHash(src[:c.EndByte])
	}
	return r
}

// Assign returns chunks with MemoryID and ID set. Equal names (or, where there
// is none, equal strategies) are told apart by their order in the file.
func Assign(memory fold.ID, chunks []fold.Chunk) []fold.Chunk {
	out := make([]fold.Chunk, len(chunks))
	seen := make(map[string]int, len(chunks))
	for i, c := range chunks {
		name := c.NodeName
		if name == "" {
			name = "<" + c.NodeType + ">"
		}
		// The ordinal counts equals: same name and same bytes. Counting the
		// name alone would renumber all later parts when one is inserted.
		key := name + "\x00" + c.Hash
		c.MemoryID = memory
		c.ID = fold.ChunkID(memory, name, seen[key], c.Hash)
		seen[key]++
		out[i] = c
	}
	return out
}
