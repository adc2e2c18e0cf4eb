package fold

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A KeyEdit gives a key of a frontmatter a new value: string, []string, bool,
// float64 or time.Time. A nil value deletes the key.
type KeyEdit struct {
	Key   string
	Value any
}

// EditKeys returns b with the keys of its frontmatter edited. Every byte
// outside the edited keys stays what it is: comments, order, quoting, unknown
// keys, line ends, byte order mark, body. A new key is put after the last one
// that comes before it in our order. A file without frontmatter gets one.
//
// It returns ErrQuarantined if b cannot be read, and ErrInvalid if a key or
// value cannot be written, or if other keys refer to what would be replaced.
func EditKeys(b []byte, edits ...KeyEdit) ([]byte, error) {
	l, err := split(b)
	if err != nil {
		return nil, err
	}
	head, err := editHead(b, l, edits)
	if err != nil {
		return nil, err
	}
	return join(b, l, head), nil
}

// join returns b with its frontmatter replaced by head.
func join(b []byte, l layout, head string) []byte {
	if l.has {
		return slices.Concat(b[:l.head], []byte(head), b[l.headEnd:])
	}
	if head == "" {
		return slices.Clone(b)
	}
	eol := l.eol()
	return slices.Concat(b[:l.bomLength], []byte("---"+eol+head+"---"+eol), b[l.bomLength:])
}

func editHead(b []byte, l layout, edits []KeyEdit) (string, error) {
	head := ""
	if l.has {
		head = string(b[l.head:l.headEnd])
	}
	for _, e := range edits {
		if err := checkEdit(e); err != nil {
			return "", err
		}
		next, err := editKey(head, e, l.eol())
		if err != nil {
			return "", fmt.Errorf("key %s: %w", e.Key, err)
		}
		head = next
	}
	if len(head) > MaxFrontmatter {
		return "", fmt.Errorf("the frontmatter would have more than %d bytes: %w", MaxFrontmatter, ErrInvalid)
	}
	return head, nil
}

func checkEdit(e KeyEdit) error {
	switch e.Value.(type) {
	case nil, string, []string, bool, float64, time.Time:
	default:
		return fmt.Errorf("key %s: a value of type %T cannot be written: %w", e.Key, e.Value, ErrInvalid)
	}
	if e.Key == "" || strings.ContainsFunc(e.Key, func(r rune) bool { return printable(r) < 0 }) {
		return fmt.Errorf("key %q cannot be written: %w", e.Key, ErrInvalid)
	}
	return nil
}

// editKey returns head with one key edited, having checked that every other
// key still reads as before.
func editKey(head string, edit KeyEdit, eol string) (string, error) {
	before, err := readHead([]byte(head), 1)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(before, func(e entry) bool { return e.key == edit.Key })
	var after string
	switch {
	case i < 0 && edit.Value == nil:
		return head, nil
	case i < 0:
		after = insertKey(head, before, edit, eol)
	case edit.Value == nil:
		after = head[:before[i].start] + head[before[i].end:]
	default:
		after = replaceValue(head, &before[i], edit, eol)
	}
	now, err := readHead([]byte(after), 1)
	if err != nil {
		return "", errors.Join(fmt.Errorf("it cannot be changed on its own: %w", ErrInvalid), err)
	}
	if !sameOthers(before, now, edit.Key) {
		return "", fmt.Errorf("other keys refer to its value: %w", ErrInvalid)
	}
	return after, nil
}

// sameOthers reports whether a and b hold the same values but for key.
func sameOthers(a, b []entry, key string) bool {
	rest := func(list []entry) []entry {
		return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return e.key == key })
	}
	return slices.EqualFunc(rest(a), rest(b), func(x, y entry) bool {
		return x.key == y.key && x.value.shape == y.value.shape && x.value.scalar == y.value.scalar && slices.Equal(x.value.items, y.value.items)
	})
}

