package fold_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

const ownPath = "1/f/1f2e3d4c5b6a7988.md"

func front(keys string) string {
	return "---\nid: \"1f2e3d4c5b6a7988\"\n" + keys + "---\n# T\n"
}

// hostile returns files that are set aside, by name (threats F34, F43, F45).
func hostile() map[string]string {
	deep := func(n int) string { // nested maps, one column deeper each
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.String()
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	many := ""
	for i := range 6000 {
		many += fmt.Sprintf("k%d: v\n", i)
	}
	return map[string]string{
		"empty file":          "",
		"alias bomb":          front(bomb),
		"depth 200,000":       front("a: " + strings.Repeat("[", 200_000)),
		"brackets 64 KB":      front("a: " + strings.Repeat("[", 64<<10-100)),
		"braces 60 KB":        front("a: " + strings.Repeat("{", 60<<10)),
		"brackets closed":     front("a: " + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + "\n"),
		"dashes":              front("a:\n  " + strings.Repeat("- ", 30_000) + "x\n"),
		"question marks":      front("a:\n  " + strings.Repeat("? ", 30_000) + "x\n"),
		"nested maps":         front(deep(300)),
		"50 MB line":          front("a: " + strings.Repeat("x", 50<<20) + "\n"),
		"64 KB of keys":       front(many),
		"duplicate keys":      front("title: a\ntags: [x]\ntitle: b\n"),
		"duplicate quoted":    front("title: a\n\"title\": b\n"),
		"duplicate nested":    front("x:\n  a: 1\n  a: 2\n"),
		"title is a list":     front("title: [a, b]\n"),
		"title is a map":      front("title: {a: b}\n"),
		"tags is a map":       front("tags: {a: b}\n"),
		"time is text":        front("created_at: yesterday\n"),
		"pinned is text":      front("pinned: maybe\n"),
		"importance too much": front("importance: 7\n"),
		"importance NaN":      front("importance: .nan\n"),
		"tab indents":         front("x:\n\ta: 1\n"),
		"tab before key":      front("\ttitle: x\n"),
		"no end mark":         "---\nid: \"1f2e3d4c5b6a7988\"\ntitle: x\n# T\n",
		"no end mark, long":   "---\nid: x\n" + strings.Repeat("a\n", 200_000),
		"only a fence":        "---",
		"unquoted colon":      front("title: a: b\n"),
		"no colon":            front("title\n"),
		"list without key":    front("- a\n"),
		"flow map on top":     "---\n{id: \"1f2e3d4c5b6a7988\"}\n---\n",
		"complex key":         front("? a\n: b\n"),
		"two documents":       front("...\na: b\n"),
		"open quotes":         front("title: \"a\n"),
		"reserved indicator":  front("title: @a\n"),
		"NUL":                 front("title: a\x00b\n"),
		"escape character":    front("title: a\x1bb\n"),
		"not UTF-8":           front("title: caf\xe9\n"),
		"UTF-16":              "\xff\xfe-\x00-\x00-\x00",
		"lone CR":             "---\rid: x\r---\r",
		"blank lines":         front("a: |\n  x\n" + strings.Repeat("\n", 60_000) + "b: c\n"),
		"blank lines, many":   front(strings.Repeat("a: |\n  x\n\n\n", 3000)),
		"anchors":             front("a:\n" + strings.Repeat("- &a x\n", 9000)),
		"unknown alias":       front("a: *b\n"),
		"other id":            "---\nid: \"0123456789abcdef\"\n---\n",
		"id is a path":        "---\nid: ../../x\n---\n",
		"id is absolute":      "---\nid: /etc/passwd\n---\n",
		"id of 17 digits":     "---\nid: \"1f2e3d4c5b6a79881\"\n---\n",
		"id is a list":        "---\nid: [\"1f2e3d4c5b6a7988\"]\n---\n",
		"no id":               "---\ntitle: x\n---\n",
		"no frontmatter":      "# T\n",
		"conflict markers":    front("") + "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n",
		"half a conflict":     front("") + "a\n\n=======\nc\n",
		"conflict in keys":    front("<<<<<<< HEAD\ntitle: a\n=======\ntitle: b\n>>>>>>> x\n"),
		"flow items 60 KB":    front("a: [" + strings.Repeat("[x],", 15_000) + "]\n"),
		"flow maps 60 KB":     front("a: {" + strings.Repeat("x: {}, ", 8_000) + "}\n"),
		"nested list 60 KB":   front("a:\n" + strings.Repeat("- b:\n  - c\n", 5_000)),
		"multi-line plain":    front("a: x\n" + strings.Repeat("  y\n", 15_000)),
		"tags of types":       front("a:\n" + strings.Repeat("- !!str x\n", 6000)),
	}
}

// readable returns files at the edge of the caps that are read all the same.
func readable() map[string]string {
	ids := make([]string, 2500)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%016x"`, i)
	}
	links := strings.Repeat("[[f/0/f0123456789abcde|T]] `x` ", 30_000)
	return map[string]string{
		"2,500 links":     front("related_to: [" + strings.Join(ids, ", ") + "]\n"),
		"block of links":  front("related_to:\n  - " + strings.Join(ids, "\n  - ") + "\n"),
		"10,000 in body":  front("") + strings.Repeat("[[f/0/f0123456789abcde|T]]\n", 10_000),
		"a line of links": front("") + links,
		"1 MB of fences":  front("") + strings.Repeat("```\n", 250_000),
		"1 MB backticks":  front("") + strings.Repeat("` `` ``` ", 100_000),
		"1 MB brackets":   front("") + strings.Repeat("[", 1_000_000),
		"1 MB line feeds": front("") + strings.Repeat("\n", 1_000_000),
		"1 MB of CR":      front("") + strings.Repeat("\r", 1_000_000) + "\n",
		"1 MB of CRLF":    front("") + strings.Repeat("\r\n", 500_000),
		"1 MB of items":   front("") + "---\n\n## Related\n\n" + strings.Repeat("- [[f0123456789abcde]]\n", 40_000),
		"1 MB of blocks":  front("") + strings.Repeat("\n---\n\n## Related\n\n- [[f/0/f0123456789abcde]]\n", 20_000),
		"60 KB comments":  front(strings.Repeat("# c\n", 15_000)),
		"60 KB blank":     front(strings.Repeat("\n", 60_000)),
		"60 KB context":   front("context: " + strings.Repeat("word ", 12_000) + "\n"),
		"12 KB of text":   front("context: |\n" + strings.Repeat("  word word\n", 1_000)),
		"12 KB of maps":   front("x:\n" + strings.Repeat("  - a: b\n", 1_200)),
		"no final LF":     "---\nid: \"1f2e3d4c5b6a7988\"\n---",
	}
}

