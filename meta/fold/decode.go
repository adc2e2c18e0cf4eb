package fold

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Decode reads the file b, found at path below the fold/ of project, as a
// memory. A file of ours (a/b/<id>.md) must hold the id its name says. Any
// other markdown file is a note made by a person: its ID is that of its path,
// and an id it holds is kept in Foreign.
//
// What cannot be read is an error that is ErrQuarantined and says the line.
// Whatever b holds, Decode ends within 50 ms and allocates less than 32 MB.
func Decode(project, path string, b []byte) (*Memory, error) {
	if err := ValidPath(path); err != nil || path == ProjectFile {
		return nil, quarantinef(0, "path %.80q may not hold a memory", path)
	}
	id, own := OwnPath(path)
	if !own && ownForm(path) {
		return nil, quarantinef(0, "the file name and its directory do not agree, or are upper case")
	}
	l, err := split(b)
	if err != nil {
		return nil, err
	}
	if line := conflictMarker(b, l); line > 0 {
		return nil, quarantinef(line, "a conflict marker: a merge was left half done")
	}
	m := &Memory{Path: path, Source: SourceAgent, Type: "general", Note: !own}
	if own {
		m.ID = id
	} else {
		m.ID = NoteID(project, path)
	}
	var entries []entry
	if l.has {
		if entries, err = readHead(b[l.head:l.headEnd], l.headLine); err != nil {
			return nil, err
		}
	}
	body, block, _ := splitRelated(lf(string(b[l.body:])))
	m.Body = body
	d := decoder{m: m, keyed: map[LinkType][]Link{}}
	for i := range entries {
		if err := d.set(&entries[i]); err != nil {
			return nil, err
		}
	}
	if own && !d.hasID {
		return nil, quarantinef(l.headLine, "a file of this name needs the id %q in its frontmatter", id)
	}
	d.finish(block)
	return m, nil
}

// decoder fills a memory from the entries of a frontmatter.
type decoder struct {
	m     *Memory
	hasID bool
	typed bool // memory_type was there, so that type is not read
	keyed map[LinkType][]Link
	other []Link
}

func (d *decoder) set(e *entry) error {
	m := d.m
	switch e.key {
	case "id":
		return d.setID(e)
	case "title":
		return d.str(e, &m.Title)
	case "aliases", "alias":
		return d.list(e, &m.Aliases)
	case "memory_type":
		d.typed = e.value.shape != shapeNull
		return d.str(e, &m.Type)
	case "type":
		if d.typed {
			return nil
		}
		return d.str(e, &m.Type)
	case "source":
		return d.setSource(e)
	case "author":
		return d.str(e, &m.Author)
	case "tags", "tag":
		if err := d.list(e, &m.Tags); err != nil {
			return err
		}
		m.Tags = cleanTags(m.Tags)
		return nil
	case "keywords":
		return d.list(e, &m.Keywords)
	case "context":
		return d.str(e, &m.Context)
	case "file_path":
		return d.str(e, &m.FilePath)
	case "language":
		return d.str(e, &m.Language)
	case "source_blob":
		return d.str(e, &m.SourceBlob)
	case "original_date":
		return d.str(e, &m.OriginalDate)
	case "created_at":
		return d.time(e, &m.CreatedAt)
	case "updated_at":
		return d.time(e, &m.UpdatedAt)
	case "links":
		return d.links(e)
	case "importance":
		return d.importance(e)
	case "pinned":
		return d.bool(e, &m.Pinned)
	case "deleted":
		return d.bool(e, &m.Deleted)
	}
	if typ, ok := linkKey(e.key); ok {
		return d.linkList(e, typ)
	}
	return d.setRest(e)
}

// setRest sets what few memories have.
func (d *decoder) setRest(e *entry) error {
	m := d.m
	switch e.key {
	case "slug":
		return d.str(e, &m.Slug)
	case "subject":
		return d.str(e, &m.Subject)
	case "relation":
		return d.str(e, &m.Relation)
	case "object":
		return d.str(e, &m.Object)
	case "session":
		return d.str(e, &m.Session)
	case "agent":
		return d.str(e, &m.Agent)
	case "commit":
		return d.str(e, &m.Commit)
	case "moved_from":
		return d.str(e, &m.MovedFrom)
	case "layer":
		return d.str(e, &m.Layer)
	case "visibility":
		return d.str(e, &m.Visibility)
	}
	return nil // unknown: a person's, left alone
}

// wrongType is what a key that holds something else is refused with. A note
// follows whatever habits its author has, so there a strange value only makes
// the key unknown; id and title are what the memory is found by.
func (d *decoder) wrongType(e *entry, want string) error {
	if d.m.Note && e.key != "id" && e.key != "title" && e.value.shape != shapeOther {
		return nil
	}
	return quarantinef(e.line, "%s must be %s", e.key, want)
}

