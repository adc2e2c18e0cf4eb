package meta

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Memory returns one memory; it hides nothing. It returns fold.ErrNotFound if
// there is none of that id.
//
// The ContentHash of one that is described in the index only is that of its
// canonical encoding. Only here it is asked for, so that it is worked out here: a
// branch switch would do it for thousands that nobody reads. Other methods return
// none.
func (x *Index) Memory(ctx context.Context, id fold.ID) (Row, error) {
	r, err := scanRow(x.db.r.QueryRowContext(ctx, `select `+memoryColumns+` from memories where id = ?`, string(id)).Scan)
	if err == nil && r.ContentHash == "" && r.Described == "index" {
		r.ContentHash = fold.ContentHash(fold.Encode(&r.Memory, nil))
	}
	return r, x.db.wrap(err, "memory "+string(id))
}

// Memories returns those of ids that exist.
func (x *Index) Memories(ctx context.Context, ids []fold.ID) (map[fold.ID]Row, error) {
	all := make(map[fold.ID]Row, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	err := x.db.each(ctx, "read memories", func(scan func(...any) error) error {
		r, err := scanRow(scan)
		all[r.ID] = r
		return err
	}, `select `+memoryColumns+` from memories where id in (select value from json_each(?))`, list(ids))
	return all, err
}

// Described returns how those of ids that exist are described: "fold" or "index".
// It is much less than to read the memories.
func (x *Index) Described(ctx context.Context, ids []fold.ID) (map[fold.ID]string, error) {
	all := make(map[fold.ID]string, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	err := x.db.each(ctx, "how described", func(scan func(...any) error) error {
		var id fold.ID
		var how string
		err := scan(&id, &how)
		all[id] = how
		return err
	}, `select id, described from memories where id in (select value from json_each(?))`, list(ids))
	return all, err
}

// EachMemory calls fn for every memory in the order of their ids, on one state
// of the index. An error of fn ends it and is returned.
func (x *Index) EachMemory(ctx context.Context, fn func(Row) error) error {
	return x.db.each(ctx, "read memories", func(scan func(...any) error) error {
		r, err := scanRow(scan)
		if err != nil {
			return err
		}
		return fn(r)
	}, `select `+memoryColumns+` from memories order by id`)
}

// Titles returns the titles of those of ids that exist.
func (x *Index) Titles(ctx context.Context, ids []fold.ID) (map[fold.ID]string, error) {
	all := make(map[fold.ID]string, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	err := x.db.each(ctx, "read titles", func(scan func(...any) error) error {
		var id fold.ID
		var title string
		err := scan(&id, &title)
		all[id] = title
		return err
	}, `select id, title from memories where id in (select value from json_each(?))`, list(ids))
	return all, err
}

// IDsByPath returns the memories that describe the source files at filePaths
// (source file only: others may name a path without describing it).
func (x *Index) IDsByPath(ctx context.Context, filePaths []string) (map[string]fold.ID, error) {
	all := make(map[string]fold.ID, len(filePaths))
	for len(filePaths) > 0 {
		n := min(len(filePaths), 500)
		args := make([]any, n)
		for i, p := range filePaths[:n] {
			args[i] = p // bound as they are: JSON would change paths that are no UTF-8
		}
		filePaths = filePaths[n:]
		err := x.db.each(ctx, "find by path", func(scan func(...any) error) error {
			var p string
			var id fold.ID
			err := scan(&p, &id)
			all[p] = id
			return err
		}, `select file_path, id from memories where source = 'file' and file_path <> '' and file_path in `+marks(n)+` order by id desc`, args...)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// marks returns "(?, ?, ?)" with n marks.
func marks(n int) string {
	in := inserter{cols: n}
	return in.query(1)
}

// Files returns the manifest of fold/, or of the source files, by path.
func (x *Index) Files(ctx context.Context, inFold bool) (map[string]File, error) {
	all := make(map[string]File)
	err := x.db.each(ctx, "read files", func(scan func(...any) error) error {
		f, err := scanFile(scan)
		all[f.Path] = f
		return err
	}, `select `+fileColumns+` from files where fold = ?`, bit(inFold))
	return all, err
}

// FilesByPath returns the rows of the manifest that paths have there.
func (x *Index) FilesByPath(ctx context.Context, paths []string, inFold bool) (map[string]File, error) {
	some := make(map[string]File, len(paths))
	if len(paths) == 0 {
		return some, nil
	}
	err := x.db.each(ctx, "read files", func(scan func(...any) error) error {
		f, err := scanFile(scan)
		some[f.Path] = f
		return err
	}, `select `+fileColumns+` from files where fold = ? and path in (select value from json_each(?))`, bit(inFold), list(paths))
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		if utf8.ValidString(p) {
			continue
		}
		f, err := x.FileByPath(ctx, p, inFold) // JSON cannot say such a path
		if errors.Is(err, fold.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		some[p] = f
	}
	return some, nil
}

// FileByPath returns one row of the manifest. It returns fold.ErrNotFound if
// there is none.
func (x *Index) FileByPath(ctx context.Context, path string, inFold bool) (File, error) {
	f, err := scanFile(x.db.r.QueryRowContext(ctx, `select `+fileColumns+` from files where fold = ? and path = ?`,
		bit(inFold), path).Scan)
	return f, x.db.wrap(err, fmt.Sprintf("file %.200q", path))
}

// AnyBelow reports whether the manifest has a source file in the folder dir.
func (x *Index) AnyBelow(ctx context.Context, dir string) (bool, error) {
	var found bool
	// "0" is the byte after "/".
	err := x.db.r.QueryRowContext(ctx, `select exists (select 1 from files where fold = 0 and path > ? and path < ?)`,
		dir+"/", dir+"0").Scan(&found)
	return found, x.db.wrap(err, fmt.Sprintf("files below %.200q", dir))
}

// aProblem are the files of which not all is indexed, and problemRank their
// order: quarantined, failed, indexed in part, skipped.
const (
	aProblem    = ` from files where reason <> '' and state in ('quarantined', 'failed', 'indexed', 'skipped')`
	problemRank = `case state when 'quarantined' then 0 when 'failed' then 1 when 'indexed' then 2 else 3 end`
)

// Problems returns the first files of which not all is indexed, with their
// reasons: quarantined, then failed, then those indexed in part, then skipped;
// and how many there are in all.
func (x *Index) Problems(ctx context.Context, limit int) (files []File, total int, err error) {
	if err := x.db.r.QueryRowContext(ctx, `select count(*)`+aProblem).Scan(&total); err != nil {
		return nil, 0, x.db.wrap(err, "count problems")
	}
	files, _, err = x.ProblemsAfter(ctx, "", limit)
	return files, total, err
}

// ProblemsAfter returns a page of what Problems returns, and the cursor of the
// next one, "" if there is none. It returns fold.ErrInvalid for a cursor that is
// none of these.
func (x *Index) ProblemsAfter(ctx context.Context, cursor string, limit int) (files []File, next string, err error) {
	where, args := aProblem, []any{}
	if cursor != "" {
		var at problemCursor
		if b, err := base64.RawURLEncoding.DecodeString(cursor); err != nil || json.Unmarshal(b, &at) != nil {
			return nil, "", fmt.Errorf("cursor %.40q: not of this list: %w", cursor, fold.ErrInvalid)
		}
		where += ` and (` + problemRank + `, path, fold) > (?, ?, ?)`
		args = append(args, at.Rank, at.Path, at.Fold)
	}
	err = x.db.each(ctx, "read problems", func(scan func(...any) error) error {
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

// Counts are the numbers that status shows.
type Counts struct {
	Files       int // source files in the manifest
	Indexed     int // of Files
	Skipped     int // of Files
	Failed      int // of Files
	FoldFiles   int // files below fold/ in the manifest, tombstones apart
	Quarantined int // of both
	Memories    int
	InFold      int // of Memories, with a file below fold/
	Stale       int // of Memories
	Chunks      int
	Links       int
	Conflicts   int // memories that hold another version of one, see [fold.Promote]
	Queued      int // jobs pending, waiting to be retried, or running
}

// count counts all but the queue from the tables.
func (x *Index) count(ctx context.Context) (Counts, error) {
	var c Counts
	err := x.db.r.QueryRowContext(ctx, `select
		coalesce(sum(fold = 0), 0), coalesce(sum(fold = 0 and state = 'indexed'), 0),
		coalesce(sum(fold = 0 and state = 'skipped'), 0), coalesce(sum(fold = 0 and state = 'failed'), 0),
		coalesce(sum(fold = 1 and state <> 'skipped'), 0), coalesce(sum(state = 'quarantined'), 0),
		(select count(*) from memories), (select count(*) from memories where described = 'fold'),
		(select count(*) from memories where stale = 1), (select value + 0 from meta where key = 'chunks'),
		(select count(distinct id) from memory_links),
		(select count(distinct from_id) from memory_links where link_type = 'conflicts_with' and derived = 0)
		from files`).Scan(&c.Files, &c.Indexed, &c.Skipped, &c.Failed, &c.FoldFiles, &c.Quarantined,
		&c.Memories, &c.InFold, &c.Stale, &c.Chunks, &c.Links, &c.Conflicts)
	return c, x.db.wrap(err, "count")
}
