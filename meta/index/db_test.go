package index_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

func openIndex(t testing.TB, dir string) *index.DB {
	t.Helper()
	x, err := index.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func apply(t testing.TB, x *index.DB, changes ...index.Change) index.Applied {
	t.Helper()
	a, err := x.Apply(context.Background(), changes)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func id(n int) fold.ID { return fold.ID(fmt.Sprintf("%016x", n)) }

// row returns a memory with something in every field.
func row(n int) *index.Row {
	at := time.Date(2026, 2, 3, 10, 30, 0, 123456789, time.FixedZone("", 3600))
	return &index.Row{
		Memory: fold.Memory{
			ID: id(n), Path: id(n).Path(), Title: fmt.Sprintf("Title %d ÄÖ", n), Aliases: []string{"one", ""}, Type: "codebase",
			Source: fold.SourceFile, Author: "system", Tags: []string{"Auth", "db"}, Keywords: []string{}, Context: "Does things.",
			FilePath: fmt.Sprintf("src/\xff%d.go", n), Language: "go", SourceBlob: "8d0e41", OriginalDate: "2024-03-15",
			CreatedAt: at, UpdatedAt: at.Add(time.Duration(n) * time.Hour), Slug: "s", Subject: "a", Relation: "b", Object: "c",
			Links:  []fold.Link{{From: id(n), To: id(n + 1), Type: fold.LinkDependsOn, Context: "why", Weight: 1}},
			ByName: []fold.NamedLink{{Type: "related", Target: "Some title", Context: "why"}},
			Pinned: true, Importance: 0.25, Session: "se", Agent: "ag", Commit: "co", MovedFrom: "old.go", Layer: "L2",
			Visibility: "local", Deleted: true, Body: "body\x00 with \xff bytes\n", Note: true, Foreign: "UUID-1",
		},
		Described: "fold", ContentHash: "abc", Stale: true,
	}
}

func chunks(m fold.ID, hashes ...string) []fold.Chunk {
	var all []fold.Chunk
	for i, h := range hashes {
		all = append(all, fold.Chunk{
			ID: fold.ChunkID(m, h, 0, h), MemoryID: m, Hash: h, StartLine: i + 1, EndLine: i + 1, StartByte: 10 * i, EndByte: 10*i + 10,
			NodeType: "function", NodeName: h, Parent: "P", Language: "go", Doc: "doc", Hidden: i%2 == 1,
		})
	}
	return all
}

func TestMemoryIsKeptLosslessly(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	bare := &index.Row{Memory: fold.Memory{ID: id(2)}, Described: "index"}
	a := apply(t, x, index.Change{Memory: row(1)}, index.Change{Memory: bare})
	hashed := *bare // what is described in the index only has no file to have the hash of
	hashed.ContentHash = fold.ContentHash(fold.Encode(&bare.Memory, nil))
	for _, want := range []*index.Row{row(1), &hashed} {
		got, err := x.Memory(ctx, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		want.Seq, want.TextSeq = a.Seq, a.Seq
		if d := cmp.Diff(want, &got); d != "" {
			t.Errorf("memory %s: -want +got %s", want.ID, d)
		}
	}
	if _, err := x.Memory(ctx, id(3)); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("Memory of nothing = %v, want ErrNotFound", err)
	}
	all, err := x.Memories(ctx, []fold.ID{id(1), id(2), id(3)})
	if err != nil || len(all) != 2 {
		t.Errorf("Memories = %d, %v, want 2", len(all), err)
	}
	if b := apply(t, x, index.Change{Memory: row(1)}, index.Change{Memory: bare}); b.Seq != a.Seq || len(b.Memories) != 0 {
		t.Errorf("putting equal rows changed %+v", b)
	}
}

// TestRowFillsEveryField keeps the test above honest when Memory grows.
func TestRowFillsEveryField(t *testing.T) {
	v := reflect.ValueOf(row(1).Memory)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("row leaves %s empty", v.Type().Field(i).Name)
		}
	}
}

