package embed

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
)

// staticTable is what `make embed-train` learned; static.md says from what, and
// staticSum what its checksum is.
//
//go:embed static.table
var staticTable string

// A lexicon is the table of the binary, opened when it is first asked for.
type lexicon struct {
	once sync.Once
	open func() (*Table, error)
	t    *Table // empty if it is off
	off  string // why it is off
}

// table returns the table, an empty one if it cannot be used.
func (l *lexicon) table() *Table {
	l.once.Do(func() {
		t, err := l.open()
		if err != nil {
			l.t, l.off = &Table{}, err.Error()
			return
		}
		l.t = t
	})
	return l.t
}

// checked returns the table in b if its SHA-256, in hex, is sum and its terms are
// those of the analyser.
func checked(b, sum, analyser string) (*Table, error) {
	h := sha256.New()
	for rest := b; rest != ""; { // not all at once: that would copy the table
		n := min(len(rest), 32<<10)
		_, _ = h.Write([]byte(rest[:n])) // a hash takes everything
		rest = rest[n:]
	}
	if s := hex.EncodeToString(h.Sum(nil)); s != sum {
		return nil, fmt.Errorf("the table of static vectors is damaged: its SHA-256 is %.12s…, want %.12s…", s, sum)
	}
	t, err := DecodeTable(b)
	if err != nil {
		return nil, err
	}
	if t.analyser != analyser {
		return nil, fmt.Errorf("the table of static vectors was made for analyser %s, this one is %s", t.analyser, analyser)
	}
	return t, nil
}

// A WeightedTerm is a term that a question may be widened by.
type WeightedTerm struct {
	Term   string
	Of     string  // the term of the question that it stands for
	Weight float64 // beside 1 for Of
}

// expansion is what a neighbour with cosine 1 would weigh.
const expansion = 0.3

// Expand returns terms that mean nearly what those of a question do, up to four
// of each, heaviest first: each weighs 0.3 times its cosine. Terms of the
// question are not among them, and none is there twice. It takes microseconds and
// may be called by many at once.
func (t *Table) Expand(terms []string) []WeightedTerm {
	var out []WeightedTerm
	for _, term := range terms {
		i := t.Number([]byte(term))
		if i < 0 {
			continue
		}
		for k := range Neighbours {
			n, cosine := t.neighbour(i, k)
			if cosine <= 0 {
				break
			}
			w := WeightedTerm{Term: t.Term(n), Of: term, Weight: expansion * cosine}
			if slices.Contains(terms, w.Term) {
				continue
			}
			if at := slices.IndexFunc(out, func(o WeightedTerm) bool { return o.Term == w.Term }); at < 0 {
				out = append(out, w)
			} else if out[at].Weight < w.Weight {
				out[at] = w
			}
		}
	}
	slices.SortFunc(out, func(a, b WeightedTerm) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Term, b.Term))
	})
	return out
}
