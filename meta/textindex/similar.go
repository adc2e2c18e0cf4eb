package textindex

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/words"
)

// A Passage is the text of one document, others like which are looked for.
type Passage struct {
	Memory fold.ID // documents of the same memory are not looked for
	Name   string  // qualified name or heading
	Text   string
}

// An Alike is a document that has rare terms of a passage.
type Alike struct {
	Key    string
	Memory fold.ID
	// Share is how much of the passage's rare terms it has, by the square of what
	// each is worth, in [0, 1).
	Share float64
	// Terms are those that both have, as the passage writes them, the most telling
	// first; at most 5.
	Terms []string
}

const (
	alikeTerms   = 3       // rare terms that both have, at least, the parts of one identifier not counted
	alikeShown   = 5       // of them that are told
	alikeMost    = 30      // documents for each passage
	alikeText    = 1 << 16 // bytes of a passage that are read
	rarestTerms  = 128     // of a passage that count
	rareMost     = 64      // documents that have a term which is rare, at most
	rareLeast    = 8       // and in a small index
	rareOneIn    = 16      // documents that have it, at most
	rareOfFiles  = 8       // and files and memories, as if each had it once
	alikeUnknown = 3       // rare terms that a passage is taken to have beside its own
)

// Alike returns, for each passage, the chunks, sections and memories that are
// like it, best first, ties by key: those that share rare terms and whole
// identifiers with it, by the cosine's rule that a term counts with the square of
// its idf. Files are not among them, since their chunks are. How rare a term is
// says this index as it is: an index that holds the same documents answers the
// same.
func (x *Index) Alike(ctx context.Context, passages []Passage) (_ [][]Alike, err error) {
	defer wrap(&err, "find what is alike")
	snap, err := x.snapshot()
	if err != nil {
		return nil, err
	}
	defer closeReader(snap, &err)
	s := &alikeSearch{snapshot: snap, present: snap.liveSet(), terms: map[string]*rareTerm{}}
	for _, k := range alikeKinds {
		s.n += float64(snap.live[k])
	}
	// A file of many chunks says once what it imports, and by what licence: were
	// only chunks counted, that would be rare.
	shown := snap.live[fileKind] + snap.live[memoryKind]
	if shown == 0 {
		shown = int(s.n)
	}
	s.most = min(max(min(int(s.n)/rareOneIn, shown/rareOfFiles), rareLeast), rareMost)
	out := make([][]Alike, len(passages))
	for i := range passages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = s.like(&passages[i])
	}
	return out, nil
}

// alikeKinds are the kinds that are looked for.
var alikeKinds = [...]int{chunkKind, sectionKind, memoryKind}

// An alikeSearch is one call of [Index.Alike] at work.
type alikeSearch struct {
	*snapshot

	present  bitset // documents that are not deleted; nil: all
	n        float64
	most     int // documents that have a term which is rare
	analysis words.Analysis
	terms    map[string]*rareTerm // by channel and term, of all passages so far
}

// A rareTerm is a term or joined form, and who has it.
type rareTerm struct {
	key  string
	docs []uint32 // nil where it is not rare
	idf2 float64  // square of its idf; 0 where it is not rare
}

// A usedTerm is a rare term of a passage.
type usedTerm struct {
	*rareTerm

	text string // as it is written
	num  int    // which of the passage it was
}

