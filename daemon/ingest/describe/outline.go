package describe

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/regex"
)

// outlineOf lists what the lines of a file define that no parser cut: keys,
// targets, tables. It never takes values, which may be secrets.
func outlineOf(s *Subject) []component {
	src := s.Source[:min(len(s.Source), 256<<10)]
	switch s.Language {
	case "markdown":
		return headings(src)
	case "text":
		return underlined(src)
	case "json":
		return topKeys(src)
	}
	language := s.Language
	switch {
	case language == "cpp":
		language = "c"
	case language == "tsx", language == "javascript":
		language = "typescript"
	case strings.EqualFold(path.Base(s.Path), "makefile"):
		language = "make"
	}
	rule, ok := outlineRules[language]
	if !ok {
		return nil
	}
	out := rule.find(s, src)
	if len(out) == 0 && language == "c" {
		out = constants.find(s, src)
	}
	return out
}

// constants are what a C header without functions is for.
var constants = outlineRule{"constant", regex.Later(`(?m)^#[ \t]*define[ \t]+(\w{1,80})[ \t]+\S`)}

// find lists what the lines of a file define by the rule.
func (rule outlineRule) find(s *Subject, src []byte) []component {
	var out []component
	seen := map[string]bool{}
	for _, m := range rule.re().FindAllSubmatchIndex(src, 400) {
		name := ""
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 && m[g+1] > m[g] {
				name = strings.Trim(cleanLine(string(src[m[g]:m[g+1]])), `"·<>(`)
				break
			}
		}
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		c := component{kind: rule.kind, name: name, order: len(out), lines: 1}
		c.open = isOpen(s.Language, name, nil)
		if rule.kind != "key" && rule.kind != "section" && hasComments(s.Language) {
			above := commentAbove(src, m[0], s.Language)
			if sig, ok := strings.CutPrefix(above, "func "+name); ok && s.Language == "assembly" && strings.HasPrefix(sig, "(") {
				c.signature = strings.TrimSpace(sig)
			} else {
				c.doc, c.form = docLine(above, name)
			}
		}
		out = append(out, c)
	}
	return out
}

// hasComments reports whether the comment above a definition that a pattern
// found says what it is for.
func hasComments(language string) bool {
	switch language {
	case "xml", "svg", "json", "gomod", "csv":
		return false
	}
	return true
}

// commentAbove returns the comment lines that end right above the line at.
func commentAbove(src []byte, at int, language string) string {
	marks := marksOf(language)
	for at > 0 && src[at-1] != '\n' {
		at--
	}
	var lines []string
	for len(lines) < 12 && at > 0 {
		from := bytes.LastIndexByte(src[:at-1], '\n') + 1
		text, ok := marks.line(src[from:at])
		if !ok || strings.TrimSpace(text) == "" {
			break
		}
		lines = append(lines, text)
		at = from
	}
	var b strings.Builder
	for _, line := range slices.Backward(lines) {
		b.WriteString(line + " ")
	}
	return b.String()
}

// headings lists the headings of Markdown, not those in fenced code.
func headings(src []byte) []component {
	var out []component
	fenced := false
	for line := range bytes.Lines(src) {
		t := bytes.TrimSpace(line)
		if bytes.HasPrefix(t, []byte("```")) || bytes.HasPrefix(t, []byte("~~~")) {
			fenced = !fenced
		}
		level := 0
		for level < len(t) && t[level] == '#' {
			level++
		}
		if fenced || level == 0 || level > 3 || level == len(t) || t[level] != ' ' {
			continue
		}
		if name := cleanProse(string(bytes.Trim(t, "# \t"))); name != "" {
			out = append(out, component{kind: "h" + string(rune('0'+level)), name: name, level: level, order: len(out), open: true, lines: 1})
		}
	}
	return out
}

// underlined lists the headings of reStructuredText and plain text: a mark means
// the level at which it first occurs.
func underlined(src []byte) []component {
	var out []component
	levels := map[byte]int{}
	before := ""
	for line := range strings.Lines(string(src)) {
		t := strings.TrimRight(line, " \t\r\n")
		if isUnderline(t) && before != "" && !isUnderline(before) && len(t) >= len(before)*2/3 && !strings.HasPrefix(before, " ") && len(before) < 100 {
			if levels[t[0]] == 0 {
				levels[t[0]] = len(levels) + 1
			}
			if l := levels[t[0]]; l <= 3 {
				out = append(out, component{kind: "h" + string(rune('0'+l)), name: cleanProse(before), level: l, order: len(out), open: true, lines: 1})
			}
		}
		before = t
	}
	return out
}

// topKeys lists the keys of a JSON object that are indented least.
func topKeys(src []byte) []component {
	var out []component
	indent := -1
	for line := range bytes.Lines(src) {
		t := bytes.TrimLeft(line, " \t")
		if len(t) == 0 || t[0] != '"' || len(t) == len(line) {
			continue
		}
		if indent < 0 {
			indent = len(line) - len(t)
		}
		if len(line)-len(t) != indent {
			continue
		}
		end := bytes.IndexByte(t[1:], '"')
		if end <= 0 || end > 60 || !bytes.HasPrefix(bytes.TrimLeft(t[end+2:], " "), []byte(":")) {
			continue
		}
		out = append(out, component{kind: "key", name: cleanLine(string(t[1 : end+1])), order: len(out), open: true, lines: 1})
		if len(out) == 400 {
			break
		}
	}
	return out
}

