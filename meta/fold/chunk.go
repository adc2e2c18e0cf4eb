package fold

import "strconv"

// A Chunk is a span of one file that is found on its own and shown under its
// memory. The ranges of a file's chunks partition it: no gap, no overlap.
type Chunk struct {
	ID       string // 16 hex digits, see [ChunkID]
	MemoryID ID     // its parent memory
	Hash     string // first 16 hex digits of the SHA-256 of its bytes

	StartLine int // from 1
	EndLine   int // inclusive
	StartByte int
	EndByte   int // exclusive

	NodeType string // function, method, class, …, h1…h6, paragraph, lines
	NodeName string // qualified by its parents (AuthService.validateToken); "" if none
	Parent   string // NodeName of the enclosing class, impl, module or section; "" if none
	Language string
	Doc      string // first doc comment line, for descriptions; "" if none

	// Hidden chunks hold a secret: they are found by name only, and their text
	// is neither indexed nor sent nor quoted.
	Hidden bool
}

// ChunkID returns the id of a chunk: a function of its memory, its qualified
// name (or strategy, where it has none), its ordinal among equals from 0, and
// its content hash, so that a rebuild gives equal ids.
func ChunkID(memory ID, name string, ordinal int, hash string) string {
	return string(hash16("chunk:" + string(memory) + "\x00" + name + "\x00" + strconv.Itoa(ordinal) + "\x00" + hash))
}

// ChunkHash returns the content hash of a chunk's bytes.
func ChunkHash(b []byte) string { return ContentHash(b)[:16] }
