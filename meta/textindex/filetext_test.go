package textindex_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// file returns the documents of a file with chunks of these bodies.
func file(id fold.ID, bodies ...string) []textindex.Doc {
	d := textindex.Doc{Memory: id, Path: "src/" + string(id) + ".go", Source: "file", Language: "go"}
	docs := []textindex.Doc{d}
	docs[0].Key, docs[0].Kind, docs[0].Body = "m:"+string(id), textindex.File, "Describes it."
	for i, body := range bodies {
		c := d
		c.Key, c.Kind, c.Body = fmt.Sprintf("c:%s%d", id, i), textindex.Chunk, body
		docs = append(docs, c)
	}
	return docs
}

func files(t *testing.T, x *textindex.Index, text string) []textindex.Hit {
	t.Helper()
	hits, err := x.Search(t.Context(), textindex.Query{Text: text, Kinds: []textindex.Kind{textindex.File}})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func TestAFileHasTheTextOfItsChunks(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	apply(t, x, 1, file("f1", "retry with jitter", "and again"))
	apply(t, x, 2, file("f2", "retry at once", "no noise here"))
	apply(t, x, 3, file("f3", "jitter", "retry"))
	hits := files(t, x, "retry jitter")
	if len(hits) != 3 || hits[2].Key != "m:f2" || hits[0].Coverage != 1 || hits[1].Coverage != 1 || hits[2].Coverage >= 1 {
		t.Fatalf("Search = %+v", hits)
	}
	if h := hits[0]; h.Body <= 0 || h.Body != h.Fielded || h.Path != 0 {
		t.Errorf("scores of single fields: %+v", h)
	}
	// A change of one chunk is a change of the file, whichever segment it lies in.
	changed := file("f2", "retry at once", "jitter here")[2]
	apply(t, x, 4, []textindex.Doc{changed})
	if hits = files(t, x, "retry jitter"); len(hits) != 3 || hits[2].Coverage != 1 {
		t.Errorf("Search after a change = %+v", hits)
	}
	apply(t, x, 5, nil, "c:f30", "c:f31")
	if hits = files(t, x, "jitter"); len(hits) != 2 {
		t.Errorf("Search after a deletion = %+v", hits)
	}
}

func TestScoresOfFilesDoNotDependOnHistory(t *testing.T) {
	a, b := open(t, filepath.Join(t.TempDir(), "a")), open(t, filepath.Join(t.TempDir(), "b"))
	old := file("f1", "parse the token", "tokenValidator checks it")
	now := append(file("f1", "parse the header", "tokenValidator checks it", "token"), file("f2", "token header")...)
	apply(t, a, 1, append(old, file("gone", "token token", "tokenValidator")...))
	apply(t, a, 2, now, "m:gone", "c:gone0", "c:gone1")
	apply(t, b, 1, now)
	for _, text := range []string{"token header", "tokenValidator", "describes"} {
		if d := cmp.Diff(files(t, a, text), files(t, b, text)); d != "" {
			t.Errorf("Search(%q): -changed +rebuilt %s", text, d)
		}
	}
}

func TestSynonymsAddToOtherTerms(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	apply(t, x, 1, append(file("f1", "delete the row"), file("f2", "remove the row")...))
	q := textindex.Query{Text: "delete row", Kinds: []textindex.Kind{textindex.Chunk}}
	plain, err := x.Search(t.Context(), q)
	if err != nil || len(plain) != 2 || plain[1].Expanded != plain[1].Fielded {
		t.Fatalf("Search = %+v, %v", plain, err)
	}
	q.Synonyms = []textindex.Synonym{{Term: "remov", Weight: .3}, {Term: "delet", Weight: 1}} // the second is in the question
	hits, err := x.Search(t.Context(), q)
	if err != nil || len(hits) != 2 {
		t.Fatalf("Search with synonyms = %+v, %v", hits, err)
	}
	if a, b := hits[0], hits[1]; a.Expanded != a.Fielded || b.Expanded <= b.Fielded || b.Coverage != plain[1].Coverage || b.Fielded != plain[1].Fielded {
		t.Errorf("hits = %+v, %+v", a, b)
	}
}
