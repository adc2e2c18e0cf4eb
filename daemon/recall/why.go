package recall

import (
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/words"
)

// matchedWords are the words of a question that occur in some texts.
type matchedWords struct {
	words  []string // as they were typed, each once
	text   string   // for people; it says which name a word is a part of
	weight int      // of these words; that of the whole question is question.totalWeight
}

// match returns the words of the question that occur in texts, beside those already
// known. A name matches if it occurs as it is; max and conns alone are only parts of
// maxConns.
func (q question) match(known formSet, texts ...string) matchedWords {
	found := append(q.buffers.has[:0], make([]bool, q.formCount+1)...)
	q.buffers.has = found
	lacking := q.partCount
	for _, f := range q.forms {
		if f.number > 0 && known.has(f.number) {
			if found[f.number] = true; f.required {
				lacking--
			}
		}
	}
	for _, text := range texts {
		if lacking == 0 {
			break // all are found
		}
		q.prefilter.eachMatchingPart(text[:min(len(text), readBytes)], func(part string) bool {
			lacking -= q.noteForms(part, found)
			return lacking > 0
		})
	}
	return q.matched(found)
}

// matched returns the words of the question whose forms were found, by number.
func (q question) matched(found []bool) (h matchedWords) {
	add := func(word string) bool {
		if slices.Contains(h.words, word) {
			return false
		}
		h.words = append(h.words, word)
		return true
	}
	var texts []string
	for i := range q.words {
		w := &q.words[i]
		if found[w.number] || !w.name() && found[w.parts[0].number] {
			h.weight += w.weight()
			if add(w.text) {
				texts = append(texts, w.text)
			}
			continue
		}
		var parts []string
		for _, p := range w.parts {
			if w.name() && found[p.number] {
				h.weight++
				if add(p.text) {
					parts = append(parts, p.text)
				}
			}
		}
		switch {
		case len(parts) == 0:
		case w.loose:
			texts = append(texts, parts...)
		default:
			texts = append(texts, strings.Join(parts, " and ")+" of "+w.text)
		}
	}
	h.text = strings.Join(texts, ", ")
	return h
}

