package embed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/vecindex/embed"
)

func TestBuiltinGivesUnitVectors(t *testing.T) {
	e := embed.Builtin()
	texts := []string{"maxOpenConns limits connections", "a", "漢字", "x", strings.Repeat("token ", 1000), "validate the token"}
	vecs, err := e.Embed(t.Context(), texts, embed.Document)
	if err != nil || len(vecs) != len(texts) {
		t.Fatalf("Embed = %d vectors, %v", len(vecs), err)
	}
	for i, v := range vecs {
		if texts[i] == "a" { // a stop word has no direction
			if v != nil {
				t.Errorf("Embed(%q) = %v, want nil", texts[i], v)
			}
			continue
		}
		if l := cosine(v, v); len(v) != e.Identity().Dim || math.Abs(l-1) > 1e-5 {
			t.Errorf("Embed(%.20q): %d dimensions, length² %v", texts[i], len(v), l)
		}
	}
	again, err := embed.Builtin().Embed(t.Context(), texts, embed.Query)
	if d := cmp.Diff(vecs, again); d != "" || err != nil {
		t.Errorf("Embed twice: %v, %s", err, d)
	}
}

func TestBuiltinPutsLikeNearLike(t *testing.T) {
	vecs, err := embed.Builtin().Embed(t.Context(), []string{
		"validate the signature of a token",
		"func validateToken(sig Signature) error",
		"limit open connections of the pool",
	}, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	if near, far := cosine(vecs[0], vecs[1]), cosine(vecs[0], vecs[2]); near < far+.2 {
		t.Errorf("near %v, far %v", near, far)
	}
}

func cosine(a, b []float32) float64 {
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// memory is a cache that behaves.
type memory struct {
	mu   sync.Mutex
	vecs map[string][]float32
	fail error
}

func (m *memory) Vectors(_ context.Context, identity string, hashes []string) (map[string][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string][]float32{}
	for _, h := range hashes {
		if v, ok := m.vecs[identity+h]; ok {
			out[h] = v
		}
	}
	return out, m.fail
}

func (m *memory) PutVectors(_ context.Context, identity string, vecs map[string][]float32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, v := range vecs {
		m.vecs[identity+h] = v
	}
	return m.fail
}

func TestCachedEmbedsEveryTextOnce(t *testing.T) {
	cache := &memory{vecs: map[string][]float32{}}
	c := embed.Cached(embed.Builtin(), cache)
	var texts []string
	for i := range 600 {
		texts = append(texts, strings.Repeat("word ", i%300+1))
	}
	first, err := c.Embed(t.Context(), texts, embed.Document)
	if err != nil || c.Hits() != 0 || c.Misses() != 300 {
		t.Fatalf("hits, misses = %d, %d, %v, want 0, 300", c.Hits(), c.Misses(), err)
	}
	second, err := c.Embed(t.Context(), append(slices.Clone(texts), "new", "the"), embed.Document)
	if err != nil || c.Hits() != 300 || c.Misses() != 302 {
		t.Fatalf("hits, misses = %d, %d, %v, want 300, 302", c.Hits(), c.Misses(), err)
	}
	if d := cmp.Diff(first, second[:600]); d != "" || second[601] != nil {
		t.Errorf("cached vectors differ: %s", d)
	}
	for key := range cache.vecs { // a cache that was cut off
		cache.vecs[key] = cache.vecs[key][:3]
	}
	third, err := c.Embed(t.Context(), texts, embed.Document)
	if d := cmp.Diff(first, third); d != "" || err != nil {
		t.Errorf("after damage: %v, %s", err, d)
	}
	cache.fail = errors.New("disk full")
	if _, err := c.Embed(t.Context(), texts, embed.Document); !errors.Is(err, cache.fail) {
		t.Errorf("Embed = %v, want %v", err, cache.fail)
	}
}

func TestQuestionsToTheBuiltinPassByTheCache(t *testing.T) {
	cache := &memory{vecs: map[string][]float32{}, fail: errors.New("asked")}
	c := embed.Cached(embed.Builtin(), cache)
	got, err := c.Embed(t.Context(), []string{"validate the token", "the"}, embed.Query)
	if err != nil {
		t.Fatal(err)
	}
	want, err := embed.Builtin().Embed(t.Context(), []string{"validate the token", "the"}, embed.Query)
	if d := cmp.Diff(want, got); d != "" || err != nil || len(cache.vecs) != 0 {
		t.Errorf("%v, %d vectors kept, -want +got %s", err, len(cache.vecs), d)
	}
}

func TestCachedEmbedsOnceForManyCallers(t *testing.T) {
	c := embed.Cached(embed.Builtin(), &memory{vecs: map[string][]float32{}})
	texts := make([]string, 600)
	for i := range texts {
		texts[i] = fmt.Sprintf("word %c%c", 'a'+i/26, 'a'+i%26)
	}
	want, err := embed.Builtin().Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	const callers = 6
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			from := caller * 50
			got, err := c.Embed(t.Context(), slices.Concat(texts[from:], texts[:from]), embed.Document)
			if err != nil || !slices.EqualFunc(slices.Concat(want[from:], want[:from]), got, slices.Equal[[]float32]) {
				t.Errorf("caller %d: %v, or other vectors", caller, err)
			}
		})
	}
	wg.Wait()
	if n := int64(len(texts)); c.Misses() != n || c.Hits() != n*(callers-1) {
		t.Errorf("hits, misses = %d, %d, want %d, %d", c.Hits(), c.Misses(), n*(callers-1), n)
	}
}

func BenchmarkBuiltin(b *testing.B) {
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = "// setMaxOpenConns limits the connections that the pool keeps open.\n" +
			"func (p *Pool) setMaxOpenConns(n int) error {\n\tif n < 0 {\n\t\treturn errNegative\n\t}\n\tp.max = n\n\treturn p.apply()\n}\n"
	}
	e := embed.Builtin()
	for b.Loop() {
		if _, err := e.Embed(b.Context(), texts, embed.Document); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "texts/s")
}
