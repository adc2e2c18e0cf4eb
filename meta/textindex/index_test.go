package textindex_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

func open(t testing.TB, dir string) *textindex.Index {
	t.Helper()
	x, err := textindex.Open(dir, textindex.Options{Nap: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func apply(t testing.TB, x *textindex.Index, seq int64, put []textindex.Doc, drop ...string) {
	t.Helper()
	if err := x.Apply(t.Context(), seq, put, drop); err != nil {
		t.Fatal(err)
	}
}

func keys(t testing.TB, x *textindex.Index, q textindex.Query) string {
	t.Helper()
	hits, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range hits {
		out = append(out, h.Key)
	}
	return strings.Join(out, " ")
}

// library is a small project: two files with functions, and three memories.
func library() []textindex.Doc {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 12, 0, 0, 0, time.UTC) }
	return []textindex.Doc{
		{Key: "m:f1", Kind: textindex.File, Memory: "f1", Title: "Pool", Path: "src/db/pool.go", Body: "package db\nfunc setMaxOpenConns closes idle connections", Source: "file", Type: "codebase", Language: "go", Updated: day(1)},
		{Key: "m:f2", Kind: textindex.File, Memory: "f2", Title: "Auth", Path: "src/auth/token.ts", Body: "export function validateToken checks the signature of a token", Source: "file", Type: "codebase", Language: "TypeScript", Updated: day(2)},
		{Key: "c:c1", Kind: textindex.Chunk, Memory: "f1", Symbol: "Pool.setMaxOpenConns", Path: "src/db/pool.go", Body: "limit the open connections of the pool", Source: "file", Type: "codebase", Language: "go", Updated: day(1)},
		{Key: "c:c2", Kind: textindex.Chunk, Memory: "f2", Symbol: "AuthService.validateToken", Path: "src/auth/token.ts", Body: "validate a token and refresh it", Source: "file", Type: "codebase", Language: "typescript", Updated: day(2)},
		{Key: "m:m1", Kind: textindex.Memory, Memory: "m1", Title: "JWT decision", Body: "We sign tokens with ed25519.", Tags: []string{"Auth", "security"}, Source: "agent", Type: "decision", Author: "Ada", Updated: day(3)},
		{Key: "m:m2", Kind: textindex.Memory, Memory: "m2", Title: "Connection limits", Body: "The pool keeps ten connections open.", Tags: []string{"db"}, Source: "agent", Type: "fact", Author: "bob", Updated: day(4)},
		{Key: "m:m3", Kind: textindex.Memory, Memory: "m3", Title: "東京の会議", Body: "トークンの更新について", Source: "agent", Type: "episode", Author: "bob", Updated: day(5)},
	}
}

func TestSearchFindsEveryKind(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	apply(t, x, 7, library())
	if x.Seq() != 7 || x.Count() != 7 || x.Rebuilt != "" {
		t.Errorf("Seq, Count, Rebuilt = %d, %d, %q, want 7, 7, none", x.Seq(), x.Count(), x.Rebuilt)
	}
	for _, tc := range []struct{ text, want string }{
		{"open connections", "m:f1 c:c1 m:m2"},
		{"max_open_conns", "m:f1 c:c1 m:m2"},
		{"validateToken", "m:f2 c:c2 m:m1"},
		{"tokens", "m:f2 c:c2 m:m1"},
		{"auth", "m:f2 c:c2 m:m1"},
		{"京", "m:m3"},
		{"トークン", "m:m3"},
		{"the of", ""},
		{"", ""},
		{"zebra", ""},
	} {
		if got := keys(t, x, textindex.Query{Text: tc.text}); got != tc.want {
			t.Errorf("Search(%q) = %q, want %q", tc.text, got, tc.want)
		}
	}
	hits, err := x.Search(t.Context(), textindex.Query{Text: "validate token", Kinds: []textindex.Kind{textindex.Chunk}})
	if err != nil || len(hits) != 1 {
		t.Fatalf("Search = %v, %v, want one hit", hits, err)
	}
	h := hits[0]
	if h.Memory != "f2" || h.Chunk != "c2" || h.Coverage != 1 || h.Name <= 0 || h.Exact <= 0 || h.Symbol <= 0 || h.Body <= 0 || h.Path <= 0 || h.Fielded < h.Symbol {
		t.Errorf("hit = %+v", h)
	}
	if h.NameShare != .5 { // auth, service, validate, token
		t.Errorf("the question has %v of the name, want half", h.NameShare)
	}
}

func TestFilterActsInsideTheQuery(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	docs := library()
	for i := range 300 { // better matches, all filtered out
		docs = append(docs, textindex.Doc{Key: fmt.Sprintf("m:x%d", i), Kind: textindex.Memory, Memory: "x", Title: "token connection open auth", Source: "git", Path: fmt.Sprintf("vendor/x%d.c", i)})
	}
	apply(t, x, 1, docs)
	day := func(d int) time.Time { return time.Date(2026, 1, d, 12, 0, 0, 0, time.UTC) }
	const text = "token connection 東京"
	for _, tc := range []struct {
		name   string
		filter textindex.Filter
		want   string
	}{
		{"source", textindex.Filter{Source: "agent"}, "m:m1 m:m2 m:m3"},
		{"type", textindex.Filter{Type: "decision"}, "m:m1"},
		{"author", textindex.Filter{Author: "ADA"}, "m:m1"},
		{"language", textindex.Filter{Language: "typescript"}, "c:c2 m:f2"},
		{"tag", textindex.Filter{Tags: []string{"auth"}}, "m:m1"},
		{"tags", textindex.Filter{Tags: []string{"auth", "db"}}, ""},
		{"folder", textindex.Filter{PathGlob: "src/**"}, "c:c1 c:c2 m:f1 m:f2"},
		{"extension", textindex.Filter{PathGlob: "*.go"}, "c:c1 m:f1"},
		{"glob", textindex.Filter{PathGlob: "src/*/t*.{ts,tsx}"}, "c:c2 m:f2"},
		{"after", textindex.Filter{After: day(4)}, "m:m2 m:m3"},
		{"range", textindex.Filter{After: day(3), Before: day(4)}, "m:m1"},
		{"memories", textindex.Filter{Memories: map[fold.ID]bool{"f1": true, "m1": true, "m2": false}}, "c:c1 m:f1 m:m1"},
		{"no memories", textindex.Filter{Memories: map[fold.ID]bool{}}, ""},
		{"both", textindex.Filter{Source: "file", Before: day(2)}, "c:c1 m:f1"},
	} {
		hits, err := x.Search(t.Context(), textindex.Query{Text: text, Filter: tc.filter})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, h := range hits {
			got[h.Key] = true
		}
		want := map[string]bool{}
		for k := range strings.FieldsSeq(tc.want) {
			want[k] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got %s", tc.name, d)
		}
	}
	if _, err := x.Search(t.Context(), textindex.Query{Text: text, Filter: textindex.Filter{PathGlob: "a{b"}}); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("Search with a broken glob: %v, want ErrInvalid", err)
	}
}

