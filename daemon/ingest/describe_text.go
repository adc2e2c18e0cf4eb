package ingest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isProse reports whether a language is text for people.
func isProse(language string) bool {
	switch language {
	case "markdown", "text", "rst", "asciidoc", "org", "tex", "latex", "html":
		return true
	}
	return false
}

// isData reports whether a language holds settings or data, not code.
func isData(language string) bool {
	switch language {
	case "json", "jsonc", "yaml", "toml", "ini", "xml", "csv", "gomod", "properties", "env", "dockerfile", "make", "cmake":
		return true
	}
	return false
}

// languageName returns the language as people write it; "" if it is not known.
func languageName(language string) string {
	switch language {
	case "go", "rust", "java", "python", "ruby", "swift", "kotlin", "scala", "lua", "perl", "dart", "zig", "elixir", "erlang", "haskell", "shell", "markdown", "groovy", "julia", "clojure", "starlark", "vue", "svelte":
		return strings.ToUpper(language[:1]) + language[1:]
	case "typescript":
		return "TypeScript"
	case "tsx":
		return "TypeScript (TSX)"
	case "javascript":
		return "JavaScript"
	case "cpp":
		return "C++"
	case "csharp":
		return "C#"
	case "c", "sql", "html", "css", "json", "yaml", "toml", "xml", "ini", "csv", "php", "scss":
		return strings.ToUpper(language)
	case "gomod":
		return "Go module"
	case "make":
		return "Make"
	case "cmake":
		return "CMake"
	case "dockerfile":
		return "Docker"
	case "proto", "protobuf":
		return "Protocol Buffers"
	case "graphql":
		return "GraphQL"
	}
	return language
}

func article(word string) string {
	if word == "" {
		return "a"
	}
	switch word {
	case "HTML", "XML", "INI":
		return "an"
	case "SQL", "SCSS":
		return "an"
	}
	if strings.ContainsRune("AEIOaeio", rune(word[0])) {
		return "an"
	}
	return "a"
}

// fileDoc returns the first sentences of what a file says about itself.
func fileDoc(s *Subject) string {
	if isProse(s.Language) {
		return firstParagraph(s.Source, s.Language)
	}
	if s.Doc == "" && len(s.Chunks) > 0 && hasComments(s.Language) {
		return scriptDoc(s.Source)
	}
	if s.Doc == "" {
		return ""
	}
	doc := cleanLine(s.Doc)
	if isNoise(doc) {
		return ""
	}
	// The chunker gives one sentence; the comment may go on.
	text := leadingComment(s.Source)
	if i := strings.Index(text, strings.TrimRight(doc, ".")); i >= 0 {
		if more := sentences(text[i:], 2, 320); utf8.RuneCountInString(more) > utf8.RuneCountInString(doc) {
			doc = more
		}
	}
	if at := aboutFile.FindStringIndex(doc); at != nil && at[0] > 0 {
		doc = strings.TrimSpace(doc[:at[0]])
	}
	return doc
}

// hasComments reports whether a file of a language that no parser cut may begin
// with a comment about itself.
func hasComments(language string) bool {
	switch language {
	case "shell", "yaml", "toml", "make", "dockerfile", "sql", "ruby", "perl", "lua", "ini", "cmake", "terraform", "hcl", "proto", "protobuf", "graphql", "css", "scss", "kotlin", "swift", "csharp", "php", "elixir", "starlark", "powershell", "groovy", "scala", "dart", "zig", "properties":
		return true
	}
	return false
}

// scriptDoc returns the first sentences of the first comment, before any code,
// that says something.
func scriptDoc(src []byte) string {
	var block []string
	tell := func() string {
		text := strings.Join(block, " ")
		block = nil
		if doc := sentences(text, 2, 320); doc != "" && !isNoise(doc) {
			return doc
		}
		return ""
	}
	for line := range strings.Lines(string(src[:min(len(src), 8<<10)])) {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "#!") {
			continue
		}
		mark := strings.HasPrefix(t, "#") || strings.HasPrefix(t, "//") || strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") || strings.HasPrefix(t, "*") || strings.HasPrefix(t, ";")
		text := cleanLine(strings.TrimSuffix(strings.Trim(t, "#/*;- \t"), "*/"))
		if mark && text != "" {
			block = append(block, text)
			continue
		}
		if len(block) > 0 {
			if doc := tell(); doc != "" {
				return doc
			}
		}
		if t != "" && !mark {
			return ""
		}
	}
	return tell()
}

