package sets

import (
	"fmt"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A turn is what one speaker says before another does: one line of the
// conversations' file.
type turn struct {
	ID      string `json:"id"` // as the questions call it: conv-26/D1:3
	Conv    string `json:"conv"`
	Session int    `json:"session"`
	Date    string `json:"date"` // of the session: 1:56 pm on 8 May, 2023
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"caption"` // of a picture that was shown
}

// turnDate is the form of a turn's date.
const turnDate = "3:04 pm on 2 January, 2006"

// conversation returns the corpus of one conversation: each turn is a memory, as
// an agent adds it while it listens. Turns of a session are a second apart.
func (s *Sets) conversation(name string) (corpus.Corpus, error) {
	turns, err := eval.ReadLines[turn](s.path(memoriesFile))
	if err != nil {
		return corpus.Corpus{}, err
	}
	c := corpus.Corpus{Slug: name, Names: map[fold.ID]string{}}
	said := map[int]int{} // turns of a session so far
	for _, t := range turns {
		if t.Conv != name {
			continue
		}
		m, err := t.memory(said[t.Session])
		if err != nil {
			return corpus.Corpus{}, fmt.Errorf("turn %s: %w", t.ID, err)
		}
		said[t.Session]++
		if c.Names[m.ID] != "" {
			return corpus.Corpus{}, fmt.Errorf("turn %s comes twice: %w", t.ID, fold.ErrInvalid)
		}
		c.Names[m.ID] = t.ID
		c.Memories = append(c.Memories, *m)
	}
	if len(c.Memories) == 0 {
		return corpus.Corpus{}, fmt.Errorf("%s knows no conversation %q: %w", memoriesFile, name, fold.ErrNotFound)
	}
	return c, nil
}

const titleRunes = 100

// memory is the memory of the n-th turn of its session, from 0.
func (t turn) memory(n int) (*fold.Memory, error) {
	at, err := time.Parse(turnDate, t.Date)
	if err != nil {
		return nil, fmt.Errorf("date %q: %w", t.Date, fold.ErrInvalid)
	}
	_, slug, ok := strings.Cut(t.ID, "/")
	if !ok {
		return nil, fmt.Errorf("id %q names no conversation: %w", t.ID, fold.ErrInvalid)
	}
	text := strings.TrimSpace(t.Text)
	if t.Caption != "" {
		text += "\n\n[" + strings.TrimSpace(t.Caption) + "]"
	}
	id := fold.SlugID(t.Conv, slug)
	at = at.UTC().Add(time.Duration(n) * time.Second)
	m := &fold.Memory{
		ID: id, Path: id.Path(), Type: "session", Source: fold.SourceAgent, Author: t.Speaker, Slug: slug,
		Session: fmt.Sprint(t.Session), OriginalDate: at.Format(time.RFC3339), CreatedAt: at, UpdatedAt: at,
	}
	first, _, _ := strings.Cut(text, "\n")
	if m.Title = clip(first, titleRunes); m.Title == "" {
		m.Title = "Untitled"
	}
	m.Aliases = []string{m.Title}
	m.Body = "# " + m.Title + "\n\n" + text + "\n"
	m.Keywords = describe.Keywords(text)
	return m, nil
}

// clip cuts s to n runes, at a word.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	cut := string(r[:n-1])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + "…"
}
