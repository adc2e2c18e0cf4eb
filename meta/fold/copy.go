package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"unicode"
)

// The keys that tell a copy of a memory from any other file.
const (
	copyKey     = "foldwatch"
	copyHashKey = "foldwatch_hash"
)

// A CopyTarget is what a copy makes of a link.
type CopyTarget struct {
	File  string // relative to the copy, with forward slashes; "" if the memory has none
	Title string // "" if it is not known
}

// EncodeCopy returns m as a file that is read outside fold/, in a folder of
// documentation, say: plain markdown. Wiki links become links to the copies that
// at knows, or else plain text. What only foldwatch needs is left out.
func EncodeCopy(m *Memory, at func(target string) CopyTarget) []byte {
	body, _, _ := splitRelated(lf(cleanText(m.Body)))
	title := strings.TrimSpace(cleanText(m.Title))
	var b strings.Builder
	if !strings.HasPrefix(strings.TrimLeft(body, "\n"), "# ") && title != "" {
		b.WriteString("# " + title + "\n\n")
	}
	b.WriteString(strings.TrimLeft(plainLinks(body, at), "\n"))
	var related strings.Builder
	for _, l := range orderLinks(m.Links) {
		t := at(string(l.To))
		text := aliasText(t.Title)
		if text == "" {
			continue // of what is not there a reader knows nothing
		}
		related.WriteString("- ")
		if l.Type != LinkRelated {
			related.WriteString(strings.ReplaceAll(string(l.Type), "_", " ") + " ")
		}
		related.WriteString(markdownLink(text, t.File, "") + "\n")
	}
	if related.Len() > 0 {
		b.WriteString("\n## Related\n\n" + related.String())
	}
	text := b.String()
	head := func(hash string) string {
		var h strings.Builder
		h.WriteString("---\n")
		for _, f := range []KeyEdit{
			{"title", str(title)},
			{"type", str(m.Type)},
			{"author", str(m.Author)},
			{"tags", strs(cleanTags(m.Tags))},
			{"original_date", str(m.OriginalDate)},
			{"created_at", stamp(m.CreatedAt)},
			{"updated_at", stamp(m.UpdatedAt)},
			{copyKey, str(string(m.ID))},
			{copyHashKey, str(hash)},
		} {
			if f.Value != nil {
				value := encodeValue(f.Key, f.Value)
				if f.Key == copyKey || f.Key == copyHashKey {
					value = `"` + f.Value.(string) + `"`
				}
				h.WriteString(f.Key + ": " + value + "\n")
			}
		}
		h.WriteString("---\n")
		return h.String()
	}
	sum := sha256.Sum256([]byte(head("") + text))
	return []byte(head(hex.EncodeToString(sum[:8])) + text)
}

// CopyOf returns which memory the file b is a copy of, and the hash of what
// EncodeCopy made; false if it is none. What others changed in the file, a
// formatter, say, does not change the hash.
func CopyOf(b []byte) (id ID, hash string, ok bool) {
	text := lf(string(b[:min(len(b), 64<<10)]))
	head, found := strings.CutPrefix(text, "---\n")
	if !found {
		return "", "", false
	}
	head, _, found = strings.Cut(head, "\n---\n")
	if !found {
		return "", "", false
	}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch key {
		case copyKey:
			id, _ = ParseID(value) // none is no copy
		case copyHashKey:
			hash = value
		}
	}
	return id, hash, id != "" && hash != ""
}

// plainLinks returns body with its wiki links as plain markdown.
func plainLinks(body string, at func(target string) CopyTarget) string {
	var out strings.Builder
	done := 0
	for _, l := range WikiLinks(body) {
		t := CopyTarget{Title: l.Heading}
		if l.Target != "" {
			t = at(l.Target)
		}
		text := l.Alias
		if text == "" {
			text = t.Title
		}
		if text == "" {
			text = strings.TrimSuffix(path.Base(l.Target), ".md")
		}
		out.WriteString(body[done:l.Start])
		if l.Target == "" && l.Heading != "" {
			out.WriteString("[" + aliasText(text) + "](" + anchor(l.Heading) + ")")
		} else {
			out.WriteString(markdownLink(aliasText(text), t.File, l.Heading))
		}
		done = l.End
	}
	out.WriteString(body[done:])
	return out.String()
}

// markdownLink is text as a link to a heading of a file; without a file, text.
func markdownLink(text, file, heading string) string {
	if file == "" {
		return text
	}
	if heading != "" {
		file += anchor(heading)
	}
	if strings.ContainsAny(file, " ()<>") {
		file = "<" + strings.NewReplacer("<", "%3C", ">", "%3E").Replace(file) + ">"
	}
	return "[" + strings.NewReplacer("[", "(", "]", ")").Replace(text) + "](" + file + ")"
}

// anchor is how forges name the place of a heading.
func anchor(heading string) string {
	return "#" + strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// CopyName returns the name of a copy's file: its title as far as every file
// system has letters for it, and enough of its id to be the only one.
func CopyName(m *Memory) string {
	const most = 60
	var b strings.Builder
	for _, r := range strings.ToLower(m.Title) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= most {
			break
		}
	}
	name := strings.Trim(b.String(), "-")
	if name == "" {
		name = "memory"
	}
	return name + "-" + string(m.ID[:8]) + ".md"
}
