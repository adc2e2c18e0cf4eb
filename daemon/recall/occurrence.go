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

// A whereabouts says where a word or name of a question occurs.
type occurrence int

const (
	absent           occurrence = iota
	possiblyFiltered            // like unsure, in what does not pass the filter
	onlyFiltered                // only in what does not pass the filter
	possible                    // all pairs of its words do, perhaps within a longer name
	present
)

// A presence is what a project has of one word of a question.
type wordOccurrence struct {
	at    occurrence
	parts uint64 // bit i: part i occurs in what passes the filter; of the first 64
	docs  int    // that have it, see [textindex.Occurrence]

	partDocs []int // that have each part of a name that is not there
}

// occurrencesOf says where the words of a question occur, which is asked as often as
// occurs says. Messages of past commits count as the project.
func occurrencesOf(asked []askedWord, occurs []textindex.Occurrence, t *commitIndex) []wordOccurrence {
	out := make([]wordOccurrence, len(asked))
	for i := range asked {
		w, p := &asked[i], &out[i]
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
			p.at = present // what is a word there only a dictionary knows
		}
	}
	return out
}

// nameOccurrence is that of a name, of which these parts occur.
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
	// Of a longer name the index has neighbouring words in pairs, but for words that say
	// nothing alone.
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

// occurrencesOf says where the words of a question occur in this project, as the text index
// says and, where that knows nothing of one, past commits.
func (s *Door) wordOccurrences(ctx context.Context, asked []askedWord, occurs []textindex.Occurrence) ([]wordOccurrence, error) {
	at := occurrencesOf(asked, occurs, nil)
	if !slices.ContainsFunc(at, func(p wordOccurrence) bool { return p.at == absent }) {
		return at, nil
	}
	t, err := s.history.load(ctx, s)
	if err != nil || t == nil {
		return at, err
	}
	return occurrencesOf(asked, occurs, t), nil
}

// formOccurrence returns what all says of a form. One that was not looked up may be anywhere.
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

// mergeOccurrences is what several projects have of the same words.
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

// What a name counts of which only parts occur, beside one that does: an identifier
// that is not there is not what was asked for, whatever its words are.
const (
	partsOfName  = .4
	partsOfLoose = .8
)

// presentShare is the share of a question that occurs in what was searched, in (0, 1]. The
// best of a search is the best for what is there: of a question that half is missing
// from, no result is more than half.
func presentShare(asked []askedWord, at []wordOccurrence) float64 {
	all, there := 0.0, 0.0
	for i := range at {
		w, n := &asked[i], float64(len(asked[i].parts))
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
	const trace = .05
	if all == 0 {
		return 1
	}
	return max(there/all, trace)
}

// wordsWith returns the words of a question, as they were typed, that are at these
// whereabouts, each once.
func wordsWith(asked []askedWord, at []wordOccurrence, where occurrence) (out []string) {
	for i := range at {
		if at[i].at == where && !slices.Contains(out, asked[i].text) {
			out = append(out, asked[i].text)
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
