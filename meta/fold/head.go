package fold

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// shape is what YAML calls the kind of a value, as far as merging needs it.
type shape uint8

const (
	shapeNull   shape = iota
	shapeScalar       // one text, number, date or truth value
	shapeList         // a list of scalars
	shapeOther        // a map, or a list that holds more than scalars
)

// A scalar is one YAML scalar. Its text is what was written, never a number or
// a truth value: an id like 0123 or a title like "no" stays what it is.
type scalar struct {
	text  string
	plain bool // written without quotes
}

// value is what a key holds.
type value struct {
	shape  shape
	scalar scalar   // of shapeScalar
	items  []scalar // of shapeList
	weight int      // scalars it would hold with its aliases written out; 0 if read here
}

// entry is one top-level key of a frontmatter and the lines it takes.
type entry struct {
	key   string // decoded
	line  int    // line number in the file, from 1
	start int    // first byte, in the frontmatter
	colon int    // first byte after the colon
	end   int    // first byte after the last line of the value
	value value

	simple  bool // read here; otherwise by the YAML library
	comment int  // start of the comment after a simple one-line value, with the blanks before it; 0 if none
	dash    int  // indent of the items of a block list, -1 if it is none
}

// maxKeys is how many top-level keys a frontmatter may have. We know fewer than
// 40; the rest is a person's.
const maxKeys = 512

// readHead reads a frontmatter, whose first line has the given number, into
// its entries. Single-line values and flat lists, all that we write and nearly
// all that people write, are read here; what is left goes to the YAML library
// within caps. Any doubt is an ErrQuarantined: a file that two programs would
// read differently is better set aside.
func readHead(head []byte, line int) ([]entry, error) {
	s := string(head)
	if err := checkHead(s, line); err != nil {
		return nil, err
	}
	r := headReader{s: s, line: line}
	// A line a key, and one to spare: no growing for what we write.
	r.entries = make([]entry, 0, min(strings.Count(s, "\n")+1, 64))
	var seen map[string]bool // made once a scan over the entries costs more
	hard := false
	for r.pos < len(s) {
		e, ok, err := r.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if seen == nil && len(r.entries) == 32 {
			seen = make(map[string]bool, maxKeys)
			for i := range r.entries {
				seen[r.entries[i].key] = true
			}
		}
		if seen[e.key] || seen == nil && slices.ContainsFunc(r.entries, func(have entry) bool { return have.key == e.key }) {
			return nil, quarantinef(e.line, "the key %.40q occurs twice", e.key)
		}
		if seen != nil {
			seen[e.key] = true
		}
		if len(r.entries) >= maxKeys {
			return nil, quarantinef(e.line, "more than %d keys", maxKeys)
		}
		hard = hard || !e.simple
		r.entries = append(r.entries, e)
	}
	if hard {
		if err := readByLibrary(s, r.entries); err != nil {
			return nil, err
		}
	}
	return r.entries, nil
}

// checkHead refuses characters YAML does not allow.
func checkHead(s string, line int) error {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n':
			line++
		case c == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				return quarantinef(line, "a carriage return without a line feed")
			}
		case c < 0x20 && c != '\t', c == 0x7f:
			return quarantinef(line, "control character %#x in the frontmatter", c)
		case c >= utf8.RuneSelf:
			if r, n := utf8.DecodeRuneInString(s[i:]); r >= 0x80 && r < 0xa0 && r != 0x85 || r >= 0xfffe && r <= 0xffff {
				return quarantinef(line, "control character %#x in the frontmatter", r)
			} else {
				i += n - 1
			}
		}
	}
	return nil
}

// headReader walks a frontmatter line by line.
type headReader struct {
	s       string
	pos     int // start of the next line
	line    int // its number
	entries []entry
}

// text returns the line at pos without its end, and where the next begins.
func (r *headReader) text(pos int) (text string, next int) {
	end := strings.IndexByte(r.s[pos:], '\n')
	if end < 0 {
		return strings.TrimSuffix(r.s[pos:], "\r"), len(r.s)
	}
	return strings.TrimSuffix(r.s[pos:pos+end], "\r"), pos + end + 1
}

// skip moves on to pos and counts the lines between.
func (r *headReader) skip(pos int) {
	r.line += strings.Count(r.s[r.pos:pos], "\n")
	r.pos = pos
}

func isBlank(s string) bool { return strings.Trim(s, " \t") == "" }

