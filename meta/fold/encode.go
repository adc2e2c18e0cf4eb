package fold

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Encode returns m as the canonical file: every key in its fixed order, ids
// quoted, lists in brackets, times in UTC, then the body and the `## Related`
// block made from the links. Titles of linked memories come from title, which
// may be nil. Decode of the result gives m again, if m came from Decode.
//
// Encode is for new files. It knows nothing of the comments and keys of a
// person; what is already on disk is changed by [Update].
func Encode(m *Memory, title func(ID) string) []byte {
	text, links := withBlock(m)
	c := *m
	c.Links = links
	var b strings.Builder
	b.Grow(len(text) + 1024)
	b.WriteString("---\n")
	for _, f := range fields(&c) {
		if f.Value != nil {
			b.WriteString(f.Key + ": " + encodeValue(f.Key, f.Value) + "\n")
		}
	}
	b.WriteString("---\n")
	b.WriteString(text)
	if takesBlock(text) {
		b.WriteString(relatedBlock(links, title))
	}
	return []byte(b.String())
}

// withBlock returns the body of m as it is written, and its links. A block of
// ours that stands in the body, because an agent read the file and sent it
// back, becomes links.
func withBlock(m *Memory) (text string, links []Link) {
	text, block, _ := splitRelated(lf(cleanText(m.Body)))
	links = append(links, m.Links...)
	for _, b := range block {
		if !linked(m.Links, b.id) {
			links = append(links, Link{From: m.ID, To: b.id, Type: b.typ, Weight: 1})
		}
	}
	return text, orderLinks(links)
}

func linked(links []Link, id ID) bool {
	for _, l := range links {
		if l.To == id {
			return true
		}
	}
	return false
}

// takesBlock reports whether a `## Related` block of ours may follow text.
func takesBlock(text string) bool {
	return !humanRelated(text) && !openFence(text)
}

// fields returns every key of a memory file in the order in which we write
// them, with its value in m; the value is nil where m has none.
func fields(m *Memory) []KeyEdit {
	id := string(m.ID)
	if m.Note {
		id = m.Foreign
	}
	keyed, flat := linkFields(m)
	list := []KeyEdit{
		{"id", str(id)},
		{"title", str(strings.TrimSpace(cleanText(m.Title)))},
		{"aliases", strs(m.Aliases)},
		{"memory_type", str(m.Type)},
		{"source", str(string(m.Source))},
		{"author", str(m.Author)},
		{"tags", strs(cleanTags(m.Tags))},
		{"keywords", strs(m.Keywords)},
		{"context", str(m.Context)},
		{"file_path", str(m.FilePath)},
		{"language", str(m.Language)},
		{"source_blob", str(m.SourceBlob)},
		{"original_date", str(m.OriginalDate)},
		{"created_at", stamp(m.CreatedAt)},
		{"updated_at", stamp(m.UpdatedAt)},
	}
	for _, typ := range ownKeys() {
		list = append(list, KeyEdit{keyOf(typ), strs(keyed[typ])})
	}
	list = append(list,
		KeyEdit{"links", strs(flat)},
		KeyEdit{"slug", str(m.Slug)},
		KeyEdit{"subject", str(m.Subject)},
		KeyEdit{"relation", str(m.Relation)},
		KeyEdit{"object", str(m.Object)},
		KeyEdit{"pinned", truth(m.Pinned)},
		KeyEdit{"importance", number(m.Importance)},
		KeyEdit{"session", str(m.Session)},
		KeyEdit{"agent", str(m.Agent)},
		KeyEdit{"commit", str(m.Commit)},
		KeyEdit{"moved_from", str(m.MovedFrom)},
		KeyEdit{"layer", str(m.Layer)},
		KeyEdit{"visibility", str(m.Visibility)},
		KeyEdit{"deleted", truth(m.Deleted)},
	)
	return list
}

// cleanText returns s without what no text file holds.
func cleanText(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd")
}

