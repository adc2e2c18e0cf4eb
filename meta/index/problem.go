package index

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// problemFiles selects the files of which not all is indexed, and problemRank is
// their order: quarantined, failed, indexed in part, skipped.
const (
	problemFiles = ` from files where reason <> '' and state in ('quarantined', 'failed', 'indexed', 'skipped')`
	problemRank  = `case state when 'quarantined' then 0 when 'failed' then 1 when 'indexed' then 2 else 3 end`
)

// Problems returns the first files of which not all is indexed, with their
// reasons: quarantined, then failed, then those indexed in part, then skipped;
// and how many there are in all.
func (x *DB) Problems(ctx context.Context, limit int) (files []File, total int, err error) {
	if err := x.db.Row(ctx, "count problems", `select count(*)`+problemFiles).Scan(&total); err != nil {
		return nil, 0, err
	}
	files, _, err = x.ProblemsAfter(ctx, "", limit)
	return files, total, err
}

// ProblemsAfter returns a page of what Problems returns, and the cursor of the
// next one, "" if there is none. It returns fold.ErrInvalid for a cursor that is
// none of these.
func (x *DB) ProblemsAfter(ctx context.Context, cursor string, limit int) (files []File, next string, err error) {
	where, args := problemFiles, []any{}
	if cursor != "" {
		var at problemCursor
		if b, err := base64.RawURLEncoding.DecodeString(cursor); err != nil || json.Unmarshal(b, &at) != nil {
			return nil, "", fmt.Errorf("cursor %.40q: not of this list: %w", cursor, fold.ErrInvalid)
		}
		where += ` and (` + problemRank + `, path, fold) > (?, ?, ?)`
		args = append(args, at.Rank, at.Path, at.Fold)
	}
	err = x.db.Each(ctx, "read problems", func(scan func(...any) error) error {
		f, err := scanFile(scan)
		files = append(files, f)
		return err
	}, `select `+fileColumns+where+` order by `+problemRank+`, path, fold limit ?`, append(args, limit+1)...)
	if err != nil || len(files) <= limit {
		return files, "", err
	}
	files = files[:max(limit, 1)]
	last := files[len(files)-1]
	rank := map[string]int{"quarantined": 0, "failed": 1, "indexed": 2, "skipped": 3}[last.State]
	b, err := json.Marshal(problemCursor{Rank: rank, Path: last.Path, Fold: last.Fold})
	return files, base64.RawURLEncoding.EncodeToString(b), err
}

// A problemCursor is where a page of problems ended.
type problemCursor struct {
	Rank int    `json:"r"`
	Path string `json:"p"`
	Fold bool   `json:"f"`
}
