package index

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// Apply applies changes, in their order, in one transaction. Every memory it
// touches gets the same new Seq; a change that changes nothing touches nothing.
// Keys that are removed are kept for ChangedPart.
func (x *DB) Apply(ctx context.Context, changes []Change) (Applied, error) {
	var done Applied
	if len(changes) == 0 {
		seq, err := x.Seq(ctx)
		return Applied{Seq: seq}, err
	}
	x.db.ExpectChanges(ctx, len(changes))
	err := x.db.Write(ctx, "apply", func(tx *sql.Tx) error {
		done = Applied{}
		a := newApplyTx(tx)
		defer a.tables.close()
		if err := tx.QueryRowContext(ctx, `select value + 1 from meta where key = 'seq'`).Scan(&a.seq); err != nil {
			return err
		}
		for batch := range batches(changes) {
			if err := a.applyBatch(ctx, batch); err != nil {
				return err
			}
		}
		if err := a.finish(ctx); err != nil {
			return err
		}
		done = a.applied()
		return nil
	})
	var source, inFold bool
	for i := range changes {
		f := changes[i].File
		source = source || f != nil && !f.Fold || changes[i].Drop != "" && !changes[i].DropFold
		inFold = inFold || f != nil && f.Fold || changes[i].Drop != "" && changes[i].DropFold
	}
	x.bumpVersions(source, inFold)
	x.dropCached(changes) // an error, too, may come of a transaction that was done
	if err != nil {
		return Applied{}, err
	}
	return done, nil
}

