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

// maxStatement is the length in bytes up to which a memory of a session is read as
// something that was said, rather than as a report of much.
const maxStatement = 2000

// afterwards is how long after a day people still tell of it.
const afterwards = 7 * 24 * time.Hour

// addHints tells the ranker what else a question says of the memories of sessions
// that it looks for: whom it names, and when; and which of them are linked. Where
// there are none it costs nothing.
func (s *Door) addHints(ctx context.Context, query string, now time.Time, c *rank.Candidates) error {
	var ids []fold.ID
	for _, h := range c.Memories {
		if strings.HasPrefix(c.Places[h.Key].Group, inSession) {
			ids = append(ids, h.Memory)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	told, err := s.Index.Statements(ctx, ids, maxStatement)
	if err != nil {
		return err
	}
	c.Cues = hintsOf(query, told, now)
	return s.addLinkHints(ctx, c)
}

// linkHintResults is how many of the best by words lead on to others.
const linkHintResults = 3

// hop tells the ranker which candidates a written link ties to one of the best by
// words.
func (s *Door) addLinkHints(ctx context.Context, c *rank.Candidates) error {
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
			cue := c.Cues[id]
			cue.Linked = 1
			c.Cues[id] = cue
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

// hintsOf returns what a question that is asked now says of what was told.
func hintsOf(query string, told map[fold.ID]index.Statement, now time.Time) map[fold.ID]rank.Cue {
	authors := map[string]bool{}
	for _, t := range told {
		authors[t.Author] = true
	}
	named := ""
	for a := range authors {
		if !names(query, a) {
			continue
		}
		if named != "" { // of both: the question is not about what one of them says
			named = ""
			break
		}
		named = a
	}
	when := asksWhen(query)
	from, to := timeSpan(query, now)
	cues := make(map[fold.ID]rank.Cue, len(told))
	for id, t := range told {
		var cue rank.Cue
		if named != "" && t.Author == named {
			cue.Person = 1
		}
		if when && mentionsTime(t.Text) {
			cue.Time = 1
		}
		switch {
		case from.IsZero() || t.At.Before(from):
		case t.At.Before(to):
			cue.Time = 1
		case t.At.Before(to.Add(afterwards)):
			cue.Time = max(cue.Time, .5)
		}
		if endsWithQuestion(t.Text) {
			cue.Asks = 1
		}
		if cue != (rank.Cue{}) {
			cues[id] = cue
		}
	}
	return cues
}

// names reports whether a question names an author: by a word of the name, as it
// is written, that begins with a capital letter. Programs that write memories are
// called in small letters, as the things they write about are.
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

// endsWithQuestion reports whether a text ends with a question: then the answer is said by
// the next. The description of a picture, in brackets below it, is not its end.
func endsWithQuestion(text string) bool {
	lines := strings.Split(text, "\n")
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[") {
			return strings.HasSuffix(line, "?")
		}
	}
	return false
}
