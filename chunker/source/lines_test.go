package source_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// Lines partition a file, whatever it ends with.
func TestLines(t *testing.T) {
	for _, text := range []string{"", "\n", "a", "a\n", "a\nb", "a\n\nb\n", "\n\n", "a\r\nb"} {
		lines := source.IndexLines([]byte(text))
		want := max(1, len(bytes.SplitAfter(bytes.TrimSuffix([]byte(text), []byte("\n")), []byte("\n"))))
		if got := len(lines.Starts); got != want {
			t.Errorf("%q has %d lines, want %d", text, got, want)
		}
		for at := range text {
			n := 1 + bytes.Count([]byte(text[:at]), []byte("\n"))
			if lines.At(at) != n || lines.Start(at) > at || lines.After(at) <= at || lines.After(at) != lines.End(n) {
				t.Errorf("byte %d of %q: line %d from %d to %d, want line %d", at, text, lines.At(at), lines.Start(at), lines.After(at), n)
			}
			if got := lines.Count(at, len(text)); got != want-n+1 {
				t.Errorf("%q from byte %d touches %d lines, want %d", text, at, got, want-n+1)
			}
		}
	}
}

// What is truncated is no longer than asked, and divides no rune.
func TestTruncate(t *testing.T) {
	for _, text := range []string{"", "abc", "äöü", "漢字", "a😀b", "aaaa😀", "aaa漢", "\xff\xff\xff\xff\xff\xff"} {
		for n := utf8.UTFMax; n < len(text)+2; n++ {
			got := source.Truncate(text, n)
			if len(got) > n || len(got) < min(n, len(text))-utf8.UTFMax || utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("Truncate(%q, %d) = %q", text, n, got)
			}
		}
	}
}
