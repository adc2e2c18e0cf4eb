package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
)

// switching returns an Ingester over an empty work tree, with stores of its own.
func switching(t *testing.T) (in *Ingester, dir string) {
	t.Helper()
	in, _, _ = preparing(t)
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	in.readFrom(root, selection.Rules{})
	if in.Index, err = index.Open(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if in.Text, err = textindex.Open(filepath.Join(t.TempDir(), "text"), textindex.Options{}); err != nil {
		t.Fatal(err)
	}
	if in.Vectors, err = vecindex.Open(t.TempDir(), "test", 8); err != nil {
		t.Fatal(err)
	}
	in.Overlap, in.Options.Embed = 10, &counting{}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{in.root, in.Index, in.Text, in.Vectors} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return in, dir
}

// TestASwitchReadsAndPutsLittle switches to and fro between two states of some
// files, which differ within one function. Of the second time on nothing is read
// back from the index, and the text index is given one function a file; searches
// know the new time of all of each nevertheless, also where that is an earlier one.
func TestASwitchReadsAndPutsLittle(t *testing.T) {
	in, dir := switching(t)
	const n = 30
	day := func(d int) time.Time { return time.Date(2026, 1, d, 12, 0, 0, 0, time.UTC) }
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("f%d.go", i))
	}
	in.UseFiles(imports.NewFiles(names, nil))
	state := func(s int, at time.Time) {
		t.Helper()
		for i, name := range names {
			text := fmt.Sprintf("package birds\n\n// Ruff%d runs.\nfunc Ruff%d() int { return %d }\n\n// Knot%d walks.\nfunc Knot%d() int { return 1 }\n", i, i, 1000*s+i, i, i)
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := in.Source(t.Context(), names, nil); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			if more, err = in.Embed(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		number := strconv.Itoa(1000*s + n - 1)
		hits, err := in.Text.Search(t.Context(), textindex.Query{Text: number, Limit: 9})
		if err != nil || len(hits) == 0 || hits[0].Memory != fold.FileID(in.Slug, names[n-1]) {
			t.Errorf("state %d: %s is not found: %v, %v", s, number, hits, err)
		}
		for _, f := range []struct {
			filter textindex.Filter
			want   int
		}{{textindex.Filter{After: at}, n}, {textindex.Filter{Before: at}, 0}, {textindex.Filter{Before: at.Add(1)}, n}, {textindex.Filter{After: at.Add(1)}, 0}} {
			ids, err := in.Text.MatchingMemories(t.Context(), f.filter)
			if err != nil || len(ids) != f.want {
				t.Errorf("state %d of %s: %d files of %s to %s, %v, want %d", s, at.Format(time.DateOnly), len(ids),
					f.filter.After.Format(time.DateTime), f.filter.Before.Format(time.DateTime), err, f.want)
			}
			f.filter.Language = "go"
			hits, err := in.Text.Search(t.Context(), textindex.Query{Text: "walks", Filter: f.filter, Limit: 1000})
			chunks := 0
			for _, h := range hits {
				if h.Kind == textindex.Chunk {
					chunks++
				}
			}
			if err != nil || chunks != f.want {
				t.Errorf("state %d of %s: %d functions that did not change, %v, want %d", s, at.Format(time.DateOnly), chunks, err, f.want)
			}
		}
	}
	state(1, day(1))
	state(2, day(2))
	state(1, day(3))
	count := in.Count.Values()
	step := func(what string, s, d int, docs int64) {
		t.Helper()
		state(s, day(d))
		now := in.Count.Values()
		did := func(name string) int64 { return now[name] - count[name] }
		if did("documents_put") != docs || did("rows_read") != 0 || did("parses") != 0 || did("describes") != 0 || did("index_operations") != 1 {
			t.Errorf("%s: %d documents put, %d rows read, %d parses, %d descriptions, %d changes; want %d documents and one change",
				what, did("documents_put"), did("rows_read"), did("parses"), did("describes"), did("index_operations"), docs)
		}
		count = now
	}
	step("the second switch to it", 2, 4, n)
	step("and back", 1, 5, n)
	step("at the same moment", 2, 5, n)
	step("at an earlier one", 1, 2, 3*n+n) // all: the package clause, two functions, and the memory
	step("later again", 2, 3, n)

	// What the hash of a description is that nobody has asked for.
	for _, name := range names[:3] {
		row, err := in.Index.Memory(t.Context(), fold.FileID(in.Slug, name))
		if err != nil {
			t.Fatal(err)
		}
		pr, err := in.reader.Read(t.Context(), name, index.File{}, false, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.reader.Finish(t.Context(), pr); err != nil {
			t.Fatal(err)
		}
		m, _ := in.described(t.Context(), pr)
		if want := fold.ContentHash(fold.Encode(m, nil)); row.ContentHash != want {
			t.Errorf("%s: content hash %s, want %s", name, row.ContentHash, want)
		}
	}
}
