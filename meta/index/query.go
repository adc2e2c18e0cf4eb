package meta

import (
	"context"
	"database/sql"
	"errors"
	"time"
	"unique"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// IDsByPrefix returns at most limit ids that begin with prefix (lower-case hex
// digits), in order.
func (x *Index) IDsByPrefix(ctx context.Context, prefix string, limit int) ([]fold.ID, error) {
	var ids []fold.ID
	err := x.db.each(ctx, "ids by prefix", func(scan func(...any) error) error {
		var id fold.ID
		if err := scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	}, `select id from memories where id >= ?1 and id < ?1 || 'g' order by id limit ?2`, prefix, limit)
	return ids, err
}

// StaleRows returns the ids of memories in fold/ that are marked stale, with
// the source file and the blob each describes.
func (x *Index) StaleRows(ctx context.Context) ([]StaleRow, error) {
	var all []StaleRow
	err := x.db.each(ctx, "stale rows", func(scan func(...any) error) error {
		var r StaleRow
		if err := scan(&r.ID, &r.FilePath, &r.SourceBlob); err != nil {
			return err
		}
		all = append(all, r)
		return nil
	}, `select id, file_path, source_blob from memories where stale = 1 and described = 'fold' order by id`)
	return all, err
}

// DescribedBlobs returns what the memories in fold/ that describe source files
// were made of, by memory.
func (x *Index) DescribedBlobs(ctx context.Context) (map[fold.ID]string, error) {
	all := make(map[fold.ID]string)
	err := x.db.each(ctx, "described blobs", func(scan func(...any) error) error {
		var id fold.ID
		var blob string
		if err := scan(&id, &blob); err != nil {
			return err
		}
		all[id] = blob
		return nil
	}, `select id, source_blob from memories where file_path <> '' and source = 'file' and described = 'fold'`)
	return all, err
}

// DescribedPaths returns the source files that have a memory file, and, as kept,
// those whose memory file became one of its own because it holds a person's words:
// by the ids of the memories.
func (x *Index) DescribedPaths(ctx context.Context) (described, kept map[fold.ID]string, err error) {
	described, kept = map[fold.ID]string{}, map[fold.ID]string{}
	err = x.db.each(ctx, "described paths", func(scan func(...any) error) error {
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

// OpenJobs returns how many jobs wait or run, those of the types except left
// out. Jobs that wait to be tried again are not counted.
func (x *Index) OpenJobs(ctx context.Context, except ...string) (int, error) {
	n := 0
	err := x.db.each(ctx, "open jobs", func(scan func(...any) error) error { return scan(&n) },
		`select count(*) from jobs where status in ('pending', 'running') and type not in (select value from json_each(?))`, list(except))
	return n, err
}

// CancelOpen ends every job that has not ended, with a reason: at a start,
// where one sweep does the work of them all.
func (x *Index) CancelOpen(ctx context.Context, reason string, now time.Time) error {
	_, err := x.db.exec(ctx, "cancel open jobs", `update jobs set status = 'cancelled', error = ?, owner = '', ended_at = ?
		where status in ('pending', 'running', 'retry')`, reason, micros(now))
	return err
}

// ClearGone forgets which descriptions of the project were deleted by hand, so
// that they are made again.
func (s *State) ClearGone(ctx context.Context, slug string) error {
	_, err := s.db.exec(ctx, "clear gone", `delete from gone where slug = ?`, slug)
	return err
}

// ChangedPart is ChangedSince in parts of about n memories: it returns the
// first of them, the number up to which the caller has caught up once it has
// dealt with these, and whether more changed after that.
func (x *Index) ChangedPart(ctx context.Context, seq int64, n int) (ids []fold.ID, gone []string, upTo int64, more bool, err error) {
	tx, err := x.db.r.BeginTx(ctx, nil) // one state for all
	if err != nil {
		return nil, nil, 0, false, x.db.wrap(err, "changed part")
	}
	defer tx.Rollback()
	err = tx.QueryRowContext(ctx, `select seq from memories where seq > ? order by seq limit 1 offset ?`, seq, n-1).Scan(&upTo)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = tx.QueryRowContext(ctx, `select value from meta where key = 'seq'`).Scan(&upTo)
	case err == nil:
		err = tx.QueryRowContext(ctx, `select exists (select 1 from memories where seq > ?1) or exists (select 1 from gone where seq > ?1)`, upTo).Scan(&more)
	}
	if err == nil {
		ids, err = column[fold.ID](ctx, tx, `select id from memories where seq > ? and seq <= ? order by seq, id`, seq, upTo)
	}
	if err == nil {
		gone, err = column[string](ctx, tx, `select key from gone where seq > ? and seq <= ? order by key`, seq, upTo)
	}
	return ids, gone, upTo, more, x.db.wrap(err, "changed part")
}

// CountChanged returns how many memories changed after seq.
func (x *Index) CountChanged(ctx context.Context, seq int64) (int, error) {
	n := 0
	err := x.db.r.QueryRowContext(ctx, `select count(*) from memories where seq > ?`, seq).Scan(&n)
	return n, x.db.wrap(err, "count changed")
}

// A Pulse is what the ranker asks of a memory.
type Pulse struct {
	Type     string
	Language string // of the source file it describes; "" if not known or none
	Updated  time.Time
	Pinned   bool
	Known    bool // there is such a memory
}

// A pulse is what is held of a memory.
type pulse struct {
	Pulse
	session string // "" for none
}

// Pulses returns the pulses of ids, in their order; those of unknown ones are zero.
func (x *Index) Pulses(ctx context.Context, ids []fold.ID) ([]Pulse, error) {
	held, err := x.pulsesOf(ctx, ids)
	all := make([]Pulse, len(held))
	for i := range held {
		all[i] = held[i].Pulse
	}
	return all, err
}

func (x *Index) pulsesOf(ctx context.Context, ids []fold.ID) ([]pulse, error) {
	all := make([]pulse, len(ids))
	missing, drops := x.pulses.take(ids, all)
	if len(missing) == 0 {
		return all, nil
	}
	read := make(map[fold.ID]pulse, len(missing))
	for _, i := range missing {
		read[ids[i]] = pulse{} // that it is not known is held, too
	}
	err := x.db.each(ctx, "pulses", func(scan func(...any) error) error {
		var id fold.ID
		p := pulse{Pulse: Pulse{Known: true}}
		var updated int64
		if err := scan(&id, &p.Type, &p.Language, &updated, &p.Pinned, &p.session); err != nil {
			return err
		}
		p.Type, p.Language, p.session = unique.Make(p.Type).Value(), unique.Make(p.Language).Value(), unique.Make(p.session).Value()
		p.Updated = fromMicros(updated)
		read[id] = p
		return nil
	}, `select id, memory_type, language, updated_at, pinned, coalesce(json_extract(more, '$.session'), '')
		from memories where id in (select value from json_each(?))`, list(pick(ids, missing)))
	if err != nil {
		return nil, err
	}
	x.pulses.put(read, drops)
	for _, i := range missing {
		all[i] = read[ids[i]]
	}
	return all, nil
}