type outlineRule struct {
	kind string
	re   func() *regexp.Regexp
}

// outlineRules holds, by language, what a line looks like that defines
// something. Never changed.
var outlineRules = map[string]outlineRule{
	"yaml":       {"key", regex.Later(`(?m)^([A-Za-z_][\w.-]{0,60}):(?:\s|$)`)},
	"toml":       {"section", regex.Later(`(?m)^\[{1,2}([\w."-]{1,80})\]{1,2}`)},
	"ini":        {"section", regex.Later(`(?m)^\[([^\]\n]{1,80})\]`)},
	"make":       {"target", regex.Later(`(?m)^([A-Za-z][\w./-]{0,60}):(?:[^=]|$)`)},
	"shell":      {"function", regex.Later(`(?m)^(?:function[ \t]+([\w-]{1,60})|([\w-]{1,60})[ \t]*\(\))`)},
	"sql":        {"database object", regex.Later(`(?mi)^[ \t]*create\s+(?:or\s+replace\s+)?(?:virtual\s+|temp\w*\s+|unique\s+|materialized\s+)?(?:table|view|index|function|procedure|trigger|type)\s+(?:if\s+not\s+exists\s+)?["\x60\[]?([\w.]{1,80})`)},
	"proto":      {"message", regex.Later(`(?m)^[ \t]*(?:message|service|enum|rpc)[ \t]+(\w{1,80})`)},
	"graphql":    {"type", regex.Later(`(?m)^(?:type|input|enum|interface|union|scalar)[ \t]+(\w{1,80})`)},
	"ruby":       {"definition", regex.Later(`(?m)^[ \t]{0,4}(?:class|module|def)[ \t]+([\w.:?!]{1,80})`)},
	"php":        {"definition", regex.Later(`(?m)^[ \t]{0,4}(?:(?:abstract |final |public |protected |static )*(?:class|interface|trait|function))[ \t]+(\w{1,80})`)},
	"perl":       {"function", regex.Later(`(?m)^sub[ \t]+(\w{1,80})`)},
	"lua":        {"function", regex.Later(`(?m)^(?:local )?function[ \t]+([\w.:]{1,80})`)},
	"hcl":        {"block", regex.Later(`(?m)^(?:resource|module|variable|output|data|provider)[ \t]+((?:"[\w-]{1,60}"[ \t]*){1,2})`)},
	"kotlin":     {"definition", regex.Later(`(?m)^[ \t]{0,4}(?:\w+ ){0,3}(?:class|interface|object|fun)[ \t]+([\w.]{1,80})`)},
	"csharp":     {"definition", regex.Later(`(?m)^[ \t]{0,4}(?:\w+ ){0,3}(?:class|interface|struct|enum|record)[ \t]+(\w{1,80})`)},
	"swift":      {"definition", regex.Later(`(?m)^(?:\w+ ){0,3}(?:class|struct|enum|protocol|func|extension)[ \t]+([\w.]{1,80})`)},
	"assembly":   {"routine", regex.Later(`(?m)^(?:TEXT[ \t]+[^\s(·]{0,80}·?([^\s(<,]{1,80})|(?:\.globl|\.global)[ \t]+(\w{1,80}))`)},
	"c":          {"function", regex.Later(`(?m)^[A-Za-z_][\w \t]{0,80}[ \t*]+(\w{1,80})[ \t]*\([^;{}=]{0,400}\)[^;{}\n]{0,40};`)},
	"go":         {"name", regex.Later(`(?m)^(?:(?:var|const)[ \t]+|\t)([A-Za-z]\w{0,80})(?:[ \t]+[\w.*\[\]]{1,60})?[ \t]*=`)},
	"python":     {"name", regex.Later(`(?m)^([A-Za-z]\w{0,80})[ \t]*(?::[^=\n]{1,80})?=[^=]`)},
	"typescript": {"name", regex.Later(`(?m)^export[ \t]+(?:declare[ \t]+)?(?:default[ \t]+)?(?:abstract[ \t]+)?(?:const|let|var|async function|function|class|interface|type|enum|namespace)[ \t]+([\w$]{1,80})`)},
	"css":        {"rule", regex.Later(`(?m)^([.#@:\w][^\n{};]{0,60}?)[ \t]*\{`)},
	"elixir":     {"definition", regex.Later(`(?m)^[ \t]{0,4}(?:defmodule|def|defmacro)[ \t]+([\w.?!]{1,80})`)},
	"powershell": {"function", regex.Later(`(?mi)^function[ \t]+([\w-]{1,80})`)},
	"cmake":      {"target", regex.Later(`(?mi)^[ \t]*(?:add_executable|add_library|add_custom_target|function|macro)[ \t]*\([ \t]*([\w:.-]{1,80})`)},
	"r":          {"function", regex.Later(`(?m)^([\w.]{1,80})[ \t]*(?:<-|=)[ \t]*function\b`)},
	"groovy":     {"definition", regex.Later(`(?m)^[ \t]{0,4}(?:class|interface|def)[ \t]+(\w{1,80})`)},
	"dart":       {"class", regex.Later(`(?m)^(?:abstract )?(?:class|mixin|enum|extension)[ \t]+(\w{1,80})`)},
}
