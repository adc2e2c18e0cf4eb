package describe

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/meta/words"
)

// maxCounted is how much of a file its words are counted in.
const maxCounted = 256 << 10

// rarities holds wordRarity by word; made at first use and never changed.
var rarities = sync.OnceValue(func() map[string]float64 {
	m := make(map[string]float64, 8000)
	for i, line := range wordRarity {
		for w := range strings.FieldsSeq(line) {
			m[w] = float64(i + 1)
		}
	}
	return m
})

// rarity returns log2 of how many files there are for one that holds the word.
func rarity(word string) float64 {
	if r, ok := rarities()[word]; ok {
		return r
	}
	if one := singular(word); one != word {
		if r, ok := rarities()[one]; ok {
			return r + 0.5
		}
	}
	return float64(len(wordRarity)) + 1
}

// keywordsOf returns the words by which a file is looked for: the names others
// know it by, then the words that are frequent in it and rare elsewhere.
func keywordsOf(d *description) []string {
	s := d.s
	out := make([]string, 0, maxKeywords)
	seen := make(map[string]bool, maxKeywords)
	add := func(w string) {
		key := strings.ToLower(w)
		if w != "" && !seen[key] && len(out) < maxKeywords {
			seen[key] = true
			out = append(out, w)
		}
	}
	if !isProse(s.Language) && !isData(s.Language) {
		names := 0
		for _, p := range d.ranked {
			if names == 7 || d.test && names == 3 {
				break
			}
			if len(p.name) >= 3 && len(p.name) <= 40 && (p.open || len(d.parts) < 8) && !p.trivial && p.name != "main" && !strings.ContainsAny(p.name, " `=") {
				add(p.name)
				names++
			}
		}
	}
	for _, w := range rareWords(s, d.parts, d.header.from) {
		add(w)
	}
	return out
}

// rareWords returns the words of a file that tell it from others, best first.
// The first from bytes are a licence and not counted.
func rareWords(s *Subject, parts []component, from int) []string {
	src := s.Source[min(from, len(s.Source)):]
	t := newWordCount(len(src))
	for i := range parts {
		t.count(parts[i].name, 4)
		for _, m := range parts[i].members {
			t.count(m, 4)
		}
		t.count(parts[i].doc, 1)
	}
	t.count(strings.TrimSuffix(s.Path, path.Ext(s.Path)), 4)
	t.count(s.Doc, 3)
	if s.Language != "assembly" { // mnemonics tell no file from another
		t.named = false
		t.count(string(src[:min(len(src), maxCounted)]), 1)
	}
	type scored struct {
		word  string
		score float64
	}
	all := make([]scored, 0, 64)
	for i := range t.words {
		w := &t.words[i]
		if w.count < 2 {
			continue
		}
		r := rarity(w.text)
		if r < 3 || r < 4 && !w.named || isStop(w.text) {
			continue
		}
		score := (1 + math.Log2(float64(w.count))) * (r - 1)
		if w.named {
			score *= 1.25
		}
		all = append(all, scored{w.text, score})
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.word, b.word))
	})
	out := make([]string, 0, maxKeywords)
	taken := make(map[string]bool, maxKeywords)
	for _, a := range all {
		if root := singular(a.word); !taken[root] {
			taken[root] = true
			out = append(out, a.word)
		}
		if len(out) == maxKeywords {
			break
		}
	}
	return out
}

// A wordCount counts words.
type wordCount struct {
	words []counted
	slots []int32 // by hash, places in words plus 1
	named bool    // what is counted now are names, paths and comments
	lower []byte
}

type counted struct {
	text  string // lower case
	count int
	named bool
}

func newWordCount(size int) *wordCount {
	n := 256
	for n < size/16 && n < 1<<15 {
		n *= 2
	}
	return &wordCount{slots: make([]int32, n), words: make([]counted, 0, n/4), named: true}
}

// count counts the words of text.
func (t *wordCount) count(text string, weight int) {
	words.Each(text, func(w string) { t.add(w, weight) })
}

