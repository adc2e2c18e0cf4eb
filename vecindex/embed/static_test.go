package embed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/words"
)

// The table in the tree belongs to this analyser: whoever changes the terms has
// to learn it again.
func TestBuiltinTableIsInUse(t *testing.T) {
	s := Builtin()
	if off := s.Off(); off != "" {
		t.Fatalf("the table is off: %s; run make embed-train", off)
	}
	tab := s.Table()
	if len(staticTable) >= 1_000_000 || tab.Len() < 4000 || tab.analyser != words.Version {
		t.Errorf("%d bytes, %d terms, analyser %s", len(staticTable), tab.Len(), tab.analyser)
	}
	for i := range tab.Len() {
		term := tab.Term(i)
		if got := tab.Number([]byte(term)); got != i {
			t.Fatalf("Number(%q) = %d, want %d", term, got, i)
		}
		if f := tab.factor(i); !(f > 0) || math.IsInf(float64(f), 0) {
			t.Errorf("%q counts %v", term, f)
		}
	}
	if n := tab.Number([]byte("zyxwv")); n != -1 {
		t.Errorf("Number of an unknown term = %d", n)
	}
}

func TestExpandKnowsSynonyms(t *testing.T) {
	tab := Builtin().Table()
	for _, tc := range []struct{ term, want string }{
		{"delete", "remove"}, {"config", "configuration"}, {"directory", "dir"}, {"message", "msg"}, {"auth", "authentication"}, {"connection", "conn"},
	} {
		terms, want := words.Analyze(tc.term), words.Analyze(tc.want)[0]
		got := tab.Expand(terms)
		if len(got) == 0 || len(got) > Neighbours {
			t.Errorf("Expand(%q) = %v", terms, got)
		}
		found := false
		for i, e := range got {
			if e.Of != terms[0] || e.Weight > expansion || e.Weight <= expansion*NeighbourCosine-.002 || i > 0 && e.Weight > got[i-1].Weight {
				t.Errorf("Expand(%q) = %+v", terms, got)
			}
			found = found || e.Term == want
		}
		if !found {
			t.Errorf("Expand(%q) = %+v, want %q among them", terms, got, want)
		}
	}
	for _, e := range tab.Expand(words.Analyze("delete remove the directory and remove dirs")) {
		if e.Term == "delet" || e.Term == "remov" || e.Term == "dir" {
			t.Errorf("%q is in the question", e.Term)
		}
	}
	if got := tab.Expand([]string{"zyxwv", ""}); len(got) != 0 {
		t.Errorf("Expand of unknown terms = %v", got)
	}
	if got := (&Table{}).Expand([]string{"delet"}); len(got) != 0 {
		t.Errorf("an empty table expands to %v", got)
	}
}

// Each term is there once, with the larger of its weights.
func TestExpandMerges(t *testing.T) {
	row := func(term string, x, y float32) TableRow {
		r := TableRow{Term: term, Weight: 1}
		r.Vector[0], r.Vector[1] = x, y
		return r
	}
	b, err := EncodeTable("1", []TableRow{row("aa", 1, 0), row("bb", 1, 1), row("mid", 1, .3), row("far", -1, .2)})
	if err != nil {
		t.Fatal(err)
	}
	tab, err := DecodeTable(string(b))
	if err != nil {
		t.Fatal(err)
	}
	got := tab.Expand([]string{"aa", "bb"})
	if len(got) != 1 || got[0].Term != "mid" || got[0].Of != "aa" || math.Abs(got[0].Weight-.3/math.Sqrt(1.09)) > .002 {
		t.Errorf("Expand = %+v, want mid for aa", got)
	}
}

