package main

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/meta/words"
)

// How much of a pair is used, and how little is too little.
const (
	maxQuery     = 60  // terms of a sentence or heading
	maxCode      = 160 // terms of code or of a section, name and path first
	minQuery     = 2   // different terms of a sentence or heading
	minCode      = 5   // different terms of code
	maxPairs     = 6000
	maxToolchain = 24000 // the standard library is the best documented of all
)

// Which terms get a vector.
const (
	minCount   = 6
	minSources = 5
)

// A pair is a textPair as terms, numbers into corpus.terms, in order.
type pair struct {
	source      int
	query, code []int32
}

// A corpus is all pairs of all sources.
type corpus struct {
	sources []source
	pairs   []pair // by source
	terms   []string
	number  map[string]int32
	seen    map[uint64]bool // pairs that were read already
}

func newCorpus(sources []source) *corpus {
	return &corpus{sources: sources, number: map[string]int32{}, seen: map[uint64]bool{}}
}

// read reads all sources, several at once; the outcome does not depend on how
// many.
func (c *corpus) read(ctx context.Context, workers int) error {
	texts, errs := make([][]locatedPair, len(c.sources)), make([]error, len(c.sources))
	ready := make([]chan struct{}, len(c.sources))
	for i := range ready {
		ready[i] = make(chan struct{})
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				texts[i], errs[i] = c.sources[i].pairs(ctx)
				close(ready[i])
			}
		})
	}
	wg.Go(func() {
		for i := range c.sources {
			next <- i
		}
		close(next)
	})
	defer wg.Wait()
	var failed error
	for i := range c.sources {
		<-ready[i]
		if errs[i] != nil && failed == nil {
			failed = fmt.Errorf("read %s: %w", c.sources[i].name, errs[i])
		}
		if failed == nil {
			c.add(i, texts[i])
		}
		texts[i] = nil
	}
	return failed
}

// locatedPair is a textPair with the path of its file.
type locatedPair struct {
	textPair
	path string
}

// pairs returns the pairs of one source in the order of its files.
func (s source) pairs(ctx context.Context) ([]locatedPair, error) {
	var out []locatedPair
	err := s.each(ctx, func(f file) {
		for _, p := range pairsOf(f.path)(f) {
			out = append(out, locatedPair{p, f.path})
		}
	})
	return out, err
}

// add turns the pairs of source i into terms. A pair that was seen before, in
// whichever source, does not count again.
func (c *corpus) add(i int, texts []locatedPair) {
	s := c.sources[i]
	var fresh []pair
	for _, t := range texts {
		p := pair{source: i, query: c.analyse(nil, t.about, maxQuery)}
		p.code = c.analyse(p.code, t.name, maxCode)
		p.code = c.analyse(p.code, path.Join(s.short(), strings.TrimSuffix(t.path, path.Ext(t.path))), maxCode)
		p.code = c.analyse(p.code, t.text, maxCode)
		if distinct(p.query) < minQuery || distinct(p.code) < minCode {
			continue
		}
		h := fnv.New64a()
		_, _ = io.WriteString(h, t.about+"\x00"+t.name+"\x00"+t.text) // a hash takes everything
		if sum := h.Sum64(); !c.seen[sum] {
			c.seen[sum] = true
			fresh = append(fresh, p)
		}
	}
	limit := maxPairs
	if s.name == toolchain {
		limit = maxToolchain
	}
	for k, p := range fresh {
		// Evenly from all files where there are too many.
		if len(fresh) <= limit || k*limit/len(fresh) != (k+1)*limit/len(fresh) {
			c.pairs = append(c.pairs, p)
		}
	}
}

// analyse appends the terms of text to terms, which get no longer than limit.
func (c *corpus) analyse(terms []int32, text string, limit int) []int32 {
	for _, w := range words.Analyze(text) {
		if len(terms) >= limit {
			break
		}
		n, ok := c.number[w]
		if !ok {
			w = strings.Clone(w) // it points into the whole analysis
			n = int32(len(c.terms))
			c.number[w] = n
			c.terms = append(c.terms, w)
		}
		terms = append(terms, n)
	}
	return terms
}

func distinct(terms []int32) int {
	s := slices.Clone(terms)
	slices.Sort(s)
	return len(slices.Compact(s))
}

// keep drops all terms but those that get a vector, at most limit of them, and
// renumbers these in alphabetical order. Terms without a vector become -1, so
// that distances in a sequence stay as they are.
func (c *corpus) keep(limit int) {
	count, sources, last := make([]int, len(c.terms)), make([]int, len(c.terms)), make([]int, len(c.terms))
	for _, p := range c.pairs {
		for _, side := range [][]int32{p.query, p.code} {
			for _, t := range side {
				count[t]++
				if last[t] != p.source+1 {
					last[t] = p.source + 1
					sources[t]++
				}
			}
		}
	}
	var kept []int32
	for t, w := range c.terms {
		if count[t] >= minCount && sources[t] >= minSources && isWord(w) {
			kept = append(kept, int32(t))
		}
	}
	// Where there is no room for all, those that most projects use.
	slices.SortFunc(kept, func(a, b int32) int {
		return cmp.Or(cmp.Compare(sources[b], sources[a]), cmp.Compare(count[b], count[a]), cmp.Compare(c.terms[a], c.terms[b]))
	})
	kept = kept[:min(len(kept), limit)]
	slices.SortFunc(kept, func(a, b int32) int { return cmp.Compare(c.terms[a], c.terms[b]) })
	renumber := make([]int32, len(c.terms))
	for t := range renumber {
		renumber[t] = -1
	}
	terms := make([]string, len(kept))
	for n, t := range kept {
		renumber[t], terms[n] = int32(n), c.terms[t]
	}
	c.terms, c.number = terms, nil
	for _, p := range c.pairs {
		for _, side := range [][]int32{p.query, p.code} {
			for i, t := range side {
				side[i] = renumber[t]
			}
		}
	}
}

// isWord reports whether a term has a meaning of its own, which numbers and single
// letters have not.
func isWord(w string) bool {
	letters := 0
	for _, r := range w {
		if r < '0' || r > '9' {
			letters++
		}
	}
	return letters >= 2
}

// report prints how much was read.
func (c *corpus) report(w io.Writer) {
	n, terms := make([]int, len(c.sources)), make([]int, len(c.sources))
	for _, p := range c.pairs {
		n[p.source]++
		terms[p.source] += len(p.query) + len(p.code)
	}
	for i, s := range c.sources {
		fmt.Fprintf(w, "%6d pairs %8d terms  %s %s\n", n[i], terms[i], s.name, s.version)
	}
	fmt.Fprintf(w, "%6d pairs of %d sources, %d terms get a vector\n", len(c.pairs), len(c.sources), len(c.terms))
}
