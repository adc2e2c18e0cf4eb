package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
)

// midway is a first index under way.
func midway() wire.Progress {
	return wire.Progress{
		Stage: "indexing text", Done: 4775, Total: 11478, Bytes: 31 << 20, BytesTotal: 80 << 20,
		PerSecond: 310, BytesPerSecond: 2.9 * (1 << 20), ETASeconds: 81, Searchable: 4600,
	}
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pr   wire.Progress
		want string
	}{
		{midway(), "indexing text 41%, 4775 of 11478 files, 31 MB of 80 MB, 310/s, 2.9 MB/s, 1m 21s left"},
		{wire.Progress{Stage: "embedding", Done: 1, Total: 1}, "embedding 100%, 1 of 1 memory"},
		{wire.Progress{Stage: "embedding", Done: 999, Total: 1000, PerSecond: 2.54, ETASeconds: 3700}, "embedding 99%, 999 of 1000 memories, 2.5/s, 1h 01m left"},
		{wire.Progress{Stage: "words", Done: 256}, "words, 256 memories"},
		{wire.Progress{Stage: "listing"}, "listing"},
		{wire.Progress{}, "indexing"},
		{wire.Progress{Stage: "describing", Total: 10, ETASeconds: 0.3}, "describing 0%, 0 of 10 files"},
	} {
		if got := ProgressLine(tc.pr); got != tc.want {
			t.Errorf("progressLine(%+v) = %q, want %q", tc.pr, got, tc.want)
		}
	}
}

// TestProgressFitsTheTerminal shows that a line is never wider than the
// terminal, and that it loses the rates before the time that is left.
func TestProgressFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		width int
		want  string
	}{
		{120, "indexing text  [============                  ]  41%  4775/11478 files  31 MB/80 MB  310/s  2.9 MB/s  1m 21s left"},
		{79, "indexing text  [=====        ]  41%  4775/11478 files  31 MB/80 MB  1m 21s left"},
		{50, "indexing text   41%  4775/11478 files  1m 21s left"},
	} {
		if got := progressIn(midway(), tc.width); got != tc.want {
			t.Errorf("in %d cells: %q, want %q", tc.width, got, tc.want)
		}
	}
	for width := range 200 {
		for _, pr := range []wire.Progress{midway(), {}, {Stage: "listing"}, {Stage: "words", Done: 7}, {Stage: "describing", Done: 3, Total: 3}} {
			if got := progressIn(pr, width); utf8.RuneCountInString(got) > width {
				t.Errorf("in %d cells: %q", width, got)
			}
		}
	}
	narrow := progressIn(midway(), 70)
	if strings.Contains(narrow, "MB/s") || !strings.Contains(narrow, "1m 21s left") || !strings.Contains(narrow, "[====") {
		t.Errorf("in 70 cells: %q", narrow)
	}
}

// TestBarOnATerminal shows one line that is drawn over, and above it, once, that
// searches work.
func TestBarOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	b := &Bar{p: Printer{W: &out}, width: func() int { return 80 }, now: func() time.Time { return at }, began: at}
	for range 40 {
		at = at.Add(50 * time.Millisecond)
		b.Show(midway())
	}
	b.Clear()
	got := out.String()
	if n := strings.Count(got, "search works now: 4600 of 11478 files so far\n"); n != 1 {
		t.Errorf("told %d times that searches work:\n%q", n, got)
	}
	if lines := strings.Count(got, "\n"); lines != 1 {
		t.Errorf("%d lines:\n%q", lines, got)
	}
	if n := strings.Count(got, "\r"); n < 10 || n > 25 {
		t.Errorf("drawn %d times in 2 s", n)
	}
	if !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line stays: %q", got[len(got)-40:])
	}
}

// TestBarWithoutATerminal shows a line every few seconds, and none of what is
// over at once.
func TestBarWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	b := &Bar{p: Printer{W: &out}, width: func() int { return 0 }, now: func() time.Time { return at }, began: at}
	b.Show(wire.Progress{Stage: "listing"})
	for range 240 { // a minute
		at = at.Add(250 * time.Millisecond)
		b.Show(midway())
	}
	b.Clear()
	got := out.String()
	if strings.ContainsAny(got, "\r\x1b") {
		t.Errorf("control characters: %q", got)
	}
	if lines := strings.Count(got, "\n"); lines < 12 || lines > 14 { // one of them about searches
		t.Errorf("%d lines in a minute:\n%s", lines, got)
	}
	if strings.Contains(got, "listing") {
		t.Errorf("tells of what was over at once:\n%s", got)
	}
}
