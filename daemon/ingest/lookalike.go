package ingest

import (
	"fmt"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Two files below fold/ look alike if their names are one, written with other code
// points: é, and e with an accent after it. A clone of what a Mac wrote may have both.
// A system that composes names has one file for both, and so they have one id
// ([fold.NoteID]). Where they are two files, both stay as they are, the one with the
// composed name is indexed, and the other is set aside, so that the answer does not
// depend on which was saved last.

// givesWayTo returns the name of the file that stands in the index for the one at
// p, which looks like it; "" if there is none.
func givesWayTo(from disk.Reader, p string) string {
	composed, decomposed := fold.Spellings(p)
	if p == composed {
		return ""
	}
	for _, other := range []string{composed, decomposed} {
		if other != p && areTwo(from.Lstat, p, other) {
			return other
		}
	}
	return ""
}

// areTwo reports whether there are files at p and at other, and not one at both.
func areTwo(lstat func(string) (disk.Info, error), p, other string) bool {
	a, err := lstat(p)
	if err != nil {
		return false
	}
	b, err := lstat(other)
	return err == nil && a.Inode != b.Inode
}

// withLookalikes adds to paths the files that stand aside for one of them: they do
// so from now on, or no longer.
func (in *Ingester) withLookalikes(paths []string) []string {
	for _, p := range paths {
		composed, decomposed := fold.Spellings(p)
		if p != composed || p == decomposed || !isMemoryPath(p) {
			continue
		}
		lstat := in.Options.Fold.Lstat
		if _, err := lstat(p); disk.Missing(err) || areTwo(lstat, p, decomposed) {
			paths = append(paths, decomposed) // if it is not there either, nothing comes of it
		}
	}
	return distinct(paths)
}

// lookalike is the reason why a file is set aside.
func lookalike(other string) string {
	return fmt.Sprintf("its name is that of %+q, written with other code points, and only that one is found; rename one of them", other)
}