// next reads the next entry; ok is false at the end.
func (r *headReader) next() (e entry, ok bool, err error) {
	for r.pos < len(r.s) {
		text, next := r.text(r.pos)
		trimmed := strings.TrimLeft(text, " ")
		switch {
		case isBlank(text), strings.HasPrefix(trimmed, "#"):
			r.skip(next)
			continue
		case text[0] == '\t' || trimmed[0] == '\t':
			return e, false, quarantinef(r.line, "a tab indents this line; YAML wants spaces")
		case text[0] == ' ':
			return e, false, quarantinef(r.line, "an indented line that belongs to no key")
		}
		e = entry{line: r.line, start: r.pos, dash: -1}
		if e.key, e.colon, err = r.key(text); err != nil {
			return e, false, err
		}
		if err := r.value(&e, next); err != nil {
			return e, false, err
		}
		r.skip(e.end)
		return e, true, nil
	}
	return e, false, nil
}

// key reads the key text begins with and returns where its value may begin.
func (r *headReader) key(text string) (key string, colon int, err error) {
	bad := func(reason string) (string, int, error) { return "", 0, quarantinef(r.line, "%s", reason) }
	switch c := text[0]; {
	case c == '"' || c == '\'':
		k, n, ok := quoted(text)
		if !ok {
			return bad("a quoted key that does not end on its line, or has an odd escape")
		}
		after := strings.TrimLeft(text[n:], " ")
		if !strings.HasPrefix(after, ":") || len(after) > 1 && after[1] != ' ' && after[1] != '\t' {
			return bad("no \": \" after a quoted key")
		}
		return k, r.pos + len(text) - len(after) + 1, nil
	case c == '-' && (len(text) == 1 || text[1] == ' '):
		return bad("a list item that belongs to no key")
	case strings.HasPrefix(text, "..."), strings.HasPrefix(text, "---"):
		return bad("a mark between documents where a key should be")
	case c == '?' && (len(text) == 1 || text[1] == ' '), strings.IndexByte("&*!|>%@`[]{},#", c) >= 0:
		return bad("a line that does not begin with a plain key")
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t'):
			key = strings.TrimRight(text[:i], " ")
			if key == "" || strings.IndexByte(key, '\t') >= 0 {
				return bad("a line without a key before its colon")
			}
			return key, r.pos + i + 1, nil
		case text[i] == '#' && i > 0 && (text[i-1] == ' ' || text[i-1] == '\t'):
			return bad("a line without a key and a colon")
		}
	}
	return bad("a line without a key and a colon")
}

// value reads the value after e.colon; next is the start of the line after it.
func (r *headReader) value(e *entry, next int) error {
	text, _ := r.text(e.colon)
	v := strings.TrimLeft(text, " \t")
	at := e.colon + len(text) - len(v)
	e.end = next
	switch {
	case v == "" || v[0] == '#' && at > e.colon:
		return r.below(e, next, v == "")
	case v[0] == '"' || v[0] == '\'':
		return r.quotedValue(e, at)
	case v[0] == '[' || v[0] == '{':
		return r.flowValue(e, at)
	}
	follow := r.follow(next, false)
	plain, n, ok := plainScalar(v, false)
	if ok && follow == next {
		e.simple = true
		e.setComment(r.s, at+n)
		e.value = plainValue(plain)
		return nil
	}
	e.end = follow
	if v[0] == '|' || v[0] == '>' || strings.ContainsAny(r.s[e.colon:follow], "|>") {
		e.end = r.blanks(follow) // blank lines may belong to a block scalar
	}
	return r.checkTabs(e, next)
}

func plainValue(text string) value {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return value{}
	}
	return value{shape: shapeScalar, scalar: scalar{text, true}}
}

// setComment notes where the comment after the value that ends at pos begins.
func (e *entry) setComment(s string, pos int) {
	end := pos
	for end < len(s) && (s[end] == ' ' || s[end] == '\t') {
		end++
	}
	if end < len(s) && s[end] == '#' {
		e.comment = pos
	}
}

// follow returns the end of the lines from pos on that continue a value:
// indented ones, and list items in the first column if dash says so. Blank
// lines and comments count only where such a line comes after them.
func (r *headReader) follow(pos int, dash bool) int {
	end := pos
	for pos < len(r.s) {
		text, next := r.text(pos)
		trimmed := strings.TrimLeft(text, " ")
		switch {
		case isBlank(text), strings.HasPrefix(trimmed, "#") && (len(trimmed) == len(text) || end == pos):
		case text[0] == ' ' || text[0] == '\t', dash && isDash(text):
			end = next
		default:
			return end
		}
		pos = next
	}
	return end
}

func isDash(text string) bool {
	return text == "-" || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "-\t")
}

