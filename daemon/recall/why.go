package recall

import (
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/words"
)

// has returns the words of the question that stand in texts, of which some are
// known to.
func (q question) has(known seenForms, texts ...string) []string {
	found := append(q.room.has[:0], make([]bool, q.asks+1)...)
	q.room.has = found
	lacking := q.parts
	for _, f := range q.forms {
		if f.number > 0 && known.has(f.number) {
			if found[f.number] = true; f.part {
				lacking--
			}
		}
	}
	a := &q.room.analysis
	for _, text := range texts {
		if lacking == 0 {
			break // more than all cannot be found
		}
		q.sift.passing(text[:min(len(text), readBytes)], func(part string) bool {
			a.Reset(part)
			for _, spans := range [...][]words.Span{a.Terms, a.Joined} {
				for _, s := range spans {
					b := a.Bytes(s)
					if !q.sift.begins(b) {
						continue
					}
					if f := q.forms[string(b)]; f.number > 0 && !found[f.number] {
						if found[f.number] = true; f.part {
							lacking--
						}
					}
				}
			}
			return lacking > 0
		})
	}
	var out []string
	add := func(word string) {
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	for _, w := range q.words {
		lacks := slices.ContainsFunc(w.parts, func(p wordPart) bool { return !found[p.number] })
		if !lacks || found[w.number] {
			add(w.text)
			continue
		}
		for _, p := range w.parts {
			if found[p.number] {
				add(p.text)
			}
		}
	}
	return out
}

// most is how many words [question.has] returns at most.
func (q question) most() (n int) {
	for _, w := range q.words {
		n += max(1, len(w.parts)-1)
	}
	return n
}

// why says what made a memory a result, from what a reader may see of it: a chunk
// that is withheld speaks by its name only. The chunks come in the order of those of
// res; body is what was seen of the memory's own text.
func why(r rank.Ranked, row *meta.Card, res *wire.SearchResult, chunks []shownChunk, body seenForms, q question, past []voter) []wire.Reason {
	var out []wire.Reason
	for i, c := range res.MatchedChunks {
		if i > 0 && len(out[0].Words) == q.most() {
			break // no other says more
		}
		name := strings.TrimSpace(c.NodeType + " " + c.NodeName)
		in := q.has(chunks[i].seen, c.NodeName, chunks[i].text)
		if i > 0 && len(in) <= len(out[0].Words) {
			continue // the first says as much
		}
		text := name
		if len(in) > 0 {
			text += " has " + strings.Join(in, ", ")
		}
		out = append(out, wire.Reason{Kind: wire.WhyChunk, Text: text, Words: in, Chunk: c.ID})
		if i > 0 {
			break
		}
	}
	var in []string
	if len(res.MatchedChunks) == 0 {
		in = q.has(body, row.Title, row.FilePath, strings.Join(row.Tags, " "), row.Body)
	}
	if len(in) > 0 {
		out = append(out, wire.Reason{Kind: wire.WhyText, Text: "its text has " + strings.Join(in, ", "), Words: in})
	} else if in := q.has(0, row.Title, row.FilePath); len(in) > 0 {
		out = append(out, wire.Reason{Kind: wire.WhyText, Text: "its name has " + strings.Join(in, ", "), Words: in})
	}
	adds := map[string]float64{}
	for _, t := range r.Terms() {
		adds[rank.AboutTerm(t.Name).Channel] += t.Value * t.Weight
	}
	if v := votedFor(past, r.ID); v != nil && adds["commits"] > 0 {
		out = append(out, wire.Reason{
			Kind: wire.WhyCommit, Text: "commit " + v.oid[:min(len(v.oid), 7)] + " \"" + v.subject + "\" touched this file", Words: q.has(0, v.subject), Commit: v.oid, Subject: v.subject,
		})
	}
	if len(out) == 0 && adds["neighbours"] > 0 {
		out = append(out, wire.Reason{Kind: wire.WhySession, Text: "said next to what matched, in the same session"})
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
type voter struct {
	oid, subject string
	files        []fold.ID
}

// votedFor returns the commit most like the question that touched the file id,
// nil if none did. Voters come most like it first.
func votedFor(voters []voter, id fold.ID) *voter {
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
