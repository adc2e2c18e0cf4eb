package walktest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/cache"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// A Checkout is what fresh indexes are made of: as it is registered, in its own
// words.
type Checkout struct {
	Dir, Slug    string
	FileMemories string // auto, fold or local
}

// FreshIndex returns what an index of the checkout says that is made from nothing now,
// as [index.DB.Dump] writes it. Memories come from fold/ as it is: nothing is
// written there. Scratch is a folder in which parsed files are kept for the next
// call.
func (c Checkout) FreshIndex(ctx context.Context, scratch string) (_ string, err error) {
	dir, err := os.MkdirTemp(scratch, "index")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var closers []io.Closer
	defer func() {
		for _, c := range slices.Backward(closers) {
			err = errors.Join(err, c.Close())
		}
	}()
	rows, err := index.Open(ctx, dir)
	if err != nil {
		return "", err
	}
	closers = append(closers, rows)
	words, err := textindex.Open(filepath.Join(dir, "text"), textindex.Options{})
	if err != nil {
		return "", err
	}
	closers = append(closers, words)
	vectors, err := vecindex.Open(filepath.Join(dir, "vectors"), "none", 8)
	if err != nil {
		return "", err
	}
	closers = append(closers, vectors)
	known, err := state.Open(ctx, dir)
	if err != nil {
		return "", err
	}
	closers = append(closers, known)
	parsed, err := cache.Open(ctx, scratch, 0)
	if err != nil {
		return "", err
	}
	closers = append(closers, parsed)
	layout, err := usergit.Locate(ctx, c.Dir)
	if err != nil {
		return "", err
	}
	if err := known.PutCheckout(ctx, state.Checkout{Key: layout.Key(), Path: c.Dir, Slug: c.Slug}); err != nil {
		return "", err
	}
	cfg := conf.Default()
	in, err := ingest.New(ingest.Options{
		Slug: c.Slug, Key: layout.Key(), Repo: layout, FoldDir: "fold", Fold: disk.Folder{Dir: layout.FoldPath("fold")},
		Index: rows, Text: words, Vectors: vectors, State: known, Cache: parsed, Cutter: inProcess{}, Embed: none{}, Count: &ingest.Counters{},
		Describe: cfg.Describe, MaxBytes: int64(cfg.MaxFileKB) << 10, Overlap: cfg.Chunk.LineOverlap,
		Cut: chunker.Options{MinLines: cfg.Chunk.MinLines, MaxLines: cfg.Chunk.MaxLines, LineSize: cfg.Chunk.LineSize},
		Log: slog.New(slog.DiscardHandler),
	}, selection.Rules{FileMemories: c.FileMemories})
	if err != nil {
		return "", err
	}
	closers = append(closers, in)
	if _, err := in.Sweep(ctx, false, nil, nil); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = rows.Dump(ctx, &b)
	return b.String(), err
}

// times are those of a memory.
var times = regexp.MustCompile(`"(CreatedAt|UpdatedAt)":"[^"]*"`)

// Undated returns a dump without the times of memories that the index alone holds.
// They are those of files, and a file that is written again as it was keeps the time
// at which it was indexed: no content says which of the two it should be.
func Undated(dump string) string {
	lines := strings.SplitAfter(dump, "\n")
	for i, line := range lines {
		if strings.Contains(line, `"Described":"index"`) {
			lines[i] = times.ReplaceAllString(line, `"$1":""`)
		}
	}
	return strings.Join(lines, "")
}

// inProcess cuts in this process.
type inProcess struct{}

func (inProcess) CutSized(_ context.Context, path string, src []byte, by chunker.Options) (chunker.Result, error) {
	return chunker.Cut(path, src, by), nil
}

// none makes no vectors: a fresh index is asked for none.
type none struct{}

func (none) Identity() embed.Identity { return embed.Identity{Provider: "none", Dim: 8} }

func (none) Embed(context.Context, []string, embed.Kind) ([][]float32, error) {
	return nil, fold.ErrUnavailable
}
