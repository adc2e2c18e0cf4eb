package describe

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/words"
)

func TestWordRarityIsSortedInLevels(t *testing.T) {
	if n := len(wordRarity); n < 5 || n > 10 {
		t.Errorf("%d levels", n)
	}
	level := map[string]int{}
	for i, line := range wordRarity {
		list := strings.Fields(line)
		if len(list) == 0 || strings.Join(list, " ") != line || !slices.IsSorted(list) {
			t.Errorf("level %d is empty, not sorted, or has more than one blank between words", i+1)
		}
		if i > 1 && len(list) < len(strings.Fields(wordRarity[i-1])) {
			t.Errorf("level %d has fewer words than the one before", i+1)
		}
		for _, w := range list {
			if at, ok := level[w]; ok {
				t.Errorf("%q is in levels %d and %d", w, at, i+1)
			}
			level[w] = i + 1
			var got []string
			words.Each(w, func(x string) { got = append(got, x) })
			if len(got) != 1 || got[0] != w || strings.ToLower(w) != w {
				t.Errorf("%q is no word: it is counted as %q", w, got)
			}
		}
	}
	if n := len(level); n < 2000 || n > 8000 {
		t.Errorf("%d words", n)
	}
	if info, err := os.Stat("keywords_table.go"); err != nil || info.Size() > 60<<10 {
		t.Errorf("the table's source is larger than 60 KB, or gone: %v", err)
	}
}

func TestRarityKnowsCommonFromRare(t *testing.T) {
	for _, w := range []string{"return", "error", "the", "this", "file", "name", "value", "string", "type", "test", "returns", "when"} {
		if r := rarity(w); r > 3 {
			t.Errorf("rarity(%q) = %v, a word of any file", w, r)
		}
	}
	for _, w := range []string{"renegotiation", "debounce", "mortgage", "morsel"} {
		if r := rarity(w); r <= float64(len(wordRarity)) {
			t.Errorf("rarity(%q) = %v, want more than any listed", w, r)
		}
	}
	for common, rare := range map[string]string{"error": "handshake", "parse": "cookie", "read": "journal", "function": "closure", "file": "checksum"} {
		if rarity(common) >= rarity(rare) {
			t.Errorf("rarity(%q) = %v, rarity(%q) = %v", common, rarity(common), rare, rarity(rare))
		}
	}
}