func TestApplyTouchesOnlyWhatDiffers(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	c := chunks(id(1), "a", "b", "c")
	first := apply(t, x, index.Change{Memory: row(1), Chunks: c, SetChunks: true})
	if len(first.Added) != 3 || len(first.Removed) != 0 || !slices.Equal(first.Memories, []fold.ID{id(1)}) {
		t.Fatalf("first Apply = %+v", first)
	}
	if again := apply(t, x, index.Change{Memory: row(1), Chunks: c, SetChunks: true}); again.Seq != first.Seq || len(again.Memories) != 0 {
		t.Errorf("second Apply = %+v, want nothing", again)
	}
	// a moved, b went, d came.
	now := []fold.Chunk{c[0], c[2], chunks(id(1), "d")[0]}
	now[0].StartLine, now[0].EndLine = 7, 9
	third := apply(t, x, index.Change{Memory: row(1), Chunks: now, SetChunks: true})
	if !slices.Equal(third.Added, []string{now[2].ID}) || !slices.Equal(third.Removed, []string{c[1].ID}) || third.Seq <= first.Seq {
		t.Errorf("third Apply = %+v", third)
	}
	got, err := x.ChunksOf(ctx, []fold.ID{id(1)})
	want := []fold.Chunk{now[0], now[2], now[1]}
	slices.SortFunc(want, func(a, b fold.Chunk) int {
		if a.StartByte != b.StartByte {
			return a.StartByte - b.StartByte
		}
		return bytes.Compare([]byte(a.ID), []byte(b.ID))
	})
	if d := cmp.Diff(want, got[id(1)]); err != nil || d != "" {
		t.Errorf("chunks: %v, -want +got %s", err, d)
	}
	byID, err := x.ChunksByID(ctx, []fold.ID{id(1), id(1), id(2)}, []string{now[2].ID, c[1].ID})
	if err != nil || len(byID) != 1 || byID[now[2].ID] != now[2] {
		t.Errorf("ChunksByID = %v, %v", byID, err)
	}
}

// TestTextChanges: the number of a memory's words moves on with what is embedded of
// it, and not with times, blobs, chunks or links.
func TestTextChanges(t *testing.T) {
	x := openIndex(t, t.TempDir())
	r := row(1)
	first := apply(t, x, index.Change{Memory: r}).Seq
	words := func() int64 {
		t.Helper()
		all, err := x.TextChanges(t.Context(), []fold.ID{id(1), id(2)})
		if err != nil || len(all) != 1 || all[id(1)].FilePath != r.FilePath {
			t.Fatal(all, err)
		}
		return all[id(1)].Seq
	}
	same := func(what string, c index.Change) {
		t.Helper()
		if a := apply(t, x, c); len(a.Memories) != 1 || words() != first {
			t.Errorf("%s: %v changed, words of %d, want %d", what, a.Memories, words(), first)
		}
		got, err := x.Memory(t.Context(), id(1))
		want := *r
		want.Seq, want.TextSeq = got.Seq, first
		if d := cmp.Diff(&want, &got); err != nil || d != "" {
			t.Errorf("%s: %v -want +got %s", what, err, d)
		}
	}
	r.SourceBlob, r.ContentHash, r.Stale = "9", "def", false
	same("blob", index.Change{Memory: r})
	r.CreatedAt, r.UpdatedAt = time.Date(2026, 5, 1, 2, 3, 4, 5000, time.UTC), time.Time{}
	same("times", index.Change{Memory: r})
	r.UpdatedAt = time.Date(2026, 5, 1, 2, 3, 4, 5, time.UTC)
	same("a time of nanoseconds", index.Change{Memory: r})
	r.Aliases = []string{"two"}
	same("aliases", index.Change{Memory: r})
	same("chunks", index.Change{ID: id(1), Chunks: chunks(id(1), "h1"), SetChunks: true})
	same("links", index.Change{ID: id(1), SetLinks: true, Links: []fold.Link{{To: id(5), Type: "x"}}})
	for what, change := range map[string]func(){
		"title": func() { r.Title = "Other" }, "body": func() { r.Body = "Other" }, "context": func() { r.Context = "Other" },
		"path": func() { r.FilePath = "other.go" }, "tags": func() { r.Tags = []string{"other"} }, "keywords": func() { r.Keywords = []string{"other"} },
	} {
		change()
		if a := apply(t, x, index.Change{Memory: r}); words() != a.Seq {
			t.Errorf("%s: words of %d after change %d", what, words(), a.Seq)
		}
		if a := apply(t, x, index.Change{Memory: r}); len(a.Memories) != 0 {
			t.Errorf("%s: the same again changes %v", what, a.Memories)
		}
	}
}

