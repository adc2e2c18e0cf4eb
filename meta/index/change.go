package index

import (
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Change is what is to be stored of one path or memory.
type Change struct {
	// ID is the memory that Chunks, Links and Derived belong to. Empty means
	// that of Memory, else File.MemoryID.
	ID fold.ID

	File     *File  // row of the manifest to put; nil leaves it
	Drop     string // path of the manifest to delete
	DropFold bool   // Drop is below fold/

	Memory *Row // to put or replace; nil leaves it

	// Lookups is what the description in Memory asked of the other files of the tree, in
	// a form of the caller's: nil leaves what is stored, empty deletes it.
	Lookups []byte

	Chunks    []fold.Chunk // all chunks of the memory
	SetChunks bool         // replace them; those with equal ids stay as they are

	// Links are the written links from the memory; those of one that is described
	// in the index only are what Memory says, and are set together with it.
	Links      []fold.Link
	SetLinks   bool        // replace them
	Derived    []fold.Link // derived links from the memory
	SetDerived bool        // replace them

	Forget fold.ID // memory to delete, with its chunks and the links from it; links to it stay and dangle
}

// About returns the memory that the change belongs to, "" if none.
func (c *Change) About() fold.ID {
	switch {
	case c.ID != "":
		return c.ID
	case c.Memory != nil:
		return c.Memory.ID
	case c.File != nil:
		return c.File.MemoryID
	}
	return ""
}

// Applied is what Apply changed. What was equal already is not in it.
type Applied struct {
	Seq       int64     // of this change, or of the last one if nothing changed
	Added     []string  // chunk ids
	Removed   []string  // chunk ids, also of forgotten memories
	Memories  []fold.ID // whose row, chunks or links changed
	Forgotten []fold.ID
	// Was has the former chunks of the memories whose chunks changed.
	Was map[fold.ID][]fold.Chunk
	// Now has the chunks, as they are stored, of the memories whose chunks were to
	// be replaced, whether they changed or not; those that have none are not in it.
	Now map[fold.ID][]fold.Chunk
	// Rows has the memories that were put.
	Rows map[fold.ID]RowChange
}

// A RowChange is how a memory that was put differs from what it was. One that is
// new differs in everything.
type RowChange struct {
	FilterChanged  bool      // its path, source, type, author, language or tags, by which searches are narrowed
	ContentChanged bool      // more than its blob, its times, and whether it is stale
	Was            time.Time // when it was updated before; zero if it was not there
}
