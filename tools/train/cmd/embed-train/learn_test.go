package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/vecindex/embed"
)

var update = flag.Bool("update", false, "rewrite testdata/sample.sum")

// word returns the k-th word of a language that nobody speaks: one of three
// syllables that no stemmer touches.
func word(language string, k int) string {
	const a, b = "bdfgkmnprtvz", "aou"
	s := language
	for range 3 {
		s += a[k%len(a):][:1] + b[k/len(a)%len(b):][:1]
		k /= 2
	}
	return s + "k"
}

// ideas is how many things the sample speaks of.
const ideas = 160

// sample returns a corpus in which people and code call every thing by another
// word.
func sample() *corpus {
	r := newRandom(7, 0, 0)
	c := newCorpus([]source{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}, {name: "e"}, {name: "f"}})
	for i := range c.sources {
		var texts []locatedPair
		for n := range 250 {
			var about, code []string
			first := r.intn(ideas)
			for k := range 4 {
				// Things that belong together have neighbouring numbers.
				idea := (first + k*k) % ideas
				about = append(about, word("h", idea))
				code = append(code, word("c", idea), word("n", r.intn(20)))
			}
			texts = append(texts, locatedPair{textPair{strings.Join(about, " "), fmt.Sprintf("%s%d", code[0], n), strings.Join(code, " ")}, "f.go"})
		}
		c.add(i, texts)
	}
	return c
}

// quick is the recipe of the tests.
func quick() settings {
	r := standard()
	r.steps, r.size = 120, 64
	return settings{maxTerms: maxTerms, workers: 1, recipe: r}
}

// table learns from the sample.
func table(t *testing.T, set settings) []byte {
	t.Helper()
	rows, err := sample().learn(set, func(string, ...any) {}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	b, err := embed.EncodeTable("1", rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is learned is the same, byte for byte, with any number of workers, and on
// every machine: the sum was written once.
func TestLearningIsReproduced(t *testing.T) {
	one, set := table(t, quick()), quick()
	set.workers = 3
	if three := table(t, set); !bytes.Equal(one, three) {
		t.Error("one worker and three learn different tables")
	}
	sum := sha256.Sum256(one)
	got := hex.EncodeToString(sum[:]) + "\n"
	const golden = "testdata/sample.sum"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the sample's table has SHA-256 %s, want %sif the recipe changed: go test -C tools/train ./cmd/embed-train -update", got, want)
	}
	set.recipe.seed++
	if bytes.Equal(one, table(t, set)) {
		t.Error("another seed learns the same table")
	}
	synonyms(t, one)
}

// synonyms checks that the word of people and that of code for one thing are
// near each other.
func synonyms(t *testing.T, b []byte) {
	t.Helper()
	tab, err := embed.DecodeTable(string(b))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for k := range ideas {
		for _, e := range tab.Expand([]string{word("h", k)}) {
			if e.Term == word("c", k) {
				found++
			}
		}
	}
	if found < ideas*7/10 {
		t.Errorf("%d of %d words have their synonym among the neighbours", found, ideas)
	}
}

func TestLearningNeedsWords(t *testing.T) {
	c := newCorpus([]source{{name: "a"}})
	if _, err := c.learn(quick(), func(string, ...any) {}, io.Discard); err == nil {
		t.Error("learned from nothing")
	}
}

// The singular values of a matrix that is known.
func TestDecompose(t *testing.T) {
	const n = 200
	m := &matrix{n: n, start: []int{0}}
	for i := range n {
		m.column = append(m.column, int32(n-1-i))
		m.value = append(m.value, float64(1+i))
		m.start = append(m.start, len(m.column))
	}
	rows := decompose(2, m, 1)
	// Row i has one value, 1+i, so its length is the root of it, where it is
	// among the strongest.
	for i := n - 20; i < n; i++ {
		if got, want := float64(length(&rows[i])), math.Sqrt(float64(1+i)); math.Abs(got-want) > .02*want {
			t.Errorf("row %d has length %v, want %v", i, got, want)
		}
	}
}

func TestExpAndLog(t *testing.T) {
	for _, x := range []float64{-690, -20, -1, -.3, 0, 1e-9, .5, 1, 7.7, 100} {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-14*want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{1e-12, .1, .9999, 1, 1.5, 2, 1e9} {
		if got, want := log(x), math.Log(x); math.Abs(got-want) > 1e-14*(1+math.Abs(want)) {
			t.Errorf("log(%v) = %v, want %v", x, got, want)
		}
	}
}

// The gradients of one batch against differences of its loss.
func TestGradient(t *testing.T) {
	c := sample()
	c.keep(maxTerms)
	rows := make([]vector, len(c.terms))
	r := newRandom(5, 0, 0)
	for i := range rows {
		for d := range rows[i] {
			rows[i][d] = float32(r.float() - .5)
		}
	}
	rec := standard()
	rec.size, rec.temperature = 24, .5
	s := newStep(c, newModel(c, rows), rec, 1)
	batch := make([]int, rec.size)
	for i := range batch {
		batch[i] = i * 7
	}
	loss := func() float64 {
		s.embed(3, batch)
		return s.compare()
	}
	loss()
	s.backpropagate()
	s.indexTerms()
	checked := 0
	for term := range s.m.rows {
		g, weight, ok := s.gradient(term)
		if !ok || checked == 5 {
			continue
		}
		checked++
		const h = 1e-2
		differ := func(x *float32, want float32) {
			before := *x
			*x = before + h
			up := loss()
			*x = before - h
			down := loss()
			*x = before
			if got := (up - down) / (2 * h); math.Abs(got-float64(want)) > 2e-5+.03*math.Abs(got) {
				t.Errorf("term %d: the loss grows by %v, its gradient is %v", term, got, want)
			}
		}
		differ(&s.m.rows[term][3], g[3])
		differ(&s.m.rows[term][77], g[77])
		differ(&s.m.weights[term], weight)
	}
	if checked != 5 {
		t.Fatalf("checked %d terms", checked)
	}
}

const treePath = "../../../../vecindex/embed"

// The card in the tree is of the table in the tree and of this list.
func TestCardFitsTable(t *testing.T) {
	card, err := os.ReadFile(filepath.Join(treePath, "static.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(treePath, "static.table"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf("| SHA-256 | %x |", sha256.Sum256(table)), fmt.Sprintf("| size | %d bytes |", len(table))}
	for _, s := range list {
		want = append(want, fmt.Sprintf("%s | %s | %s |", s.name, s.version, s.licence))
	}
	for _, w := range want {
		if !bytes.Contains(card, []byte(w)) {
			t.Errorf("static.md does not say %q; run make embed-train", w)
		}
	}
	if len(table) >= 1_000_000 {
		t.Errorf("the table has %d bytes, want less than 1 MB", len(table))
	}
}

// The table in the tree is what the command writes. Learning takes minutes, so it
// is done where it is asked for.
func TestTableIsReproduced(t *testing.T) {
	if os.Getenv("FOLDWATCH_EMBED_CHECK") == "" {
		t.Skip("set FOLDWATCH_EMBED_CHECK=1 to learn the table again, which takes minutes and needs a network")
	}
	out := t.TempDir()
	if code := run(t.Context(), []string{"-o", out}, os.Stderr, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, name := range []string{"static.table", "static_sum.go", "static.md"} {
		got, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(treePath, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what make embed-train writes", name)
		}
	}
}
