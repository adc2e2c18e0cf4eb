package textindex

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestChunksAreOfTheTimeOfTheirMemory puts the document of a file again, with a
// later time, and only those of its chunks that are new, as a save does. All of
// them are of the new time, in the same segment or in another, and in an index
// that was begun anew with the new time everywhere.
func TestChunksAreOfTheTimeOfTheirMemory(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 12, 0, 0, 0, time.UTC) }
	file := func(id string, d int) Doc {
		return Doc{Key: "m:" + id, Kind: File, Memory: fold.ID(id), Title: "token", Source: "file", Language: "go", Updated: day(d)}
	}
	chunk := func(id, of string, d int) Doc {
		return Doc{Key: "c:" + id, Kind: Chunk, Memory: fold.ID(of), Body: "token " + id, Source: "file", Language: "go", Updated: day(d)}
	}
	note := func(id string, d int) Doc {
		return Doc{Key: "m:" + id, Kind: Memory, Memory: fold.ID(id), Body: "token", Source: "agent", Updated: day(d)}
	}
	begin := func(batches ...[]Doc) *Index {
		t.Helper()
		x, err := Open(filepath.Join(t.TempDir(), "text"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.Close() })
		for i, docs := range batches {
			if err := x.Apply(t.Context(), int64(i+1), docs, nil); err != nil {
				t.Fatal(err)
			}
			if err := x.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		return x
	}
	check := func(when string, x *Index, f Filter, want string, passing ...fold.ID) {
		t.Helper()
		hits, err := x.Search(t.Context(), Query{Text: "token", Filter: f, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, h := range hits {
			keys = append(keys, h.Key)
		}
		slices.Sort(keys)
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: found %q, want %q", when, got, want)
		}
		ids, err := x.MatchingMemories(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) != len(passing) {
			t.Errorf("%s: %v pass, want %v", when, ids, passing)
		}
		for _, id := range passing {
			if !ids[id] {
				t.Errorf("%s: %s does not pass", when, id)
			}
		}
	}
	late, early := Filter{After: day(5)}, Filter{Before: day(5)}
	first := []Doc{
		file("f1", 1), chunk("a", "f1", 1), chunk("b", "f1", 1), file("f2", 2), chunk("z", "f2", 2), note("n", 6),
		chunk("orphan", "none", 9), chunk("young", "none", 3),
	}
	x := begin(first)
	check("late, before", x, late, "m:n", "n")
	check("early, before", x, early, "c:a c:b c:z m:f1 m:f2", "f1", "f2")
	for i, d := range []int{7, 3, 8} { // to and fro
		if err := x.Apply(t.Context(), int64(i+2), []Doc{file("f1", d), chunk(fmt.Sprint("new", d), "f1", d)}, nil); err != nil {
			t.Fatal(err)
		}
		if d < 5 {
			check("late, between", x, late, "m:n", "n")
		}
	}
	same := func(when string, x *Index) {
		t.Helper()
		check("late, "+when, x, late, "c:a c:b c:new3 c:new7 c:new8 m:f1 m:n", "f1", "n")
		check("early, "+when, x, early, "c:z m:f2", "f2")
		check("range, "+when, x, Filter{After: day(2), Before: day(3), Source: "file"}, "c:z m:f2", "f2")
		check("none, "+when, x, Filter{After: day(9)}, "")
	}
	same("in several segments", x)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := x.store.ForceMerge(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s, err := x.snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.leaves); n != 1 {
		t.Errorf("%d segments after the merge, want 1", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	same("after a merge", x)
	same("in one batch", begin([]Doc{
		file("f1", 8), chunk("a", "f1", 8), chunk("b", "f1", 8), file("f2", 2), chunk("z", "f2", 2), note("n", 6),
		chunk("new3", "f1", 8), chunk("new7", "f1", 8), chunk("new8", "f1", 8), chunk("orphan", "none", 9),
	}))
	// The document goes, its chunks stay.
	if err := x.Apply(t.Context(), 9, nil, []string{"m:f1"}); err != nil {
		t.Fatal(err)
	}
	check("orphans", x, late, "m:n", "n")
}

// TestAChunkDatesItsMemory puts chunks that say how old their memory is now,
// without its document: all of it is of that time, until the chunk goes, its
// memory says a later one, or says that no chunk knows better.
func TestAChunkDatesItsMemory(t *testing.T) {
	x, err := Open(filepath.Join(t.TempDir(), "text"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	day := func(d int) time.Time { return time.Date(2026, 1, d, 12, 0, 0, 0, time.UTC) }
	file := func(d int, dates bool) Doc {
		return Doc{Key: "m:f", Kind: File, Memory: "f", Title: "token", Updated: day(d), Dates: dates}
	}
	chunk := func(key string, d int, dates bool) Doc {
		return Doc{Key: key, Kind: Chunk, Memory: "f", Body: "token", Updated: day(d), Dates: dates}
	}
	seq := int64(0)
	apply := func(put []Doc, drop ...string) {
		t.Helper()
		seq++
		if err := x.Apply(t.Context(), seq, put, drop); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what string, d, docs int) {
		t.Helper()
		for _, b := range []struct {
			f    Filter
			want int
		}{{Filter{After: day(d)}, docs}, {Filter{Before: day(d)}, 0}, {Filter{After: day(d).Add(1)}, 0}, {Filter{Before: day(d).Add(1)}, docs}} {
			hits, err := x.Search(t.Context(), Query{Text: "token", Filter: b.f, Limit: 100})
			if err != nil || len(hits) != b.want {
				t.Errorf("%s: %d documents pass %+v, %v, want %d", what, len(hits), b.f, err, b.want)
			}
		}
	}
	apply([]Doc{file(1, false), chunk("c:a", 1, false), chunk("c:b", 1, false)})
	is("as it was put", 1, 3)
	apply([]Doc{chunk("c:c", 4, true)}, "c:b")
	is("with a later chunk", 4, 3)
	apply([]Doc{chunk("c:d", 2, true)})
	is("with an earlier one beside it", 4, 4)
	if err := x.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := x.store.ForceMerge(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	is("after a merge", 4, 4)
	apply(nil, "c:c")
	is("without the latest", 2, 3)
	apply([]Doc{file(3, false)})
	is("with a later document", 3, 3)
	apply([]Doc{chunk("c:e", 5, true)})
	is("with a chunk after that", 5, 4)
	apply([]Doc{file(1, true)})
	is("by what its document says", 1, 4)
	apply(nil, "m:f")
	if hits, err := x.Search(t.Context(), Query{Text: "token", Filter: Filter{After: day(1)}, Limit: 100}); err != nil || len(hits) != 0 {
		t.Errorf("without a document: %d chunks are of a time, %v", len(hits), err)
	}
}
