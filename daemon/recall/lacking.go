package recall

import (
	"context"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/meta/words"
)

// A whereabouts says where a word or name of a question occurs.
type whereabouts int

const (
	nowhere   whereabouts = iota
	perhaps               // like unsure, in what does not pass the filter
	elsewhere             // only in what does not pass the filter
	unsure                // all pairs of its words do, perhaps within a longer name
	somewhere
)

// A presence is what a project has of one word of a question.
type presence struct {
	at    whereabouts
	parts uint64 // bit i: part i occurs in what passes the filter; of the first 64
	docs  int    // that have it, see [textindex.Occurrence]

	partDocs []int // that have each part of a name that is not there
}

// presences says where the words of a question occur, which is asked as often as
// occurs says. Messages of past commits count as the project.
func presences(asked []askedWord, occurs []textindex.Occurrence, t *told) []presence {
	out := make([]presence, len(asked))
	for i := range asked {
		w, p := &asked[i], &out[i]
		for n, part := range w.parts {
			o := occurrence(occurs, part.term, false)
			if o.Docs == 0 && t != nil && t.messages.Has(part.term) {
				o.Docs, o.Passing = 1, true
			}
			if p.docs = o.Docs; o.Passing && n < 64 {
				p.parts |= 1 << n
			}
			if p.at = elsewhere; o.Passing {
				p.at = somewhere
			} else if o.Docs == 0 {
				p.at = nowhere
			}
		}
		if w.name() {
			if p.at, p.docs = w.presence(occurs, p.parts, t); p.at <= unsure {
				for _, part := range w.parts {
					p.partDocs = append(p.partDocs, occurrence(occurs, part.term, false).Docs)
				}
			}
		}
		if !spaced(w.text) {
			p.at = somewhere // what is a word there only a dictionary knows
		}
	}
	return out
}

// presence is that of a name, of which these parts occur.
func (w *askedWord) presence(occurs []textindex.Occurrence, parts uint64, t *told) (whereabouts, int) {
	switch o := occurrence(occurs, w.whole, true); {
	case o.Passing:
		return somewhere, o.Docs
	case o.Docs > 0:
		return elsewhere, o.Docs
	}
	var terms []string
	for _, p := range w.parts {
		if occurrence(occurs, p.term, false).Docs == 0 && (t == nil || !t.messages.Has(p.term)) {
			return nowhere, 0
		}
		terms = append(terms, p.term)
	}
	if t != nil && t.messages.Has(terms...) {
		return unsure, 0
	}
	// Of a longer name the index has neighbouring words in pairs, but for words that say
	// nothing alone.
	if !w.stops && len(w.parts) < 3 {
		return nowhere, 0
	}
	var a words.Analysis
	a.Least = words.Pair
	a.Reset(w.text)
	for _, s := range a.Joined {
		if s.Form == words.Pair && occurrence(occurs, string(a.Bytes(s)), true).Docs == 0 {
			return nowhere, 0
		}
	}
	if bits.OnesCount64(parts) < min(len(w.parts), 64) {
		return perhaps, 0
	}
	return unsure, 0
}

// presences says where the words of a question occur in this project, as the text index
// says and, where that knows nothing of one, past commits.
func (d *Door) presences(ctx context.Context, asked []askedWord, occurs []textindex.Occurrence) ([]presence, error) {
	at := presences(asked, occurs, nil)
	if !slices.ContainsFunc(at, func(p presence) bool { return p.at == nowhere }) {
		return at, nil
	}
	t, err := d.past.at(ctx, d)
	if err != nil || t == nil {
		return at, err
	}
	return presences(asked, occurs, t), nil
}

