package words_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/words"
)

func TestAnalyze(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"maxOpenConns", "max open conn"},
		{"max_open_conns max-open-conns", "max open conn max open conn"},
		{"HTTPServer parseURLs userIDs", "http server pars url user id"},
		{"http.Server{TLSConfig: nil}", "http server tls config nil"},
		{"sha256 utf8Valid __init__ v2", "sha 256 utf 8 valid init v 2"},
		{"cache caches cached caching", "cach cach cach cach"},
		{"query queries; copy copied copies", "query query copy copy copy"},
		{"matches boxes classes statuses", "match box class status"},
		{"logged logging embedded embedding", "log log embed embed"},
		{"used using uses string king need", "use use use string king need"},
		{"class status basis", "class status basis"},
		{"the story of the store", "story stor"},
		{"a-1 x - y 2024-03-15", "1 x y 2024 03 15"},
		{"don't it's", "don"},
		{"Crème Brûlée cre\u0300me ŁÓDŹ", "crem brulee crem lodz"},
		{"ПриветМир", "привет мир"},
		{"東京都", "東 京 東京 都 京都"},
		{"漢", "漢"},
		{"configファイル", "config フ ァ ファ イ ァイ ル イル"},
		{"हिन्दी", "हिन्दी"},
		{"ＡＢＣ１", "abc 1"},
		{"", ""},
		{"the of and", ""},
		{"\xff\xfetoken\xff", "token"},
	} {
		if got := strings.Join(words.Analyze(tc.in), " "); got != tc.want {
			t.Errorf("Analyze(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestExact(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"maxOpenConns", "maxopenconns maxopen openconns"},
		{"max_open_conns", "maxopenconns maxopen openconns"},
		{"max-open-conns", "maxopenconns maxopen openconns"},
		{"max open conns", "max open maxopen conns openconns"},
		{"fmt.Println", "fmt println fmtprintln"},
		{"open the file", "open file openfile"},
		{"open; file", "open file"},
		{"timeOut", "timeout"},
		{"queries cached", "queries cached queriescached"},
		{"東京", "東京"},
	} {
		if got := strings.Join(words.Exact(tc.in), " "); got != tc.want {
			t.Errorf("Exact(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestTermsTellTheirPlaces(t *testing.T) {
	const text = "var maxOpenConns = loadQueries()"
	var got []string
	var a words.Analysis
	a.Reset(text)
	for _, s := range a.Terms {
		got = append(got, string(a.Bytes(s))+"="+text[s.Start:s.End])
	}
	want := []string{"var=var", "max=max", "open=Open", "conn=Conns", "load=load", "query=Queries"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("terms of %q: -want +got %s", text, d)
	}
}

func TestEncodedDataIsOneTerm(t *testing.T) {
	blob := strings.Repeat("aB3dE", 2000)
	if got := words.Analyze("before " + blob + " after"); len(got) != 3 || len(got[1]) != words.MaxTerm {
		t.Errorf("Analyze(blob) = %d terms, second %d bytes, want 3 and %d", len(got), len(got[1]), words.MaxTerm)
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{"maxOpenConns = max_open-conns2", "東京ab\xff", "IDs e\u0301", "a--b__c9D", strings.Repeat("xY1", 90)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a words.Analysis
		a.Reset(s)
		last := uint32(0)
		for _, span := range a.Terms {
			term := string(a.Bytes(span))
			if term == "" || len(term) > words.MaxTerm || !utf8.ValidString(term) {
				t.Fatalf("terms of %q: %q", s, term)
			}
			if span.Start >= span.End || int(span.End) > len(s) || span.End < last {
				t.Fatalf("terms of %q: %q at [%d, %d) after %d", s, term, span.Start, span.End, last)
			}
			last = span.End
		}
		for _, e := range words.Exact(s) {
			if e == "" || len(e) > words.MaxTerm || !utf8.ValidString(e) {
				t.Fatalf("Exact(%q): %q", s, e)
			}
		}
		if !cmp.Equal(words.Analyze(s), words.Analyze(s)) {
			t.Fatalf("Analyze(%q) is not a function", s)
		}
	})
}

func BenchmarkReset(b *testing.B) {
	text := strings.Repeat("// maxOpenConns limits the connections that are opened by the pool.\n"+
		"func (p *Pool) setMaxOpenConns(n int) error { return p.apply(ctx, maxOpenConns, n) }\n", 400)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var a words.Analysis
	for b.Loop() {
		a.Reset(text)
	}
}

func TestLeastLeavesOutLesserForms(t *testing.T) {
	const text = "open maxOpenConns, the file of files 東京 " + "aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3"
	forms := func(least words.Form) (out []string) {
		a := words.Analysis{Least: least}
		a.Reset(text)
		for _, s := range a.Joined {
			if s.Form >= words.Pair || least == words.Single {
				out = append(out, string(a.Bytes(s)))
			} else {
				t.Errorf("Least %d: form %d of %q", least, s.Form, a.Bytes(s))
			}
		}
		return out
	}
	if got, want := strings.Join(forms(words.Pair), " "), "maxopenconns maxopen openconns"; got != want {
		t.Errorf("pairs and wholes = %q, want %q", got, want)
	}
	if got, want := strings.Join(forms(words.Single), " "), strings.Join(words.Exact(text), " "); got != want {
		t.Errorf("all forms = %q, want %q", got, want)
	}
}
