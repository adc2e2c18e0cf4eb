package recall

import (
	"context"
	"math/bits"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/meta/words"
)

// An occurrence says where a word or name of a question occurs.
type occurrence int

const (
	absent           occurrence = iota
	possiblyFiltered            // like possible, but in what does not pass the filter
	onlyFiltered                // only in what does not pass the filter
	possible                    // all pairs of its words occur, perhaps within a longer name
	present
)

// A wordOccurrence says where a project has one word of a question.
type wordOccurrence struct {
	at    occurrence
	parts uint64 // bit i: part i occurs in what passes the filter; of the first 64
	docs  int    // how many documents have it, see [textindex.Occurrence]

	partDocs []int // how many documents have each part of a name that does not occur
}

// occurrencesOf returns where the words of a question occur, by what the text index says
// of their forms. A word of a past commit's message counts as present; t may be nil.
func occurrencesOf(words []askedWord, occurs []textindex.Occurrence, t *commitIndex) []wordOccurrence {
	out := make([]wordOccurrence, len(words))
	for i := range words {
		w, p := &words[i], &out[i]
		for n, part := range w.parts {
			o := formOccurrence(occurs, part.term, false)
			if o.Docs == 0 && t != nil && t.messages.Has(part.term) {
				o.Docs, o.Passing = 1, true
			}
			if p.docs = o.Docs; o.Passing && n < 64 {
				p.parts |= 1 << n
			}
			if p.at = onlyFiltered; o.Passing {
				p.at = present
			} else if o.Docs == 0 {
				p.at = absent
			}
		}
		if w.name() {
			if p.at, p.docs = w.nameOccurrence(occurs, p.parts, t); p.at <= possible {
				for _, part := range w.parts {
					p.partDocs = append(p.partDocs, formOccurrence(occurs, part.term, false).Docs)
				}
			}
		}
		if !spaced(w.text) {
			p.at = present // only a dictionary could cut such a text into words
		}
	}
	return out
}

// nameOccurrence returns where a name occurs, of which these parts occur, and in how
// many documents.
func (w *askedWord) nameOccurrence(occurs []textindex.Occurrence, parts uint64, t *commitIndex) (occurrence, int) {
	switch o := formOccurrence(occurs, w.whole, true); {
	case o.Passing:
		return present, o.Docs
	case o.Docs > 0:
		return onlyFiltered, o.Docs
	}
	var terms []string
	for _, p := range w.parts {
		if formOccurrence(occurs, p.term, false).Docs == 0 && (t == nil || !t.messages.Has(p.term)) {
			return absent, 0
		}
		terms = append(terms, p.term)
	}
	if t != nil && t.messages.Has(terms...) {
		return possible, 0
	}
	// The index holds a longer name as pairs of neighbouring words, without stop words.
	if !w.stops && len(w.parts) < 3 {
		return absent, 0
	}
	var a words.Analysis
	a.Least = words.Pair
	a.Reset(w.text)
	for _, s := range a.Joined {
		if s.Form == words.Pair && formOccurrence(occurs, string(a.Bytes(s)), true).Docs == 0 {
			return absent, 0
		}
	}
	if bits.OnesCount64(parts) < min(len(w.parts), 64) {
		return possiblyFiltered, 0
	}
	return possible, 0
}

// wordOccurrences returns where the words of a question occur in this project. Past
// commits are only read if the text index lacks one of the words.
func (s *Service) wordOccurrences(ctx context.Context, words []askedWord, occurs []textindex.Occurrence) ([]wordOccurrence, error) {
	at := occurrencesOf(words, occurs, nil)
	if !slices.ContainsFunc(at, func(p wordOccurrence) bool { return p.at == absent }) {
		return at, nil
	}
	t, err := s.history.load(ctx, s)
	if err != nil || t == nil {
		return at, err
	}
	return occurrencesOf(words, occurs, t), nil
}

// formOccurrence returns the occurrence of a form among all; one that was not looked up
// counts as present.
func formOccurrence(all []textindex.Occurrence, form string, joined bool) textindex.Occurrence {
	for _, o := range all {
		if o.Joined == joined && o.Form == form {
			return o
		}
	}
	return textindex.Occurrence{Form: form, Joined: joined, Docs: 1, Passing: true}
}

// spaced reports whether s is of a script that is written with spaces between words.
func spaced(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x0E00 && (r < 0x1E00 || r >= 0x2000) })
}

// mergeOccurrences combines what several projects have of the same words.
func mergeOccurrences(all [][]wordOccurrence) []wordOccurrence {
	var out []wordOccurrence
	for _, one := range all {
		if out == nil {
			out = slices.Clone(one)
			continue
		}
		for i := range one {
			out[i].at, out[i].parts = max(out[i].at, one[i].at), out[i].parts|one[i].parts
			out[i].docs += one[i].docs
		}
	}
	return out
}

// How much a name counts of which only the parts occur, compared with one that occurs:
// without the identifier itself, its words are hardly what was asked for. Words joined
// by hyphens, as in prose, count for more.
const (
	partsOfName  = .4
	partsOfLoose = .8
)

// presentShare returns the share of a question that occurs in what was searched, in
// (0, 1]. The best result of a question of which half is missing fits it by half at most.
func presentShare(words []askedWord, at []wordOccurrence) float64 {
	all, there := 0.0, 0.0
	for i := range at {
		w, n := &words[i], float64(len(words[i].parts))
		all += n
		has := float64(bits.OnesCount64(at[i].parts))
		switch {
		case at[i].at >= possible:
			there += n
		case w.loose:
			there += partsOfLoose * has
		case w.name():
			there += partsOfName * has
		}
	}
	const least = .05
	if all == 0 {
		return 1
	}
	return max(there/all, least)
}

// wordsWith returns the words of a question, as they were typed, that occur where, each
// once.
func wordsWith(words []askedWord, at []wordOccurrence, where occurrence) (out []string) {
	for i := range at {
		if at[i].at == where && !slices.Contains(out, words[i].text) {
			out = append(out, words[i].text)
		}
	}
	return out
}

// rescale multiplies the scores of a page by certainty, and notes which words of the
// question occur nowhere, or only in what the filter leaves out.
func (q *search) rescale(reply *wire.SearchReply, certainty float64) {
	for i := range reply.Results {
		scaleScores(&reply.Results[i], certainty)
	}
	reply.NotFound = wordsWith(q.words, q.occurrences, absent)
	filtered := append(wordsWith(q.words, q.occurrences, onlyFiltered), wordsWith(q.words, q.occurrences, possiblyFiltered)...)
	if len(filtered) > 0 && len(reply.Results) > 0 {
		note(reply, "only what the filters leave out has "+quoted(filtered))
	}
}

// scaleScores multiplies the scores of a result, and the terms of them, by f.
func scaleScores(r *wire.SearchResult, f float64) {
	if f == 1 {
		return
	}
	r.Score, r.Relevance = r.Score*f, r.Relevance*f
	for i := range r.MatchedChunks {
		r.MatchedChunks[i].Score *= f
	}
	for i := range r.Explain {
		r.Explain[i].Weight, r.Explain[i].Adds = r.Explain[i].Weight*f, r.Explain[i].Adds*f
	}
}
