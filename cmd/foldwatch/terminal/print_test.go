package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/shown"
)

// What a title may hold, and what a terminal may see of it (F49).
func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "Session timeout policy", "Session timeout policy"},
		{"other scripts", "認証サービス Ünïcode 🎉", "認証サービス Ünïcode 🎉"},
		{"colour", "a\x1b[31mred\x1b[0mb", "aredb"},
		{"cursor and erase", "a\x1b[2J\x1b[1;1Hb", "ab"},
		{"window title by BEL", "a\x1b]0;owned\x07b", "ab"},
		{"window title by ST", "a\x1b]0;owned\x1b\\b", "ab"},
		{"hyperlink", "\x1b]8;;http://x.invalid\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"8-bit CSI", "a\u009b31mred", "ared"},
		{"8-bit OSC", "a\u009d0;owned\u009cb", "ab"},
		{"device control", "a\x1bP1$r\x1b\\b", "ab"},
		{"string without end", "a\x1b]0;the rest is kept", "a0;the rest is kept"},
		{"CSI without end", "a\x1b[", "a"},
		{"lone escape at the end", "a\x1b", "a"},
		{"charset switch", "a\x1b(0b", "a0b"},
		{"controls", "a\x00\x07\x08\x7fb", "ab"},
		{"line ends", "a\r\nb\nc\td", "a  b c d"},
		{"overwrite", "safe\rgone", "safe gone"},
		{"direction", "abc\u202egpj.exe", "abcgpj.exe"},
		{"invalid UTF-8", "a\xffb", "a\ufffdb"},
		{"raw C1 byte", "a\x9b31m", "a\ufffd31m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Clean(tc.in); got != tc.want {
				t.Errorf("clean(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestCleanTextKeepsLines(t *testing.T) {
	if got, want := cleanText("# T\r\n\tx\x1b[1m\n"), "# T\n\tx\n"; got != want {
		t.Errorf("cleanText = %q, want %q", got, want)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31m", "\x1b]0;x\x07", "\u009b", "\x1b\x1b[[m", "\xc2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if strings.ContainsFunc(got, shown.Unprintable) {
			t.Errorf("clean(%q) = %q still steers the terminal", s, got)
		}
		if Clean(got) != got {
			t.Errorf("clean(%q) is not clean: %q, then %q", s, got, Clean(got))
		}
	})
}

func TestPrinterCleansEveryArgument(t *testing.T) {
	var buf bytes.Buffer
	p := Printer{W: &buf}
	evil := "\x1b]0;x\x07"
	p.Printf("%s %s %s %s", evil+"a", Bold(evil+"b"), errors.New(evil+"c"), Block(evil+"d\ne"))
	if got, want := buf.String(), "a b c d\ne"; got != want {
		t.Errorf("printf = %q, want %q", got, want)
	}
	buf.Reset()
	Printer{W: &buf, Color: true}.Printf("%s", Bold(evil+"b"))
	if got, want := buf.String(), "\x1b[1mb\x1b[0m"; got != want {
		t.Errorf("printf in colour = %q, want %q", got, want)
	}
}

func TestWriteJSONKeepsDataAndTerminal(t *testing.T) {
	in := map[string]string{"title": "a\x1b]0;x\x07\u009b\x7f<b>\u202e"}
	var buf bytes.Buffer
	if err := WriteJSON(&buf, in); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(buf.String(), needsEscape) {
		t.Errorf("writeJSON = %q holds control characters", buf.String())
	}
	var got map[string]string
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil || got["title"] != in["title"] {
		t.Errorf("read back = %q, %v; want %q", got["title"], err, in["title"])
	}
}

// TestWideCharactersTakeTwoColumns: tables line up, and what is cut is cut to
// columns, also where characters are wide or take no room.
func TestWideCharactersTakeTwoColumns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var tab Table
	tab.Row("認証サービス", "one")
	tab.Row("Auth service", "two")
	tab.Row("e\u0301te\u0301 \U0001f389", "three")
	tab.Print(Printer{W: &out})
	if want := "認証サービス  one\nAuth service  two\ne\u0301te\u0301 \U0001f389        three\n"; out.String() != want {
		t.Errorf("table\n%swant\n%s", out.String(), want)
	}
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"認証サービス", 12, "認証サービス"},
		{"認証サービス", 11, "認証サービ…"},
		{"認証サービス", 10, "認証サー…"},
		{"e\u0301te\u0301", 3, "e\u0301te\u0301"},
		{"e\u0301te\u0301s", 3, "e\u0301t…"},
	} {
		if got := Short(tc.in, tc.n); got != tc.want {
			t.Errorf("short(%q, %d) = %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
	text := []rune(strings.Repeat("認証", 30) + "目" + strings.Repeat("標e\u0301", 30))
	for n := 4; n < 60; n++ {
		for at := range text {
			l := markedLine{text: text, marks: []wire.Range{{Start: at, End: at + 1}}}.Cut(n)
			if w := Columns(string(l.text)); w > n || w < n-2 {
				t.Fatalf("cut to %d at character %d: %q has %d columns", n, at, string(l.text), w)
			}
			if n >= 8 && text[at] != '\u0301' && (len(l.marks) != 1 || l.text[l.marks[0].Start] != text[at]) {
				t.Fatalf("cut to %d at character %d: %q does not have the mark, %v", n, at, string(l.text), l.marks)
			}
		}
	}
}

// FuzzMarkedLines shows that whatever ranges a daemon sends, lines are cut to what
// is asked, and marks stay within them.
func FuzzMarkedLines(f *testing.F) {
	f.Add("one two\r\nthree\n\nfour", 4, 6, 20)
	f.Add("äöü"+strings.Repeat("z", 90)+"end", 93, 96, 12)
	f.Fuzz(func(t *testing.T, text string, start, end, n int) {
		n = 4 + (n&0xff)%100
		for _, l := range MarkedLines(text, []wire.Range{{Start: start, End: end}, {Start: end, End: start}}) {
			c := l.Cut(n)
			if Columns(string(c.text)) > n || len(l.marks) > 0 && l.marks[0].End-l.marks[0].Start < n/2 && len(c.marks) == 0 {
				t.Errorf("%q with %v in %d: %q with %v", string(l.text), l.marks, n, string(c.text), c.marks)
			}
			for _, m := range c.marks {
				if m.Start < 0 || m.Start >= m.End || m.End > len(c.text) {
					t.Errorf("mark %v of %q", m, string(c.text))
				}
			}
		}
	})
}