func TestEncodeTableRefuses(t *testing.T) {
	good := TableRow{Term: "a", Weight: 1}
	good.Vector[5] = 3
	nan, inf := good, good
	nan.Term, inf.Term = "n", "i"
	nan.Vector[0], inf.Vector[0] = float32(math.NaN()), float32(math.Inf(1))
	for name, rows := range map[string][]TableRow{
		"twice": {good, good}, "no direction": {{Term: "z", Weight: 1}}, "nan": {nan}, "infinite": {inf}, "too many": make([]TableRow, maxTable+1),
	} {
		if _, err := EncodeTable("1", rows); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Damage never gives a table that panics, and with the checksum never a table.
func TestDamagedTableIsOff(t *testing.T) {
	sum := func(b string) string { h := sha256.Sum256([]byte(b)); return hex.EncodeToString(h[:]) }
	small, err := EncodeTable("7", []TableRow{{Term: "a", Weight: 1, Vector: [TableDim]float32{1}}, {Term: "bb", Weight: 2, Vector: [TableDim]float32{1, .1}}})
	if err != nil {
		t.Fatal(err)
	}
	whole := string(small)
	if tab, err := checked(whole, sum(whole), "7"); err != nil || tab.Len() != 2 {
		t.Fatalf("checked = %v", err)
	}
	if _, err := checked(whole, sum(whole), "8"); err == nil || !strings.Contains(err.Error(), "analyser 7") {
		t.Errorf("another analyser: %v", err)
	}
	if _, err := checked(whole[1:], sum(whole), "7"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged: %v", err)
	}
	for i := range whole {
		for _, bit := range []byte{1, 0x80} {
			b := []byte(whole)
			b[i] ^= bit
			if tab, err := DecodeTable(string(b)); err == nil {
				tab.Expand([]string{"a", "bb"})
				newVectorBuilder(tab).embed("a bb cc", &[TableDim]float32{})
			}
		}
		if _, err := DecodeTable(whole[:i]); err == nil {
			t.Errorf("%d of %d bytes are a table", i, len(whole))
		}
	}
	huge := []byte(tableMagic)
	for _, n := range []uint32{TableDim, 1 << 31, 1 << 31} {
		huge = binary.LittleEndian.AppendUint32(huge, n)
	}
	if _, err := DecodeTable(string(huge)); err == nil {
		t.Error("a table of 2³¹ terms in 22 bytes")
	}
}

// Without the table, vectors are made of hashes alone, under another identity.
func TestBuiltinWithoutTable(t *testing.T) {
	s := Builtin()
	s.lexicon.open = func() (*Table, error) { return checked(staticTable, staticSum, "other") }
	if s.Off() == "" || s.Table().Len() != 0 {
		t.Fatalf("off = %q", s.Off())
	}
	if id, with := s.Identity(), Builtin().Identity(); id.Model != "hash" || id == with || id.Dim != with.Dim {
		t.Errorf("identity %v, with the table %v", id, with)
	}
	vecs, err := s.Embed(t.Context(), []string{"delete the file", "deleted files", "open a socket", "", "the"}, Document)
	if err != nil || vecs[3] != nil || vecs[4] != nil {
		t.Fatalf("Embed = %v, %v", vecs, err)
	}
	if near, far := dot(vecs[0], vecs[1]), dot(vecs[0], vecs[2]); near < .99 || far > .5 {
		t.Errorf("near %v, far %v", near, far)
	}
}

// Words that mean the same are near, and words nobody learned are told apart.
func TestBuiltinKnowsMeaning(t *testing.T) {
	s := Builtin()
	texts := []string{
		"delete a directory", "func removeDir(path string) error { return os.Remove(path) }", "parse the header of a request",
		"zyxwvut quaxlor", "zyxwvut", "frobnitz", "漢字", "the of",
	}
	vecs, err := s.Embed(t.Context(), texts, Query)
	if err != nil {
		t.Fatal(err)
	}
	if near, far := dot(vecs[0], vecs[1]), dot(vecs[0], vecs[2]); near < far+.3 {
		t.Errorf("near %v, far %v", near, far)
	}
	if same, other := dot(vecs[3], vecs[4]), dot(vecs[4], vecs[5]); same < .5 || other > .5 {
		t.Errorf("words nobody learned: same %v, other %v", same, other)
	}
	if vecs[6] == nil || vecs[7] != nil {
		t.Errorf("vectors of %q: %v, of %q: %v", texts[6], vecs[6] != nil, texts[7], vecs[7] != nil)
	}
	again, err := s.Embed(t.Context(), texts, Document)
	if d := cmp.Diff(vecs, again); d != "" || err != nil {
		t.Errorf("a second time: %v, %s", err, d)
	}
}

func dot(a, b []float32) float64 {
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func BenchmarkOpenTable(b *testing.B) {
	for b.Loop() {
		if Builtin().Off() != "" {
			b.Fatal("off")
		}
	}
}

func BenchmarkExpand(b *testing.B) {
	tab := Builtin().Table()
	terms := words.Analyze("validate the authentication token and delete expired sessions from the cache directory")
	for b.Loop() {
		if len(tab.Expand(terms)) == 0 {
			b.Fatal("nothing")
		}
	}
}

func BenchmarkBuiltinShort(b *testing.B) {
	var texts []string
	for i := range 256 {
		texts = append(texts, fmt.Sprintf("validates the token of session %d and returns an error if it has expired", i))
	}
	s := Builtin()
	s.Off()
	start := time.Now()
	n := 0
	for b.Loop() {
		if _, err := s.Embed(b.Context(), texts, Document); err != nil {
			b.Fatal(err)
		}
		n += len(texts)
	}
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "texts/s")
}
