package conf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// How a set leaves a trace that a remove can read. Between them they must give
// back every byte, also where the set had to make the objects on the way to
// the key. What follows the brace that opens an object of which our member is
// the only one tells which it was:
//
//	{ and a line end    we made this object; in the root: it was {}
//	{ and our member    the object was there, empty; its inside follows ours
//	{ and one space     only in the root: the file was empty
//
// Behind other members, ours brings its own white space before it, and a comma:
// in front of itself where the last member had none, behind itself where it had
// one.

// SetJSONC returns b with value (as encoding/json writes it) at path, a list of
// object keys. Every byte outside what is inserted stays: comments, order,
// indentation, line ends. Objects on the way that do not exist are made; an
// equal value leaves b as it is. b may be empty, and may hold comments and
// trailing commas. [RemoveJSONC] of the same path undoes it byte by byte.
//
// It returns ErrInvalid if b does not parse, if something on the way is not an
// object, or if a key of the path stands there twice.
func SetJSONC(b []byte, path []string, value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w: %w", strings.Join(path, "."), err, fold.ErrInvalid)
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("set: empty path: %w", fold.ErrInvalid)
	}
	if isSpace(bytes.TrimPrefix(b, bom)) {
		st := jsonStyle{unit: "  ", newline: newlineOf(b)}
		return append(bytes.Clone(b), "{ "+st.member(path, raw, 0)+st.newline+"}"+st.newline...), nil
	}
	doc, err := parseJSONC(b)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", strings.Join(path, "."), err)
	}
	st := doc.style()
	at, depth, err := doc.descend(path)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w", strings.Join(path, "."), err)
	}
	if depth == len(path) {
		if equalJSON(doc.text(at), raw) {
			return bytes.Clone(b), nil
		}
		return splice(b, doc.off+at.StartOffset, doc.off+at.EndOffset, st.value(raw, doc.depthOf(at, st, depth))), nil
	}
	obj, ok := at.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("set %s: %s is not an object: %w", strings.Join(path, "."), whereIs(path[:depth]), fold.ErrInvalid)
	}
	return doc.insert(at, obj, path[depth:], raw, depth, st), nil
}

// RemoveJSONC returns b without the member at path, and without the objects
// that [SetJSONC] made for it. A path that is not there leaves b as it is.
func RemoveJSONC(b []byte, path []string) ([]byte, error) {
	if isSpace(bytes.TrimPrefix(b, bom)) || len(path) == 0 {
		return bytes.Clone(b), nil
	}
	doc, err := parseJSONC(b)
	if err != nil {
		return nil, fmt.Errorf("remove %s: %w", strings.Join(path, "."), err)
	}
	_, depth, err := doc.descend(path)
	if err != nil {
		return nil, fmt.Errorf("remove %s: %w", strings.Join(path, "."), err)
	}
	if depth < len(path) {
		return bytes.Clone(b), nil
	}
	// The outermost object of which nothing else is left goes as a whole.
	for len(path) > 1 && doc.madeByUs(path[:len(path)-1]) {
		path = path[:len(path)-1]
	}
	return doc.remove(path), nil
}

var bom = []byte("\xef\xbb\xbf") // editors on Windows put it in front

// A jsonDoc is a parsed file; offsets of the tree count from off.
type jsonDoc struct {
	b    []byte
	off  int // length of the byte order mark
	root hujson.Value
}

// maxJSONDepth keeps a hostile file from ending the process: the parser and
// the walk are recursive.
const maxJSONDepth = 1000

func parseJSONC(b []byte) (*jsonDoc, error) {
	d := &jsonDoc{b: b}
	if bytes.HasPrefix(b, bom) {
		d.off = len(bom)
	}
	if deep(b[d.off:]) {
		return nil, fmt.Errorf("nested deeper than %d: %w", maxJSONDepth, fold.ErrInvalid)
	}
	root, err := hujson.Parse(b[d.off:])
	if err != nil {
		// The parser does not take a last comment without a line end.
		if again, e := hujson.Parse(append(bytes.Clone(b[d.off:]), '\n')); e == nil {
			root, err = again, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(err.Error(), "hujson: "), fold.ErrInvalid)
	}
	d.root = root
	return d, nil
}

func deep(b []byte) bool {
	depth, most := 0, 0
	for _, c := range b {
		switch c {
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
	}
	return most > maxJSONDepth
}

func (d *jsonDoc) text(v *hujson.Value) []byte {
	return d.b[d.off+v.StartOffset : d.off+v.EndOffset]
}

// descend follows path as far as it exists, and says how many keys that were.
func (d *jsonDoc) descend(path []string) (*hujson.Value, int, error) {
	v := &d.root
	for i, name := range path {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return v, i, fmt.Errorf("%s is not an object: %w", whereIs(path[:i]), fold.ErrInvalid)
		}
		m := member(obj, name)
		if m < 0 {
			return v, i, nil
		}
		if m == twice {
			return v, i, fmt.Errorf("%s stands there twice: %w", whereIs(path[:i+1]), fold.ErrInvalid)
		}
		v = &obj.Members[m].Value
	}
	return v, len(path), nil
}

