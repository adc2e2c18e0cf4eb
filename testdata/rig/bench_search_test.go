//go:build accept

package rig

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex/dot"
)

// hybridVectors is how much a cosine counts where both channels are asked.
const hybridVectors = "0.2"

// search is goals 6c and 7, and filters: the Go source of some 120,000 chunks, by
// words and vectors.
func (b *bench) search(t *testing.T) {
	a := b.arena(t, "gosrc", func(m *machine) corpus {
		m.write(filepath.Join(m.home, "fw", "config", "config.toml"), "[embedding]\nweight = \""+hybridVectors+"\"\n")
		return m.goSource()
	})
	a.index("--file-memories", "local")
	a.rest()
	for _, q := range queries(50) { // what is read for the first time
		a.searched(t, wire.SearchRequest{Query: q})
	}
	if b.wanted("6c") {
		b.hybrid(t, a)
		b.filtered(t, a)
	}
	if b.wanted("7") {
		b.throughput(t, a)
		b.duringIndex(t, a)
	}
}

// searched asks the daemon and returns how long that took.
func (a *arena) searched(t *testing.T, req wire.SearchRequest) (time.Duration, wire.SearchReply) {
	t.Helper()
	began := time.Now()
	r, err := a.cl.Search(t.Context(), a.slug, req)
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(began), r
}

// hybrid is goal 6c: both channels end to end, and beside every search what it
// cannot do without, in this process: an exact scan of as many vectors, and the
// words of the question in a copy of the index that the daemon searches, without
// synonyms. (Bleve with its own segments would need analysers that are no part of
// this module.)
func (b *bench) hybrid(t *testing.T, a *arena) {
	st := a.quiet(a.cl, a.slug)
	text := a.copyOfWords(t)
	scan := newScan(st.Vectors, builtinDim)
	var search, ping, parts spread
	qs := queries(200)
	for i := range 5 * len(qs) {
		q := qs[i%len(qs)]
		took, _ := a.searched(t, wire.SearchRequest{Query: q})
		search = append(search, took)
		ping = append(ping, timed(func() {
			if err := a.cl.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}))
		scanned := timed(scan.once)
		parts = append(parts, scanned+timed(func() {
			if _, err := text.Search(t.Context(), textindex.Query{Text: q, Limit: 200}); err != nil {
				t.Fatal(err)
			}
		}))
	}
	what := fmt.Sprintf("hybrid search over the socket, %d chunks, %d vectors, ", st.Chunks, st.Vectors)
	b.add(ratio("6c", what+"p50", search.at(.5), "scan + words", parts.at(.5), "aim <= 5 ms"),
		ratio("6c", what+"p99", search.at(.99), "scan + words", parts.at(.99), "<= 3, aim 1.5"),
		ratio("6c", "the same, p50", search.at(.5), "empty round trip", ping.at(.5), "-"))
}

// builtinDim is how many dimensions the builtin vectors have.
const builtinDim = 128

