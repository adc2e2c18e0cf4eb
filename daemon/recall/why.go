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

// A held is what of a question stands in some texts.
type matchedWords struct {
	words  []string // as they were typed, each once
	text   string   // the same for people, who are told of which name a word is a part
	weight int      // of what is held; that of all is question.totalWeight
}

// has returns the words of the question that stand in texts, of which some are
// known to. A name is held where it stands there as it is: max and conns of a
// maxConns are not the name, wherever they stand.
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
			break // more than all cannot be found
		}
		q.prefilter.eachMatchingPart(text[:min(len(text), readBytes)], func(part string) bool {
			lacking -= q.noteForms(part, found)
			return lacking > 0
		})
	}
	return q.matched(found)
}

// matched says which words of the question were found, by number of their forms.
func (q question) matched(found []bool) (h matchedWords) {
	add := func(word string) bool {
		if slices.Contains(h.words, word) {
			return false
		}
		h.words = append(h.words, word)
		return true
	}
	var told []string
	for i := range q.words {
		w := &q.words[i]
		if found[w.number] || !w.name() && found[w.parts[0].number] {
			h.weight += w.weight()
			if add(w.text) {
				told = append(told, w.text)
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
			told = append(told, parts...)
		default:
			told = append(told, strings.Join(parts, " and ")+" of "+w.text)
		}
	}
	h.text = strings.Join(told, ", ")
	return h
}

// unmatched returns the words of the question, as they were typed, that stand neither in
// what names a memory nor in its own text, of which body was seen, or the chunks that
// matched.
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
// parts of words are among those that were not marked.
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

// weight is how much w counts in [matched] where it stands somewhere as it is.
func (w *askedWord) weight() int {
	if w.name() {
		return len(w.parts) + 1
	}
	return 1
}

// totalWeight is the weight of all of the question.
func (q question) totalWeight() (n int) {
	for i := range q.words {
		n += q.words[i].weight()
	}
	return n
}

// why says what made a memory a result, from what a reader may see of it: a chunk
// that is withheld speaks by its name only. The chunks come in the order of those of
// res; body is what was seen of the memory's own text. Beside is what has words of the
// question next to it, nil if that does not matter.
func why(r rank.Ranked, row *index.Summary, res *wire.SearchResult, chunks []quotedChunk, body formSet, q question, past []commitVote, beside *index.Summary) []wire.Reason {
	var out []wire.Reason
	first := 0 // weight of what the first chunk has
	for i, c := range res.MatchedChunks {
		if i > 0 && first == q.totalWeight() {
			break // no other says more
		}
		name := strings.TrimSpace(c.NodeType + " " + c.NodeName)
		in := q.match(chunks[i].seen, c.NodeName, chunks[i].seen.unread(chunks[i].text))
		if i == 0 {
			first = in.weight
		} else if in.weight <= first {
			continue // the first says as much
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
		adds[rank.AboutTerm(t.Name).Channel] += t.Value * t.Weight
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

// A voter is a past commit whose message is like a question.
type commitVote struct {
	oid, subject string
	files        []fold.ID
}

// bestVote returns the commit most like the question that touched the file id,
// nil if none did. Voters come most like it first.
func bestVote(voters []commitVote, id fold.ID) *commitVote {
	for i := range voters {
		if slices.Contains(voters[i].files, id) {
			return &voters[i]
		}
	}
	return nil
}

// explain lists the addends of a score: they sum up to it. Those of one channel
// stand together, channels that add most first, strength last.
func explain(r rank.Ranked, weight float64) []wire.ScoreTerm {
	var out []wire.ScoreTerm
	sums := map[string]float64{}
	for _, t := range r.Terms() {
		w, a := t.Weight*(1-weight), rank.AboutTerm(t.Name)
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
