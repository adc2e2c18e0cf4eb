package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/words"
)

const (
	// maxGroup is how many files a group counts as, at most, so that no project
	// decides alone what is common.
	maxGroup = 80
	// minCorpora is in how many corpora a word must occur: a word that only two
	// projects use often is about them, and a good keyword elsewhere.
	minCorpora = 3
	// unit is the weight of a file that counts in full; integers sum to the
	// same on every machine.
	unit = 1 << 32
)

// A group is the files of one language of one corpus.
type group struct {
	corpus   int
	language string
}

// counts says in how many files of each group each word occurs.
type counts struct {
	corpora []corpus
	files   map[group]int
	words   map[string]map[group]int // lower case
	seen    map[[sha256.Size]byte]bool
}

// countAll counts the words of all corpora. A file that was seen before, in
// whichever corpus, does not count again.
func countAll(ctx context.Context, corpora []corpus) (*counts, error) {
	c := &counts{corpora: corpora, files: map[group]int{}, words: map[string]map[group]int{}, seen: map[[sha256.Size]byte]bool{}}
	for i, co := range corpora {
		err := co.each(ctx, func(language string, text []byte) { c.add(group{i, language}, text) })
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", co.Name, err)
		}
	}
	return c, nil
}

// add counts one file.
func (c *counts) add(s group, text []byte) {
	sum := sha256.Sum256(text)
	if c.seen[sum] {
		return
	}
	c.seen[sum] = true
	c.files[s]++
	once := make(map[string]bool, 512)
	words.Each(string(text), func(w string) { once[strings.ToLower(w)] = true })
	for w := range once {
		in := c.words[w]
		if in == nil {
			in = make(map[group]int, 1)
			c.words[strings.Clone(w)] = in
		}
		in[s]++
	}
}

// weights returns the weight of one file of each group, and the sum over all
// files. A language weighs as much as the square root of its number of files: Go,
// of which there is most, does not outweigh the others, nor do five files of Ruby
// decide what is common.
func (c *counts) weights() (map[group]int64, int64) {
	languages := map[string]int{}
	for s, n := range c.files {
		languages[s.language] += min(n, maxGroup)
	}
	weight := make(map[group]int64, len(c.files))
	total := int64(0)
	for s, n := range c.files {
		share := float64(min(n, maxGroup)) / float64(n)
		weight[s] = int64(math.Round(unit * share / math.Sqrt(float64(languages[s.language]))))
		total += weight[s] * int64(n)
	}
	return weight, total
}

// table sorts the words into levels.
func (c *counts) table() table {
	weight, total := c.weights()
	var t table
	for w, in := range c.words {
		sum, corpora := int64(0), map[int]bool{}
		for s, n := range in {
			sum += weight[s] * int64(n)
			corpora[s.corpus] = true
		}
		if len(corpora) < minCorpora {
			continue
		}
		if n := level(sum, total); n <= len(t) {
			t[n-1] = append(t[n-1], w)
		}
	}
	for i := range t {
		slices.Sort(t[i])
	}
	return t
}

// level returns n for a word that is in about one of 2^n files, n from 1.
func level(sum, total int64) int {
	n := 1
	for bound := float64(sum) * 2 * math.Sqrt2; bound < float64(total); bound *= 2 {
		n++
	}
	return n
}

// report prints how much was counted.
func (c *counts) report(w io.Writer) {
	corpora, languages := make([]int, len(c.corpora)), map[string]int{}
	for s, n := range c.files {
		corpora[s.corpus] += n
		languages[s.language] += n
	}
	for i, co := range c.corpora {
		fmt.Fprintf(w, "%6d files  %s %s\n", corpora[i], co.Name, co.Version)
	}
	for _, l := range slices.Sorted(maps.Keys(languages)) {
		fmt.Fprintf(w, "%6d files in %s\n", languages[l], l)
	}
	fmt.Fprintf(w, "%6d words in %d files\n", len(c.words), len(c.seen))
}
