package recall

import (
	"context"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// heirsMost bounds how many times a memory was merged into another, which was merged
// into another.
const heirsMost = 16

// heir returns the memory that took in the memory id, which is not there any more:
// the one that says it supersedes it, at the end of a chain of such. Who still has
// the old id, in a link or in a note of his own, is led there.
func (d *Door) heir(ctx context.Context, id fold.ID) (fold.ID, bool) {
	at := id
	for range heirsMost {
		_, in, err := d.Index.LinksOf(ctx, []fold.ID{at})
		if err != nil {
			return "", false
		}
		var next fold.ID
		for _, l := range in[at] {
			if l.Type == fold.LinkSupersedes && !l.Derived {
				next = l.From
				break
			}
		}
		if next == "" || next == id {
			return "", false
		}
		if _, err := d.row(ctx, next); err == nil {
			return next, true
		}
		at = next
	}
	return "", false
}
