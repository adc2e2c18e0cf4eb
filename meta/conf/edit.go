package conf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// SetKey returns the user file b with one key set: path is that of the file,
// such as projects, my-app, providers. Value is text, a bool, a number, a
// duration or a list of texts; nil takes the key out. Every other byte stays;
// a value that stood there is replaced where it stood, with the comment behind
// it, and a missing table is added at the end. It returns ErrInvalid if b does
// not parse, or the result would not.
func SetKey(b []byte, path []string, value any) ([]byte, error) {
	if len(path) == 0 || slices.Contains(path, "") {
		return nil, fmt.Errorf("set %q: not a key: %w", strings.Join(path, "."), fold.ErrInvalid)
	}
	if _, err := readTOML("config.toml", b); err != nil {
		return nil, err
	}
	text := ""
	if value != nil {
		var err error
		if text, err = tomlValue(value); err != nil {
			return nil, fmt.Errorf("set %s: %w", strings.Join(path, "."), err)
		}
	}
	out := setKey(b, path, text)
	if _, err := readTOML("config.toml", out); err != nil {
		return nil, fmt.Errorf("set %s: %w", strings.Join(path, "."), err)
	}
	return out, nil
}

// setKey does the work of SetKey; an empty text takes the key out.
func setKey(b []byte, path []string, text string) []byte {
	nl := newlineOf(b)
	spot := findKeyPosition(b, path)
	switch {
	case spot.found && text == "":
		return splice(b, lineStart(b, spot.keyAt), nextLine(b, spot.valueEnd), "")
	case spot.found:
		return splice(b, spot.valueAt, spot.valueEnd, text)
	case text == "":
		return bytes.Clone(b)
	}
	line := tomlKey(path[len(path)-1]) + " = " + text
	if spot.table {
		at := spot.tableEnd
		if at > 0 && b[at-1] != '\n' {
			return splice(b, at, at, nl+line)
		}
		return splice(b, at, at, line+nl)
	}
	var keys []string
	for _, p := range path[:len(path)-1] {
		keys = append(keys, tomlKey(p))
	}
	head := "[" + strings.Join(keys, ".") + "]" + nl
	switch {
	case len(b) == 0:
	case b[len(b)-1] != '\n':
		head = nl + nl + head
	default:
		head = nl + head
	}
	return splice(b, len(b), len(b), head+line+nl)
}

// A spot is where a key stands, or where it would have to.
type keyPosition struct {
	found             bool
	keyAt             int
	valueAt, valueEnd int

	table    bool // its table is there
	tableEnd int  // behind the last line of the table's own keys
}

func findKeyPosition(b []byte, path []string) keyPosition {
	top := len(path) == 1 // before all tables is a table too
	s := keyPosition{table: top, tableEnd: len(b)}
	inside, seen := top, false
	eachExpression(b, func(e *unstable.Node, at []string, start, end int) {
		switch {
		case s.found:
		case e.Kind != unstable.KeyValue:
			if top && !seen {
				s.tableEnd = aboveComments(b, lineStart(b, start))
			}
			seen = true
			inside = !top && e.Kind == unstable.Table && slices.Equal(at, path[:len(path)-1])
			if inside {
				s.table, s.tableEnd = true, nextLine(b, start)
			}
		default:
			valueAt, valueEnd := valueSpan(b, end)
			if slices.Equal(at, path) {
				s = keyPosition{found: true, keyAt: start, valueAt: valueAt, valueEnd: valueEnd}
			} else if inside && !top {
				s.tableEnd = nextLine(b, valueEnd)
			}
		}
	})
	return s
}

// aboveComments returns the start of the comment lines that end at at: they
// belong to the table below them.
func aboveComments(b []byte, at int) int {
	for at > 0 {
		up := lineStart(b, at-1)
		if t := bytes.TrimSpace(b[up:at]); len(t) == 0 || t[0] != '#' || up == 0 {
			break
		}
		at = up
	}
	return at
}

// valueSpan returns where the value of a key lies that ends at at. b is known
// to parse.
func valueSpan(b []byte, at int) (start, end int) {
	start = at + bytes.IndexByte(b[at:], '=') + 1
	for start < len(b) && (b[start] == ' ' || b[start] == '\t') {
		start++
	}
	depth := 0
	for end = start; end < len(b); {
		switch c := b[end]; {
		case c == '"' || c == '\'':
			end = stringEnd(b, end)
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == '#' && depth > 0:
			end = nextLine(b, end)
			continue
		case depth == 0 && (c == '#' || c == '\n' || c == '\r'):
			return start, start + len(bytes.TrimRight(b[start:end], " \t"))
		}
		end++
	}
	return start, start + len(bytes.TrimRight(b[start:end], " \t\r\n"))
}

// stringEnd returns the end of the string that begins at at.
func stringEnd(b []byte, at int) int {
	quote := b[at]
	long := bytes.HasPrefix(b[at:], []byte{quote, quote, quote})
	i := at + 1
	if long {
		i = at + 3
	}
	for ; i < len(b); i++ {
		switch {
		case b[i] == '\\' && quote == '"':
			i++
		case b[i] == quote && !long:
			return i + 1
		case b[i] == quote && bytes.HasPrefix(b[i:], []byte{quote, quote, quote}):
			for i += 3; i < len(b) && b[i] == quote; i++ { // up to two more belong to it
			}
			return i
		}
	}
	return len(b)
}

func lineStart(b []byte, at int) int { return bytes.LastIndexByte(b[:at], '\n') + 1 }

func nextLine(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(b)
}

// tomlKey returns a key, in quotes if it must be.
func tomlKey(s string) string {
	bare := strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	}) < 0
	if bare && s != "" {
		return s
	}
	return tomlText(s)
}
