package textindex_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/textindex"
)

func TestMessagesLike(t *testing.T) {
	texts := []string{"Fix the parser of shortcodes", "Update dependencies", "", "parser: read nested shortcodes at once", "Update the parser"}
	m := textindex.NewMessages(len(texts), func(i int) string { return texts[i] })
	order := func(likes []textindex.Like) (out []int) {
		for _, l := range likes {
			if l.Score <= 0 {
				t.Errorf("text %d has score %v", l.Text, l.Score)
			}
			out = append(out, l.Text)
		}
		return out
	}
	for query, want := range map[string]string{
		"nested shortcode":   "[3 0]",
		"update parsers":     "[4 1 0]",
		"of the":             "[]",
		"quokka":             "[]",
		"":                   "[]",
		"Dependency updates": "[1 4]",
	} {
		if got := fmt.Sprint(order(m.Like(query, 3))); got != want {
			t.Errorf("Like(%q) = %v, want %v", query, got, want)
		}
	}
	if got := textindex.NewMessages(0, nil).Like("parser", 5); len(got) != 0 {
		t.Errorf("Like of nothing = %v", got)
	}
}

func BenchmarkMessagesLike(b *testing.B) {
	m := textindex.NewMessages(5000, func(i int) string {
		return fmt.Sprintf("pkg%d: fix the %d of %s", i%100, i%17, strings.Repeat(fmt.Sprintf("word%d ", i%300), 20))
	})
	for b.Loop() {
		m.Like("fix the word7 of pkg12 in word100", 50)
	}
}
