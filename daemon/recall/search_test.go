package recall

import (
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

func TestSynonymsOfQuestion(t *testing.T) {
	table := embed.Builtin().Table()
	got := synonyms(table, "How are directories deleted?")
	for _, want := range []string{"remov", "dir"} {
		if !slices.ContainsFunc(got, func(s textindex.Synonym) bool { return s.Term == want && s.Weight > .13 && s.Weight <= .3 }) {
			t.Errorf("Synonyms = %+v, want %q among them", got, want)
		}
	}
	if got := synonyms(nil, "delete"); got != nil {
		t.Errorf("without a table: %+v", got)
	}
}