// What a document is worth does not depend on what else the filter leaves.
func TestFilterLeavesScores(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	apply(t, x, 1, library())
	apply(t, x, 2, library()[:3], "m:m2")
	scores := func(f textindex.Filter) map[string]float64 {
		hits, err := x.Search(t.Context(), textindex.Query{Text: "validate the token of open connections", Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, h := range hits {
			out[h.Key] = h.Score
		}
		return out
	}
	all, some := scores(textindex.Filter{}), scores(textindex.Filter{Language: "typescript"})
	if len(some) != 2 || len(all) <= len(some) {
		t.Fatalf("found %d, filtered %d", len(all), len(some))
	}
	for key, score := range some {
		if all[key] != score {
			t.Errorf("%s: %v, filtered %v", key, all[key], score)
		}
	}
}

func TestPassing(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	apply(t, x, 1, library())
	apply(t, x, 2, library()[4:5], "m:f1", "m:m2") // c1 stays, under f1
	for _, tc := range []struct {
		name   string
		filter textindex.Filter
		want   string
	}{
		{"source", textindex.Filter{Source: "agent"}, "m1 m3"},
		{"chunk", textindex.Filter{Language: "Go"}, "f1"},
		{"glob", textindex.Filter{PathGlob: "src/**/*.{go,ts}"}, "f1 f2"},
		{"nothing", textindex.Filter{Tags: []string{"db"}}, ""},
		{"tag, not a part of one", textindex.Filter{Tags: []string{"secur"}}, ""},
	} {
		got, err := x.MatchingMemories(t.Context(), tc.filter)
		if err != nil {
			t.Fatal(err)
		}
		want := map[fold.ID]bool{}
		for id := range strings.FieldsSeq(tc.want) {
			want[fold.ID(id)] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got %s", tc.name, d)
		}
	}
	for _, f := range []textindex.Filter{{}, {PathGlob: "**"}} {
		if got, err := x.MatchingMemories(t.Context(), f); got != nil || err != nil {
			t.Errorf("Passing(%+v) = %v, %v, want nil", f, got, err)
		}
	}
	if _, err := x.MatchingMemories(t.Context(), textindex.Filter{PathGlob: "a{b"}); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("Passing with a broken glob: %v, want ErrInvalid", err)
	}
}

func TestApplyReplacesAndDrops(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "text")
	x := open(t, dir)
	apply(t, x, 1, library())
	apply(t, x, 2, []textindex.Doc{{Key: "m:m1", Kind: textindex.Memory, Memory: "m1", Body: "zebra"}}, "m:m2", "m:none")
	if got := keys(t, x, textindex.Query{Text: "zebra"}); got != "m:m1" {
		t.Errorf("Search(zebra) = %q", got)
	}
	if got := keys(t, x, textindex.Query{Text: "tokens connections", Kinds: []textindex.Kind{textindex.Memory}}); got != "" {
		t.Errorf("Search(old words) = %q, want none", got)
	}
	if err := x.Apply(t.Context(), 3, []textindex.Doc{{Key: "m:q", Kind: "other"}}, nil); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("Apply(unknown kind) = %v, want ErrInvalid", err)
	}
	if x.Seq() != 2 {
		t.Errorf("Seq = %d, want 2", x.Seq())
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := open(t, dir)
	if y.Rebuilt != "" || y.Seq() != 2 || keys(t, y, textindex.Query{Text: "zebra"}) != "m:m1" {
		t.Errorf("after Close and Open: Rebuilt %q, Seq %d", y.Rebuilt, y.Seq())
	}
}

