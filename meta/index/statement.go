package index

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A Statement is what a memory says, who says it and when.
type Statement struct {
	Author string
	At     time.Time // that it is about, else when the memory was made
	Text   string    // "" where it is longer than was asked for
}

// Statements returns what those of ids that exist say, without texts of more than
// maxBytes.
func (x *DB) Statements(ctx context.Context, ids []fold.ID, maxBytes int) (map[fold.ID]Statement, error) {
	out := make(map[fold.ID]Statement, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	err := x.db.Each(ctx, "read statements", func(scan func(...any) error) error {
		var id fold.ID
		var s Statement
		var created int64
		var about string
		if err := scan(&id, &s.Author, &created, &about, &s.Text); err != nil {
			return err
		}
		s.At = time.UnixMicro(created).UTC()
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if at, err := time.Parse(layout, about); err == nil {
				s.At = at
				break
			}
		}
		out[id] = s
		return nil
	}, `select id, author, created_at, coalesce(json_extract(more, '$.original_date'), ''),
			case when length(body) <= ?2 then body else '' end
		from memories where id in (select value from json_each(?1))`, sqlite.List(ids), maxBytes)
	return out, err
}