// unmatched returns the words of the question, as they were typed, that occur neither in
// the names of a memory, nor in its text, of which body is known, nor in its matched
// chunks.
func (q question) unmatched(row *index.Summary, chunks []quotedChunk, body formSet) (out []string) {
	texts := []string{row.Title, row.FilePath, strings.Join(row.Tags, " "), body.unread(row.Body)}
	for _, c := range chunks {
		texts = append(texts, c.seen.unread(c.text))
		body |= c.seen
	}
	h := q.match(body, texts...)
	for i := range q.words {
		if text := q.words[i].text; !slices.Contains(h.words, text) && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// noteForms marks in found the forms of the question that part has, and returns how many
// required ones are new.
func (q question) noteForms(part string, found []bool) (parts int) {
	a := &q.buffers.analysis
	a.Reset(part)
	for _, spans := range [...][]words.Span{a.Terms, a.Joined} {
		for _, s := range spans {
			b := a.Bytes(s)
			if !q.prefilter.formMayMatch(b) {
				continue
			}
			if f := q.forms[string(b)]; f.number > 0 && !found[f.number] {
				if found[f.number] = true; f.required {
					parts++
				}
			}
		}
	}
	return parts
}

// weight is how much w counts in [matchedWords] if it occurs as it is.
func (w *askedWord) weight() int {
	if w.name() {
		return len(w.parts) + 1
	}
	return 1
}

// totalWeight is the weight of all words of the question.
func (q question) totalWeight() (n int) {
	for i := range q.words {
		n += q.words[i].weight()
	}
	return n
}

// why returns the reasons why a memory is a result, from what the reader may see: a
// hidden chunk only gives its name. Chunks are in the order of those of res; body is
// known of the memory's own text. Beside is a neighbour with words of the question, or
// nil.
func why(r rank.Ranked, row *index.Summary, res *wire.SearchResult, chunks []quotedChunk, body formSet, q question, past []commitVote, beside *index.Summary) []wire.Reason {
	var out []wire.Reason
	first := 0 // weight of what the first chunk has
	for i, c := range res.MatchedChunks {
		if i > 0 && first == q.totalWeight() {
			break // another chunk can add nothing
		}
		name := strings.TrimSpace(c.NodeType + " " + c.NodeName)
		in := q.match(chunks[i].seen, c.NodeName, chunks[i].seen.unread(chunks[i].text))
		if i == 0 {
			first = in.weight
		} else if in.weight <= first {
			continue // the first chunk has as much
		}
		text := name
		if len(in.words) > 0 {
			text += " has " + in.text
		}
		out = append(out, wire.Reason{Kind: wire.WhyChunk, Text: text, Words: in.words, Chunk: c.ID})
		if i > 0 {
			break
		}
	}
	var in matchedWords
	if len(res.MatchedChunks) == 0 {
		in = q.match(body, row.Title, row.FilePath, strings.Join(row.Tags, " "), body.unread(row.Body))
	}
	if len(in.words) > 0 {
		out = append(out, wire.Reason{Kind: wire.WhyText, Text: "its text has " + in.text, Words: in.words})
	} else if in := q.match(0, row.Title, row.FilePath); len(in.words) > 0 {
		out = append(out, wire.Reason{Kind: wire.WhyText, Text: "its name has " + in.text, Words: in.words})
	} else if in := q.match(0, row.Author); len(out) == 0 && len(in.words) > 0 {
		out = append(out, wire.Reason{Kind: wire.WhyText, Text: "it is by " + in.text, Words: in.words})
	}
	adds := map[string]float64{}
	for _, t := range r.Terms() {
		adds[rank.DescribeTerm(t.Name).Channel] += t.Value * t.Weight
	}
	if v := bestVote(past, r.ID); v != nil && adds["commits"] > 0 {
		out = append(out, wire.Reason{
			Kind: wire.WhyCommit, Text: "commit " + v.oid[:min(len(v.oid), 7)] + " \"" + v.subject + "\" touched this file", Words: q.match(0, v.subject).words, Commit: v.oid, Subject: v.subject,
		})
	}
	if len(out) == 0 && adds["neighbours"] > 0 {
		reason := wire.Reason{Kind: wire.WhySession, Text: "said next to what matched, in the same session"}
		if beside != nil {
			in := q.match(0, beside.Title, strings.Join(beside.Tags, " "), beside.Body)
			reason.Text, reason.Words = "has none of the words; said next to \""+clip(beside.Title, subjectRunes)+"\"", in.words
			if len(in.words) > 0 {
				reason.Text += ", which has " + in.text
			}
		}
		out = append(out, reason)
	}
	if adds["links"] > 0 {
		out = append(out, wire.Reason{Kind: wire.WhyLink, Text: "tied to what matched"})
	}
	if adds["meaning"] > 0 {
		out = append(out, wire.Reason{Kind: wire.WhyMeaning, Text: "near in meaning"})
	}
	return out
}

// A commitVote is a past commit whose message is similar to a question.
type commitVote struct {
	oid, subject string
	files        []fold.ID
}

// bestVote returns the commit most similar to the question that touched the file id, nil
// if none did. Voters come most similar first.
func bestVote(voters []commitVote, id fold.ID) *commitVote {
	for i := range voters {
		if slices.Contains(voters[i].files, id) {
			return &voters[i]
		}
	}
	return nil
}

// explain lists the summands of a score, grouped by channel, the largest channel first
// and strength last.
func explain(r rank.Ranked, weight float64) []wire.ScoreTerm {
	var out []wire.ScoreTerm
	sums := map[string]float64{}
	for _, t := range r.Terms() {
		w, a := t.Weight*(1-weight), rank.DescribeTerm(t.Name)
		out = append(out, wire.ScoreTerm{Name: t.Name, Channel: a.Channel, About: a.Text, Value: t.Value, Weight: w, Adds: t.Value * w})
		sums[a.Channel] += t.Value * w
	}
	slices.SortStableFunc(out, func(a, b wire.ScoreTerm) int {
		switch {
		case a.Channel == b.Channel:
			return 0
		case sums[a.Channel] > sums[b.Channel]:
			return -1
		case sums[a.Channel] < sums[b.Channel]:
			return 1
		}
		return strings.Compare(a.Channel, b.Channel)
	})
	return append(out, wire.ScoreTerm{
		Name: "strength", Channel: "strength", About: "how lately it changed or was read, how often", Value: r.Strength, Weight: weight, Adds: r.Strength * weight,
	})
}