// like returns what is like p.
func (s *alikeSearch) like(p *Passage) []Alike {
	terms := s.rare(p)
	if len(terms) < alikeTerms {
		return nil
	}
	most := alikeUnknown * math.Pow(idf(s.n, 2), 2)
	for _, t := range terms {
		most += t.idf2
	}
	type tally struct {
		score float64
		terms []int
	}
	found := map[uint32]*tally{}
	for i, t := range terms {
		for _, d := range t.docs {
			y := found[d]
			if y == nil {
				y = &tally{}
				found[d] = y
			}
			y.score += t.idf2
			y.terms = append(y.terms, i)
		}
	}
	var out []Alike
	for d, y := range found {
		if len(y.terms) < alikeTerms {
			continue
		}
		leaf := s.leafOf(d)
		local := d - leaf.offset
		a := Alike{Memory: fold.ID(leaf.value(leaf.ownerOf(local), ownerMemory)), Share: y.score / most}
		if a.Memory == p.Memory {
			continue
		}
		a.Key = leaf.key(local)
		for _, i := range y.terms {
			a.Terms = append(a.Terms, terms[i].text)
		}
		if a.Terms = withoutParts(a.Terms); len(a.Terms) >= alikeTerms {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b Alike) int { return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Key, b.Key)) })
	return out[:min(len(out), alikeMost)]
}

// rare returns the rare terms of p, the rarest first.
func (s *alikeSearch) rare(p *Passage) []usedTerm {
	text := p.Name + "\n" + p.Text[:min(len(p.Text), alikeText)]
	a := &s.analysis
	a.Least = words.Whole
	a.Reset(text)
	var out []usedTerm
	seen := map[string]bool{}
	var key [1 + words.MaxTerm]byte
	for channel, spans := range [...][]words.Span{channelWords: a.Terms, channelExact: a.Joined} {
		for _, span := range spans {
			b := append(append(key[:0], byte(channel)), a.Bytes(span)...)
			if seen[string(b)] || numeric(b[1:]) {
				continue
			}
			t := s.term(b, channel)
			seen[t.key] = true
			if t.idf2 > 0 {
				out = append(out, usedTerm{t, text[span.Start:span.End], len(out)})
			}
		}
	}
	slices.SortFunc(out, func(a, b usedTerm) int { // whole identifiers tell more than words
		return cmp.Or(cmp.Compare(b.idf2, a.idf2), cmp.Compare(b.key[0], a.key[0]), cmp.Compare(a.num, b.num))
	})
	return out[:min(len(out), rarestTerms)]
}

// term returns who has the term of a channel, under key.
func (s *alikeSearch) term(key []byte, channel int) *rareTerm {
	if t, ok := s.terms[string(key)]; ok {
		return t
	}
	t := &rareTerm{key: string(key)}
	s.terms[t.key] = t
	b := key[1:]
	var buf [maxKey]byte
	if channel == channelExact {
		b = exactKey(buf[:0], hash(b))
	}
	for n := range s.leaves {
		leaf := &s.leaves[n]
		for _, k := range alikeKinds {
			l, ok := leaf.dicts[k][channel].find(b)
			if !ok {
				continue
			}
			first := leaf.offset + leaf.first[k]
			for p := l.walk(); p.next(); {
				if d := first + p.doc; s.present.has(d) && (channel == channelExact || inOwnText(p.counts)) {
					if t.docs = append(t.docs, d); len(t.docs) > s.most {
						t.docs = nil
						return t
					}
				}
			}
		}
	}
	if len(t.docs) > 0 {
		t.idf2 = math.Pow(idf(s.n, float64(len(t.docs))), 2)
	}
	return t
}

// numeric reports whether a term is a number, a date or a hash rather than a word:
// two that have one in common have it by chance, or were made on one day.
func numeric(term []byte) bool {
	digits := 0
	for _, c := range term {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return 3*digits >= len(term)
}

// inOwnText reports whether a document itself has a term, rather than its path, its
// tags or what describes it.
func inOwnText(c counts) bool {
	return c.of(body) > 0 || c.of(symbol) > 0 || c.of(title) > 0
}

// withoutParts returns the first few of terms that are not part of another of them.
func withoutParts(terms []string) []string {
	low := make([]string, len(terms))
	for i, t := range terms {
		low[i] = strings.ToLower(t)
	}
	var out []string
	for i, t := range low {
		part := slices.Contains(low[:i], t) || slices.ContainsFunc(low, func(o string) bool { return len(o) > len(t) && strings.Contains(o, t) })
		if !part {
			if out = append(out, terms[i]); len(out) == alikeShown {
				break
			}
		}
	}
	return out
}
