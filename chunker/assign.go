package chunker

import "github.com/foldwatch/foldwatch/meta/fold"

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
