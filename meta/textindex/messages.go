package textindex

import (
	"cmp"
	"slices"

	"github.com/foldwatch/foldwatch/meta/words"
)

// Messages finds short texts, such as the messages of past commits, by BM25. It
// is made in memory of a few thousand of them, in some 10 µs each, and has
// statistics of its own: what is rare in messages is not what is rare in code.
// It does not change and is safe for concurrent use.
type Messages struct {
	postings map[string][]messagePosting
	lengths  []uint16 // in terms
	average  float64
}

type messagePosting struct {
	text uint32
	tf   uint16
}

// A Like is a text that is like a question.
type Like struct {
	Text  int     // its place among the texts
	Score float64 // BM25
}

// k1 and b of messages. A long message is about more, but says so.
const (
	messageK1 = 1.2
	messageB  = .5
)

// maxMessageTerms bounds what is read of one text.
const maxMessageTerms = 400

// NewMessages indexes n texts.
func NewMessages(n int, text func(i int) string) *Messages {
	m := &Messages{postings: map[string][]messagePosting{}, lengths: make([]uint16, n)}
	total := 0
	for i := range n {
		terms := words.Analyze(text(i))
		terms = terms[:min(len(terms), maxMessageTerms)]
		slices.Sort(terms)
		m.lengths[i] = uint16(len(terms))
		total += len(terms)
		for len(terms) > 0 {
			same := 1
			for same < len(terms) && terms[same] == terms[0] {
				same++
			}
			m.postings[terms[0]] = append(m.postings[terms[0]], messagePosting{uint32(i), uint16(same)})
			terms = terms[same:]
		}
	}
	m.average = max(float64(total)/float64(max(n, 1)), 1)
	return m
}

// Like returns the n texts that are most like query, best first; among equals
// the later ones, which are newer.
func (m *Messages) Like(query string, n int) []Like {
	scores := make([]float64, len(m.lengths))
	var found []Like
	for _, term := range distinct(words.Analyze(clip(query))) {
		list := m.postings[term]
		worth := idf(float64(len(m.lengths)), float64(len(list)))
		for _, p := range list {
			if scores[p.text] == 0 {
				found = append(found, Like{Text: int(p.text)})
			}
			tf := float64(p.tf) / (1 - messageB + messageB*float64(m.lengths[p.text])/m.average)
			scores[p.text] += worth * tf / (messageK1 + tf)
		}
	}
	for i := range found {
		found[i].Score = scores[found[i].Text]
	}
	slices.SortFunc(found, func(a, b Like) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Text, a.Text)) })
	return found[:min(n, len(found))]
}

// Has reports whether one of the texts has all of terms, which are as meta/words makes
// them.
func (m *Messages) Has(terms ...string) bool {
	var common []messagePosting
	for i, term := range terms {
		list := m.postings[term]
		if i > 0 {
			list = slices.DeleteFunc(slices.Clone(list), func(p messagePosting) bool {
				_, ok := slices.BinarySearchFunc(common, p.text, func(c messagePosting, text uint32) int { return cmp.Compare(c.text, text) })
				return !ok
			})
		}
		if common = list; len(list) == 0 {
			return false
		}
	}
	return len(terms) > 0
}