// A rebuilt index must answer as the one that was changed step by step.
func TestScoresDoNotDependOnHistory(t *testing.T) {
	a, b := open(t, filepath.Join(t.TempDir(), "a")), open(t, filepath.Join(t.TempDir(), "b"))
	docs := library()
	for i, d := range docs {
		d.Body += strings.Repeat(" something else", 20*i)
		apply(t, a, int64(i), []textindex.Doc{d})
	}
	apply(t, a, 90, []textindex.Doc{{Key: "m:gone", Kind: textindex.Memory, Memory: "gone", Body: "token token"}})
	apply(t, a, 98, docs, "m:gone")
	apply(t, b, 98, docs)
	for _, text := range []string{"open connections of the pool", "validateToken signature", "jwt"} {
		ha, err := a.Search(t.Context(), textindex.Query{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		hb, err := b.Search(t.Context(), textindex.Query{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(ha, hb); d != "" {
			t.Errorf("Search(%q): -changed +rebuilt %s", text, d)
		}
	}
}

func TestOpenTwiceIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "text")
	x := open(t, dir)
	apply(t, x, 1, library())
	if _, err := textindex.Open(dir, textindex.Options{}); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("second Open = %v, want ErrUnavailable", err)
	}
	if got := keys(t, x, textindex.Query{Text: "jwt"}); got != "m:m1" {
		t.Errorf("Search in the first = %q", got)
	}
}

// TestHeldFilesAreNotDamaged: somebody who does not know of our lock, an older
// version or a handle that a failed start left, has the files of the index. Open
// says so soon, as often as it is tried, and begins nothing anew.
func TestHeldFilesAreNotDamaged(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "text")
	x := open(t, dir)
	apply(t, x, 1, library())
	n := x.Count()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	held, err := bolt.Open(filepath.Join(dir, "store", "root.bolt"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 { // one more than there may be starts that do not end well
		if x, err := textindex.Open(dir, textindex.Options{}); !errors.Is(err, fold.ErrUnavailable) {
			t.Fatalf("Open = %v, %v, want ErrUnavailable", x, err)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	x = open(t, dir)
	if x.Rebuilt != "" || x.Count() != n || x.Seq() != 1 {
		t.Errorf("Rebuilt %q, Count %d, Seq %d, want nothing, %d, 1", x.Rebuilt, x.Count(), x.Seq(), n)
	}
}

// TestFoundBeforeItIsOnDisk: what was applied is found although nothing of it was
// written yet.
func TestFoundBeforeItIsOnDisk(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "text")
	x, err := textindex.Open(dir, textindex.Options{Nap: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, x, 1, []textindex.Doc{numbered(1)})
	if err := x.Flush(); err != nil { // from here on the persister naps, but for once
		t.Fatal(err)
	}
	files := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "store", "*.zap"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	// Bleve's merger may wake the persister once; it does not for each change.
	unwritten := 0
	for i := range 5 {
		before := files()
		apply(t, x, int64(i+2), []textindex.Doc{numbered(i + 2)})
		if got := keys(t, x, textindex.Query{Text: fmt.Sprintf("n%dx", i+2)}); !strings.Contains(got, numbered(i+2).Key) {
			t.Errorf("Search = %q without what was just applied", got)
		}
		if slices.Equal(files(), before) {
			unwritten++
		}
	}
	if unwritten == 0 {
		t.Errorf("segments on disk: %v: all that was found had been written", files())
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if y := open(t, dir); y.Seq() != 6 || y.Count() != 6 {
		t.Errorf("Seq %d, Count %d after Close, want 6, 6", y.Seq(), y.Count())
	}
}

// TestAnIndexThatWasOnlySearchedIsNotWritten: a checkout whose stores come to rest
// after a search closes them at once. Counted are the batches Bleve was given, not
// bytes on disk: Bleve prunes its own snapshots when it likes.
func TestAnIndexThatWasOnlySearchedIsNotWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "text")
	batches := func(put ...textindex.Doc) uint64 {
		t.Helper()
		x, err := textindex.Open(dir, textindex.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(put) > 0 {
			apply(t, x, x.Seq()+1, put)
		}
		keys(t, x, textindex.Query{Text: "token"})
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		n, err := x.Batches()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := batches(library()...); n != 2 {
		t.Errorf("%d batches for a change, want it and one that waits for the disk", n)
	}
	if n := batches(); n != 0 {
		t.Errorf("%d batches for a search, want 0", n)
	}
	if n := batches(numbered(1)); n != 2 {
		t.Errorf("%d batches for a later change, want 2", n)
	}
}

func TestOtherAnalyserBeginsAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "text")
	x := open(t, dir)
	apply(t, x, 1, library())
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "version"), []byte("1.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	y := open(t, dir)
	if y.Rebuilt == "" || y.Count() != 0 || y.Seq() != 0 {
		t.Errorf("Rebuilt %q, Count %d, Seq %d, want a reason and nothing", y.Rebuilt, y.Count(), y.Seq())
	}
}

// A search that comes while the daemon lets go of an idle checkout is told so.
func TestSearchAfterClose(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "index"))
	apply(t, x, 1, []textindex.Doc{numbered(1)})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if hits, err := x.Search(t.Context(), textindex.Query{Text: "number"}); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Search = %v, %v, want ErrUnavailable", hits, err)
	}
	if ids, err := x.MatchingMemories(t.Context(), textindex.Filter{Source: "file"}); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Passing = %v, %v, want ErrUnavailable", ids, err)
	}
	if n, seq := x.Count(), x.Seq(); n != 0 || seq != 0 {
		t.Errorf("Count, Seq = %d, %d", n, seq)
	}
}

// The room that searches work in outlives collections, and saves that add a few
// documents: at 10,000 it is a megabyte.
func TestRoomOfSearchesIsKept(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	apply(t, x, 1, library())
	search := func(want string) int {
		t.Helper()
		if got := keys(t, x, textindex.Query{Text: "zinc"}); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
		return x.Room()
	}
	first := search("")
	runtime.GC()
	runtime.GC()
	if x.Room() != first || first == 0 {
		t.Errorf("room for %d documents after a collection, before it for %d", x.Room(), first)
	}
	apply(t, x, 2, []textindex.Doc{{Key: "m:z", Kind: textindex.Memory, Memory: "z", Body: "zinc"}})
	if now := search("m:z"); now != first {
		t.Errorf("room for %d documents after a save, before it for %d", now, first)
	}
}
