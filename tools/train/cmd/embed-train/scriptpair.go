package main

import (
	"regexp"
	"strings"
)

// declared finds the name of what a JSDoc comment stands before: a function, a
// class, a method, a property, a constant.
var declared = regexp.MustCompile(`^(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:(?:public|private|protected|static|readonly|abstract|override|async|get|set)\s+)*(?:(?:function\*?|class|interface|type|enum|const|let|var|namespace)\s+)?(?:async\s+)?\*?\s*(?:function\s+)?([A-Za-z_$#][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\s*(?:<[^>{}]*>)?\s*[(:={?]|^(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:class|interface|enum)\s+([A-Za-z_$][\w$]*)`)

var (
	braceTag = regexp.MustCompile(`\{@\w+\s+([^}|]*)(?:\|[^}]*)?\}`)
	htmlTag  = regexp.MustCompile(`<[^>\n]{1,80}>`)
	mdLink   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// scriptPairs returns a pair for every declaration of a JavaScript or TypeScript
// file that a JSDoc comment stands before.
func scriptPairs(f file) []textPair {
	var out []textPair
	text, class := f.text, ""
	for at := 0; ; {
		i := strings.Index(text[at:], "/**")
		if i < 0 {
			return out
		}
		start := at + i
		n := strings.Index(text[start+3:], "*/")
		if n < 0 {
			return out
		}
		doc, after := text[start+3:start+3+n], start+3+n+2
		at = after
		code := strings.TrimLeft(text[after:min(len(text), after+maxText)], " \t\r\n")
		m := declared.FindStringSubmatch(code)
		if m == nil {
			continue
		}
		name := m[1] + m[2]
		switch name {
		case "if", "for", "while", "switch", "return", "case", "import", "describe", "it", "throw", "new":
			continue
		}
		code = code[:bodyEnd(code)]
		if head, _, _ := strings.Cut(code, name); strings.Contains(head, "class") {
			class = name
		} else if class != "" && !strings.Contains(name, ".") && indented(text, start) {
			name = class + "." + name
		}
		if about := firstSentence(jsdoc(doc)); about != "" {
			out = append(out, textPair{about, name, code})
		}
	}
}

// indented reports whether the comment at text[at] stands inside something.
func indented(text string, at int) bool {
	return at > 0 && (text[at-1] == ' ' || text[at-1] == '\t')
}

// bodyEnd returns where the declaration that code begins with ends: at the
// bracket that closes its first block, or at the end of its statement. Brackets
// in strings are counted too, which is right often enough.
func bodyEnd(code string) int {
	depth, block := 0, false
	for i := range len(code) {
		switch code[i] {
		case '{', '(', '[':
			block = block || code[i] == '{' && depth == 0
			depth++
		case '}', ')', ']':
			depth--
			if depth <= 0 && block && code[i] == '}' || depth < 0 {
				return i + 1
			}
		case ';':
			if depth == 0 {
				return i + 1
			}
		case '\n':
			if depth == 0 && (i+1 == len(code) || code[i+1] == '\n') {
				return i + 1
			}
		}
	}
	return len(code)
}

// jsdoc returns what a JSDoc comment says before its tags, or in its
// @description.
func jsdoc(doc string) string {
	var out []string
	skip := false
	for line := range strings.SplitSeq(doc, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(line, " \t"), "*"))
		if strings.HasPrefix(line, "@") {
			tag, rest, _ := strings.Cut(line, " ")
			if skip = tag != "@description" && tag != "@desc" && tag != "@summary"; skip {
				continue
			}
			line = rest
		}
		if !skip {
			out = append(out, line)
		}
	}
	s := braceTag.ReplaceAllString(strings.Join(out, "\n"), "$1")
	return mdLink.ReplaceAllString(htmlTag.ReplaceAllString(s, " "), "$1")
}
