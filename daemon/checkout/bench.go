package checkout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
)

// A bench is some of a checkout's files in an index of their own, without the doc
// comments that ask for their functions: in the checkout's own index each comment
// would find itself. Vectors of what stays the same are in the cache, so that a
// model is asked for little more than the functions.
type bench struct {
	dir       string
	paths     []string
	questions []eval.Query

	index   *index.DB
	text    *textindex.Index
	vectors *vecindex.Index
	in      *ingest.Ingester
}

// How much of a checkout a bench holds: enough files for other functions to be
// found instead, few enough to take seconds.
const (
	benchFiles = 400
	benchLooks = 4000 // files that are looked at for comments
	benchBytes = 4 << 20
)

// benchDir is where a bench lies in the index directory of the checkout. One that a
// crash left there is removed by the next.
const benchDir = "bench"

// commentTrials asks doc comments of a bench.
func (w worker) commentTrials(ctx context.Context, st *Stores, m *embedding.Vectors) (_ []trial, err error) {
	b := &bench{dir: filepath.Join(w.IndexDir(), benchDir)}
	if err := os.RemoveAll(b.dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.choose(ctx, st); err != nil {
		return nil, err
	}
	if len(b.questions) < measureLeast {
		return make([]trial, len(b.questions)), nil
	}
	if err := b.open(ctx, w.Checkout, m); err != nil {
		return nil, err
	}
	if _, err := b.in.Source(ctx, b.paths, nil); err != nil {
		return nil, err
	}
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if more, err = b.in.Embed(ctx, w.Busy, nil); err != nil {
			return nil, err
		}
	}
	door := recall.New(recall.Options{
		Slug: w.Record.Slug, Index: b.index, Text: b.text, Vectors: b.vectors, State: w.State, Embed: m.Embedder, Lexicon: w.Lexicon.Table(),
		StrengthWeight: func() float64 { return 0 }, HalfLife: func() time.Duration { return rank.DefaultHalfLife }, Now: w.Now,
	})
	return tryAll(ctx, door, m, b.questions)
}

// choose writes files below b.dir without the comments that are asked: a fair choice
// of files, the same for the same names.
func (b *bench) choose(ctx context.Context, st *Stores) error {
	all, err := st.Index.Files(ctx, false)
	if err != nil {
		return err
	}
	var files []index.File
	order := map[string][sha256.Size]byte{}
	for path, f := range all {
		if f.State == "indexed" && !f.Truncated {
			files, order[path] = append(files, f), sha256.Sum256([]byte(path))
		}
	}
	slices.SortFunc(files, func(x, y index.File) int {
		a, b := order[x.Path], order[y.Path]
		return cmp.Or(slices.Compare(a[:], b[:]), cmp.Compare(x.Path, y.Path))
	})
	size := 0
	for _, f := range files[:min(len(files), benchLooks)] {
		if err := ctx.Err(); err != nil {
			return err
		}
		enough := len(b.questions) >= measureMost
		if size >= benchBytes || enough && len(b.paths) >= benchFiles {
			return nil
		}
		chunks, err := st.Index.ChunksOf(ctx, []fold.ID{f.MemoryID})
		if err != nil {
			return err
		}
		own := chunks[f.MemoryID]
		src, err := st.Ingest.ReadSource(ctx, f.Path)
		sum := sha256.Sum256(src)
		if err != nil || hex.EncodeToString(sum[:]) != f.Hash || slices.ContainsFunc(own, func(c fold.Chunk) bool { return c.Hidden }) {
			continue // not what was cut, or it holds a credential
		}
		var asked []eval.Comment
		if !enough {
			asked = eval.Fair(eval.Comments(f.Path, src, own), measureMost-len(b.questions))
		}
		if len(asked) == 0 && len(b.paths) >= benchFiles {
			continue
		}
		for _, c := range asked {
			b.questions, src = append(b.questions, c.Question("")), c.Blank(src)
		}
		if err := b.write(f.Path, src); err != nil {
			return err
		}
		b.paths, size = append(b.paths, f.Path), size+len(src)
	}
	return nil
}

func (b *bench) tree() string { return filepath.Join(b.dir, "tree") }

func (b *bench) write(path string, src []byte) error {
	at := filepath.Join(b.tree(), filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	return os.WriteFile(at, src, 0o600)
}

// open makes the stores, which are empty.
func (b *bench) open(ctx context.Context, co *Checkout, m *embedding.Vectors) (err error) {
	if b.index, err = index.Open(ctx, b.dir); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	if b.text, err = textindex.Open(filepath.Join(b.dir, wordsDir), textindex.Options{Log: log}); err != nil {
		return err
	}
	if b.vectors, err = vecindex.Open(filepath.Join(b.dir, vectorsDir), m.Identity.String(), m.Identity.Dim); err != nil {
		return err
	}
	cut, overlap := co.cutting()
	b.in, err = ingest.New(ingest.Options{
		Slug: co.Record.Slug, Key: co.Record.Key + " " + benchDir, Repo: &usergit.Repo{WorkTree: b.tree()}, Fold: disk.Folder{Dir: filepath.Join(b.dir, DefaultFoldDir)},
		Index: b.index, Text: b.text, Vectors: b.vectors, State: co.State, Cache: co.Cache, Cutter: co.Cutter, Cuts: &co.cuts,
		Embed: m.Embedder, Count: new(ingest.Counters), MaxBytes: int64(cut.MaxBytes), Cut: cut, Overlap: overlap, Now: co.Now, Log: log,
	}, selection.Rules{FileMemories: "local"})
	return err
}

// close removes the bench.
func (b *bench) close() error {
	var errs []error
	if b.in != nil {
		errs = append(errs, b.in.Close())
	}
	if b.vectors != nil {
		errs = append(errs, b.vectors.Close())
	}
	if b.text != nil {
		errs = append(errs, b.text.Close())
	}
	if b.index != nil {
		errs = append(errs, b.index.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}