// isNoise reports whether a comment says nothing about the file: licences,
// generators, directives.
func isNoise(doc string) bool {
	low := strings.ToLower(doc)
	for _, w := range []string{"copyright", "licensed under", "license", "spdx-", "all rights reserved", "eslint", "-*-", "vim:", "@ts-", "use strict", "code generated", "do not edit", "+build", "go:build"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	letters := 0
	for _, r := range doc {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters < 8 || letters*2 < utf8.RuneCountInString(doc)
}

// leadingComment returns the text of the comments in the first lines of a
// file, paragraphs joined to one line each.
func leadingComment(src []byte) string {
	src = src[:min(len(src), 16<<10)]
	var b strings.Builder
	marked := false // the line before was a comment by its first bytes
	for line := range strings.Lines(string(src)) {
		t := strings.TrimSpace(line)
		mark := strings.HasPrefix(t, "/") || strings.HasPrefix(t, "*") || strings.HasPrefix(t, "#") || strings.HasPrefix(t, ";") || strings.HasPrefix(t, "--")
		if marked && !mark {
			b.WriteString("\n") // the code begins
		}
		marked = mark
		t = strings.TrimLeft(t, "/*#!;-\"' ")
		end := strings.HasSuffix(t, `"""`) || strings.HasSuffix(t, "'''") || strings.HasSuffix(t, "*/")
		t = strings.TrimRight(strings.TrimSuffix(t, "*/"), "\"'")
		if end {
			t = strings.TrimSpace(t) + "\n"
		}
		if strings.TrimSpace(t) == "" {
			b.WriteString("\n")
			continue
		}
		b.WriteString(t + " ")
	}
	return b.String()
}

// firstParagraph returns the first sentences of running text, headings,
// lists, badges and frontmatter left out.
func firstParagraph(src []byte, language string) string {
	text := string(src[:min(len(src), 32<<10)])
	if language == "html" {
		text = htmlTag.ReplaceAllString(htmlHead.ReplaceAllString(text, " "), " ")
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if len(lines) > 0 && lines[0] == "---" {
		if i := slices.Index(lines[1:], "---"); i >= 0 {
			lines = lines[i+2:]
		}
	}
	var para []string
	fenced := false
	for i, line := range lines {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
			t = ""
		}
		under := i+1 < len(lines) && isUnderline(lines[i+1])
		if fenced || t == "" || under || isUnderline(t) || isMarkup(t) && (len(para) == 0 || t[0] == '#') {
			if len(para) > 0 {
				break
			}
			continue
		}
		para = append(para, t)
	}
	return sentences(plainMarkdown(strings.Join(para, " ")), 3, 400)
}

// isMarkup reports whether a line is no running text: a heading, list item,
// table, quote, badge, directive or tag.
func isMarkup(t string) bool {
	switch t[0] {
	case '#', '|', '>', '!', '<', '.', ':', '=':
		return true
	case '[':
		return strings.HasPrefix(t, "[!") || strings.Count(t, " ") <= 4
	case '-', '*', '+':
		return len(t) < 2 || t[1] == ' '
	}
	return false
}

func isUnderline(line string) bool {
	t := strings.TrimSpace(line)
	return len(t) >= 3 && strings.Trim(t, string(t[0])) == "" && strings.ContainsRune("=-~^*", rune(t[0]))
}

// Patterns of markup; compiled once, never changed.
var (
	htmlHead = regexp.MustCompile(`(?is)<(?:head|script|style)\b.*?</(?:head|script|style)>|<!--.*?-->`)
	htmlTag  = regexp.MustCompile(`<[^>]{1,200}>`)
	mdLink   = regexp.MustCompile(`!?\[([^\]]{0,200})\]\([^)]{0,400}\)`)
	// aboutFile is where a header stops saying what the file does.
	aboutFile = regexp.MustCompile(`(?i)(?:^|\s)(?:@\w+|created|date|authors?|version|copyright|licen[cs]e|since)\s*:?\s*[:@(\d]`)
	mdHead    = regexp.MustCompile(`(?m)^(#{1,3})[ \t]+(.{1,200}?)[ \t#]*$`)
)

// plainMarkdown takes links and marks of emphasis off a line.
func plainMarkdown(s string) string {
	s = mdLink.ReplaceAllString(s, "$1")
	s = htmlTag.ReplaceAllString(s, "")
	s = strings.NewReplacer("**", "", "__", "", "[[", "", "]]", "").Replace(s)
	return cleanLine(s)
}

// firstHeading returns the title a text gives itself.
func firstHeading(s *Subject, parts []component) string {
	text := string(s.Source[:min(len(s.Source), 16<<10)])
	if s.Language == "html" {
		low := strings.ToLower(text)
		if i := strings.Index(low, "<title>"); i >= 0 {
			if j := strings.Index(low[i:], "</title>"); j > 0 {
				return cleanLine(text[i+len("<title>") : i+j])
			}
		}
	}
	if m := mdHead.FindStringSubmatch(text); m != nil && s.Language != "text" {
		return plainMarkdown(m[2])
	}
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < min(len(lines), 20); i++ {
		if t := strings.TrimSpace(lines[i]); t != "" && !isUnderline(t) && isUnderline(lines[i+1]) {
			return plainMarkdown(t)
		}
	}
	if len(parts) > 0 && parts[0].level == 1 {
		return parts[0].name
	}
	return ""
}

// outlineOf lists what the lines of a file define that no parser cut: keys,
// targets, tables. It never takes values, which may be secrets.
func outlineOf(s *Subject) []component {
	pattern := outlinePattern(s.Language, path.Base(s.Path))
	if pattern == nil {
		return nil
	}
	var out []component
	seen := map[string]bool{}
	for _, m := range pattern.re.FindAllSubmatch(s.Source[:min(len(s.Source), 256<<10)], 400) {
		name := ""
		for _, g := range m[1:] {
			if len(g) > 0 {
				name = cleanLine(string(g))
				break
			}
		}
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		c := component{kind: pattern.kind, name: name, order: len(out), open: true, lines: 1}
		if pattern.kind == "h" {
			c.level = len(m[1])
			c.name = plainMarkdown(string(m[2]))
			c.kind = fmt.Sprintf("h%d", c.level)
		}
		out = append(out, c)
	}
	return out
}

type outlineRule struct {
	kind string
	re   *regexp.Regexp
}

// outlineRules holds, by language, what a line looks like that defines
// something. Compiled once, never changed.
var outlineRules = map[string]outlineRule{
	"markdown":   {"h", mdHead},
	"yaml":       {"key", regexp.MustCompile(`(?m)^([A-Za-z_][\w.-]{0,60}):(?:\s|$)`)},
	"toml":       {"section", regexp.MustCompile(`(?m)^\[{1,2}([\w."-]{1,80})\]{1,2}`)},
	"ini":        {"section", regexp.MustCompile(`(?m)^\[([^\]\n]{1,80})\]`)},
	"json":       {"key", regexp.MustCompile(`(?m)^(?:  |\t|    )"([\w.$@/-]{1,60})":`)},
	"make":       {"target", regexp.MustCompile(`(?m)^([A-Za-z][\w./-]{0,60}):(?:[^=]|$)`)},
	"shell":      {"function", regexp.MustCompile(`(?m)^(?:function[ \t]+([\w-]{1,60})|([\w-]{1,60})[ \t]*\(\))`)},
	"sql":        {"object", regexp.MustCompile(`(?mi)^[ \t]*create\s+(?:or\s+replace\s+)?(?:virtual\s+|temp\w*\s+|unique\s+)?(?:table|view|index|function|procedure|trigger|type)\s+(?:if\s+not\s+exists\s+)?["\x60\[]?([\w.]{1,80})`)},
	"proto":      {"message", regexp.MustCompile(`(?m)^[ \t]*(?:message|service|enum|rpc)[ \t]+(\w{1,80})`)},
	"protobuf":   {"message", regexp.MustCompile(`(?m)^[ \t]*(?:message|service|enum|rpc)[ \t]+(\w{1,80})`)},
	"graphql":    {"type", regexp.MustCompile(`(?m)^(?:type|input|enum|interface|union|scalar)[ \t]+(\w{1,80})`)},
	"ruby":       {"definition", regexp.MustCompile(`(?m)^[ \t]{0,4}(?:class|module|def)[ \t]+([\w.:?!]{1,80})`)},
	"php":        {"definition", regexp.MustCompile(`(?m)^[ \t]{0,4}(?:(?:abstract |final |public |protected |static )*(?:class|interface|trait|function))[ \t]+(\w{1,80})`)},
	"perl":       {"function", regexp.MustCompile(`(?m)^sub[ \t]+(\w{1,80})`)},
	"lua":        {"function", regexp.MustCompile(`(?m)^(?:local )?function[ \t]+([\w.:]{1,80})`)},
	"terraform":  {"block", regexp.MustCompile(`(?m)^(?:resource|module|variable|output|data|provider)[ \t]+((?:"[\w-]{1,60}"[ \t]*){1,2})`)},
	"hcl":        {"block", regexp.MustCompile(`(?m)^(?:resource|module|variable|output|data|provider)[ \t]+((?:"[\w-]{1,60}"[ \t]*){1,2})`)},
	"dockerfile": {"stage", regexp.MustCompile(`(?mi)^FROM[ \t]+([\w./:@$ {}-]{1,100})`)},
	"gomod":      {"module", regexp.MustCompile(`(?m)^module[ \t]+(\S{1,120})`)},
	"kotlin":     {"definition", regexp.MustCompile(`(?m)^[ \t]{0,4}(?:\w+ ){0,3}(?:class|interface|object|fun)[ \t]+([\w.]{1,80})`)},
	"csharp":     {"definition", regexp.MustCompile(`(?m)^[ \t]{0,4}(?:\w+ ){0,3}(?:class|interface|struct|enum|record)[ \t]+(\w{1,80})`)},
	"swift":      {"definition", regexp.MustCompile(`(?m)^(?:\w+ ){0,3}(?:class|struct|enum|protocol|func|extension)[ \t]+([\w.]{1,80})`)},
}

func outlinePattern(language, base string) *outlineRule {
	if r, ok := outlineRules[language]; ok {
		return &r
	}
	if strings.EqualFold(base, "makefile") {
		r := outlineRules["make"]
		return &r
	}
	return nil
}

// dateLine finds a date that a header gives; copyrightLine the first year of a
// copyright.
var (
	dateLine      = regexp.MustCompile(`(?mi)^[ \t/*#;!<-]{0,12}[@\\]?(?:created|creation[ _-]date|date[ _-]created|date|original[ _-]date|written)(?:[ _-]?(?:on|at))?\b["']?[ \t]*[:=]?[ \t]*["']?(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})`)
	copyrightLine = regexp.MustCompile(`(?i)copyright[^\n]{0,30}?\b(19[7-9]\d|20\d\d)\b`)
)

// originalDate returns the date a file's header gives: YYYY-MM-DD, or the year
// of a copyright as YYYY-01-01; "" if there is none.
func originalDate(src []byte) string {
	top := src[:min(len(src), 4<<10)]
	for _, m := range dateLine.FindAllSubmatch(top, 8) {
		y, mo, d := atoi(m[1]), atoi(m[2]), atoi(m[3])
		if y >= 1970 && y < 2100 && mo >= 1 && mo <= 12 && d >= 1 && d <= 31 {
			return fmt.Sprintf("%04d-%02d-%02d", y, mo, d)
		}
	}
	if m := copyrightLine.FindSubmatch(top); m != nil {
		return string(m[1]) + "-01-01"
	}
	return ""
}

func atoi(b []byte) int {
	n := 0
	for _, c := range b {
		n = n*10 + int(c-'0')
	}
	return n
}

// docLine returns a comment's first sentence as it stands behind a name.
// The name itself is not said twice: "Reader implements" becomes "implements".
func docLine(doc, name string) string {
	doc = cleanLine(doc)
	if isNoise(doc) && strings.Count(doc, " ") < 3 {
		return ""
	}
	doc = firstSentence(doc)
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		name = name[i+1:]
	}
	for _, lead := range []string{"", "A ", "An ", "The "} {
		rest, ok := strings.CutPrefix(doc, lead+name+" ")
		if ok && rest != "" && unicode.IsLower(rune(rest[0])) {
			doc = rest
			break
		}
	}
	return endSentence(clipRunes(doc, 160))
}

// sentences returns at most n sentences of the first paragraph of text, at
// most size runes; the first one always, clipped.
func sentences(text string, n, size int) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	text = cleanLine(text)
	out := ""
	for range n {
		s := firstSentence(text)
		if s == "" {
			break
		}
		if out != "" && utf8.RuneCountInString(out)+utf8.RuneCountInString(s) > size {
			break
		}
		out = strings.TrimSpace(out + " " + s)
		text = strings.TrimSpace(text[len(s):])
	}
	return clipRunes(out, size)
}