// replaceValue writes a new value after the colon of e. A comment behind a
// value of one line stays, and so does the form of a block list.
func replaceValue(head string, e *entry, edit KeyEdit, eol string) string {
	lineEnd := ""
	if strings.HasSuffix(head[e.start:e.end], "\n") {
		if strings.HasSuffix(head[e.start:e.end], "\r\n") {
			lineEnd = "\r\n"
		} else {
			lineEnd = "\n"
		}
	}
	list, isList := edit.Value.([]scalar)
	if texts, ok := edit.Value.([]string); ok {
		isList = true
		for _, s := range texts {
			list = append(list, scalar{text: s})
		}
	}
	if isList && e.dash >= 0 && len(list) > 0 {
		first := e.colon + strings.IndexByte(head[e.colon:], '\n') + 1
		var b strings.Builder
		indent := strings.Repeat(" ", e.dash)
		for i, s := range list {
			if i > 0 {
				b.WriteString(eol)
			}
			b.WriteString(indent + "- " + encodeItem(s, false, alwaysQuoted(edit.Key)))
		}
		return head[:first] + b.String() + lineEnd + head[e.end:]
	}
	text := " " + encodeValue(edit.Key, edit.Value)
	if e.comment > 0 {
		// The value ends where the comment begins.
		return head[:e.colon] + text + spaced(head[e.comment:e.end]) + head[e.end:]
	}
	return head[:e.colon] + text + lineEnd + head[e.end:]
}

// spaced makes sure that a comment is not glued to the value before it.
func spaced(comment string) string {
	if strings.HasPrefix(comment, "#") {
		return " " + comment
	}
	return comment
}

// insertKey puts a key that was not there after the last one before it in our
// order; keys we do not know go to the end.
func insertKey(head string, entries []entry, edit KeyEdit, eol string) string {
	order := fields(&Memory{})
	rank := func(key string) int {
		return slices.IndexFunc(order, func(f KeyEdit) bool { return f.Key == canonicalKey(key) })
	}
	at := len(head)
	if r := rank(edit.Key); r >= 0 {
		at = -1
		for _, e := range entries {
			if have := rank(e.key); have >= 0 && have < r {
				at = e.end
			}
		}
		if at < 0 && len(entries) > 0 {
			at = entries[0].start
		} else if at < 0 {
			at = len(head)
		}
	}
	line := encodeScalar(edit.Key, false, false) + ": " + encodeValue(edit.Key, edit.Value)
	if at > 0 && head[at-1] != '\n' {
		return head[:at] + eol + line + head[at:]
	}
	return head[:at] + line + eol + head[at:]
}

// canonicalKey returns the key we write for one that others write.
func canonicalKey(key string) string {
	switch key {
	case "type":
		return "memory_type"
	case "alias":
		return "aliases"
	case "tag":
		return "tags"
	}
	return key
}

// Update returns b with the changes that lead from old to new: the keys whose
// values differ, the body if it differs, the `## Related` block if the links
// differ. Every other byte stays. Old is what the caller decoded from b and new
// a changed copy of it; title gives the titles of linked memories and may be
// nil.
func Update(b []byte, old, new *Memory, title func(ID) string) ([]byte, error) {
	l, err := split(b)
	if err != nil {
		return nil, err
	}
	var entries []entry
	if l.has {
		if entries, err = readHead(b[l.head:l.headEnd], l.headLine); err != nil {
			return nil, err
		}
	}
	now := *new
	if new.Body != old.Body {
		now.Body, now.Links = withBlock(new)
	}
	tail, dropped := updateBody(string(b[l.body:]), old, &now, title)
	edits := diffKeys(old, &now, entries)
	if dropped { // links that a person wrote into the block alone need another place
		bare := now
		bare.Links = nil
		for _, e := range diffKeys(&bare, &now, entries) {
			if !slices.ContainsFunc(edits, func(other KeyEdit) bool { return other.Key == e.Key }) {
				edits = append(edits, e)
			}
		}
	}
	head, err := editHead(b, l, edits)
	if err != nil {
		return nil, err
	}
	out := join(b, l, head)
	cut, err := split(out)
	if err != nil {
		return nil, err
	}
	out = out[:cut.body:cut.body]
	if cut.has && tail != "" && !strings.HasSuffix(string(out), "\n") {
		out = append(out, cut.eol()...)
	}
	return append(out, tail...), nil
}

