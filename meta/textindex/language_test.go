package textindex

import (
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestTSXIsTypeScript: who asks for TypeScript gets TSX too, who asks for TSX
// nothing else, and who asks for JavaScript neither.
func TestTSXIsTypeScript(t *testing.T) {
	x, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	var docs []Doc
	for _, lang := range []string{"typescript", "tsx", "javascript", ""} {
		docs = append(docs, Doc{Key: "m:" + lang, Kind: File, Memory: fold.ID(lang), Title: "token", Source: "file", Language: lang})
	}
	if err := x.Apply(t.Context(), 1, docs, nil); err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string][]string{"typescript": {"tsx", "typescript"}, "TypeScript": {"tsx", "typescript"}, "tsx": {"tsx"}, "javascript": {"javascript"}} {
		hits, err := x.Search(t.Context(), Query{Text: "token", Filter: Filter{Language: lang}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range hits {
			got = append(got, string(h.Memory))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("language %s: %q, want %q", lang, got, want)
		}
	}
}