// add counts one word, which is ASCII or in lower case.
func (t *wordCount) add(w string, weight int) {
	h := uint32(2166136261)
	plain := true
	for i := range len(w) {
		c := w[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
			plain = false
		}
		h = (h ^ uint32(c)) * 16777619
	}
	mask := uint32(len(t.slots) - 1)
	for i := (h ^ h>>15) & mask; ; i = (i + 1) & mask {
		at := t.slots[i]
		if at == 0 {
			if !plain {
				t.lower = t.lower[:0]
				for k := range len(w) {
					c := w[k]
					if c >= 'A' && c <= 'Z' {
						c |= 0x20
					}
					t.lower = append(t.lower, c)
				}
				w = string(t.lower)
			}
			t.words = append(t.words, counted{w, weight, t.named})
			t.slots[i] = int32(len(t.words))
			if len(t.words)*2 > len(t.slots) {
				t.grow()
			}
			return
		}
		if e := &t.words[at-1]; sameWord(e.text, w) {
			e.count += weight
			e.named = e.named || t.named
			return
		}
	}
}

func (t *wordCount) grow() {
	t.slots = make([]int32, 2*len(t.slots))
	mask := uint32(len(t.slots) - 1)
	for n := range t.words {
		h := uint32(2166136261)
		for i := range len(t.words[n].text) {
			h = (h ^ uint32(t.words[n].text[i])) * 16777619
		}
		i := (h ^ h>>15) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = int32(n + 1)
	}
}

// sameWord reports whether w in lower case is low.
func sameWord(low, w string) bool {
	if len(low) != len(w) {
		return false
	}
	for i := range len(w) {
		c := w[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != low[i] {
			return false
		}
	}
	return true
}

// singular takes the plural off an English word, roughly.
func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 5:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") && len(w) > 3:
		return w[:len(w)-1]
	}
	return w
}

// isStop reports whether a word says nothing about code.
func isStop(w string) bool {
	switch w {
	case "http", "https", "www", "com", "org", "foo", "bar", "baz", "qux", "asdf", "todo", "fixme", "xxx", "lorem", "ipsum", "tmp", "chan", "goto", "iota",
		"struct", "resp", "req", "ctx", "args", "argv", "ptr", "idx", "len", "buf", "fmt", "elem", "elems", "unlock", "impl", "enum", "async", "await", "extern",
		"sizeof", "uintptr", "endif", "ifdef", "ifndef", "isinstance", "kwargs", "varargs", "dst", "src", "got", "want", "func", "const", "var", "int", "str", "err",
		"nil", "def", "elif", "elsif", "elseif", "foreach", "nameof", "typeparam", "typeof", "instanceof", "init", "main", "end", "util", "utils", "readonly", "println", "printf", "fprintf", "sprintf", "fprintln", "errorf", "fatalf", "nonlocal",
		"versionadded", "versionchanged", "noqa", "nolint", "inst", "param", "params", "proto", "stdbool", "stdint", "stdlib", "stdio", "cplusplus", "googlesource",
		"github", "gitlab", "usr", "bin", "localhost", "eslint", "tslint", "webpack", "unmarshal", "foobar", "hello", "export", "import", "default", "index", "was",
		"were", "are", "has", "had", "how", "who", "now", "any", "all", "one", "two", "not", "but", "and", "the", "for", "its", "this", "that", "with", "from",
		"when", "will", "you", "your", "use", "used", "uses", "using", "see", "whole", "hasattr", "getattr", "setattr", "croak", "bool", "uint", "void", "mut",
		"pub", "let", "dyn", "authors", "bsd", "copyright", "license", "licence", "rights", "reserved", "governed", "style", "would", "could", "should", "must",
		"may", "might", "also", "because", "therefore", "however", "whether", "although", "thus", "since", "until", "always", "never", "already", "usually",
		"otherwise", "instead", "these", "those", "them", "they", "their", "there", "which", "where", "while", "what", "here", "other", "such", "many", "much",
		"more", "most", "only", "very", "just", "even", "still", "both", "each", "every", "either", "neither", "another", "several", "been", "being", "does",
		"doing", "done", "having", "made", "makes", "making", "into", "onto", "upon", "over", "under", "between", "within", "without", "before", "after", "again",
		"about", "above", "below", "then", "than", "too", "out", "off", "own", "same", "per", "via", "doesn", "isn", "don", "won", "can", "cannot", "aren", "wasn",
		"didn", "hasn", "couldn", "shouldn", "wouldn", "weren", "haven", "let's", "lets", "something", "anything", "nothing", "everything", "someone", "likewise",
		"namely", "whatever", "itself", "themselves", "whom", "whose", "yourself", "please", "perhaps", "maybe", "really", "quite", "rather", "almost", "easily",
		"simply", "actually", "currently", "probably", "especially", "etc":
		return true
	}
	return false
}

// Keywords returns at most 15 words that tell a text from others, best first.
func Keywords(text string) []string {
	return rareWords(&Subject{Source: []byte(text)}, nil, 0)
}