// firstSentence returns text up to the end of its first sentence.
func firstSentence(text string) string {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '.', '!', '?':
		default:
			continue
		}
		if i+1 == len(text) {
			return text
		}
		if text[i+1] != ' ' || isAbbreviation(text[:i+1]) {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[i+1:], " ")); unicode.IsLower(next) && text[i] == '.' {
			continue
		}
		return text[:i+1]
	}
	return text
}

func isAbbreviation(s string) bool {
	word := s[strings.LastIndexAny(s, " (")+1:]
	switch strings.ToLower(word) {
	case "e.g.", "i.e.", "etc.", "cf.", "vs.", "no.", "fig.", "sec.", "ch.", "dr.", "mr.", "inc.", "ltd.", "approx.":
		return true
	}
	return len(word) == 2 && unicode.IsUpper(rune(word[0]))
}

// endSentence gives a sentence its full stop.
func endSentence(s string) string {
	s = strings.TrimRight(s, " :;,")
	if s == "" || strings.ContainsRune(".!?…", rune(s[len(s)-1])) || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// cleanLine returns s on one line without control characters, runs of white
// space as one blank.
func cleanLine(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1 // terminals and readers would obey them
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// clipRunes returns at most n runes of s, cut at a word.
func clipRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)[:n-1]
	cut := string(runes)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

func joinWords(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func countLines(src []byte) int {
	n := bytes.Count(src, []byte{'\n'})
	if len(src) > 0 && src[len(src)-1] != '\n' {
		n++
	}
	return n
}
