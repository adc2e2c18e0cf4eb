package conf

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Markers are a pair of lines between which a text of ours stands in a file that
// is someone else's.
type Markers struct {
	Begin, End string // whole lines
}

// TOMLMarkers returns the markers of our block in TOML files.
func TOMLMarkers() Markers { return Markers{Begin: "# BEGIN foldwatch v1", End: "# END foldwatch"} }

// MarkdownMarkers returns the markers of our block in instruction files.
func MarkdownMarkers() Markers {
	return Markers{Begin: "<!-- BEGIN foldwatch v1 -->", End: "<!-- END foldwatch -->"}
}

// SetBlock returns the TOML file b with block between our markers: in its place
// if there is one, else at the end. It returns ErrInvalid if b does not parse,
// or would not with the block in it (a table of that name is there already).
// [RemoveBlock] undoes it byte by byte.
func SetBlock(b []byte, block string) ([]byte, error) {
	if _, err := readTOML("file", bytes.TrimPrefix(b, bom)); err != nil {
		return nil, err
	}
	out, err := TOMLMarkers().Set(b, block)
	if err != nil {
		return nil, err
	}
	if _, err := readTOML("file with our block", bytes.TrimPrefix(out, bom)); err != nil {
		return nil, err
	}
	return out, nil
}

// RemoveBlock returns the TOML file b without our block.
func RemoveBlock(b []byte) ([]byte, error) { return TOMLMarkers().Remove(b) }

// Get returns the text between the markers, and whether there is one.
func (m Markers) Get(b []byte) (string, bool, error) {
	begin, end, ok, err := m.find(b)
	if err != nil || !ok {
		return "", false, err
	}
	inner := b[begin:end]
	inner = inner[bytes.IndexByte(inner, '\n')+1:]
	inner = inner[:bytes.LastIndex(inner, []byte(m.End))]
	return strings.ReplaceAll(string(inner), "\r\n", "\n"), true, nil
}

// Set returns b with block between the markers: in its place if there is one,
// else at the end, behind an empty line. A file that did not end in a line end
// still does not, which is how [Markers.Remove] knows. It returns ErrInvalid if
// one marker alone, or two pairs, are there.
func (m Markers) Set(b []byte, block string) ([]byte, error) {
	begin, end, ok, err := m.find(b)
	if err != nil {
		return nil, err
	}
	nl := newlineOf(b)
	block = strings.TrimRight(strings.ReplaceAll(block, "\r\n", "\n"), "\n") + "\n"
	text := strings.ReplaceAll(m.Begin+"\n"+block+m.End, "\n", nl)
	if ok {
		return splice(b, begin, end, text), nil
	}
	switch {
	case len(bytes.TrimPrefix(b, bom)) == 0:
		text += nl
	case b[len(b)-1] == '\n':
		text = nl + text + nl
	default:
		text = nl + nl + text
	}
	return splice(b, len(b), len(b), text), nil
}

// Remove returns b without the markers, what stands between, and the empty line
// before it.
func (m Markers) Remove(b []byte) ([]byte, error) {
	begin, end, ok, err := m.find(b)
	if err != nil || !ok {
		return bytes.Clone(b), err
	}
	atEnd := end == len(b)
	if n := lineEnd(b[end:]); n > 0 {
		end += n
	}
	// One line end is the empty line; where the file ended without one, the
	// one we had to add goes too. They are as the one behind our first line.
	nl := "\n"
	if bytes.HasPrefix(b[begin+len(m.Begin):], []byte("\r\n")) {
		nl = "\r\n"
	}
	for i := 0; i < 2 && (i == 0 || atEnd); i++ {
		if bytes.HasSuffix(b[:begin], []byte(nl)) {
			begin -= len(nl)
		}
	}
	return splice(b, begin, end, ""), nil
}

func lineEnd(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("\r\n")):
		return 2
	case bytes.HasPrefix(b, []byte("\n")):
		return 1
	}
	return 0
}

// find returns the bytes of the block, from the start of its first line to the
// end of its last without the line end.
func (m Markers) find(b []byte) (begin, end int, ok bool, err error) {
	begin, end = -1, -1
	for at := 0; at < len(b); {
		stop := len(b)
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			stop = at + i
		}
		line := string(bytes.TrimSuffix(b[at:stop], []byte("\r")))
		switch {
		case at == 0 && strings.TrimPrefix(line, string(bom)) == m.Begin:
			begin = len(line) - len(m.Begin)
		case line == m.Begin && begin >= 0, line == m.End && (begin < 0 || end >= 0):
			return 0, 0, false, fmt.Errorf("the lines %q and %q do not pair up: %w", m.Begin, m.End, fold.ErrInvalid)
		case line == m.Begin:
			begin = at
		case line == m.End:
			end = at + len(line)
		}
		at = stop + 1
	}
	if begin >= 0 && end < 0 {
		return 0, 0, false, fmt.Errorf("the lines %q and %q do not pair up: %w", m.Begin, m.End, fold.ErrInvalid)
	}
	return begin, end, begin >= 0, nil
}