func TestChangedPart(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	c := chunks(id(1), "a", "b")
	first := apply(t, x, index.Change{Memory: row(1), Chunks: c, SetChunks: true}, index.Change{Memory: row(2)})
	check := func(seq int64, ids []fold.ID, gone []string) {
		t.Helper()
		gotIDs, gotGone, last, more, err := x.ChangedPage(ctx, seq, 1000)
		now, serr := x.Seq(ctx)
		if err != nil || serr != nil || more || last != now || !slices.Equal(gotIDs, ids) || !slices.Equal(gotGone, gone) {
			t.Errorf("ChangedPart(%d) = %v, %v, %d, %v; want %v, %v, %d", seq, gotIDs, gotGone, last, err, ids, gone, now)
		}
	}
	check(0, []fold.ID{id(1), id(2)}, nil)
	check(first.Seq, nil, nil)
	second := apply(t, x, index.Change{ID: id(1), Chunks: c[:1], SetChunks: true})
	check(first.Seq, []fold.ID{id(1)}, []string{"c:" + c[1].ID})
	third := apply(t, x, index.Change{Forget: id(1)})
	if !slices.Equal(third.Removed, []string{c[0].ID}) || !slices.Equal(third.Forgotten, []fold.ID{id(1)}) {
		t.Errorf("forget = %+v", third)
	}
	gone := []string{"c:" + c[0].ID, "c:" + c[1].ID, "m:" + string(id(1))}
	slices.Sort(gone)
	check(first.Seq, nil, gone)
	// What comes back is not gone any more.
	apply(t, x, index.Change{Memory: row(1), Chunks: c[1:], SetChunks: true})
	check(second.Seq, []fold.ID{id(1)}, []string{"c:" + c[0].ID})
	// Forgetting what is not there, and nothing at all, change nothing.
	before, _ := x.Seq(ctx)
	apply(t, x, index.Change{Forget: id(99)})
	apply(t, x)
	if after, _ := x.Seq(ctx); after != before {
		t.Errorf("seq went from %d to %d for nothing", before, after)
	}
}

func TestOneMemoryTwiceInOneApply(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	c := chunks(id(1), "a", "b", "c")
	a := apply(t, x,
		index.Change{Memory: row(1), Chunks: c[:2], SetChunks: true},
		index.Change{ID: id(1), Chunks: c[1:], SetChunks: true},
		index.Change{Memory: row(2)},
		index.Change{Forget: id(2)},
		index.Change{Forget: id(1), Memory: row(1), Chunks: c[2:], SetChunks: true},
	)
	if !slices.Equal(a.Added, []string{c[2].ID}) || len(a.Removed) != 0 || !slices.Equal(a.Memories, []fold.ID{id(1)}) {
		t.Errorf("Apply = %+v, want one chunk, one memory", a)
	}
	got, err := x.ChunksOf(ctx, []fold.ID{id(1)})
	if err != nil || len(got[id(1)]) != 1 {
		t.Errorf("chunks = %v, %v", got, err)
	}
	if _, err := x.Memory(ctx, id(2)); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("forgotten memory: %v", err)
	}
}

