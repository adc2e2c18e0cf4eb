package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/secret"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// embedTexts and embedBytes are how much is embedded in one go, and one text
// more: some milliseconds of work, for which a save may have to wait.
const (
	embedTexts = 32
	embedBytes = 32 << 10
)

// embedMost is how many memories one call of [Ingester.Embed] deals with.
const embedMost = 256

// loadFiles is how many memories' sources are held at once.
const loadFiles = 6

// Embed brings the vector index up to the database: everything that changed
// since the last vector was stored gets one. It is the same work after a save,
// after a crash and after the index was deleted. It does a part of it and
// reports whether more is left, so that a save that comes meanwhile need not
// wait; it also ends early, in the middle of a file too, once waits, which may be
// nil, says that one does.
func (in *Ingester) Embed(ctx context.Context, waits func() bool, tell progress.Func) (bool, error) {
	seq := in.Vectors.Seq()
	ids, gone, upTo, more, err := in.Index.ChangedPage(ctx, seq, embedMost)
	if err != nil || upTo <= seq {
		return false, err
	}
	dues, err := in.duesOf(ctx, ids, seq)
	if err != nil {
		return false, fmt.Errorf("embed: %w", err)
	}
	var b embedding
	leftOut := false
	for n := range dues {
		dues[n].since = seq
		whole, err := in.eachText(ctx, &dues[n], func(t embedText) error {
			if b.add(t); !b.full() {
				return nil
			}
			fresh, err := in.embedSome(ctx, &b)
			if err == nil && fresh && waits != nil && waits() {
				return errWaits // the chunks that are done are not done again
			}
			return err
		})
		leftOut = leftOut || !whole
		if errors.Is(err, errWaits) {
			return true, nil // and the cache is written to later
		}
		if err != nil {
			return false, fmt.Errorf("embed: %w", err)
		}
		tell.Tell(progress.Step{Stage: progress.StageEmbedding, Done: n + 1, Total: len(dues)})
	}
	defer in.reader.Flush(ctx) // here the vectors
	if _, err := in.embedSome(ctx, &b); err != nil {
		return false, fmt.Errorf("embed: %w", err)
	}
	if err := in.Vectors.Apply(upTo, nil, gone); err != nil {
		return false, err
	}
	if !more {
		in.recent = recent{}
		in.shifted.all(upTo, leftOut)
	}
	return more, nil
}

// errWaits ends an Embed for which something waits.
var errWaits = errors.New("something waits")

// An embedText is what is to be embedded under a key.
type embedText struct {
	key   string
	owner fold.ID
	text  string
	fresh bool // a chunk that has no vector
}

// An embedding is texts to be embedded in one go.
type embedding struct {
	texts []embedText
	size  int // bytes
}

func (b *embedding) add(t embedText) {
	b.texts = append(b.texts, t)
	b.size += len(t.text)
}

func (b *embedding) full() bool { return len(b.texts) >= embedTexts || b.size >= embedBytes }

// embedSome gives vectors to the texts of b and empties it. It reports whether a
// chunk had none before. The sequence of the vectors moves on only when all of a
// part is in, so that a crash repeats it.
func (in *Ingester) embedSome(ctx context.Context, b *embedding) (fresh bool, err error) {
	if len(b.texts) == 0 {
		return false, nil
	}
	texts := make([]string, len(b.texts))
	for i, t := range b.texts {
		texts[i] = t.text
	}
	vecs, err := in.Options.Embed.Embed(ctx, texts, embed.Document)
	if err != nil {
		return false, err
	}
	put := make([]vecindex.Vec, 0, len(vecs))
	for i, v := range vecs {
		if v != nil { // a text without a word has no direction
			put = append(put, vecindex.Vec{Key: b.texts[i].key, Memory: b.texts[i].owner, V: v})
			fresh = fresh || b.texts[i].fresh
		}
	}
	*b = embedding{texts: b.texts[:0]}
	return fresh, in.Vectors.Apply(in.Vectors.Seq(), put, nil)
}

// A due is a memory of which something may be to embed.
type due struct {
	id     fold.ID
	path   string     // of the source file
	row    *index.Row // nil if the memory's own words have their vector
	chunks []fold.Chunk
	file   *index.File // of path, where chunks have no vector; nil if there is none
	since  int64       // sequence up to which there are vectors
}

