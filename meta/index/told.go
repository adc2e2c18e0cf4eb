package meta

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Told is what a memory says, who says it and when.
type Told struct {
	Author string
	At     time.Time // that it is about, else of its making
	Text   string    // "" where it is longer than was asked for
}

// Told returns, of memories, who tells what and when; texts of more than most
// bytes are left out. Unknown ids are left out, too.
func (x *Index) Told(ctx context.Context, ids []fold.ID, most int) (map[fold.ID]Told, error) {
	out := make(map[fold.ID]Told, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	err := x.db.each(ctx, "read what was told", func(scan func(...any) error) error {
		var id fold.ID
		var t Told
		var created int64
		var about string
		if err := scan(&id, &t.Author, &created, &about, &t.Text); err != nil {
			return err
		}
		t.At = time.UnixMicro(created).UTC()
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if at, err := time.Parse(layout, about); err == nil {
				t.At = at
				break
			}
		}
		out[id] = t
		return nil
	}, `select id, author, created_at, coalesce(json_extract(more, '$.original_date'), ''),
			case when length(body) <= ?2 then body else '' end
		from memories where id in (select value from json_each(?1))`, list(ids), most)
	return out, err
}
