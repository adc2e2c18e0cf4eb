package index

import (
	"context"
	"database/sql"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// Memory returns one memory; it hides nothing. It returns fold.ErrNotFound if
// there is none of that id.
//
// The ContentHash of one that is described in the index only is that of its
// canonical encoding, which is worked out here: Apply would do it for thousands
// that nobody reads. Other methods return none.
func (x *DB) Memory(ctx context.Context, id fold.ID) (Row, error) {
	r, err := scanRow(x.db.Row(ctx, "memory "+string(id), `select `+memoryColumns+` from memories where id = ?`, string(id)).Scan)
	if err == nil && r.ContentHash == "" && r.Described == "index" {
		r.ContentHash = fold.ContentHash(fold.Encode(&r.Memory, nil))
	}
	return r, err
}

// Memories returns those of ids that exist.
func (x *DB) Memories(ctx context.Context, ids []fold.ID) (map[fold.ID]Row, error) {
	all := make(map[fold.ID]Row, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	err := x.db.Each(ctx, "read memories", func(scan func(...any) error) error {
		r, err := scanRow(scan)
		all[r.ID] = r
		return err
	}, `select `+memoryColumns+` from memories where id in (select value from json_each(?))`, sqlite.List(ids))
	return all, err
}

// EachMemory calls fn for every memory in the order of their ids, on one state
// of the index. An error of fn ends it and is returned.
func (x *DB) EachMemory(ctx context.Context, fn func(Row) error) error {
	return x.db.Each(ctx, "read memories", func(scan func(...any) error) error {
		r, err := scanRow(scan)
		if err != nil {
			return err
		}
		return fn(r)
	}, `select `+memoryColumns+` from memories order by id`)
}

// textOf returns the second column of a query, a text, by the first, a memory.
func (x *DB) textOf(ctx context.Context, op, query string, args ...any) (map[fold.ID]string, error) {
	all := make(map[fold.ID]string)
	err := x.db.Each(ctx, op, func(scan func(...any) error) error {
		var id fold.ID
		var text string
		err := scan(&id, &text)
		all[id] = text
		return err
	}, query, args...)
	return all, err
}

// ids returns the one column of a query, which are memories.
func (x *DB) ids(ctx context.Context, op, query string, args ...any) ([]fold.ID, error) {
	var ids []fold.ID
	err := x.db.Each(ctx, op, func(scan func(...any) error) error {
		var id fold.ID
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, query, args...)
	return ids, err
}

// Titles returns the titles of those of ids that exist.
func (x *DB) Titles(ctx context.Context, ids []fold.ID) (map[fold.ID]string, error) {
	return x.textOf(ctx, "read titles", `select id, title from memories where id in (select value from json_each(?))`, sqlite.List(ids))
}

// IDsByPrefix returns at most limit ids that begin with prefix (lower-case hex
// digits), in order.
func (x *DB) IDsByPrefix(ctx context.Context, prefix string, limit int) ([]fold.ID, error) {
	return x.ids(ctx, "ids by prefix", `select id from memories where id >= ?1 and id < ?1 || 'g' order by id limit ?2`, prefix, limit)
}

// Described returns how those of ids that exist are described: "fold" or "index".
// It costs much less than to read the memories.
func (x *DB) Described(ctx context.Context, ids []fold.ID) (map[fold.ID]string, error) {
	return x.textOf(ctx, "how described", `select id, described from memories where id in (select value from json_each(?))`, sqlite.List(ids))
}

// DescribedBlobs returns what the memories in fold/ that describe source files
// were made of, by memory.
func (x *DB) DescribedBlobs(ctx context.Context) (map[fold.ID]string, error) {
	return x.textOf(ctx, "described blobs", `select id, source_blob from memories where file_path <> '' and source = 'file' and described = 'fold'`)
}

// DescribedPaths returns, by the ids of their memories, the source files that have
// a memory file, and, as kept, those whose memory file no longer belongs to them
// because it holds a person's words.
func (x *DB) DescribedPaths(ctx context.Context) (described, kept map[fold.ID]string, err error) {
	described, kept = map[fold.ID]string{}, map[fold.ID]string{}
	err = x.db.Each(ctx, "described paths", func(scan func(...any) error) error {
		var id fold.ID
		var path, from string
		if err := scan(&id, &path, &from); err != nil {
			return err
		}
		if path != "" {
			described[id] = path
		} else if from != "" {
			kept[id] = from
		}
		return nil
	}, `select id, case source when 'file' then file_path else '' end, coalesce(more ->> '$.moved_from', '')
		from memories where described = 'fold' and (source = 'file' or file_path = '' and more like '%"moved_from"%')`)
	return described, kept, err
}

// A StaleRow is a memory whose source differs from what was described.
type StaleRow struct {
	ID         fold.ID
	FilePath   string
	SourceBlob string
}

// StaleRows returns the ids of memories in fold/ that are marked stale, with
// the source file and the blob each describes.
func (x *DB) StaleRows(ctx context.Context) ([]StaleRow, error) {
	var all []StaleRow
	err := x.db.Each(ctx, "stale rows", func(scan func(...any) error) error {
		var r StaleRow
		if err := scan(&r.ID, &r.FilePath, &r.SourceBlob); err != nil {
			return err
		}
		all = append(all, r)
		return nil
	}, `select id, file_path, source_blob from memories where stale = 1 and described = 'fold' order by id`)
	return all, err
}

// EachLookups calls fn with what each description asked of the tree, see [Change.Asked]; the
// record is valid until fn returns.
func (x *DB) EachLookups(ctx context.Context, fn func(id fold.ID, record []byte) error) error {
	return x.db.Each(ctx, "read what descriptions asked", func(scan func(...any) error) error {
		var id fold.ID
		var record sql.RawBytes
		if err := scan(&id, &record); err != nil {
			return err
		}
		return fn(id, record)
	}, `select memory_id, record from asked order by memory_id`)
}