// duesOf looks what of memories, which changed since seq, is to be embedded. Of
// those whose words are as they were nothing is read but chunks, and these not
// either where they were just stored.
func (in *Ingester) duesOf(ctx context.Context, ids []fold.ID, seq int64) ([]due, error) {
	words, err := in.Index.TextChanges(ctx, ids)
	if err != nil {
		return nil, err
	}
	chunks, err := in.chunksOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	dues := make([]due, 0, len(ids))
	var said []fold.ID
	var paths []string
	for _, id := range ids {
		w, ok := words[id]
		if !ok {
			continue
		}
		if w.Seq > seq || !in.Vectors.Has(memoryKey(id)) {
			said = append(said, id)
		}
		if slices.ContainsFunc(chunks[id], func(c fold.Chunk) bool { return !c.Hidden && !in.Vectors.Has(chunkKey(c.ID)) }) {
			if in.recent.files[w.FilePath] == nil {
				paths = append(paths, w.FilePath)
			}
		}
		dues = append(dues, due{id: id, path: w.FilePath, chunks: chunks[id], file: in.recent.files[w.FilePath]})
	}
	rows, err := in.memories(ctx, said)
	if err != nil {
		return nil, err
	}
	files, err := in.Index.FilesByPath(ctx, paths, false)
	if err != nil {
		return nil, err
	}
	for i := range dues {
		d := &dues[i]
		if row, ok := rows[d.id]; ok {
			d.row = &row
		}
		if f, ok := files[d.path]; ok {
			d.file = &f
		}
	}
	return dues, nil
}

// chunksOf returns the chunks of memories, each in the order of the file.
func (in *Ingester) chunksOf(ctx context.Context, ids []fold.ID) (map[fold.ID][]fold.Chunk, error) {
	rest := make([]fold.ID, 0, len(ids))
	for _, id := range ids {
		if in.recent.chunks[id] == nil {
			rest = append(rest, id)
		}
	}
	in.Count.RowsRead.Add(int64(len(rest)))
	all, err := in.Index.ChunksOf(ctx, rest)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if chunks := in.recent.chunks[id]; chunks != nil {
			all[id] = chunks
		}
	}
	return all, nil
}

// eachText calls fn with what is to be embedded of a memory and its chunks: of
// these only the ones that have no vector, and those whose text reaches into the
// chunks before, which may be others now. Where there is none the source is not
// read. It reports false where the source is not what the chunks were cut from.
func (in *Ingester) eachText(ctx context.Context, d *due, fn func(embedText) error) (whole bool, err error) {
	if d.row != nil {
		if err := fn(embedText{key: memoryKey(d.id), owner: d.id, text: memoryText(*d.row)}); err != nil {
			return true, err
		}
	}
	var src []byte
	chunks := d.chunks
	secrets := slices.ContainsFunc(chunks, func(c fold.Chunk) bool { return c.Hidden })
	for i, c := range chunks {
		lacks := !in.Vectors.Has(chunkKey(c.ID))
		overlaps := in.Overlap > 0 && chunker.Overlaps(chunks, i)
		if c.Hidden || !lacks && !in.shifted.may(c.ID, d.since, overlaps) {
			continue
		}
		if src == nil {
			if src, err = in.sourceAt(ctx, d.path, d.file); err != nil || src == nil {
				return false, err
			}
		}
		text := src[c.StartByte:c.EndByte]
		if overlaps {
			with := chunker.WithOverlap(src, chunks, i, in.Overlap)
			// What is no credential in two parts may be one in both.
			if !secrets || len(secret.Scan(with)) == 0 {
				text = with
			}
		}
		if err := fn(embedText{key: chunkKey(c.ID), owner: d.id, text: chunkText(d.path, c, text), fresh: lacks}); err != nil {
			return true, err
		}
	}
	return true, nil
}

// sourceAt returns the bytes the chunks of path were cut from, whose manifest is f,
// or nil if the file has changed since; it is then read again by the next sweep.
// Where f is nil it is looked up.
func (in *Ingester) sourceAt(ctx context.Context, path string, f *index.File) ([]byte, error) {
	if in.root == nil {
		return nil, nil
	}
	if f == nil {
		found, err := in.Index.FileByPath(ctx, path, false)
		if errors.Is(err, fold.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		f = &found
	}
	if src, ok := in.recent.byHash[f.Hash]; ok {
		return src, nil
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

// A Target is a vector index with the embedder whose vectors it holds.
type Target struct {
	Vectors *vecindex.Index
	Embed   embed.Embedder
}

// Use has vectors go to another index from now on.
func (in *Ingester) Use(t Target) { in.Vectors, in.Options.Embed = t.Vectors, t.Embed }

// EmbedInto is [Ingester.Embed] for an index that is built beside the one in use.
func (in *Ingester) EmbedInto(ctx context.Context, t Target, waits func() bool, tell progress.Func) (bool, error) {
	defer in.Use(Target{in.Vectors, in.Options.Embed})
	in.Use(t)
	return in.Embed(ctx, waits, tell)
}
