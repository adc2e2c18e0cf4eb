package daemon_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/foldwatch/foldwatch/api/wire"
)

// fakeDim is the dimension of the vectors of fake models.
const fakeDim = 64

// thing is the name of the n-th thing, of some 50. People call it by other words
// than code does: with mo before it in comments, ti in commits, ka in code.
func thing(n int) string {
	syllables := []string{"bad", "fel", "gin", "hop", "jum", "lar", "nes", "pid"}
	return syllables[n/8%8] + syllables[n%8]
}

const things = 48

// thingNumber returns n for each thing(n).
var thingNumber = sync.OnceValue(func() map[string]int {
	out := map[string]int{}
	for n := range things {
		out[thing(n)] = n
	}
	return out
})

// knowing has the same direction for all words of a thing.
func knowing(text string) []float32 {
	v := make([]float32, fakeDim)
	v[fakeDim-1] = .1
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if n, ok := thingNumber()[w[min(2, len(w)):]]; ok {
			v[n]++
		}
	}
	return v
}

// ignorant has a direction of its own for each text, which says nothing.
func ignorant(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	random := rand.New(rand.NewPCG(h.Sum64(), 7))
	v := make([]float32, fakeDim)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v
}

// thingFile has one function, whose comment shares no word with it.
func thingFile(n int) string {
	ka := "ka" + thing(n)
	return fmt.Sprintf("package app\n\n// mo%s are set free by whoever asks.\nfunc %s(n int) int {\n\t%s := n\n\tfor range n {\n\t\t%s++\n\t}\n\treturn %s\n}\n",
		thing(n), "K"+ka[1:], ka, ka, ka)
}

// What a model knows must count, what it does not know must not, for files and for
// functions: measured without a label on the user's own commits and comments.
func TestWeightFollowsWhatTheModelKnows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		vector func(string) []float32
		helps  bool
	}{
		"knowing": {knowing, true}, "ignorant": {ignorant, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeOllama(t)
			f.Vector = tc.vector
			p := newModelProject(t, map[string]string{"main.go": mainGo})
			for n := range things {
				p.write(thing(n)+"/file.go", thingFile(n))
				p.commit("Let ti" + thing(n) + " go where nobody asks")
			}
			p.sweep(wire.Reindex{})
			p.settle()
			p.choose("[providers.near]\nkind = \"ollama\"\nurl = \"" + f.URL + "\"\n[embedding]\nprovider = \"near\"\nmodel = \"tiny\"\n")
			p.eventually("both are measured", func() bool {
				e := p.status().Embedder
				return strings.HasPrefix(e.WeightWhy, "measured on") && strings.HasPrefix(e.ChunkWeightWhy, "measured on")
			})
			e := p.status().Embedder
			if (e.Weight > 0) != tc.helps || !strings.Contains(e.WeightWhy, "commits of this checkout") {
				t.Errorf("files: weight %v: %s", e.Weight, e.WeightWhy)
			}
			if (e.ChunkWeight > 0) != tc.helps || !strings.Contains(e.ChunkWeightWhy, "doc comments of this checkout") {
				t.Errorf("functions: weight %v: %s", e.ChunkWeight, e.ChunkWeightWhy)
			}
			p.settle()
			if left, err := filepath.Glob(filepath.Join(p.d.IndexDir(p.dir), "bench*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
