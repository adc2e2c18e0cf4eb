package recall

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// unfiltered is q, which looks at every line.
func unfiltered(q question) question {
	q.prefilter, q.buffers = nil, &quoteBuffers{}
	return q
}

// checkPrefilter compares what a question finds in text with what it finds where every
// line is looked at.
func checkPrefilter(t *testing.T, text, query string) {
	t.Helper()
	q := parseQuestion(query)
	all := unfiltered(q)
	want := all.match(0, text)
	if got := q.match(0, text); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q has %+v of %q, want %+v", text, got, query, want)
	}
	quoted, seen := quoteOf(text, q)
	if got := q.match(seen, seen.unread(text)); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q has %+v of %q after it was quoted, want %+v", text, got, query, want)
	}
	for line := range strings.Lines(text) {
		if marks, found, _ := all.marks(line, new(formSet)); (len(marks) > 0 || found != 0) && !q.prefilter.mayMatch(line) {
			t.Fatalf("%q is left out, and has %v of %q", line, marks, query)
		}
	}
	got, lines, marks := quoted.wire(1)
	other, _ := quoteOf(text, all)
	wanted, wantLines, wantMarks := other.wire(1)
	if got != wanted || !reflect.DeepEqual(lines, wantLines) || !reflect.DeepEqual(marks, wantMarks) {
		t.Fatalf("of %q for %q: quoted %q %v %v, want %q %v %v", text, query, got, lines, marks, wanted, wantLines, wantMarks)
	}
}

// TestPrefilterLosesNothing asks for words of this package's own source, in it.
func TestPrefilterLosesNothing(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	var texts []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	passed, lines := 0, 0
	for range 300 {
		text, other := texts[rnd.IntN(len(texts))], texts[rnd.IntN(len(texts))]
		if at := rnd.IntN(len(text)); at < len(text)-4000 {
			text = text[at : at+4000]
		}
		words := strings.Fields(other)
		at := rnd.IntN(len(words) - 4)
		query := strings.Join(words[at:at+1+rnd.IntN(4)], " ")
		if rnd.IntN(2) == 0 {
			query = strings.ToLower(strings.ReplaceAll(query, ".", ""))
		}
		checkPrefilter(t, text, query)
		q := parseQuestion("decode json struct")
		for line := range strings.Lines(text) {
			if lines++; q.prefilter.mayMatch(line) {
				passed++
			}
		}
	}
	if passed*4 > lines {
		t.Errorf("%d of %d lines are let through: that saves little", passed, lines)
	}
}

// TestPrefilterLosesNoShortWord asks for pieces of texts of few letters, where words of
// one and two, joined in all ways, are many.
func TestPrefilterLosesNoShortWord(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	piece := func(letters string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[rnd.IntN(len(letters))]
		}
		return string(b)
	}
	for range 4000 {
		text := piece("abcABC12_- .\n", 60)
		at := rnd.IntN(50)
		query := text[at : at+2+rnd.IntN(8)]
		if rnd.IntN(2) == 0 {
			query = strings.Map(func(r rune) rune {
				if strings.ContainsRune("_- .\n", r) {
					return -1
				}
				return r
			}, query)
		}
		checkPrefilter(t, text, strings.ToLower(query)+" "+piece("abc12", 1+rnd.IntN(4)))
	}
}

// TestPrefilterLooksIntoFewParagraphs: the lines of a text for people are paragraphs,
// which have many words each.
func TestPrefilterLooksIntoFewParagraphs(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	word := func() string {
		var b strings.Builder
		for range 2 + rnd.IntN(3) {
			b.WriteByte("bcdfghklmnprstvw"[rnd.IntN(16)])
			b.WriteByte("aeiou"[rnd.IntN(5)])
		}
		return b.String()
	}
	passed, lines := 0, 0
	for range 100 {
		query := word() + " " + word()
		var text strings.Builder
		for range 4 {
			for range 30 {
				text.WriteString(word() + " ")
			}
			text.WriteString(".\n\n")
		}
		checkPrefilter(t, text.String(), query)
		q := parseQuestion(query)
		for line := range strings.Lines(text.String()) {
			if len(line) < 2 {
				continue
			}
			if lines++; q.prefilter.mayMatch(line) {
				passed++
			}
		}
	}
	if passed*8 > lines {
		t.Errorf("%d of %d paragraphs are let through, though hardly any has a word of the question", passed, lines)
	}
}

func FuzzPrefilter(f *testing.F) {
	for _, seed := range [][2]string{
		{"time\n\n  out of the\nbox", "timeout outbox"},
		{"x_data := s_foo(HTTPServer2)", "xdata sfoo http server x"},
		{"used flies ids queries\nlogged", "use fly id query log"},
		{"a_b_c_d_e_f_g_h_i_j_k_l_m_n_o_p_q_r_s_t_u_v_w_x_y_z_a_b_c_d_e_f_g_h", "abcdefghijklmnopqrstuvwxyzabcdefgh"},
		{strings.Repeat("ab_", 60) + "\nnext", "abababababab next"},
		{"über été\n超时 v2 0x1F", "uber ete 超时 v 2 1f"},
		{"get\tUser\r\nget-user\rgetuser", "getUser"},
		{"\xffget\xfe\nset", "get set"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(checkPrefilter)
}

// BenchmarkQuote quotes this package's files and says what they have of a question,
// with and without looking at every line.
func BenchmarkQuote(b *testing.B) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		b.Fatal(err)
	}
	var texts []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, bc := range []struct {
		name string
		q    question
	}{{"prefilter", parseQuestion("decode json into struct")}, {"every line", unfiltered(parseQuestion("decode json into struct"))}} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, text := range texts {
					_, seen := quoteOf(text, bc.q)
					_ = bc.q.match(seen, seen.unread(text))
				}
			}
		})
	}
}
