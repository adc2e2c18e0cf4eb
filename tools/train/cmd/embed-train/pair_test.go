package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestPairs(t *testing.T) {
	for _, tc := range []struct {
		path, text string
		want       []string // about | name | how the text begins
	}{
		{"a.go", `// Package a is left out.
package a

// Open opens the named file for reading, e.g. a log. It returns
// an error otherwise.
func Open(name string) (*File, error) { return open(name) }

// Read is the way to get bytes.
func (f *File[T]) Read(p []byte) int {
	return 0
}

// TODO: write it
func later() {}

func undocumented() {}

// A File is an open file.
type File[T any] struct{}

const (
	// Max is how many there may be
	// at most
	Max = 3
	Min = 1
)

// Both of them.
var (
	x = 1
	y = 2
)
`, []string{
			"opens the named file for reading, e.g. a log|a.Open|func Open(name",
			"way to get bytes|a.File.Read|func (f *File[T]) Read",
			"A File is an open file|a.File|File[T any] struct{}",
			"how many there may be at most|a.Max|Max = 3",
		}},
		{"broken.go", "package a\n// F does.\nfunc F( {", nil},
		{"a.ts", `/**
 * Parses a {@link Duration} from <b>text</b>, see [the docs](https://x).
 *
 * More.
 * @param text what to parse
 */
export async function parseDuration(text: string): Duration {
  if (a) { b() }
  return c;
}
let unrelated = 1;

/** A queue of jobs. */
export default class Queue<T> extends Base {
  /**
   * @description Adds one job at the end
   */
  push(job) { this.x = [job]; }

  /** @private */
  hidden() {}
}

/** Not before a declaration */
if (x) { y() }
`, []string{
			"Parses a Duration from text , see the docs|parseDuration|export async function parseDuration",
			"A queue of jobs|Queue|export default class Queue<T> extends",
			"Adds one job at the end|Queue.push|push(job) { this.x = [job]; }",
		}},
		{"a.md", "# Setup {#top}\n\n" + strings.Repeat("First words of it. ", 9) + "\n```\n# no heading\n```\n## Options\n" +
			strings.Repeat("Each [option](x) is told. ", 9) + "\n## Short\nlittle\n### The third of levels ##\n" + strings.Repeat("Deep down there. ", 9), []string{
			"Setup||\nFirst words of it.",
			"Setup: Options||Each option is told.",
			"The third of levels||Deep down there.",
		}},
	} {
		got := pairsOf(tc.path)(file{path: tc.path, text: tc.text})
		for i, p := range got {
			line := p.about + "|" + p.name + "|" + p.text
			if i >= len(tc.want) || !strings.HasPrefix(line, tc.want[i]) {
				t.Errorf("%s: pair %d = %q, want %q", tc.path, i, line, append(tc.want, "none")[min(i, len(tc.want))])
			}
		}
		if len(got) < len(tc.want) {
			t.Errorf("%s: %d pairs, want %d", tc.path, len(got), len(tc.want))
		}
	}
	if end := bodyEnd("f(a = {b: 1}) { return {} }\nrest()"); end != 27 {
		t.Errorf("bodyEnd = %d, want 27", end)
	}
}

// A file counts once, however many sources have it, and a large source does not
// count more than others.
func TestAddCountsOnceAndEvenly(t *testing.T) {
	c := newCorpus([]source{{name: "a"}, {name: "b"}})
	text := locatedPair{textPair{"counts the open files", "count", "func count() { return len(open) + others }"}, "x.go"}
	c.add(0, []locatedPair{text, text})
	c.add(1, []locatedPair{text})
	if len(c.pairs) != 1 {
		t.Errorf("%d pairs, want 1", len(c.pairs))
	}
	var many []locatedPair
	for i := range maxPairs * 2 {
		l := text
		l.text += fmt.Sprint(" x", i)
		many = append(many, l)
	}
	c.add(1, many)
	if len(c.pairs) != 1+maxPairs {
		t.Errorf("%d pairs, want %d", len(c.pairs), 1+maxPairs)
	}
}
