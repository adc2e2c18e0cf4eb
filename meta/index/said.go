package meta

import (
	"context"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Words tells whether those of a memory changed.
type Words struct {
	FilePath string // of the source file; "" if it is of none
	Seq      int64  // of their last change: what is embedded of the memory is as old
}

// WordsOf returns when the words of those of ids that exist changed. A branch
// switch changes little but times and blobs, and this is much less than to read
// the memories.
func (x *Index) WordsOf(ctx context.Context, ids []fold.ID) (map[fold.ID]Words, error) {
	all := make(map[fold.ID]Words, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	err := x.db.each(ctx, "words changed", func(scan func(...any) error) error {
		var id fold.ID
		var w Words
		err := scan(&id, &w.FilePath, &w.Seq)
		all[id] = w
		return err
	}, `select id, file_path, said_seq from memories where id in (select value from json_each(?))`, list(ids))
	return all, err
}