// TestDecodeStaysWithinCaps holds threats F45: 50 ms and 32 MB for anything.
// Time is the best of several runs, since the machine has other work.
func TestDecodeStaysWithinCaps(t *testing.T) {
	limit := 50 * time.Millisecond
	if raceEnabled {
		limit *= 20
	}
	check := func(t *testing.T, text string, bad bool) {
		b := []byte(text)
		best, bytes := time.Hour, uint64(0)
		for try := 0; try < 10 && (try == 0 || best > limit); try++ {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := fold.Decode("p", ownPath, b)
			best = min(best, time.Since(start))
			runtime.ReadMemStats(&after)
			bytes = after.TotalAlloc - before.TotalAlloc
			if got := errors.Is(err, fold.ErrQuarantined); got != bad {
				t.Fatalf("Decode: %v; quarantined %v, want %v", err, got, bad)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("a reason of %d bytes: %.200s", len(err.Error()), err)
			}
		}
		if best > limit || bytes > 32<<20 {
			t.Errorf("Decode took %v and %d bytes", best, bytes)
		}
	}
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) { check(t, text, true) })
	}
	for name, text := range readable() {
		t.Run(name, func(t *testing.T) { check(t, text, false) })
	}
}

func TestQuarantineNamesTheLine(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{front("title: a: b\n"), "line 3: "},
		{front("title: a\n\ntitle: b\n"), "line 5: "},
		{front("a: {b: c\n"), "line 3: "},
		{front("x:\n  a: [1\n  b: 2]\ny: 1\n"), "line "},
		{front("x:\n  - a\n\t- b\n"), "line 5: "},
		{front("") + "one\n<<<<<<< HEAD\n", "line 6: "},
		{front("created_at: soon\n"), "line 3: "},
	} {
		_, err := fold.Decode("p", ownPath, []byte(tc.text))
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("Decode(%q): %v, want %s…", tc.text, err, tc.want)
		}
	}
}

func TestConflictMarkersThatAreText(t *testing.T) {
	for _, body := range []string{
		"Title\n=======\n",
		"```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n",
		"~~~~ sh\n<<<<<<< HEAD\n~~~\n>>>>>>> x\n~~~~\n",
		"> ```\n> <<<<<<< HEAD\n> ```\n",
		"a <<<<<<< b\n",
		"<<<<<<<<\n",
		">>>>>>>> eight\n",
	} {
		if _, err := fold.Decode("p", "note.md", []byte(body)); err != nil {
			t.Errorf("Decode(%q): %v", body, err)
		}
	}
}
