//go:build accept

package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// again is goal 2: a second look at everything, by command and at a start,
// against git status of the same tree; and how it grows.
func (b *bench) again(t *testing.T) {
	var small, large time.Duration
	for _, of := range []struct {
		slug string
		fill func(m *machine) corpus
		took *time.Duration
	}{
		{"gosrc", func(m *machine) corpus { return m.goSource() }, nil},
		{"mono10k", func(m *machine) corpus { return m.mono(10_000) }, &small},
		{"mono", func(m *machine) corpus { return m.mono(100_000) }, &large},
	} {
		a := b.arena(t, of.slug, of.fill)
		a.index("--file-memories", "local")
		a.rest()
		was := a.counters()
		r, ours := pairs("2", fmt.Sprintf("index without changes, %s, %d files", of.slug, a.files), "git status", "<= 2", 5,
			func() time.Duration { return timed(func() { a.run(a.dir, "index", "--wait") }) },
			func() time.Duration { return timed(func() { a.git(a.dir, "status", "--porcelain") }) })
		b.add(r, count("2", "files read, parses meanwhile, "+of.slug, a.since(was, "files_read", "parses"), "0, 0"))
		if of.took != nil {
			*of.took = ours
		}
		a.stop()
		a.cl, a.proc = a.serve()
		a.run(a.dir, "index", "--wait")
		b.add(count("2", "files read, parses at a start, "+of.slug, a.since(nil, "files_read", "parses"), "0, 0"))
		a.stop()
	}
	b.add(ratio("2", "growth: index without changes, 100,000 files", large, "10,000 files", small, "<= 12"))
}

// warmStart is goal 4a: from exec to the first correct search.
func (b *bench) warmStart(t *testing.T) {
	for _, n := range []int{10_000, 100_000} {
		a := b.arena(t, "notes", func(m *machine) corpus { return m.withMemories("notes", n) })
		a.index()
		a.rest()
		st := a.quiet(a.cl, a.slug)
		r, _ := pairs("4a", fmt.Sprintf("warm start to the first search, %d memories", st.Memories), "walk + lstat of fold/", "<= 5", 5,
			func() time.Duration {
				a.stop()
				took := timed(func() {
					a.cl, a.proc = a.serve()
					r, err := a.cl.Search(t.Context(), a.slug, wire.SearchRequest{Query: "ServeHTTP", Limit: 1})
					if err != nil || len(r.Results) == 0 {
						t.Fatalf("first search: %v", err)
					}
				})
				a.quiet(a.cl, a.slug)
				return took
			},
			func() time.Duration { return timed(func() { statAll(t, filepath.Join(a.dir, "fold")) }) })
		b.add(r)
		a.stop()
	}
}

// rebuild is goal 4b: everything derived from fold/ made again, but for the
// cache, which holds the vectors; and how it grows.
func (b *bench) rebuild(t *testing.T) {
	took := map[int]float64{}
	for _, n := range []int{10_000, 100_000} {
		a := b.arena(t, "notes", func(m *machine) corpus {
			c := corpus{dir: filepath.Join(m.t.TempDir(), "notes")}
			if _, err := generateFold(filepath.Join(c.dir, "fold"), "notes", n); err != nil {
				t.Fatal(err)
			}
			m.write(filepath.Join(c.dir, "README.md"), "# Notes\n")
			m.git(c.dir, "init", "-q")
			m.git(c.dir, "add", "README.md")
			m.git(c.dir, "commit", "-q", "-m", "first")
			return c
		})
		a.index()
		a.rest()
		index := filepath.Join(a.home, "fw", "state", "index")
		rounds := 3
		if n > 10_000 {
			rounds = 1
		}
		var ours, theirs, ratios []float64
		for range rounds {
			a.stop()
			if err := os.RemoveAll(index); err != nil {
				t.Fatal(err)
			}
			a.cl, a.proc = a.serve()
			a.run(a.dir, "index", "--wait")
			if st := a.quiet(a.cl, a.slug); st.Memories < n {
				t.Fatalf("%d memories of %d came back", st.Memories, n)
			}
			x := a.cpu()
			before := ownCPU()
			parseAll(t, filepath.Join(a.dir, "fold"))
			y := ownCPU() - before
			ours, theirs, ratios = append(ours, x), append(theirs, y), append(ratios, x/y)
		}
		took[n] = median(ours)
		b.add(row{
			goal: "4b", what: fmt.Sprintf("rebuild of %d memories until found by words, CPU", n), ours: fmt.Sprintf("%.2f cpu-s", median(ours)),
			reference: fmt.Sprintf("read + SHA-256 + adrg/frontmatter %.2f cpu-s", median(theirs)), ratio: median(ratios), base: "<= 6",
		}, count("4b", "the same: files parsed, texts embedded", a.since(nil, "parses", "embeds"), "0 embeds"))
		a.stop()
	}
	b.add(share("4b", "growth: rebuild of 100,000 memories", took[100_000], "10,000", took[10_000], "cpu-s", "<= 12"))
}

// answers reports whether one search finds something by its words.
func answers(t *testing.T, cl *client.Client, slug, query string) bool {
	t.Helper()
	r, err := cl.Search(t.Context(), slug, wire.SearchRequest{Query: query, Limit: 1})
	return err == nil && len(r.Results) > 0 && r.Notice == "" // else it is only near in meaning
}