// blanks returns the end of the blank lines from pos on.
func (r *headReader) blanks(pos int) int {
	for pos < len(r.s) {
		text, next := r.text(pos)
		if !isBlank(text) {
			break
		}
		pos = next
	}
	return pos
}

// checkTabs refuses lines of e from pos on that a tab indents.
func (r *headReader) checkTabs(e *entry, pos int) error {
	for pos < e.end {
		text, next := r.text(pos)
		if t := strings.TrimLeft(text, " "); t != "" && t[0] == '\t' && !isBlank(t) {
			return quarantinef(e.line+strings.Count(r.s[e.start:pos], "\n"), "a tab indents this line; YAML wants spaces")
		}
		pos = next
	}
	return nil
}

// below reads a value that begins on the line after its key: nothing, a block
// list of simple items, or what the library has to read.
func (r *headReader) below(e *entry, next int, bare bool) error {
	if !bare {
		e.setComment(r.s, e.colon)
	}
	end := r.follow(next, true)
	if end == next {
		e.simple = true
		return nil
	}
	e.end = end
	indent, items, ok := -1, []scalar(nil), true
	for pos := next; pos < end && ok; {
		text, after := r.text(pos)
		pos = after
		item := strings.TrimLeft(text, " ")
		if item == "" || item[0] == '#' {
			continue
		}
		if indent < 0 {
			indent = len(text) - len(item)
		}
		if ok = indent == len(text)-len(item) && strings.HasPrefix(item, "- "); !ok {
			break
		}
		var sc scalar
		if sc, ok = lineScalar(strings.TrimLeft(item[2:], " \t")); ok {
			items = append(items, sc)
		}
	}
	if ok {
		e.simple, e.dash, e.comment = true, indent, 0
		e.value = value{shape: shapeList, items: items}
		return nil
	}
	if strings.ContainsAny(r.s[e.colon:end], "|>") {
		e.end = r.blanks(end)
	}
	return r.checkTabs(e, next)
}

// lineScalar reads a scalar that ends on its line, and a comment after it.
func lineScalar(v string) (scalar, bool) {
	if v == "" {
		return scalar{}, false
	}
	if v[0] == '"' || v[0] == '\'' {
		text, n, ok := quoted(v)
		return scalar{text, false}, ok && endsLine(v[n:])
	}
	text, _, ok := plainScalar(v, false)
	if ok && plainValue(text).shape == shapeNull {
		ok = false
	}
	return scalar{text, true}, ok
}

// endsLine reports whether only blanks and a comment are left.
func endsLine(rest string) bool {
	t := strings.TrimLeft(rest, " \t")
	return t == "" || t[0] == '#' && len(t) < len(rest)
}

// quotedValue reads a quoted scalar, which may go on over lines.
func (r *headReader) quotedValue(e *entry, at int) error {
	line, next := r.text(at)
	if text, n, ok := quoted(line); ok && endsLine(line[n:]) && r.follow(next, false) == next {
		e.simple = true
		e.setComment(r.s, at+n)
		e.value = value{shape: shapeScalar, scalar: scalar{text, false}}
		return nil
	}
	end := closeQuote(r.s, at)
	if end < 0 {
		return quarantinef(e.line, "the quotes of %.40q do not close", e.key)
	}
	_, next = r.text(end)
	e.end = r.follow(next, false)
	return nil
}

// flowValue reads a list or map in brackets, which may go on over lines.
func (r *headReader) flowValue(e *entry, at int) error {
	if items, n, ok := flowList(r.s[at:]); ok {
		line, next := r.text(at + n)
		if endsLine(line) && r.follow(next, false) == next {
			e.simple, e.end = true, next
			e.setComment(r.s, at+n)
			e.value = value{shape: shapeList, items: items}
			return nil
		}
	}
	end, reason := closeFlow(r.s, at)
	if reason != "" {
		return quarantinef(e.line, "%s in %.40q", reason, e.key)
	}
	_, next := r.text(end)
	e.end = r.follow(next, false)
	return nil
}

// ForeignLines returns the lines of a memory file's frontmatter under keys that are
// not ours, as they are written; "" if there are none, or b has no frontmatter that
// can be read.
func ForeignLines(b []byte) string {
	l, err := split(b)
	if err != nil || !l.has {
		return ""
	}
	head := b[l.head:l.headEnd]
	entries, err := readHead(head, l.headLine)
	if err != nil {
		return ""
	}
	ours := map[string]bool{}
	for _, f := range fields(&Memory{}) {
		ours[f.Key] = true
	}
	var out strings.Builder
	for _, e := range entries {
		if !ours[canonicalKey(e.key)] {
			out.WriteString(lf(string(head[e.start:e.end])))
		}
	}
	return out.String()
}
