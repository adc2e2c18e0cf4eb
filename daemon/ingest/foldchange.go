package ingest

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// foldChange is one file below fold/ as it was found.
type foldChange struct {
	file  index.File
	m     *fold.Memory
	bytes []byte
	when  time.Time // last change of the file, whole seconds
	gone  bool
	tomb  *fold.Memory // that of which the file is the tombstone; nil if it is none
	aside bool         // the id is that of a file that looks like it
	named bool         // other memories may find it by another name than before
	was   index.File   // manifest entry before
	known bool
	// before are the memories that were found under the names which this changes.
	before []index.Row
}

// noteBefore keeps what stood in the index before.
func (fc *foldChange) noteBefore(rows map[fold.ID]index.Row) {
	for _, id := range distinct([]fold.ID{fc.was.MemoryID, fc.file.MemoryID}) {
		if row, ok := rows[id]; ok {
			fc.before = append(fc.before, row)
		}
	}
}

// sameNames reports whether a memory is still found by the names it had.
func sameNames(old index.Row, fc *foldChange) bool {
	return old.ID == fc.m.ID && old.Path == fc.file.Path && old.Title == fc.m.Title && old.Foreign == fc.m.Foreign &&
		slices.Equal(old.Aliases, fc.m.Aliases)
}

// isMemoryPath reports whether a file at p below fold/ is a memory: markdown,
// not in a folder that editors keep for themselves (design.md 4).
func isMemoryPath(p string) bool {
	if !strings.EqualFold(path.Ext(p), ".md") {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	return true
}

// buried is the state of a file below fold/ that is marked `deleted: true`, as an earlier
// version left it of a memory.
const buried = "skipped"

// maxMemory is the largest memory file that is read (threats.md 3).
const maxMemory = 1 << 20