func (d *decoder) str(e *entry, dst *string) error {
	switch e.value.shape {
	case shapeNull:
		return nil
	case shapeScalar:
		if e.value.scalar.text != "" {
			*dst = e.value.scalar.text
		}
		return nil
	case shapeList:
		if d.m.Note && e.key != "title" {
			texts := make([]string, len(e.value.items))
			for i, it := range e.value.items {
				texts[i] = it.text
			}
			if joined := strings.Join(texts, ", "); joined != "" {
				*dst = joined
			}
			return nil
		}
	}
	return d.wrongType(e, "text")
}

// listOf returns the texts of a list; a lone text is a list with commas, as
// Obsidian reads it.
func listOf(v value) []string {
	var list []string
	switch v.shape {
	case shapeList:
		list = make([]string, 0, len(v.items))
		for _, it := range v.items {
			list = append(list, it.text)
		}
	case shapeScalar:
		list = strings.Split(v.scalar.text, ",")
	}
	return cleanList(list)
}

// cleanList trims items and drops those that are empty or were there before.
// It returns nil for an empty list.
func cleanList(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	var seen map[string]bool // made once a scan over the items costs more
	if len(list) > 16 {
		seen = make(map[string]bool, len(list))
	}
	var out []string
	for _, s := range list {
		s = strings.TrimSpace(s)
		if s == "" || seen[s] || seen == nil && slices.Contains(out, s) {
			continue
		}
		if seen != nil {
			seen[s] = true
		}
		if out == nil {
			out = make([]string, 0, len(list))
		}
		out = append(out, s)
	}
	return out
}

// cleanTags is cleanList for tags, which people also write with a #.
func cleanTags(tags []string) []string {
	out := make([]string, len(tags))
	for i, t := range tags {
		out[i] = cleanTag(t)
	}
	return cleanList(out)
}

func cleanTag(t string) string {
	return strings.TrimLeftFunc(t, func(r rune) bool { return r == '#' || unicode.IsSpace(r) })
}

func (d *decoder) list(e *entry, dst *[]string) error {
	if e.value.shape == shapeOther {
		return d.wrongType(e, "a list of texts")
	}
	list := listOf(e.value)
	if *dst != nil {
		list = cleanList(append(*dst, list...))
	}
	if list != nil {
		*dst = list
	}
	return nil
}

func (d *decoder) setID(e *entry) error {
	m := d.m
	text := e.value.scalar.text
	switch {
	case e.value.shape == shapeNull, e.value.shape == shapeScalar && text == "":
		return nil
	case e.value.shape != shapeScalar:
		return quarantinef(e.line, "id must be text")
	}
	if !m.Note {
		id, err := ParseID(text)
		if err != nil || id != m.ID {
			return quarantinef(e.line, "the id %.40q is not that of the file name", text)
		}
		d.hasID = true
		return nil
	}
	if !foreignID(text) {
		return quarantinef(e.line, "%.40q cannot be an id", text)
	}
	m.Foreign = text
	return nil
}

// foreignID reports whether s is an id another program may have given:
// [A-Za-z0-9_-]{1,64}.
func foreignID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// setSource reads where a memory of ours came from; a note came from a person.
func (d *decoder) setSource(e *entry) error {
	var s string
	if err := d.str(e, &s); err != nil || d.m.Note {
		return err
	}
	switch Source(s) {
	case SourceFile, SourceGit:
		d.m.Source = Source(s)
	}
	return nil
}

func (d *decoder) bool(e *entry, dst *bool) error {
	if e.value.shape == shapeNull {
		return nil
	}
	if e.value.shape == shapeScalar {
		switch strings.ToLower(e.value.scalar.text) {
		case "true", "yes", "on":
			*dst = true
			return nil
		case "false", "no", "off":
			*dst = false
			return nil
		}
	}
	return d.wrongType(e, "true or false")
}

func (d *decoder) importance(e *entry) error {
	if e.value.shape == shapeNull {
		return nil
	}
	f, err := strconv.ParseFloat(e.value.scalar.text, 64)
	if e.value.shape != shapeScalar || err != nil || !(f >= 0 && f <= 1) {
		return d.wrongType(e, "a number from 0 to 1")
	}
	d.m.Importance = f + 0 // no negative zero
	return nil
}

func (d *decoder) time(e *entry, dst *time.Time) error {
	if e.value.shape == shapeNull {
		return nil
	}
	t, ok := parseTime(e.value.scalar.text)
	if e.value.shape != shapeScalar || !ok {
		return d.wrongType(e, "a time such as 2026-02-03T10:30:00Z")
	}
	*dst = t
	return nil
}

// parseTime reads the forms of a time that people and programs write, as UTC
// to the second. A form without a zone is UTC.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC().Truncate(time.Second)
			if t.Year() < 0 || t.Year() > 9999 {
				return time.Time{}, false
			}
			if t.IsZero() {
				return time.Time{}, true
			}
			return t, true
		}
	}
	return time.Time{}, false
}