// diffKeys returns the edits that lead from old to new, under the names of
// keys that the file uses.
func diffKeys(old, new *Memory, entries []entry) []KeyEdit {
	have := map[string]bool{}
	for _, e := range entries {
		have[e.key] = true
	}
	was, is := fields(old), fields(new)
	var edits []KeyEdit
	for i := range is {
		if reflect.DeepEqual(was[i].Value, is[i].Value) {
			continue
		}
		edit := is[i]
		for _, other := range [...]string{"type", "alias", "tag"} {
			if canonicalKey(other) != edit.Key || !have[other] {
				continue
			}
			if have[edit.Key] {
				edits = append(edits, KeyEdit{Key: other})
			} else {
				edit.Key = other
			}
		}
		edits = append(edits, edit)
	}
	return edits
}

// updateBody returns raw, what follows the frontmatter, with the body of new,
// and with a new block if the links changed. It reports whether there was a
// block that the new body cannot carry: below an open code fence it would be
// text.
func updateBody(raw string, old, new *Memory, title func(ID) string) (out string, dropped bool) {
	at, block := findRelated(raw, codeRanges(raw))
	text, tail := raw, ""
	if at >= 0 {
		text, tail = raw[:at], raw[at:]
	}
	if new.Body != old.Body {
		text = spliceLines(text, new.Body)
	}
	if new.Body != old.Body && at >= 0 && !takesBlock(endLine(lf(text))) {
		return text, true
	}
	if reflect.DeepEqual(orderLinks(old.Links), orderLinks(new.Links)) {
		return text + tail, false
	}
	known := map[ID]string{}
	for _, b := range block {
		known[b.id] = b.title
	}
	name := func(id ID) string {
		if title != nil {
			if t := title(id); t != "" {
				return t
			}
		}
		return known[id]
	}
	links := orderLinks(new.Links)
	if len(links) == 0 || !takesBlock(endLine(lf(text))) {
		return text, false
	}
	eol := "\n"
	if mostlyCRLF([]byte(raw)) {
		eol = "\r\n"
	}
	made := strings.ReplaceAll(relatedBlock(links, name), "\n", eol)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	return text + made, false
}

// spliceLines returns raw, a body with its own line ends, changed into want,
// whose line ends are LF. Lines that both have at the start and at the end keep
// their bytes, as do the blank lines after the last one.
func spliceLines(raw, want string) string {
	eol := "\n"
	if mostlyCRLF([]byte(raw)) {
		eol = "\r\n"
	}
	have := strings.SplitAfter(raw, "\n")
	if have[len(have)-1] == "" {
		have = have[:len(have)-1]
	}
	end := len(have)
	for end > 0 && strings.Trim(have[end-1], "\r\n") == "" {
		end--
	}
	blank := have[end:]
	have = have[:end]
	lines := strings.Split(strings.TrimRight(lf(want), "\n"), "\n")
	if lines[0] == "" && len(lines) == 1 {
		lines = nil
	}
	bare := func(s string) string { return strings.TrimRight(s, "\r\n") }
	head := 0
	for head < len(have) && head < len(lines) && bare(have[head]) == lines[head] {
		head++
	}
	tail := 0
	for tail < len(have)-head && tail < len(lines)-head && bare(have[len(have)-1-tail]) == lines[len(lines)-1-tail] {
		tail++
	}
	var b strings.Builder
	for _, s := range have[:head] {
		b.WriteString(s)
	}
	if n := b.Len(); n > 0 && head < len(lines) && have[head-1][len(have[head-1])-1] != '\n' {
		b.WriteString(eol)
	}
	middle := lines[head : len(lines)-tail]
	for i, s := range middle {
		b.WriteString(s)
		last := i == len(middle)-1 && tail == 0
		if !last || len(blank) > 0 || raw == "" || strings.HasSuffix(raw, "\n") {
			b.WriteString(eol)
		}
	}
	for _, s := range have[len(have)-tail:] {
		b.WriteString(s)
	}
	for _, s := range blank {
		b.WriteString(s)
	}
	return b.String()
}