// dropCached drops what is held of memories that changes are about.
func (x *DB) dropCached(changes []Change) {
	ids := make([]fold.ID, 0, len(changes))
	for i := range changes {
		for _, id := range [...]fold.ID{changes[i].About(), changes[i].Forget} {
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	x.stats.drop(ids)
	x.spans.drop(ids)
	x.summaries.drop(ids)
	x.chunks.drop(ids)
}

// maxBatch is how many changes a batch has at most: it bounds what is held in
// memory to be compared.
const maxBatch = 512

// batches cuts changes into runs in which no memory occurs twice: two changes of
// one memory must see each other.
func batches(changes []Change) func(yield func([]Change) bool) {
	return func(yield func([]Change) bool) {
		seen := make(map[fold.ID]bool)
		start := 0
		for i := range changes {
			ids := [2]fold.ID{changes[i].About(), changes[i].Forget}
			if i-start >= maxBatch || ids[0] != "" && seen[ids[0]] || ids[1] != "" && seen[ids[1]] {
				if !yield(changes[start:i]) {
					return
				}
				start = i
				clear(seen)
			}
			seen[ids[0]], seen[ids[1]] = true, true
		}
		if start < len(changes) {
			yield(changes[start:])
		}
	}
}

// applyBatch applies changes in which no memory occurs twice.
func (a *applyTx) applyBatch(ctx context.Context, changes []Change) error {
	if err := a.load(ctx, changes); err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		if c.Forget != "" {
			if err := a.forget(ctx, c.Forget); err != nil {
				return err
			}
		}
		if err := a.file(ctx, c); err != nil {
			return err
		}
		id := c.About()
		if id == "" {
			if c.SetChunks || c.SetLinks || c.SetDerived {
				return fmt.Errorf("change without a memory: %w", fold.ErrInvalid)
			}
			continue
		}
		if c.Memory != nil {
			if err := a.setRow(ctx, c.Memory); err != nil {
				return err
			}
		}
		if c.Lookups != nil {
			if err := a.setAsked(ctx, id, c.Lookups); err != nil {
				return err
			}
		}
		if c.SetChunks {
			if err := a.setChunks(ctx, id, c.Chunks); err != nil {
				return err
			}
		}
		if c.SetLinks && !a.batch.sameLinks[id] {
			if err := a.setLinks(ctx, id, c.Links, false); err != nil {
				return err
			}
		}
		if c.SetDerived {
			if err := a.setLinks(ctx, id, c.Derived, true); err != nil {
				return err
			}
		}
	}
	return a.tables.flush(ctx, a.tx)
}

// load reads what the batch's memories have now.
func (a *applyTx) load(ctx context.Context, changes []Change) error {
	var rows, chunks []fold.ID
	for i := range changes {
		c := &changes[i]
		id := c.About()
		if c.Memory != nil {
			rows = append(rows, id)
		}
		if c.SetChunks {
			chunks = append(chunks, id)
		}
		if c.Forget != "" {
			rows = append(rows, c.Forget)
			chunks = append(chunks, c.Forget)
		}
	}
	a.batch = batchState{
		rows: make(map[fold.ID][]any), newRows: make(map[fold.ID][]any, len(rows)), chunks: make(map[fold.ID][]byte),
		links: make(map[fold.ID][]fold.Link), sameLinks: make(map[fold.ID]bool),
	}
	err := a.each(ctx, `select `+memoryColumns+` from memories where id in (select value from json_each(?))`, rows,
		func(scan func(...any) error) error {
			values, err := scanValues(scan)
			if err == nil {
				a.batch.rows[fold.ID(values[columnID].(string))] = values
			}
			return err
		})
	if err != nil {
		return err
	}
	err = a.each(ctx, `select `+chunkColumns+` from chunks where memory_id in (select value from json_each(?))`, chunks,
		func(scan func(...any) error) error {
			var id fold.ID
			var value []byte
			err := scan(&id, &value)
			a.batch.chunks[id] = value
			return err
		})
	if err != nil {
		return err
	}
	return a.loadLinks(ctx, changes)
}

// file puts or drops a row of the manifest.
func (a *applyTx) file(ctx context.Context, c *Change) error {
	if c.Drop != "" {
		_, err := a.tx.ExecContext(ctx, `delete from files where fold = ? and path = ?`, c.DropFold, c.Drop)
		if err != nil {
			return err
		}
		a.fileCount++
	}
	if c.File == nil {
		return nil
	}
	a.fileCount++
	return a.tables.files.Add(ctx, a.tx, c.File.values(a.seq)...)
}

func (a *applyTx) setAsked(ctx context.Context, id fold.ID, record []byte) error {
	if len(record) > 0 {
		return a.tables.asked.Add(ctx, a.tx, string(id), record)
	}
	_, err := a.tx.ExecContext(ctx, `delete from asked where memory_id = ?`, string(id))
	return err
}

// forget deletes a memory, its chunks and the links from it.
func (a *applyTx) forget(ctx context.Context, id fold.ID) error {
	_, there := a.batch.rows[id]
	if there {
		delete(a.touched, id)
		a.forgotten[id] = true
	}
	if old, there := a.batch.chunks[id]; there {
		if err := a.dropChunks(ctx, id, old); err != nil {
			return err
		}
	}
	for _, query := range []string{
		`delete from memory_links where from_id = ?`,
		`delete from memory_tags where memory_id = ?`,
		`delete from memories where id = ?`,
		`delete from asked where memory_id = ?`,
	} {
		if _, err := a.tx.ExecContext(ctx, query, string(id)); err != nil {
			return err
		}
	}
	if err := dropNames(ctx, a.tx, id); err != nil {
		return err
	}
	// The same change may put it anew.
	delete(a.now, id)
	delete(a.rows, id)
	delete(a.batch.sameLinks, id)
	delete(a.batch.rows, id)
	delete(a.batch.chunks, id)
	delete(a.batch.links, id)
	return nil
}

// finish gives the memories that changed the new seq, and stores what was removed
// for ChangedPart.
func (a *applyTx) finish(ctx context.Context) error {
	if a.fileCount+len(a.touched)+len(a.forgotten)+len(a.keys) == 0 {
		a.seq--
		return nil
	}
	var touched []fold.ID
	for id, stamped := range a.touched {
		if !stamped {
			touched = append(touched, id)
		}
	}
	if len(touched) > 0 {
		if _, err := a.tx.ExecContext(ctx, `update memories set seq = ?1 where seq <> ?1 and id in (select value from json_each(?2))`,
			a.seq, sqlite.List(touched)); err != nil {
			return err
		}
	}
	var gone, back []string
	for id, added := range a.keys {
		if added {
			back = append(back, "c:"+id)
		} else {
			gone = append(gone, "c:"+id)
		}
	}
	for id := range a.forgotten {
		gone = append(gone, "m:"+string(id))
	}
	for id := range a.touched {
		back = append(back, "m:"+string(id))
	}
	if _, err := a.tx.ExecContext(ctx, `delete from gone where key in (select value from json_each(?))`, sqlite.List(back)); err != nil {
		return err
	}
	if len(gone) > 0 {
		if _, err := a.tx.ExecContext(ctx, `insert or replace into gone (key, seq) select value, ?1 from json_each(?2)`,
			a.seq, sqlite.List(gone)); err != nil {
			return err
		}
	}
	if a.count != 0 {
		if _, err := a.tx.ExecContext(ctx, `update meta set value = value + ? where key = 'chunks'`, a.count); err != nil {
			return err
		}
	}
	_, err := a.tx.ExecContext(ctx, `update meta set value = ? where key = 'seq'`, fmt.Sprint(a.seq))
	return err
}

// applied returns what the transaction changed.
func (a *applyTx) applied() Applied {
	done := Applied{
		Seq:       a.seq,
		Memories:  slices.Sorted(maps.Keys(a.touched)),
		Forgotten: slices.Sorted(maps.Keys(a.forgotten)),
		Was:       a.was,
		Now:       a.now,
		Rows:      a.rows,
	}
	for id, added := range a.keys {
		if added {
			done.Added = append(done.Added, id)
		} else {
			done.Removed = append(done.Removed, id)
		}
	}
	slices.Sort(done.Added)
	slices.Sort(done.Removed)
	return done
}

// SetStale marks memories whose source differs, or no longer differs, from what
// was described. It does not count as a change.
func (x *DB) SetStale(ctx context.Context, stale map[fold.ID]bool) error {
	var yes, no []fold.ID
	for id, s := range stale {
		if s {
			yes = append(yes, id)
		} else {
			no = append(no, id)
		}
	}
	defer x.bumpVersions(false, false)
	defer func() { x.summaries.drop(slices.Concat(no, yes)) }()
	return x.db.Write(ctx, "set stale", func(tx *sql.Tx) error {
		for v, ids := range [][]fold.ID{no, yes} {
			if _, err := tx.ExecContext(ctx, `update memories set stale = ?1 where stale <> ?1
				and id in (select value from json_each(?2))`, v, sqlite.List(ids)); err != nil {
				return err
			}
		}
		return nil
	})
}