func str(s string) any {
	if s = cleanText(s); s == "" {
		return nil
	}
	return s
}

func strs(list []string) any {
	clean := make([]string, len(list))
	for i, s := range list {
		clean[i] = cleanText(s)
	}
	if list = cleanList(clean); list == nil {
		return nil
	}
	return list
}

func truth(b bool) any {
	if !b {
		return nil
	}
	return true
}

func number(f float64) any {
	if !(f > 0 && f <= 1) {
		return nil
	}
	return f
}

func stamp(t time.Time) any {
	t = t.UTC().Truncate(time.Second)
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return t
}

// linkFields returns the lists of the link keys, and the flat list of what has
// no key of its own or a context.
func linkFields(m *Memory) (keyed map[LinkType][]string, flat []string) {
	keyed = map[LinkType][]string{}
	put := func(typ LinkType, target, context string) {
		if context == "" && ownKey(typ) {
			keyed[typ] = append(keyed[typ], target)
			return
		}
		flat = append(flat, strings.TrimSpace(string(typ)+" "+target+" "+context))
	}
	for _, l := range orderLinks(m.Links) {
		put(l.Type, string(l.To), l.Context)
	}
	for _, n := range m.ByName {
		put(flatType(n.Type), "[["+n.Target+"]]", strings.Join(strings.Fields(n.Context), " "))
	}
	return keyed, flat
}

// alwaysQuoted reports whether the values of key are ids, which other programs
// would read as numbers.
func alwaysQuoted(key string) bool {
	_, link := linkKey(key)
	return link || key == "id" || key == "links"
}

// encodeValue returns v as it stands after "key: ".
func encodeValue(key string, v any) string {
	quote := alwaysQuoted(key)
	switch v := v.(type) {
	case string:
		return encodeScalar(v, false, quote)
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = encodeScalar(s, true, quote)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []scalar:
		items := make([]string, len(v))
		for i, sc := range v {
			items[i] = encodeItem(sc, true, quote)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	}
	panic(fmt.Sprintf("fold: value of type %T for key %s", v, key))
}

// encodeScalar returns s as a YAML scalar: plain where every YAML program, old
// or new, reads the plain form as this text; else in double quotes.
func encodeScalar(s string, flow, quote bool) string {
	if !quote && plainSafe(s, flow) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == 0: // never in a text
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// encodeItem returns an item of a list that was read from a file: what stood
// without quotes, a number perhaps, stays so.
func encodeItem(s scalar, flow, quote bool) string {
	if s.plain && !quote {
		if text, n, ok := plainScalar(s.text, flow); ok && n == len(s.text) && text == s.text {
			return text
		}
	}
	return encodeScalar(s.text, flow, quote)
}

// plainSafe reports whether s may stand without quotes.
func plainSafe(s string, flow bool) bool {
	if s == "" || strings.TrimSpace(s) != s || !utf8.ValidString(s) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(first) && !unicode.IsDigit(first) && strings.IndexByte("/(._$", s[0]) < 0 {
		return false
	}
	for i, r := range s {
		switch {
		case r == ':' && (flow || i+1 == len(s) || s[i+1] == ' '):
			return false
		case r == '#' && i > 0 && s[i-1] == ' ':
			return false
		case flow && strings.ContainsRune(",[]{}", r):
			return false
		case !unicode.IsPrint(r) || r == 0xfeff:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		return false
	}
	return !numberLike(s)
}

// numberLike reports whether some YAML program could read s as a number or a
// date.
func numberLike(s string) bool {
	if s[0] != '.' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	if s[0] == '0' && len(s) > 1 && strings.IndexByte("xXoObB", s[1]) >= 0 {
		return true
	}
	if len(s) >= 8 && s[4] == '-' { // a date, whatever comes after the day
		return true
	}
	lower := strings.ToLower(s)
	return lower == ".inf" || lower == ".nan" || strings.Trim(lower, "0123456789.e_+-:") == ""
}
