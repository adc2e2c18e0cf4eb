package fold

import (
	"slices"
	"strings"
)

// TypeConflict is the memory_type of what a merge could not keep in place.
const TypeConflict = "conflict"

// maxPromotedTitle is how much of its first line a promoted text has as its
// title, in runes.
const maxPromotedTitle = 72

// Promote takes the conflict callouts out of m, whose file is b. It returns the
// file without them and a memory for each that says it conflicts with m, in the
// order of their ids, as they are to be written; none if there is no callout
// that can stand on its own.
//
// What it returns is a function of m's id and visibility and of the text of the
// callout alone, so that all who promote one callout make one memory, to the
// byte: it has no dates, which would be those of whoever was first.
func Promote(b []byte, m *Memory) (rest []byte, made []*Memory, err error) {
	body, calls := CutCallouts(m.Body)
	if len(calls) == 0 {
		return b, nil, nil
	}
	next := *m
	next.Body = body
	keep := map[string]string{}
	for hash, text := range calls {
		p := promoted(m, text)
		if _, err := Decode("", p.Path, Encode(p, nil)); err != nil {
			keep[hash] = text // it reads as nothing where it stands alone
			continue
		}
		made = append(made, p)
	}
	if len(made) == 0 {
		return b, nil, nil
	}
	if len(keep) > 0 {
		next.Body = putCallouts(next.Body, keep)
	}
	slices.SortFunc(made, func(a, b *Memory) int { return strings.Compare(string(a.ID), string(b.ID)) })
	made = slices.CompactFunc(made, func(a, b *Memory) bool { return a.ID == b.ID })
	rest, err = Update(b, m, &next, nil)
	return rest, made, err
}

// HasCallout reports whether body may hold a conflict callout.
func HasCallout(body string) bool { return strings.Contains(body, calloutMark) }

func promoted(of *Memory, text string) *Memory {
	id := hash16("conflict:" + string(of.ID) + ":" + NormalContent(text))
	title := "Other version"
	if words := firstWords(text); words != "" {
		title = "Other version: " + words
	}
	return &Memory{
		ID: id, Path: id.Path(), Title: title, Aliases: []string{title}, Type: TypeConflict, Source: SourceAgent, Visibility: of.Visibility,
		Links: []Link{{From: id, To: of.ID, Type: LinkConflictsWith, Weight: 1}},
		Body:  "# " + title + "\n\n" + strings.Trim(text, "\n") + "\n",
	}
}

// firstWords returns the first line of text that says something.
func firstWords(text string) string {
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Join(strings.Fields(strings.Trim(line, "#>-*+` \t")), " ")
		if r := []rune(words); len(r) > maxPromotedTitle {
			words = string(r[:maxPromotedTitle-1]) + "…"
		}
		if words != "" {
			return words
		}
	}
	return ""
}
