package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// embedFiles is how many memories' texts are embedded in one go: a hundredth of
// a second of work.
const embedFiles = 6

// embedMost is how many memories one call of [Ingester.Embed] deals with.
const embedMost = 256

// Embed brings the vector index up to the database: everything that changed
// since the last vector was stored gets one. It is the same work after a save,
// after a crash and after the index was deleted. It does a part of it and
// reports whether more is left, so that a save that comes meanwhile need not
// wait; it also ends early once waits, which may be nil, says that one does.
func (in *Ingester) Embed(ctx context.Context, waits func() bool, progress Progress) (bool, error) {
	seq := in.Vectors.Seq()
	ids, gone, upTo, more, err := in.Index.ChangedPart(ctx, seq, embedMost)
	if err != nil || upTo <= seq {
		return false, err
	}
	defer in.keepCuts(ctx) // here the vectors
	st, err := in.stored(ctx, ids)
	if err != nil {
		return false, fmt.Errorf("embed: %w", err)
	}
	for start := 0; start < len(ids); start += embedFiles {
		part := ids[start:min(start+embedFiles, len(ids))]
		fresh, err := in.embedPart(ctx, st, part)
		if err != nil {
			return false, fmt.Errorf("embed: %w", err)
		}
		progress.tell(Step{Stage: stageEmbedding, Done: min(start+embedFiles, len(ids)), Total: len(ids)})
		if fresh && waits != nil && start+embedFiles < len(ids) && waits() {
			return true, nil // the chunks that are done are not done again
		}
	}
	return more, in.Vectors.Apply(upTo, nil, gone)
}

// embedPart gives vectors to some memories and their chunks. It reports whether
// a chunk had none before.
func (in *Ingester) embedPart(ctx context.Context, st stored, ids []fold.ID) (fresh bool, err error) {
	parts, err := in.load(ctx, in.lacking(st, ids), ids)
	if err != nil {
		return false, err
	}
	var keys, texts []string
	var owners []fold.ID
	add := func(key string, id fold.ID, text string) {
		keys, owners, texts = append(keys, key), append(owners, id), append(texts, text)
	}
	for _, l := range parts {
		add(memoryKey(l.row.ID), l.row.ID, memoryText(l.row))
		for _, c := range l.chunks {
			add(chunkKey(c.ID), l.row.ID, chunkText(l.row, c, l.src))
		}
	}
	vecs, err := in.Options.Embed.Embed(ctx, texts, embed.Document)
	if err != nil {
		return false, err
	}
	put := make([]vecindex.Vec, 0, len(vecs))
	for i, v := range vecs {
		if v != nil { // a text without a word has no direction
			put = append(put, vecindex.Vec{Key: keys[i], Memory: owners[i], V: v})
			fresh = fresh || strings.HasPrefix(keys[i], "c:")
		}
	}
	// the sequence moves on only when all of it is in, so that a crash repeats
	return fresh, in.Vectors.Apply(in.Vectors.Seq(), put, nil)
}

// lacking is st, for some memories, with only the chunks that are to have a
// vector and have none: where all have one the source need not be read.
func (in *Ingester) lacking(st stored, ids []fold.ID) stored {
	some := stored{rows: st.rows, chunks: make(map[fold.ID][]fold.Chunk, len(ids))}
	for _, id := range ids {
		for _, c := range st.chunks[id] {
			if !c.Hidden && !in.Vectors.Has(chunkKey(c.ID)) {
				some.chunks[id] = append(some.chunks[id], c)
			}
		}
	}
	return some
}

// loaded is a memory with its chunks and the source they were cut from.
type loaded struct {
	row    meta.Row
	chunks []fold.Chunk
	src    []byte
}

// stored is what the index has of some memories.
type stored struct {
	rows   map[fold.ID]meta.Row
	chunks map[fold.ID][]fold.Chunk
}

func (in *Ingester) stored(ctx context.Context, ids []fold.ID) (st stored, err error) {
	if st.rows, err = in.Index.Memories(ctx, ids); err != nil {
		return st, err
	}
	st.chunks, err = in.Index.ChunksOf(ctx, ids)
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
			if l.src, err = in.sourceOf(ctx, row.FilePath); err != nil {
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

// sourceOf returns the bytes the chunks of path were cut from, or nil if the
// file has changed since; it is then read again by the next sweep.
func (in *Ingester) sourceOf(ctx context.Context, path string) ([]byte, error) {
	f, err := in.Index.FileByPath(ctx, path, false)
	if errors.Is(err, fold.ErrNotFound) || in.root == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	src, _, _, err := disk.ReadSource(in.root, path, in.MaxBytes, nil)
	if err == nil {
		sum := sha256.Sum256(src)
		if hex.EncodeToString(sum[:]) == f.Hash {
			return src, nil
		}
	}
	return nil, in.forgetSource(ctx, path)
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
func (in *Ingester) CatchUp(ctx context.Context, progress Progress) error {
	const part = 256
	for done := 0; ; {
		seq := in.Text.Seq()
		ids, gone, upTo, more, err := in.Index.ChangedPart(ctx, seq, part)
		if err != nil || upTo <= seq {
			return err
		}
		st, err := in.stored(ctx, ids)
		if err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		var docs []textindex.Doc
		for start := 0; start < len(ids); start += embedFiles {
			parts, err := in.load(ctx, st, ids[start:min(start+embedFiles, len(ids))])
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
			if err := in.Text.Apply(ctx, seq, docs[:textBatch], nil); err != nil {
				return fmt.Errorf("catch up: %w", err)
			}
			docs = docs[textBatch:]
		}
		if err := in.Text.Apply(ctx, upTo, docs, gone); err != nil {
			return fmt.Errorf("catch up: %w", err)
		}
		done += len(ids)
		progress.tell(Step{Stage: stageWords, Done: done, Searchable: done})
		if !more {
			return nil
		}
	}
}