// copyOfWords opens a copy of the text index of the daemon.
func (a *arena) copyOfWords(t *testing.T) *textindex.Index {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(a.home, "fw", "state", "index", "*", "text.bleve"))
	if err != nil || len(found) != 1 {
		t.Fatalf("text indexes: %q, %v", found, err)
	}
	dir := filepath.Join(t.TempDir(), "text.bleve")
	if err := os.CopyFS(dir, os.DirFS(found[0])); err != nil {
		t.Fatal(err)
	}
	x, err := textindex.Open(dir, textindex.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// A scanner scans rows of random bytes exactly, on one thread.
type scanner struct {
	rows  []byte
	n     int
	query []float32
}

func newScan(n, dim int) *scanner {
	rnd := rand.New(rand.NewPCG(5, 6))
	s := &scanner{rows: make([]byte, n*dot.Stride(dim)), n: n, query: make([]float32, dim)}
	for i := range s.rows {
		s.rows[i] = byte(rnd.Uint32())
	}
	for i := range s.query {
		s.query[i] = rnd.Float32() - .5
	}
	return s
}

func (s *scanner) once() {
	q, stride := dot.NewQuery(s.query), dot.Stride(len(s.query))
	var products [1024]int32
	var best nearestFloats
	for first := 0; first < s.n; first += len(products) {
		part := products[:min(len(products), s.n-first)]
		q.Rows(part, s.rows[first*stride:])
		for i, p := range part {
			if f := float32(p); len(best) < vectorK || f > best[len(best)-1].product {
				best.offer(first+i, f)
			}
		}
	}
}

// filtered compares searches of a hundredth of the files with those of all, which
// take turns, and looks whether the filter keeps all there is: what a search of all
// shows of these files must come again, and fill up.
func (b *bench) filtered(t *testing.T, a *arena) {
	for _, glob := range []string{"encoding/**", "**/z*_*.go"} {
		pass := a.below(t, glob)
		var all, some spread
		var ratios []float64
		lost, found := 0, 0
		for i, q := range append(queries(200), queries(200)...) {
			everything, _ := a.searched(t, wire.SearchRequest{Query: q})
			filtered, _ := a.searched(t, wire.SearchRequest{Query: q, FilePattern: glob})
			if i < 20 {
				continue
			}
			all, some, ratios = append(all, everything), append(some, filtered), append(ratios, float64(filtered)/float64(everything))
			if i >= 80 {
				continue
			}
			_, first := a.searched(t, wire.SearchRequest{Query: q, Limit: 100})
			_, those := a.searched(t, wire.SearchRequest{Query: q, Limit: 100, FilePattern: glob})
			again := pathsOf(those)
			found += len(again)
			for _, p := range pathsOf(first) {
				if pass[p] && !slices.Contains(again, p) {
					lost++
				}
			}
			for _, p := range again {
				if !pass[p] {
					t.Errorf("%q in %s finds %s", q, glob, p)
				}
			}
		}
		what := fmt.Sprintf("filter %s, %.1f %% of the files", glob, 100*float64(len(pass))/float64(a.files))
		r := ratio("6c", what+", p50", some.at(.5), "no filter", all.at(.5), "<= 2")
		r.base += fmt.Sprintf(", median of pairs %.2f", median(ratios))
		b.add(r, ratio("6c", what+", p99", some.at(.99), "no filter", all.at(.99), "<= 2"),
			count("6c", fmt.Sprintf("%s: lost of %d that 60 searches show", what, found), fmt.Sprint(lost), "0"))
	}
}

// below returns the files of the corpus that glob matches, as git sees it.
func (a *arena) below(t *testing.T, glob string) map[string]bool {
	t.Helper()
	pass := map[string]bool{}
	for _, p := range strings.Fields(a.git(a.dir, "ls-files", ":(glob)"+glob)) {
		pass[p] = true
	}
	return pass
}

// throughput is goal 7: what eight clients get done beside what one does, in turns.
func (b *bench) throughput(t *testing.T, a *arena) {
	var ratios, one, eight []float64
	var single, crowd spread
	for i := range 6 {
		n1, t1 := a.rate(t, 1, 5*time.Second)
		n8, t8 := a.rate(t, 8, 5*time.Second)
		if i > 0 {
			one, eight, ratios = append(one, n1), append(eight, n8), append(ratios, n1/n8)
			single, crowd = append(single, t1...), append(crowd, t8...)
		}
	}
	b.add(row{
		goal: "7", what: "searches a second by 8 clients", ours: fmt.Sprintf("%.0f/s", median(eight)), reference: fmt.Sprintf("1 client %.0f/s", median(one)),
		ratio: 1 / median(ratios), base: ">= 1.5, aim 1.8",
	}, ratio("7", "search, p99 with 8 clients", crowd.at(.99), "p50 with 1", single.at(.5), "aim <= 8"))
}

// rate has clients search for a time and returns how many searches a second that
// gave, and how long each took.
func (a *arena) rate(t *testing.T, clients int, d time.Duration) (perSecond float64, times spread) {
	t.Helper()
	qs := queries(200)
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	for w := range clients {
		wg.Go(func() {
			cl := client.New(a.socket())
			for i := 25 * w; time.Since(began) < d; i++ {
				one := time.Now()
				if _, err := cl.Search(context.Background(), a.slug, wire.SearchRequest{Query: qs[i%len(qs)]}); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				times = append(times, time.Since(one))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return float64(len(times)) / time.Since(began).Seconds(), times
}

// duringIndex is the rest of goal 7: what is left of it while another project is
// indexed for the first time.
func (b *bench) duringIndex(t *testing.T, a *arena) {
	calm, _ := a.rate(t, 8, 5*time.Second)
	other := a.mono(20_000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run(other.dir, "add", ".", "--slug", "other", "--file-memories", "local")
		a.run(other.dir, "index", "--wait")
	}()
	var rates []float64
	for indexing := true; indexing; {
		r, _ := a.rate(t, 8, 2*time.Second)
		rates = append(rates, r)
		select {
		case <-done:
			indexing = false
		default:
		}
	}
	if len(rates) > 1 {
		rates = rates[:len(rates)-1] // it ended in the last
	}
	b.add(row{
		goal: "7", what: fmt.Sprintf("searches a second by 8 clients, while %d files are indexed", other.files), ours: fmt.Sprintf("%.0f/s", median(rates)),
		reference: fmt.Sprintf("otherwise %.0f/s", calm), ratio: median(rates) / calm, base: ">= 0.5",
	})
}
