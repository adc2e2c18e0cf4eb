package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// maxStatement is the length in bytes up to which a memory of a session is taken for a
// statement of somebody rather than a report.
const maxStatement = 2000

// afterwards is how long after a day people still talk about it.
const afterwards = 7 * 24 * time.Hour

// addHints tells the ranker what a question says, beside its words, of memories of
// sessions: the person and the time it names, and links to the best results. It reads
// nothing if there is no memory of a session.
func (s *Service) addHints(ctx context.Context, query string, now time.Time, c *rank.Candidates) error {
	var ids []fold.ID
	for _, h := range c.Memories {
		if strings.HasPrefix(c.Places[h.Key].Group, inSession) {
			ids = append(ids, h.Memory)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	statements, err := s.Index.Statements(ctx, ids, maxStatement)
	if err != nil {
		return err
	}
	c.Hints = hintsOf(query, statements, now)
	return s.addLinkHints(ctx, c)
}

// linkHintResults is how many of the best results, by words, have their links followed.
const linkHintResults = 3

// addLinkHints marks the candidates that a written link connects with one of the best
// results.
func (s *Service) addLinkHints(ctx context.Context, c *rank.Candidates) error {
	best := slices.Clone(c.Memories)
	slices.SortFunc(best, func(a, b rank.Hit) int {
		return cmp.Or(cmp.Compare(b.Fielded, a.Fielded), cmp.Compare(a.Key, b.Key))
	})
	var ids []fold.ID
	for _, h := range best[:min(len(best), linkHintResults)] {
		if h.Fielded > 0 {
			ids = append(ids, h.Memory)
		}
	}
	out, in, err := s.Index.LinksOf(ctx, ids)
	if err != nil {
		return err
	}
	add := func(id fold.ID, derived bool) {
		if !derived {
			hint := c.Hints[id]
			hint.Linked = 1
			c.Hints[id] = hint
		}
	}
	for _, id := range ids {
		for _, l := range out[id] {
			add(l.To, l.Derived)
		}
		for _, l := range in[id] {
			add(l.From, l.Derived)
		}
	}
	return nil
}

// hintsOf returns the hints that a question asked now gives about statements.
func hintsOf(query string, statements map[fold.ID]index.Statement, now time.Time) map[fold.ID]rank.Hint {
	authors := map[string]bool{}
	for _, t := range statements {
		authors[t.Author] = true
	}
	named := ""
	for a := range authors {
		if !names(query, a) {
			continue
		}
		if named != "" { // the question names several authors, so it is not about one of them
			named = ""
			break
		}
		named = a
	}
	when := asksWhen(query)
	from, to := timeSpan(query, now)
	hints := make(map[fold.ID]rank.Hint, len(statements))
	for id, t := range statements {
		var hint rank.Hint
		if named != "" && t.Author == named {
			hint.Person = 1
		}
		if when && mentionsTime(t.Text) {
			hint.Time = 1
		}
		switch {
		case from.IsZero() || t.At.Before(from):
		case t.At.Before(to):
			hint.Time = 1
		case t.At.Before(to.Add(afterwards)):
			hint.Time = max(hint.Time, .5)
		}
		if endsWithQuestion(t.Text) {
			hint.Asks = 1
		}
		if hint != (rank.Hint{}) {
			hints[id] = hint
		}
	}
	return hints
}

// names reports whether a question has a part of the author's name that begins with a
// capital letter. Programs that write memories have names in small letters, which are
// often the names of things too.
func names(query, author string) bool {
	for part := range strings.FieldsSeq(author) {
		if first, _ := utf8.DecodeRuneInString(part); !unicode.IsUpper(first) || utf8.RuneCountInString(part) < 2 {
			continue
		}
		if hasWord(query, part) {
			return true
		}
	}
	return false
}

// hasWord reports whether text has word as a whole word.
func hasWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		start := at + i
		at = start + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[at:])
		if !letter(before) && !letter(after) {
			return true
		}
	}
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// endsWithQuestion reports whether a text ends with a question, so that the next
// statement is the answer. The description of a picture, in brackets below the text, does
// not count.
func endsWithQuestion(text string) bool {
	lines := strings.Split(text, "\n")
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[") {
			return strings.HasSuffix(line, "?")
		}
	}
	return false
}