func whereIs(path []string) string {
	if len(path) == 0 {
		return "the whole file"
	}
	return strings.Join(path, ".")
}

const twice = 1 << 30

// member returns the index of name, -1 if there is none, or twice.
func member(obj *hujson.Object, name string) int {
	at := -1
	for i := range obj.Members {
		if obj.Members[i].Name.Value.(hujson.Literal).String() == name {
			if at >= 0 {
				return twice
			}
			at = i
		}
	}
	return at
}

// insert puts the missing part of a path into obj, the object at depth.
func (d *jsonDoc) insert(at *hujson.Value, obj *hujson.Object, path []string, raw []byte, depth int, st jsonStyle) []byte {
	openAt, closeAt := d.off+at.StartOffset+1, d.off+at.EndOffset-1
	indent := st.indentBefore(d.b, d.off+at.StartOffset, depth)
	if len(obj.Members) == 0 {
		inside := d.b[openAt:closeAt]
		white := isSpace(inside)
		switch {
		case depth == 0 && len(inside) == 0:
			return splice(d.b, openAt, openAt, st.newline+st.unit+st.memberAt(path, raw, st.unit)+st.newline)
		case white:
			return splice(d.b, openAt, openAt, st.memberAt(path, raw, indent+st.unit))
		}
		// Only comments: ours follows the last.
		end := closeAt - trailingSpace(inside)
		return splice(d.b, end, end, st.newline+indent+st.unit+st.memberAt(path, raw, indent+st.unit))
	}
	last := obj.Members[len(obj.Members)-1]
	valueEnd := d.off + last.Value.EndOffset
	tail := d.b[valueEnd:closeAt]
	comma := hasTrailingComma(obj)
	end := closeAt - trailingSpace(tail)

	sep := " "
	inner := indent
	if own, ok := ownLine(d.b, d.off+last.Name.StartOffset); ok {
		sep, inner = st.newline+own, own
	} else if bytes.ContainsRune(d.b[end:closeAt], '\n') {
		inner = indent + st.unit
		sep = st.newline + inner
	}
	text := sep + st.memberAt(path, raw, inner)
	if comma {
		return splice(d.b, end, end, text+",")
	}
	out := splice(d.b, end, end, text)
	return splice(out, valueEnd, valueEnd, ",")
}

// madeByUs reports whether the object at path holds one member and looks as
// SetJSONC writes an object it makes.
func (d *jsonDoc) madeByUs(path []string) bool {
	v, depth, err := d.descend(path)
	obj, ok := v.Value.(*hujson.Object)
	if err != nil || depth != len(path) || !ok || len(obj.Members) != 1 || hasTrailingComma(obj) {
		return false
	}
	m := obj.Members[0]
	before := d.b[d.off+v.StartOffset+1 : d.off+m.Name.StartOffset]
	after := d.b[d.off+m.Value.EndOffset : d.off+v.EndOffset-1]
	return len(before) > 0 && isSpace(before) && isSpace(after)
}

// remove cuts the member at path, which exists and is unique.
func (d *jsonDoc) remove(path []string) []byte {
	v, _, _ := d.descend(path[:len(path)-1])
	obj := v.Value.(*hujson.Object)
	i := member(obj, path[len(path)-1])
	m := obj.Members[i]
	openAt, closeAt := d.off+v.StartOffset+1, d.off+v.EndOffset-1
	start, end := d.off+m.Name.StartOffset, d.off+m.Value.EndOffset

	if len(obj.Members) == 1 && !hasTrailingComma(obj) {
		before, after := d.b[openAt:start], d.b[end:closeAt]
		if len(path) == 1 && isSpace(before) && isSpace(after) {
			head, foot := d.b[d.off:openAt-1], d.b[closeAt+1:]
			if string(before) == " " && isSpace(head) && isSpace(foot) {
				return bytes.Clone(d.b[:openAt-1]) // the file was empty
			}
			if len(before) > 0 {
				return splice(d.b, openAt, closeAt, "")
			}
		}
		return splice(d.b, start-trailingSpace(before), end, "")
	}
	// With a comma behind ours, that is the one to go; else the one before.
	if i < len(obj.Members)-1 || hasTrailingComma(obj) {
		end += len(m.Value.AfterExtra) + 1
		from := openAt
		if i > 0 {
			from = d.off + obj.Members[i-1].Value.EndOffset
		}
		return splice(d.b, start-trailingSpace(d.b[from:start]), end, "")
	}
	prev := obj.Members[i-1]
	commaAt := d.off + prev.Value.EndOffset + len(prev.Value.AfterExtra)
	out := splice(d.b, start-trailingSpace(d.b[commaAt+1:start]), end, "")
	return splice(out, commaAt, commaAt+1, "")
}

// hasTrailingComma reports whether a comma follows the last member: without
// one, the parser keeps what follows it with the object.
func hasTrailingComma(obj *hujson.Object) bool {
	return len(obj.Members) > 0 && obj.Members[len(obj.Members)-1].Value.AfterExtra != nil
}

