package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func TestMarksAreBoldOnATerminalOnly(t *testing.T) {
	r := wire.SearchResult{
		ID: "1f2e3d4c5b6a7988", Title: "Retry", Snippet: "über \x1b[31mretry\x1b[0m und\nbackoff " + strings.Repeat("x", 200),
		Highlights: []wire.Range{{Start: 10, End: 15}, {Start: 24, End: 31}, {Start: 900, End: 901}},
	}
	for color, want := range map[bool]string{
		true:  "       über \x1b[1mretry\x1b[22m und\n       \x1b[1mbackoff\x1b[22m xxx",
		false: "       über retry und\n       backoff xxx",
	} {
		var out bytes.Buffer
		p := resultPrinter{Printer: terminal.Printer{W: &out, Color: color}, width: 60}
		p.quote(r, 53)
		if got := strings.ReplaceAll(out.String(), "\x1b[2m\x1b[0m", ""); !strings.HasPrefix(got, want) || strings.Contains(got, "[31m") {
			t.Errorf("color %v: %q, want %q", color, got, want)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(terminal.Clean(line)); n > 61 {
				t.Errorf("a line of %d characters: %q", n, line)
			}
		}
	}
}

// TestExplainIsATable shows that the table is within its columns and its sum is the
// score.
func TestExplainIsATable(t *testing.T) {
	terms := []wire.ScoreTerm{
		{Name: "body", Channel: "words", About: "BM25 of the text alone", Value: 1, Weight: .4, Adds: .4},
		{Name: "coverage", Channel: "words", About: strings.Repeat("x", 44), Value: .5, Weight: -.1, Adds: -.05},
		{Name: "commits", Channel: "commits", Value: 1, Weight: .6, Adds: .6},
		{Name: "strength", Channel: "strength", Value: 1, Weight: .05, Adds: .05},
	}
	var out bytes.Buffer
	p := resultPrinter{Printer: terminal.Printer{W: &out}, width: 100}
	p.explain(wire.SearchResult{Score: 1, Explain: terms})
	for _, want := range []string{"words", "  body             1.000 ×  0.400 =  +0.4000  BM25 of the text alone", "-0.0500", "+0.3500", "  commits ", "\n       strength ", "=   1.0000"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(line); n > 101 {
			t.Errorf("a line of %d characters: %q", n, line)
		}
	}
}
