package shown_test

import (
	"testing"

	"github.com/foldwatch/foldwatch/meta/shown"
)

func TestShown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[31mb\x07":         "a[31mb",
		"one\n\ttwo":             "one\n\ttwo",
		"\u202Eright\u2066":      "right",
		"\U000E0041hidden\x00 é": "hidden é",
		"bad \xff":               "bad \uFFFD",
		"a\u2028b\u200ec":        "a\nbc",
	} {
		if got := shown.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := shown.Line(" a\r\n\tb  c "); got != "a b c" {
		t.Errorf("Line = %q", got)
	}
	for n, want := range map[int]string{0: "", 1: "…", 4: "été…", 5: "étés!", 9: "étés!"} {
		if got := shown.Clip("étés!", n); got != want {
			t.Errorf("Clip(%d) = %q, want %q", n, got, want)
		}
	}
}