// depthOf returns the indentation of the line on which v stands.
func (d *jsonDoc) depthOf(v *hujson.Value, st jsonStyle, depth int) string {
	return st.indentBefore(d.b, d.off+v.StartOffset, depth)
}

// A jsonStyle is how a file is laid out.
type jsonStyle struct {
	unit    string // one level of indentation
	newline string
}

// style reads the layout from the first member that begins a line.
func (d *jsonDoc) style() jsonStyle {
	st := jsonStyle{unit: "  ", newline: newlineOf(d.b)}
	var look func(v *hujson.Value, depth int) bool
	look = func(v *hujson.Value, depth int) bool {
		obj, ok := v.Value.(*hujson.Object)
		if !ok || depth > 8 {
			return false
		}
		for i := range obj.Members {
			own, ok := ownLine(d.b, d.off+obj.Members[i].Name.StartOffset)
			if ok && own != "" && len(own)%depth == 0 {
				st.unit = own[:len(own)/depth]
				return true
			}
			if look(&obj.Members[i].Value, depth+1) {
				return true
			}
		}
		return false
	}
	look(&d.root, 1)
	return st
}

func newlineOf(b []byte) string {
	if i := bytes.IndexByte(b, '\n'); i > 0 && b[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// ownLine returns the white space before offset at if nothing else stands
// before it on its line.
func ownLine(b []byte, at int) (string, bool) {
	start := bytes.LastIndexByte(b[:at], '\n') + 1
	if start == 0 || len(bytes.Trim(b[start:at], " \t")) > 0 {
		return "", false
	}
	return string(b[start:at]), true
}

// indentBefore returns the indentation of the line that at is on.
func (st jsonStyle) indentBefore(b []byte, at, depth int) string {
	start := bytes.LastIndexByte(b[:at], '\n') + 1
	end := start
	for end < at && (b[end] == ' ' || b[end] == '\t') {
		end++
	}
	if start == 0 {
		return strings.Repeat(st.unit, max(0, depth-1))
	}
	return string(b[start:end])
}

// member writes path and value for an object whose members are indented by
// depth+1 units.
func (st jsonStyle) member(path []string, raw []byte, depth int) string {
	return st.memberAt(path, raw, strings.Repeat(st.unit, depth+1))
}

// memberAt writes `"a": {"b": value}` for path a, b; indent is that of a.
func (st jsonStyle) memberAt(path []string, raw []byte, indent string) string {
	var b strings.Builder
	for i, name := range path {
		b.Write(hujson.String(name))
		b.WriteString(": ")
		if i < len(path)-1 {
			b.WriteString("{" + st.newline + indent + strings.Repeat(st.unit, i+1))
		}
	}
	b.WriteString(st.value(raw, indent+strings.Repeat(st.unit, len(path)-1)))
	for i := len(path) - 2; i >= 0; i-- {
		b.WriteString(st.newline + indent + strings.Repeat(st.unit, i) + "}")
	}
	return b.String()
}

// value lays raw out: objects over lines, lists of plain values on one.
func (st jsonStyle) value(raw []byte, indent string) string {
	v, err := hujson.Parse(raw)
	if err != nil {
		return string(raw) // encoding/json wrote it
	}
	var b strings.Builder
	st.write(&b, v.Value, indent)
	return b.String()
}

func (st jsonStyle) write(b *strings.Builder, v hujson.ValueTrimmed, indent string) {
	inner := indent + st.unit
	switch v := v.(type) {
	case hujson.Literal:
		b.Write(v)
	case *hujson.Object:
		if len(v.Members) == 0 {
			b.WriteString("{}")
			return
		}
		b.WriteByte('{')
		for i, m := range v.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(st.newline + inner)
			b.Write(m.Name.Value.(hujson.Literal))
			b.WriteString(": ")
			st.write(b, m.Value.Value, inner)
		}
		b.WriteString(st.newline + indent + "}")
	case *hujson.Array:
		plain := !slices.ContainsFunc(v.Elements, func(e hujson.ArrayElement) bool {
			_, ok := e.Value.(hujson.Literal)
			return !ok
		})
		b.WriteByte('[')
		for i, e := range v.Elements {
			switch {
			case !plain:
				b.WriteString(comma(i) + st.newline + inner)
			case i > 0:
				b.WriteString(", ")
			}
			st.write(b, e.Value, inner)
		}
		if !plain {
			b.WriteString(st.newline + indent)
		}
		b.WriteByte(']')
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// splice returns a copy of b with text in place of b[from:to].
func splice(b []byte, from, to int, text string) []byte {
	out := make([]byte, 0, len(b)-(to-from)+len(text))
	out = append(out, b[:from]...)
	out = append(out, text...)
	return append(out, b[to:]...)
}

// trailingSpace returns how many bytes of white space end b.
func trailingSpace(b []byte) int { return len(b) - len(bytes.TrimRight(b, " \t\r\n")) }

func isSpace(b []byte) bool { return trailingSpace(b) == len(b) }

// equalJSON reports whether two texts say the same value.
func equalJSON(a, b []byte) bool {
	std, err := hujson.Standardize(bytes.Clone(a))
	if err != nil {
		return false
	}
	var x, y any
	return json.Unmarshal(std, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