func TestApplyIsOneTransaction(t *testing.T) {
	x := openIndex(t, t.TempDir())
	_, err := x.Apply(t.Context(), []index.Change{{Memory: row(1)}, {Memory: &index.Row{Memory: fold.Memory{ID: "bad"}}}})
	if !errors.Is(err, fold.ErrInvalid) {
		t.Fatalf("Apply of a bad id = %v, want ErrInvalid", err)
	}
	if _, err := x.Memory(t.Context(), id(1)); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("half of it was applied: %v", err)
	}
}

func TestLinks(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	written := []fold.Link{
		{From: id(1), To: id(2), Type: "related"},
		{From: id(1), To: id(2), Type: "related", Context: "said twice"},
		{From: id(1), To: id(9), Type: "depends_on", Context: "dangles"},
	}
	derived := []fold.Link{
		{From: id(1), To: id(2), Type: "related", Evidence: "chunks", Weight: 0.7},
		{From: id(1), To: id(3), Type: "related", Evidence: "name", Weight: 0.5},
	}
	apply(t, x, index.Change{Memory: row(1), Links: written, SetLinks: true, Derived: derived, SetDerived: true}, index.Change{Memory: row(2)})
	out, in, err := x.LinksOf(ctx, []fold.ID{id(1), id(2)})
	if err != nil {
		t.Fatal(err)
	}
	w1 := fold.Link{From: id(1), To: id(9), Type: "depends_on", Context: "dangles", Weight: 1}
	w2 := fold.Link{From: id(1), To: id(2), Type: "related", Context: "said twice", Weight: 1}
	d2 := fold.Link{From: id(1), To: id(3), Type: "related", Derived: true, Evidence: "name", Weight: 0.5}
	if d := cmp.Diff(map[fold.ID][]fold.Link{id(1): {w1, w2, d2}}, out); d != "" {
		t.Errorf("out: -want +got %s", d)
	}
	if d := cmp.Diff(map[fold.ID][]fold.Link{id(2): {w2}}, in); d != "" {
		t.Errorf("in: -want +got %s", d)
	}
	for _, want := range []fold.Link{w1, w2, d2} {
		if got, err := x.LinkByID(ctx, want.ID()); err != nil || got != want {
			t.Errorf("LinkByID = %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := x.LinkByID(ctx, "0123"); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("LinkByID of nothing = %v", err)
	}
	// Without the written one, the derived one of equal id shows.
	a := apply(t, x, index.Change{ID: id(1), SetLinks: true})
	if !slices.Equal(a.Memories, []fold.ID{id(1)}) {
		t.Errorf("Apply = %+v", a)
	}
	if got, err := x.LinkByID(ctx, w2.ID()); err != nil || !got.Derived {
		t.Errorf("LinkByID = %+v, %v, want the derived one", got, err)
	}
	// Forgetting the far end leaves the link, forgetting the near end takes it.
	apply(t, x, index.Change{Forget: id(2)})
	if _, in, err := x.LinksOf(ctx, []fold.ID{id(2)}); err != nil || len(in[id(2)]) != 1 {
		t.Errorf("links to a forgotten memory = %v, %v", in, err)
	}
	apply(t, x, index.Change{Forget: id(1)})
	if out, _, err := x.LinksOf(ctx, []fold.ID{id(1)}); err != nil || len(out) != 0 {
		t.Errorf("links from a forgotten memory = %v, %v", out, err)
	}
}

func TestFilesProblemsCounts(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	f := index.File{Path: "a.go", Size: 3, MtimeNS: 4, Inode: 1 << 63, Hash: "h", Blob: "b", MemoryID: id(1), State: "indexed", Truncated: true}
	r2 := row(2)
	r2.Described, r2.Stale = "index", false
	apply(t, x,
		index.Change{File: &f, Memory: row(1), Chunks: chunks(id(1), "a", "b"), SetChunks: true},
		index.Change{Memory: r2},
		index.Change{File: &index.File{Path: "b.go", State: "skipped", Reason: "binary"}},
		index.Change{File: &index.File{Path: "c.go", State: "failed", Reason: "parser"}},
		index.Change{File: &index.File{Path: "d.go", State: "skipped"}},
		index.Change{File: &index.File{Path: "a.go", Fold: true, State: "quarantined", Reason: "line 3"}},
		index.Change{File: &index.File{Path: "gone.go"}},
	)
	apply(t, x, index.Change{Drop: "gone.go"}, index.Change{Drop: "a.go"}, index.Change{File: &f})
	files, err := x.Files(ctx, false)
	if err != nil || len(files) != 4 {
		t.Fatalf("Files = %v, %v", files, err)
	}
	got, err := x.FileByPath(ctx, "a.go", false)
	f.Seq = got.Seq
	if err != nil || got != f || files["a.go"] != f {
		t.Errorf("FileByPath = %+v, %v, want %+v", got, err, f)
	}
	if _, err := x.FileByPath(ctx, "gone.go", false); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("dropped file: %v", err)
	}
	for cursor, n := "", 0; ; n++ {
		page, next, err := x.ProblemsAfter(ctx, cursor, 1)
		if want := []string{"line 3", "parser", "binary"}; err != nil || len(page) != 1 || page[0].Reason != want[n] {
			t.Fatalf("page %d of the problems = %+v, %v, want %s", n, page, err, want[n])
		}
		if cursor = next; cursor == "" {
			if n != 2 {
				t.Errorf("%d pages of one problem each, want 3", n+1)
			}
			break
		}
	}
	ps, total, err := x.Problems(ctx, 2)
	if err != nil || total != 3 || len(ps) != 2 || ps[0].Reason != "line 3" || ps[1].Reason != "parser" {
		t.Errorf("Problems = %+v, %d, %v", ps, total, err)
	}
	c, err := x.Counts(ctx)
	want := index.Counts{Files: 4, Indexed: 1, Skipped: 2, Failed: 1, FoldFiles: 1, Quarantined: 1, Memories: 2, InFold: 1, Stale: 1, Chunks: 2}
	if err != nil || c != want {
		t.Errorf("Counts = %+v, %v, want %+v", c, err, want)
	}
	if err := x.SetStale(ctx, map[fold.ID]bool{id(1): false, id(2): true}); err != nil {
		t.Fatal(err)
	}
	all, err := x.Memories(ctx, []fold.ID{id(1), id(2)})
	if err != nil || all[id(1)].Stale || !all[id(2)].Stale {
		t.Errorf("after SetStale: %v, %v, %v", all[id(1)].Stale, all[id(2)].Stale, err)
	}
}

func TestNames(t *testing.T) {
	ctx := t.Context()
	x := openIndex(t, t.TempDir())
	agent := row(2)
	agent.Source = fold.SourceAgent
	agent.FilePath = row(1).FilePath
	apply(t, x, index.Change{Memory: agent}, index.Change{Memory: row(1)})
	titles, err := x.Titles(ctx, []fold.ID{id(1), id(7)})
	if err != nil || len(titles) != 1 || titles[id(1)] != row(1).Title {
		t.Errorf("Titles = %v, %v", titles, err)
	}
	es, err := x.ResolverEntries(ctx)
	want := []fold.ResolverEntry{
		{ID: id(1), Path: row(1).Path, Title: row(1).Title, Aliases: []string{"one", ""}, Foreign: "UUID-1"},
		{ID: id(2), Path: row(2).Path, Title: row(2).Title, Aliases: []string{"one", ""}, Foreign: "UUID-1"},
	}
	if d := cmp.Diff(want, es); err != nil || d != "" {
		t.Errorf("ResolverEntries: %v, -want +got %s", err, d)
	}
	var seen []fold.ID
	stop := errors.New("stop")
	err = x.EachMemory(ctx, func(r index.Row) error {
		seen = append(seen, r.ID)
		return stop
	})
	if !errors.Is(err, stop) || len(seen) != 1 {
		t.Errorf("EachMemory = %v after %v", err, seen)
	}
}

// TestDumpAfterRebuild builds the same index in two ways.
func TestDumpAfterRebuild(t *testing.T) {
	ctx := t.Context()
	dump := func(x *index.DB) string {
		var b bytes.Buffer
		if err := x.Dump(ctx, &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	change := func(n int) index.Change {
		m := id(n)
		return index.Change{
			File: &index.File{Path: fmt.Sprint(n), Hash: "h", State: "indexed", MemoryID: m, MtimeNS: int64(n)}, Memory: row(n),
			Chunks: chunks(m, "a", "b"), SetChunks: true,
			Links: []fold.Link{{To: id(n + 1), Type: "related"}, {To: id(n + 2), Type: "related"}}, SetLinks: true,
		}
	}
	x, y := openIndex(t, t.TempDir()), openIndex(t, t.TempDir())
	for n := range 20 {
		apply(t, x, change(n))
	}
	apply(t, x, index.Change{ID: id(3), Chunks: chunks(id(3), "x"), SetChunks: true}, index.Change{Memory: row(50)})
	apply(t, x, change(3), index.Change{Forget: id(50)})
	var all []index.Change
	for n := range 20 {
		c := change(19 - n)
		c.File.MtimeNS++
		all = append(all, c)
	}
	apply(t, y, all...)
	if d := cmp.Diff(dump(x), dump(y)); d != "" || dump(x) == "" {
		t.Errorf("dumps differ: %s", d)
	}
}

func TestReadsGoOnDuringWrites(t *testing.T) {
	x := openIndex(t, t.TempDir())
	apply(t, x, index.Change{Memory: row(1)})
	done := make(chan error, 5)
	for w := range 5 {
		go func() {
			var err error
			for n := range 10 {
				if w == 0 {
					_, err = x.Apply(context.Background(), []index.Change{{Memory: row(n), Chunks: chunks(id(n), "a"), SetChunks: true}})
				} else if _, err = x.Memory(context.Background(), id(1)); err == nil {
					_, _, _, err = x.List(context.Background(), index.Filter{})
				}
				if err != nil {
					break
				}
			}
			done <- err
		}()
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkApply puts 400 files with 25 chunks each into an empty index, then
// the same again, of which nothing differs.
func BenchmarkApply(b *testing.B) {
	const memories, each = 400, 25
	var all []index.Change
	for n := range memories {
		m := id(n)
		c := index.Change{File: &index.File{Path: fmt.Sprintf("src/%d.go", n), Hash: fmt.Sprint(n), MemoryID: m, State: "indexed"}, Memory: row(n), SetChunks: true}
		for i := range each {
			h := fold.ChunkHash(fmt.Append(nil, n, i))
			c.Chunks = append(c.Chunks, fold.Chunk{
				ID: fold.ChunkID(m, h, 0, h), MemoryID: m, Hash: h, StartLine: i * 20, EndLine: i*20 + 19, StartByte: i * 600, EndByte: i*600 + 600,
				NodeType: "function", NodeName: "Server.handleRequest" + h[:4], Parent: "Server", Language: "go", Doc: "handleRequest answers one request.",
			})
		}
		all = append(all, c)
	}
	for _, again := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "unchanged"}[again], func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				x := openIndex(b, b.TempDir())
				if again {
					apply(b, x, all...)
				}
				b.StartTimer()
				apply(b, x, all...)
				b.StopTimer()
				_ = x.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(memories*each*b.N)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
}
