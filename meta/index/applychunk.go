package index

import (
	"bytes"
	"context"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// setChunks makes now the chunks of id. Those with an equal id stay; one that
// only moved within its file gets its new place and is not reported.
func (a *applyTx) setChunks(ctx context.Context, id fold.ID, now []fold.Chunk) error {
	was, there := a.batch.chunks[id]
	delete(a.now, id)
	if len(now) == 0 {
		if !there {
			return nil
		}
		a.touch(id)
		return a.dropChunks(ctx, id, was)
	}
	sorted := slices.Clone(now)
	slices.SortStableFunc(sorted, byPlace)
	seen := make(map[string]bool, len(sorted))
	sorted = slices.DeleteFunc(sorted, func(c fold.Chunk) bool {
		twice := seen[c.ID]
		seen[c.ID] = true
		return twice
	})
	a.now[id] = sorted
	a.buf = encodeChunks(a.buf[:0], sorted)
	if there && bytes.Equal(a.buf, was) {
		return nil
	}
	a.touch(id)
	old, err := a.decoded(id, was)
	if err != nil {
		return err
	}
	if _, twice := a.was[id]; !twice {
		a.was[id] = old
	}
	for i := range old {
		if c := &old[i]; seen[c.ID] {
			seen[c.ID] = false // had before
		} else {
			a.removedKey(c.ID)
		}
	}
	for cid, added := range seen {
		if added {
			a.keys[cid] = true
		}
	}
	a.count += len(sorted) - len(old)
	return a.tables.chunks.Add(ctx, a.tx, string(id), bytes.Clone(a.buf))
}

// decoded returns the chunks of a stored value, which may be nil.
func (a *applyTx) decoded(id fold.ID, value []byte) ([]fold.Chunk, error) {
	if value == nil {
		return nil, nil
	}
	return decodeChunks(id, value)
}

// removedKey notes that a chunk is no more.
func (a *applyTx) removedKey(cid string) {
	if a.keys[cid] {
		delete(a.keys, cid) // added earlier in this transaction
	} else {
		a.keys[cid] = false
	}
}

// dropChunks deletes the chunks of id, which were stored as value.
func (a *applyTx) dropChunks(ctx context.Context, id fold.ID, value []byte) error {
	old, err := a.decoded(id, value)
	if err != nil {
		return err
	}
	for i := range old {
		a.removedKey(old[i].ID)
	}
	a.count -= len(old)
	_, err = a.tx.ExecContext(ctx, `delete from chunks where memory_id = ?`, string(id))
	return err
}
