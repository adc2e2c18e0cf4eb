package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
)

func TestAQuoteDoesNotRepeatTheTitle(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"heading", "# Session policy\n\nThey live 7 days.\n", "They live 7 days."},
		{"another level, case and room", "\n\n##  session Policy \r\nThey live 7 days.\n", "They live 7 days."},
		{"another heading", "# Why\n\nThey live 7 days.\n", "# Why\nThey live 7 days."},
		{"no heading", "Session policy\nThey live 7 days.\n", "Session policy\nThey live 7 days."},
		{"later heading", "They live 7 days.\n\n# Session policy\n", "They live 7 days.\n# Session policy"},
		{"nothing else", "# Session policy", ""},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			quote, _ := quoteOf(withoutTitle(tc.body, "Session policy"), parseQuestion("days"))
			if got, _, _ := quote.wire(1); got != tc.want {
				t.Errorf("quote = %q, want %q", got, tc.want)
			}
		})
	}
}

// marked writes a quote with [ and ] around what is highlighted.
func marked(text string, marks []wire.Range) string {
	r := []rune(text)
	for _, m := range slices.Backward(marks) {
		r = slices.Insert(slices.Insert(r, m.End, ']'), m.Start, '[')
	}
	return string(r)
}

func TestAQuoteShowsWhatWasAskedFor(t *testing.T) {
	far := strings.Repeat("lorem ipsum ", 40)
	for _, tc := range []struct{ name, text, query, want, lines string }{
		{"words and their forms", "We validate flags.\n", "validating flag", "We [validate] [flags].", "1"},
		{"parts of identifiers", "func ValidateFlagGroups()", "flag groups", "func Validate[FlagGroups]()", "1"},
		{"an identifier without its separators", "db.SetMaxOpenConns(3)", "maxopenconns setmaxopenconns", "db.[SetMaxOpenConns](3)", "1"},
		{"accents", "Der Zähler läuft über.\n", "zahler", "Der [Zähler] läuft über.", "1"},
		{"no spaces between words", "会话超时了", "超时", "会话[超时]了", "1"},
		{"emoji before", "👩‍👩‍👧 the session ends", "session", "👩‍👩‍👧 the [session] ends", "1"},
		{"CRLF", "one\r\ntwo\r\n\r\nthree\r\n", "three", "one\ntwo\n[three]", "1 2 4"},
		{"the best lines", "a\nb\nc\nretry\nd\nretry backoff\ne\n", "retry backoff", "[retry]\nd\n[retry backoff]", "4 5 6"},
		{"indented", "\n\tif retry {\n\t\tgo()\n\t}\n", "retry", "if [retry] {\n  go()\n}", "2 3 4"},
		{"bytes that are no text", "retry \xff\xfe now", "now retry", "[retry] \uFFFD [now]", "1"},
		{"nothing of it", "one\ntwo\nthree\nfour", "zebra", "one\ntwo\nthree", "1 2 3"},
		{"nothing", " \n\t\n", "zebra", "", ""},
		{"far in a long line", far + "the zebra sleeps " + far, "zebra", "…lorem ipsum lorem ipsum the [zebra] sleeps lorem ipsum", "1"},
		{"at the end of a long line", far + "zebra", "zebra", "[zebra]", "1"},
		{"at the beginning of one", "zebra " + far, "zebra", "[zebra] lorem", "1"},
		{"where most of it stands", "zebra " + far + "zebra sleeps", "zebra sleeps", "[zebra sleeps]", "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			quote, _ := quoteOf(tc.text, parseQuestion(tc.query))
			text, lines, marks := quote.wire(1)
			got := marked(text, marks)
			long := utf8.RuneCountInString(tc.text) > quotedRunes
			if got != tc.want && (!long || !strings.Contains(got, tc.want)) {
				t.Errorf("quote = %q, want %q", got, tc.want)
			}
			if got := strings.Trim(fmt.Sprint(lines), "[]"); got != tc.lines {
				t.Errorf("lines = %s, want %s", got, tc.lines)
			}
			if n := utf8.RuneCountInString(text); long && n > quotedRunes {
				t.Errorf("%d runes: %q", n, text)
			}
		})
	}
}

// FuzzQuote shows that every quote is short and UTF-8, that its lines are those of
// the text, and that what is highlighted is what was asked for.
func FuzzQuote(f *testing.F) {
	for _, seed := range [][2]string{
		{"func ValidateFlagGroups() {\r\n\treturn nil\r\n}", "flag groups"},
		{strings.Repeat("e\u0301é ", 90) + "zebra", "zebra e"},
		{"会话超时 session", "超时 session"},
		{"\xff\x00\u202e", "\xff"},
		{strings.Repeat("retryBackoff", 60), "backoff"},
		{"İstanbul ǅ ﬁne", "istanbul fine"},
		{strings.Repeat("a\u0301", 200), "b"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		q := parseQuestion(query)
		quote, _ := quoteOf(text, q)
		got, numbers, marks := quote.wire(1)
		var lines []string
		if got != "" {
			lines = strings.Split(got, "\n")
		}
		if !utf8.ValidString(got) || len(lines) > quotedLines || len(lines) != len(numbers) || !slices.IsSorted(numbers) {
			t.Fatalf("quote of %q = %q, lines %v", text, got, numbers)
		}
		whole := strings.Split(text, "\n")
		for i, l := range lines {
			if utf8.RuneCountInString(l) > quotedRunes {
				t.Errorf("a line of %d runes: %q", utf8.RuneCountInString(l), l)
			}
			if plain := strings.Trim(l, "… "); utf8.ValidString(text) && !strings.ContainsAny(text, "\t\r…") && !strings.Contains(whole[numbers[i]-1], plain) {
				t.Errorf("line %d is %q, quoted as %q", numbers[i], whole[numbers[i]-1], l)
			}
		}
		end, runes := -1, []rune(got)
		for _, m := range marks {
			if m.Start <= end || m.Start >= m.End || m.End > len(runes) {
				t.Fatalf("highlights of %q: %v", got, marks)
			}
			end = m.End
			if strings.Contains(string(runes[m.Start:m.End]), "\n") {
				t.Errorf("a highlight of two lines: %q", string(runes[m.Start:m.End]))
			}
		}
		if len(q.words) == 0 && len(q.forms) == 0 && len(marks) > 0 {
			t.Errorf("%q highlights %v of %q", query, marks, got)
		}
	})
}
