package ingest

import (
	"context"
	"fmt"
	"maps"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// applyText brings the words of the changes that were applied into the text
// index.
func (in *Ingester) applyText(ctx context.Context, applied index.Applied, changes []index.Change, texts map[string]*cut.File) error {
	in.worded = false
	rows, err := in.rowsOf(ctx, applied, changes)
	if err != nil {
		return err
	}
	added := make(map[string]bool, len(applied.Added))
	for _, id := range applied.Added {
		added[id] = true
	}
	var docs []textindex.Doc
	for _, id := range applied.Memories {
		row, ok := rows[id]
		if !ok {
			continue
		}
		pr := texts[string(id)]
		if pr == nil {
			docs = append(docs, memoryDoc(row))
			continue
		}
		docs = append(docs, sourceDocs(row, pr, applied.Rows[id], added)...)
	}
	// In parts, which bounds memory. Only the last moves the sequence on, so that
	// a crash between two repeats them all.
	for len(docs) > textBatch {
		if err := in.putText(ctx, in.Text.Seq(), docs[:textBatch], nil); err != nil {
			return err
		}
		docs = docs[textBatch:]
	}
	err = in.putText(ctx, applied.Seq, docs, dropKeys(applied))
	in.worded = err == nil
	return err
}

// sourceDocs returns the documents to put of a source file: of its chunks those
// that were added, of its memory one, unless a chunk can tell what changed. A
// branch switch changes thousands of memories in nothing but blob and time.
func sourceDocs(row index.Row, pr *cut.File, change index.RowChange, added map[string]bool) []textindex.Doc {
	// Chunks are filtered by the fields of their memory, and none of them may date
	// it later than it is.
	fresh := pr.Fresh || change.FilterChanged || row.UpdatedAt.Before(change.Was)
	var docs []textindex.Doc
	for _, c := range pr.Chunks {
		if fresh || added[c.ID] {
			docs = append(docs, chunkDoc(row, c, pr.Src))
		}
	}
	if fresh || change.ContentChanged || change.Was.IsZero() || row.Described != "index" || len(docs) == 0 {
		return append(docs, memoryDoc(row))
	}
	for i := range docs {
		docs[i].Dates = true
	}
	return docs
}

// rowsOf returns the rows of the memories that changed: those that were just
// stored, and the others from the index.
func (in *Ingester) rowsOf(ctx context.Context, applied index.Applied, changes []index.Change) (map[fold.ID]index.Row, error) {
	rows := make(map[fold.ID]index.Row, len(applied.Memories))
	for i := range changes {
		switch c := &changes[i]; {
		case c.Memory != nil:
			rows[c.Memory.ID] = *c.Memory
		case c.Forget != "":
			delete(rows, c.Forget)
		}
	}
	var rest []fold.ID
	for _, id := range applied.Memories {
		if _, ok := rows[id]; !ok {
			rest = append(rest, id)
		}
	}
	stored, err := in.memories(ctx, rest)
	if err != nil {
		return nil, err
	}
	maps.Copy(rows, stored)
	return rows, nil
}

func dropKeys(applied index.Applied) []string {
	drop := make([]string, 0, len(applied.Removed)+len(applied.Forgotten))
	for _, id := range applied.Removed {
		drop = append(drop, chunkKey(id))
	}
	for _, id := range applied.Forgotten {
		drop = append(drop, memoryKey(id))
	}
	return drop
}

// catchUpFirst has what a crash, or an error, kept from the text index go into it
// before the next change: that moves the sequence past it, and then nothing would
// tell that it is missing. After an opening a save may come before the sweep.
func (in *Ingester) catchUpFirst(ctx context.Context) error {
	if in.worded {
		return nil
	}
	err := in.CatchUp(ctx, nil)
	in.worded = err == nil
	return err
}

// CatchUp feeds the text index what it missed, after a crash or when it was
// begun anew.
func (in *Ingester) CatchUp(ctx context.Context, tell progress.Func) error {
	const part = 256
	for done := 0; ; {
		seq := in.Text.Seq()
		ids, gone, upTo, more, err := in.Index.ChangedPage(ctx, seq, part)
		if err != nil || upTo <= seq {
			return err
		}
		st, err := in.stored(ctx, ids)
		if err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		var docs []textindex.Doc
		for start := 0; start < len(ids); start += loadFiles {
			parts, err := in.load(ctx, st, ids[start:min(start+loadFiles, len(ids))])
			if err != nil {
				return fmt.Errorf("catch up: %w", err)
			}
			for _, l := range parts {
				docs = append(docs, memoryDoc(l.row))
				for _, c := range l.chunks {
					docs = append(docs, chunkDoc(l.row, c, l.src))
				}
			}
		}
		for len(docs) > textBatch { // as in applyText
			if err := in.putText(ctx, seq, docs[:textBatch], nil); err != nil {
				return fmt.Errorf("catch up: %w", err)
			}
			docs = docs[textBatch:]
		}
		if err := in.putText(ctx, upTo, docs, gone); err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		done += len(ids)
		tell.Tell(progress.Step{Stage: progress.StageWords, Done: done, Searchable: done})
		if !more {
			return nil
		}
	}
}

// loaded is a memory with its chunks and the source they were cut from.
type loaded struct {
	row    index.Row
	chunks []fold.Chunk
	src    []byte
}

// stored is what the index has of some memories.
type stored struct {
	rows   map[fold.ID]index.Row
	chunks map[fold.ID][]fold.Chunk
}

func (in *Ingester) stored(ctx context.Context, ids []fold.ID) (st stored, err error) {
	if st.rows, err = in.memories(ctx, ids); err != nil {
		return st, err
	}
	st.chunks, err = in.chunksOf(ctx, ids)
	return st, err
}

// load reads memories back, with the source of those that have chunks. Where
// the source is not what was cut, the file is marked to be read again and the
// memory comes without chunks.
func (in *Ingester) load(ctx context.Context, st stored, ids []fold.ID) ([]loaded, error) {
	out := make([]loaded, 0, len(ids))
	for _, id := range ids {
		row, ok := st.rows[id]
		if !ok {
			continue
		}
		l := loaded{row: row, chunks: st.chunks[id]}
		if len(l.chunks) > 0 {
			var err error
			if l.src, err = in.sourceAt(ctx, row.FilePath, nil); err != nil {
				return nil, err
			}
			if l.src == nil {
				l.chunks = nil
			}
		}
		out = append(out, l)
	}
	return out, nil
}
