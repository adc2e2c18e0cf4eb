package textindex_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// TestMemoryOfHitAfterMerge replaces documents until segments are merged: a hit
// must still name the memory it was put with. Doc values stored uncompressed
// came back from the wrong document then.
func TestMemoryOfHitAfterMerge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "text")
	x, err := textindex.Open(dir, textindex.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 8 {
		var docs []textindex.Doc
		for i := range 5 {
			id := fold.FileID("p", fmt.Sprint(i))
			docs = append(docs, textindex.Doc{Key: "m:" + string(id), Kind: textindex.File, Memory: id, Body: fmt.Sprintf("common word%d", i)})
		}
		if err := x.Apply(context.Background(), int64(round+1), docs[round%3:], nil); err != nil {
			t.Fatal(err)
		}
		if err := x.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = textindex.Open(dir, textindex.Options{}); err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	hits, err := x.Search(context.Background(), textindex.Query{Text: "common", Limit: 10})
	if err != nil || len(hits) != 5 {
		t.Fatalf("Search = %d hits, %v, want 5", len(hits), err)
	}
	for _, h := range hits {
		if h.Key != "m:"+string(h.Memory) {
			t.Errorf("hit %s is shown under memory %s", h.Key, h.Memory)
		}
	}
}