// occurrence returns what all says of a form. One that was not looked up may be anywhere.
func occurrence(all []textindex.Occurrence, form string, joined bool) textindex.Occurrence {
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

// together is what several projects have of the same words.
func together(all [][]presence) []presence {
	var out []presence
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

// occurring is the share of a question that occurs in what was searched, in (0, 1]. The
// best of a search is the best for what is there: of a question that half is missing
// from, no result is more than half.
func occurring(asked []askedWord, at []presence) float64 {
	all, there := 0.0, 0.0
	for i := range at {
		w, n := &asked[i], float64(len(asked[i].parts))
		all += n
		has := float64(bits.OnesCount64(at[i].parts))
		switch {
		case at[i].at >= unsure:
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

// lacking returns the words of a question, as they were typed, that are at these
// whereabouts, each once.
func lacking(asked []askedWord, at []presence, where whereabouts) (out []string) {
	for i := range at {
		if at[i].at == where && !slices.Contains(out, asked[i].text) {
			out = append(out, asked[i].text)
		}
	}
	return out
}

// lookedFor is in how many of the best results a name is looked for: the same for every
// page and limit, so that what they say of scores is.
const lookedFor = 10

// A lookout looks for one name in what is shown: where a name is the whole question,
// what has it within a longer one comes first. Nil looks for nothing. It is safe for
// concurrent use.
type lookout struct {
	whole string

	mu   sync.Mutex // guards seen
	seen bool
}

// lookoutFor returns a lookout for the name that is all of a question, if it is not
// known whether that occurs.
func lookoutFor(asked []askedWord, at []presence) *lookout {
	if len(asked) != 1 || len(at) != 1 || at[0].at != unsure && at[0].at != perhaps {
		return nil
	}
	return &lookout{whole: asked[0].whole}
}

// at notes whether a memory, or one of its chunks, has the name, however its words are
// joined there.
func (l *lookout) at(row *index.Summary, chunks []shownChunk) {
	if l == nil {
		return
	}
	texts := []string{row.Title, row.FilePath, row.Body}
	for _, c := range chunks {
		texts = append(texts, c.text)
	}
	for _, text := range texts {
		joined := strings.Map(func(r rune) rune {
			if r == '_' || r == '-' {
				return -1
			}
			return r
		}, strings.ToLower(text))
		if strings.Contains(joined, l.whole) {
			l.mu.Lock()
			l.seen = true
			l.mu.Unlock()
		}
	}
}

// through looks through the best of what was found.
func (l *lookout) through(ctx context.Context, doors []Lender, found rank.Candidates, parts []part, req wire.SearchRequest, f textindex.Filter, opt rank.Options) error {
	best := order(found, req, opt)
	best = best[:min(len(best), lookedFor)]
	limitChunks(best, req)
	_, err := showAll(ctx, doors, best, req, f, parts, l)
	return err
}

// leftOut says where the name is that nothing has which passes the filter: what the
// filter leaves out is searched for it.
func (l *lookout) leftOut(ctx context.Context, doors []Lender, asked []askedWord, req wire.SearchRequest, channels Channels, cursor wire.SearchCursor, opt rank.Options) (whereabouts, error) {
	req = unfiltered(req)
	found, parts, err := gatherAll(ctx, doors, req, asked, textindex.Filter{}, channels, &cursor)
	if err != nil {
		return nowhere, err
	}
	if err := l.through(ctx, doors, found, parts, req, textindex.Filter{}, opt); err != nil || l.missed() {
		return nowhere, err
	}
	return elsewhere, nil
}

// unfiltered is the request without what leaves something out.
func unfiltered(req wire.SearchRequest) wire.SearchRequest {
	req.Source, req.Type, req.Author, req.Language, req.FilePattern = "", "", "", "", ""
	req.Tags, req.After, req.Before = nil, "", ""
	return req
}

// missed reports whether it was looked for and not seen.
func (l *lookout) missed() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.seen
}

// rate makes the results of a page score as much as the search is sure of, and says
// what of the question occurs nowhere.
func rate(reply *wire.SearchReply, asked []askedWord, there []presence, sure float64) {
	for i := range reply.Results {
		scale(&reply.Results[i], sure)
	}
	reply.NotFound = lacking(asked, there, nowhere)
	if out := append(lacking(asked, there, elsewhere), lacking(asked, there, perhaps)...); len(out) > 0 && len(reply.Results) > 0 {
		note(reply, "only what the filters leave out has "+quoted(out))
	}
}

// scale makes what a result scores f times as much, and each addend of that.
func scale(r *wire.SearchResult, f float64) {
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
