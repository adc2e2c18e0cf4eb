package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/words"
)

// cardHead is what static.md says before the figures of one run.
const cardHead = `<!-- Written by cmd/embed-train (make embed-train); do not edit. -->

# The static embedding of foldwatch

` + "`static.table`" + ` holds one vector for each of some thousand terms (word stems). It widens questions by near synonyms, and
the builtin embedder adds its vectors up. It was learned by ` + "`cmd/embed-train`" + ` from nothing but the pairs counted below: the first
sentence of a doc comment and the code it stands before, a heading and its section. It holds no text of its sources, only stems
that at least %d of them use, and numbers. It knows the English of people who write software, and no other language.

Terms come from the analyser of version %s; where the binary has another one, or the checksum differs, the table is off
and ` + "`foldwatch status`" + ` says so. After a change of the analyser or of the list of sources: ` + "`make embed-train`" + `. The same list gives the
same bytes on every machine and with any number of cores.

None of the repositories that retrieval is measured on, nor a copy of them, is among the sources; a test holds them out.

`

// card returns the data card: what was learned, how, and from what.
func (c *corpus) card(set settings, terms, size int, sum [32]byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, cardHead, minSources, words.Version)
	r := set.recipe
	n, total := make([]int, len(c.sources)), 0
	for _, p := range c.pairs {
		n[p.source]++
		total++
	}
	fmt.Fprintf(&b, "| | |\n|---|---|\n")
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	row("SHA-256", "%x", sum)
	row("size", "%d bytes", size)
	row("terms", "%d, each at least %d times in at least %d sources", terms, minCount, minSources)
	row("vector", "%d signed bytes, scale, weight, up to four neighbours", dim)
	row("pairs", "%d of %d sources", total, len(c.sources))
	row("beginning", "positive PMI, window %d, contexts to the power of %v; randomised SVD", window, smoothing)
	row("learning", "InfoNCE both ways, temperature %v, %d batches of %d pairs, every second one of two sources", r.temperature, r.steps, r.size)
	row("steps", "Adagrad by rows, %v to %v", r.firstRate, r.lastRate)
	row("left out", "every term with probability %v; with probability %v all terms of the query from its code", r.dropout, r.hide)
	row("seed", "%d", r.seed)
	licences := map[string]int{}
	for _, s := range c.sources {
		licences[s.licence]++
	}
	fmt.Fprintf(&b, "\n## Sources\n\nModules come from the Go module proxy, packages from npm; their sums are in `cmd/embed-train/sources.tsv`. Licences (SPDX): ")
	var list []string
	for _, l := range slices.Sorted(maps.Keys(licences)) {
		list = append(list, fmt.Sprintf("%s (%d)", l, licences[l]))
	}
	fmt.Fprintf(&b, "%s.\nFew numbers per word were learned from them and none of their text is passed on; whoever passes on a source itself owes its notice.\n\n", strings.Join(list, ", "))
	fmt.Fprintf(&b, "| source | version | licence | pairs |\n|---|---|---|---|\n")
	for i, s := range c.sources {
		name := s.name
		if s.kind == "npm" {
			name = "npm: " + name
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", name, s.version, s.licence, n[i])
	}
	return b.Bytes()
}
