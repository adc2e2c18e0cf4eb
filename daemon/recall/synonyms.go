package recall

import (
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/meta/words"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Synonyms returns what a question is widened by: terms that mean nearly what its
// own do, the nearest first. A nil table knows none.
func Synonyms(t *embed.Table, question string) []textindex.Synonym {
	if t == nil {
		return nil
	}
	var out []textindex.Synonym
	for _, w := range t.Expand(words.Analyze(question)) {
		out = append(out, textindex.Synonym{Term: w.Term, Weight: w.Weight})
	}
	return out
}
