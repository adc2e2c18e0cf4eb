package describe

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/meta/fold"
)

func headingLevel(nodeType string) int {
	if len(nodeType) == 2 && nodeType[0] == 'h' && nodeType[1] >= '1' && nodeType[1] <= '6' {
		return int(nodeType[1] - '0')
	}
	return 0
}

// lastHeading returns a heading without those above it.
func lastHeading(name, parent string) string {
	if parent != "" && strings.HasPrefix(name, parent) {
		name = strings.TrimLeft(name[len(parent):], " >/.›»")
	}
	for _, sep := range []string{" > ", " › ", " » "} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			name = name[i+len(sep):]
		}
	}
	return strings.TrimSpace(name)
}

// splitName splits a qualified name into what holds it and its own. Of PHP's
// names the namespace is left out: the file's package says it, and A\B in A\B\f
// is no type whose method f could be. A type's methods follow a "::".
func splitName(name, parent string) (holder, last string) {
	if i := strings.LastIndexByte(name, '\\'); i >= 0 {
		name, parent = name[i+1:], parent[strings.LastIndexByte(parent, '\\')+1:]
		if !strings.Contains(name, "::") {
			return "", name
		}
	}
	if parent != "" && strings.HasPrefix(name, parent) && len(name) > len(parent) {
		return implOf(parent), strings.TrimLeft(name[len(parent):], ".:#")
	}
	for _, sep := range []string{"::", "."} {
		if i := strings.LastIndex(name, sep); i > 0 {
			return implOf(name[:i]), name[i+len(sep):]
		}
	}
	if parent != "" {
		return implOf(parent), name
	}
	return "", name
}

// implOf returns the type of a Rust impl block: Thing of `Display for Thing`.
func implOf(name string) string {
	name = strings.TrimPrefix(name, "impl ")
	if i := strings.LastIndex(name, " for "); i >= 0 {
		name = name[i+len(" for "):]
	}
	return strings.TrimSpace(name)
}

// squash returns a name as it is compared: letters and digits, lower case.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// head returns the first bytes of a chunk, where its modifiers stand.
func head(src []byte, c *fold.Chunk) []byte {
	from := min(max(0, c.StartByte), len(src))
	return src[from:min(len(src), from+2048, max(from, c.EndByte))]
}

// An exportList is what a file of JavaScript says at one place about what other
// files can use.
type exportList struct {
	names map[string]bool
	any   bool // the file exports something, here or where it is defined
}

// exportsOf reads export { a, b as c }, module.exports = { a, b } and their like.
func exportsOf(s *Subject) exportList {
	var l exportList
	switch s.Language {
	case "javascript", "typescript", "tsx", "vue", "svelte":
	default:
		return l
	}
	src := s.Source
	for _, mark := range []string{"export", "exports"} {
		for at := 0; ; {
			i := bytes.Index(src[at:], []byte(mark))
			if i < 0 {
				break
			}
			from := at + i
			at = from + len(mark)
			if at >= len(src) || isWordByte(src[at]) || from > 0 && isWordByte(src[from-1]) {
				continue
			}
			l.any = true
			l.read(src[at:min(len(src), at+4096)])
		}
	}
	return l
}

// read takes the names that stand behind one export or exports.
func (l *exportList) read(rest []byte) {
	add := func(name []byte) {
		if name = bytes.TrimSpace(name); len(name) > 0 && len(name) < 80 {
			if l.names == nil {
				l.names = map[string]bool{}
			}
			l.names[string(name)] = true
		}
	}
	word := func(b []byte) []byte {
		n := 0
		for n < len(b) && (isWordByte(b[n]) || b[n] == '$') {
			n++
		}
		return b[:n]
	}
	if len(rest) > 0 && rest[0] == '.' { // exports.name =
		add(word(rest[1:]))
		return
	}
	rest = bytes.TrimLeft(rest, " \t")
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("=")), " \t\n")
	if after, ok := bytes.CutPrefix(rest, []byte("default ")); ok {
		add(word(after))
		return
	}
	if len(rest) == 0 || rest[0] != '{' {
		add(word(rest))
		return
	}
	inner, _, ok := bytes.Cut(rest[1:], []byte("}"))
	if !ok {
		return
	}
	for part := range bytes.SplitSeq(inner, []byte(",")) {
		part, _, _ = bytes.Cut(part, []byte(" as "))
		part, _, _ = bytes.Cut(part, []byte(":"))
		add(word(bytes.TrimSpace(part)))
	}
}

// open reports whether other files can use a name that a file defines, by the
// rules and habits of its language. code is the beginning of its chunk; it may
// be nil.
func (l exportList) open(s *Subject, name string, code []byte) bool {
	switch s.Language {
	case "javascript", "typescript", "tsx", "vue", "svelte":
		return !l.any || code == nil || l.names[name] || hasWord(code, "export") || hasWord(code, "exports")
	}
	return isOpen(s.Language, name, code)
}

// openMember is open for a method of a type.
func (l exportList) openMember(s *Subject, name string, code []byte) bool {
	switch s.Language {
	case "javascript", "typescript", "tsx", "vue", "svelte":
		return name[0] != '_' && name[0] != '#' && !hasWord(code, "private")
	}
	return isOpen(s.Language, name, code)
}

func isOpen(language, name string, code []byte) bool {
	if i := strings.LastIndexAny(name, `.:\`); i >= 0 {
		name = name[i+1:]
	}
	first, _ := utf8.DecodeRuneInString(name)
	switch language {
	case "go":
		return unicode.IsUpper(first)
	case "python", "ruby", "php", "perl", "shell", "starlark":
		return first != '_' && !hasWord(code, "private")
	case "lua":
		return first != '_' && !hasWord(code, "local")
	case "rust", "zig":
		return code == nil || beginsWith(code, "pub") || beginsWith(code, "impl")
	case "java", "csharp", "kotlin", "scala", "swift":
		return !hasWord(code, "private") && !hasWord(code, "fileprivate")
	case "c", "cpp":
		return !hasWord(code, "static")
	}
	return true
}

// beginsWith reports whether w is the first word of code that is no comment and
// no attribute.
func beginsWith(code []byte, w string) bool {
	for line := range bytes.Lines(code) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == '/' || line[0] == '*' {
			continue
		}
		rest, ok := bytes.CutPrefix(line, []byte(w))
		return ok && (len(rest) == 0 || !isWordByte(rest[0]))
	}
	return false
}

// hasWord reports whether w is a word of the first lines of code that are no
// comment.
func hasWord(code []byte, w string) bool {
	n := 0
	for len(code) > 0 && n < 2 {
		line := code
		if i := bytes.IndexByte(code, '\n'); i >= 0 {
			line, code = code[:i], code[i+1:]
		} else {
			code = nil
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '*' || line[0] == '#' || line[0] == '@' || line[0] == '/' && len(line) > 1 && (line[1] == '/' || line[1] == '*') {
			continue
		}
		if i := bytes.IndexAny(line, "({="); i > 0 {
			line = line[:i+1]
		}
		for from := 0; ; {
			i := bytes.Index(line[from:], []byte(w))
			if i < 0 {
				break
			}
			i += from
			from = i + len(w)
			if (i == 0 || !isWordByte(line[i-1])) && (from == len(line) || !isWordByte(line[from])) {
				return true
			}
		}
		n++
	}
	return false
}