// linkList reads a list of ids. An item that is no id but a wiki link or a
// name is kept by its name.
func (d *decoder) linkList(e *entry, typ LinkType) error {
	if e.value.shape == shapeOther {
		return d.wrongType(e, "a list of ids")
	}
	for _, item := range listOf(e.value) {
		d.add(typ, item, "")
	}
	return nil
}

// links reads the flat list "type id context".
func (d *decoder) links(e *entry) error {
	if e.value.shape == shapeOther {
		return d.wrongType(e, `a list of "type id context"`)
	}
	items := e.value.items
	if e.value.shape == shapeScalar {
		items = []scalar{e.value.scalar}
	}
	for _, item := range items {
		typ, target, context, ok := parseLink(item.text)
		if ok {
			d.add(typ, target, context)
		}
	}
	return nil
}

// parseLink reads "type id context", where id may be a wiki link.
func parseLink(s string) (typ LinkType, target, context string, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "[[") {
		if end := strings.Index(rest, "]]"); end > 0 {
			target, rest = rest[:end+2], rest[end+2:]
		}
	}
	if target == "" {
		target, rest, _ = strings.Cut(rest, " ")
	}
	return LinkType(word), target, strings.TrimSpace(rest), word != "" && target != ""
}

func (d *decoder) add(typ LinkType, target, context string) {
	id, ok := targetID(target)
	if !ok {
		if !strings.HasPrefix(target, "[[") {
			target = "[[" + target + "]]"
		}
		links := WikiLinks(target)
		if len(links) != 1 || links[0].Target == "" {
			return
		}
		if id, ok = targetID(links[0].Target); !ok {
			d.m.ByName = append(d.m.ByName, NamedLink{Type: typ, Target: links[0].Target, Context: context})
			return
		}
	}
	l := Link{From: d.m.ID, To: id, Type: typ, Context: context, Weight: 1}
	if context != "" || !ownKey(typ) {
		d.other = append(d.other, l)
		return
	}
	d.keyed[typ] = append(d.keyed[typ], l)
}

// finish fills in what follows from the rest: the links in their order, the
// title from heading or file name.
func (d *decoder) finish(block []blockLink) {
	m := d.m
	if slices.ContainsFunc(block, func(b blockLink) bool { return !b.ours }) {
		d.adopt(block)
	}
	var links []Link
	for _, typ := range ownKeys() {
		links = append(links, d.keyed[typ]...)
	}
	m.Links = orderLinks(append(links, d.other...))
	if m.Title = strings.TrimSpace(m.Title); m.Title != "" {
		return
	}
	m.Title = Heading(m.Body)
	if m.Title == "" {
		m.Title = strings.TrimSuffix(path.Base(m.Path), ".md")
	}
}

// adopt takes the lines that a person added to our block as links. Those in our
// own form are left to the frontmatter, which they were made from.
func (d *decoder) adopt(block []blockLink) {
	known := map[ID]bool{}
	for _, links := range d.keyed {
		for _, l := range links {
			known[l.To] = true
		}
	}
	for _, l := range d.other {
		known[l.To] = true
	}
	for _, b := range block {
		if b.ours || known[b.id] {
			continue
		}
		known[b.id] = true
		d.add(b.typ, string(b.id), "")
	}
}

// Heading returns the text of the first heading of level 1 in body, outside
// code fences, or of the first heading if there is none of level 1; "" if body
// has no heading.
func Heading(body string) string {
	var f fenceState
	first := ""
	for line := range strings.SplitSeq(body, "\n") {
		if f.line(line) {
			continue
		}
		text := strings.TrimRight(line, " \t\r")
		n := 0
		for n < len(text) && text[n] == '#' {
			n++
		}
		if n == 0 || n > 6 || n == len(text) || text[n] != ' ' && text[n] != '\t' {
			continue
		}
		title := strings.TrimSpace(text[n:])
		if cut := strings.TrimRight(title, "#"); cut == "" || strings.HasSuffix(cut, " ") {
			title = strings.TrimSpace(cut)
		}
		title = strings.TrimSpace(strings.Map(printable, title))
		if n == 1 && title != "" {
			return title
		}
		if first == "" {
			first = title
		}
	}
	return first
}

// printable drops control characters: a title is shown in lists and terminals.
func printable(r rune) rune {
	if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
		return -1
	}
	return r
}

// MarkedDeleted reports whether b is a memory file that says `deleted: true`: it is
// there for merges to see, and no memory. A file that cannot be read is not marked.
func MarkedDeleted(b []byte) bool {
	if !bytes.Contains(b, []byte("deleted")) { // spares reading nearly all of them
		return false
	}
	m, err := Decode("", pathOf(b), b)
	return err == nil && m.Deleted
}
