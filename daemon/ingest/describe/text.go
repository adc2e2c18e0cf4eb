package describe

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isNoise reports whether a sentence says nothing: marks, links, notes to the
// writer.
func isNoise(doc string) bool {
	low := strings.ToLower(doc)
	for _, w := range []string{"eslint", "-*-", "vim:", "@ts-", "use strict", "+build", "go:build"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	for _, w := range []string{"todo", "fixme", "xxx", "hack:", "see http", "see also", "http://", "https://", "for example:", "example:", "usage:", "note:", "deprecated", "bpo-", "issue #", "gh-", "version ", "$id"} {
		if strings.HasPrefix(low, w) {
			return true
		}
	}
	if !strings.Contains(doc, " ") {
		return true
	}
	switch strings.TrimRight(low, ".: ") {
	case "module dependencies", "module exports", "module variables", "external dependencies", "internal dependencies", "main entry", "local variables", "forward declarations", "helper functions", "public api", "private api":
		return true
	}
	count, runes := 0, 0
	for _, r := range doc {
		runes++
		if unicode.IsLetter(r) {
			count++
		}
	}
	return count < 4 || count*2 < runes
}

// cleanProse takes the marks of Markdown, HTML, Javadoc, reStructuredText and
// Doxygen off a comment, and what follows where its tags begin.
func cleanProse(s string) string {
	if !strings.ContainsAny(s, "<{[`:*\\@_&|") {
		return cleanLine(s)
	}
	s = cutTags(s)
	if strings.Contains(s, "{@") {
		s = inlineTags(s)
	}
	if strings.IndexByte(s, '<') >= 0 {
		s = dropTags(s)
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	if strings.Contains(s, ":`") {
		s = dropRoles(s)
	}
	if strings.Contains(s, "``") {
		s = strings.ReplaceAll(s, "``", "`")
	}
	if strings.IndexByte(s, '[') >= 0 {
		s = dropLinks(s)
	}
	if strings.IndexByte(s, '*') >= 0 || strings.Contains(s, "_") {
		s = dropEmphasis(s)
	}
	for _, mark := range []string{"\\c ", "@c ", "\\p ", "@p ", "\\a ", "\\ref ", "@ref ", "\\brief ", "@brief ", "\\e "} {
		if strings.Contains(s, mark) {
			s = strings.ReplaceAll(s, mark, "")
		}
	}
	if strings.Contains(s, "||") || strings.Contains(s, "| ") {
		s = strings.Trim(s, "| ")
	}
	return cleanLine(s)
}

// cutTags ends a comment where its parameters begin.
func cutTags(s string) string {
	if strings.IndexByte(s, '@') < 0 && strings.IndexByte(s, ':') < 0 && strings.IndexByte(s, '\\') < 0 {
		return s
	}
	for _, tag := range [...]string{
		" @param", " @return", " @throws", " @see ", " @since", " @deprecated", " @example", " @type", " @template", " @default", " @remarks", " @internal", " @stable", " @draft", " @version", " @author", " @link ", " @note", " @warning", " @experimental",
		" :param", " :return", " :rtype", " :raises", " :type", " \\param", " \\return", " Args: ", " Returns: ", " .. ",
	} {
		if i := strings.Index(s, tag); i >= 0 {
			s = s[:i]
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, "::"), " ")
}

// inlineTags opens {@link X label} and {@code x}.
func inlineTags(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "{@")
		if i < 0 {
			break
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			break
		}
		b.WriteString(s[:i])
		tag, text, _ := strings.Cut(s[i+2:i+end], " ")
		text = strings.TrimSpace(text)
		switch {
		case tag == "code" && text != "":
			b.WriteString("`" + text + "`")
		case strings.HasPrefix(tag, "link"):
			if to, label, ok := strings.Cut(strings.ReplaceAll(text, "|", " "), " "); ok {
				text = strings.TrimSpace(label)
			} else if text = strings.Trim(strings.ReplaceAll(to, "#", "."), "."); text != "" {
				text = "`" + text + "`"
			}
			b.WriteString(text)
		case tag == "literal", tag == "value", tag == "index":
			b.WriteString(text)
		}
		s = s[i+end+1:]
	}
	b.WriteString(s)
	return b.String()
}

// dropTags takes HTML and XML documentation tags out; what only looks like one
// (Map<String, X>) stays.
func dropTags(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '<' {
			next := strings.IndexByte(s[i:], '<')
			if next < 0 {
				next = len(s) - i
			}
			b.WriteString(s[i : i+next])
			i += next
			continue
		}
		end := strings.IndexByte(s[i:], '>')
		if end < 0 || end > 200 {
			b.WriteString(s[i:])
			break
		}
		tag := s[i+1 : i+end]
		switch name := tagName(tag); name {
		case "code", "tt", "c":
			b.WriteByte('`')
		case "see", "paramref", "typeparamref", "seealso":
			if _, v, ok := strings.Cut(tag, `"`); ok {
				v, _, _ = strings.Cut(v, `"`)
				if len(v) > 2 && v[1] == ':' {
					v = v[2:]
				}
				b.WriteString("`" + v + "`")
			}
		case "p", "br", "li", "ul", "ol", "div", "td", "tr", "table", "h1", "h2", "h3", "h4", "para", "hr", "blockquote", "pre", "summary", "remarks", "dl", "dt", "dd", "center", "img", "picture", "source", "details", "!--":
			b.WriteByte(' ')
		case "b", "i", "em", "strong", "a", "span", "sup", "sub", "kbd", "u", "small", "var", "samp", "font":
		default:
			b.WriteString(s[i : i+end+1])
		}
		i += end + 1
	}
	return b.String()
}

func tagName(tag string) string {
	tag = strings.TrimPrefix(tag, "/")
	if i := strings.IndexAny(tag, " /\t"); i >= 0 {
		tag = tag[:i]
	}
	return strings.ToLower(tag)
}

// dropRoles turns :class:`~a.b.C` into `C`.
func dropRoles(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, ":`")
		if i < 0 {
			break
		}
		from := i
		for from > 0 && (s[from-1] == ':' || s[from-1] == '-' || s[from-1] >= 'a' && s[from-1] <= 'z') {
			from--
		}
		end := strings.IndexByte(s[i+2:], '`')
		if end < 0 || s[from] != ':' {
			b.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:from])
		name := s[i+2 : i+2+end]
		if at := strings.IndexByte(name, '<'); at > 0 {
			name = strings.TrimSpace(name[:at])
		} else if strings.HasPrefix(name, "~") {
			name = name[strings.LastIndexByte(name, '.')+1:]
		}
		b.WriteString("`" + strings.TrimLeft(name, "~!.") + "`")
		s = s[i+end+3:]
	}
	b.WriteString(s)
	return b.String()
}

// dropLinks turns [text](url), [text][ref] and [Name] into their text.
func dropLinks(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '[')
		if i < 0 {
			break
		}
		end := strings.IndexByte(s[i:], ']')
		if end < 0 {
			break
		}
		label, rest := s[i+1:i+end], s[i+end+1:]
		image := i > 0 && s[i-1] == '!'
		switch {
		case strings.HasPrefix(rest, "(") && strings.IndexByte(rest, ')') > 0:
			rest = rest[strings.IndexByte(rest, ')')+1:]
		case strings.HasPrefix(rest, "[") && strings.IndexByte(rest, ']') > 0:
			rest = rest[strings.IndexByte(rest, ']')+1:]
		case isDocLink(label) && (i == 0 || s[i-1] == ' ' || s[i-1] == '('):
			image = false
		default:
			b.WriteString(s[:i+1])
			s = s[i+1:]
			continue
		}
		if image {
			b.WriteString(s[:i-1]) // a picture says nothing here
		} else {
			b.WriteString(s[:i] + strings.TrimPrefix(label, "*"))
		}
		s = rest
	}
	b.WriteString(s)
	return b.String()
}

// isDocLink reports whether what stands in brackets is a name: [Reader.Read],
// [net/http], [`Vec`], [[Title]].
func isDocLink(label string) bool {
	if strings.HasPrefix(label, "`") && strings.HasSuffix(label, "`") {
		return true
	}
	for _, c := range label {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._/*:", c) {
			return false
		}
	}
	return len(label) > 2 && label[0] > '9'
}

// dropEmphasis takes the stars off *word* and **words**, and leaves *args.
func dropEmphasis(s string) string {
	for _, mark := range []string{"**", "__", "*", "_"} {
		for at := 0; ; {
			i := strings.Index(s[at:], mark)
			if i < 0 {
				break
			}
			i += at
			end := strings.Index(s[i+len(mark):], mark)
			inner := ""
			if end > 0 {
				inner = s[i+len(mark) : i+len(mark)+end]
			}
			before := i == 0 || s[i-1] == ' ' || s[i-1] == '('
			if inner == "" || !before || inner[0] == ' ' || inner[len(inner)-1] == ' ' || len(inner) > 80 || mark[0] == '_' && !strings.ContainsAny(inner, " *") && !isPlainWord(inner, s[i+end+2*len(mark):]) {
				at = i + len(mark)
				continue
			}
			s = s[:i] + inner + s[i+len(mark)+end+len(mark):]
			at = i + len(inner)
		}
	}
	return s
}

// isPlainWord reports whether a word between underscores is one of language, not
// a name: small letters, and none behind it.
func isPlainWord(inner, after string) bool {
	for i := range len(inner) {
		if inner[i] < 'a' || inner[i] > 'z' {
			return false
		}
	}
	return after == "" || !isWordByte(after[0])
}

// docLine returns a comment's first sentence as it stands behind a name, and
// how it goes on from there. The name itself is not said twice: "Reader
// implements" becomes "implements", "Reader is a thing" becomes "a thing".
func docLine(doc, name string) (line string, form docForm) {
	doc = withoutLead(strings.Trim(firstSentence(cleanProse(doc)), "#*-=/ "))
	if doc == "" || strings.HasPrefix(doc, name+"(") || isLicence(doc) || saysGenerated(doc) || isNoise(doc) && (strings.Count(doc, " ") < 3 || isNote(doc)) {
		return "", plainDoc
	}
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		name = name[i+1:]
	}
	for _, lead := range []string{"", "A ", "An ", "The "} {
		if rest, ok := strings.CutPrefix(doc, lead+"`"+name+"` "); ok {
			doc = name + " " + rest
		}
	}
	for _, mark := range []string{": ", " - ", " -- ", " – ", " — "} {
		if rest, ok := strings.CutPrefix(doc, name+mark); ok {
			return endSentence(clipClause(upperFirst(rest), 160)), plainDoc
		}
	}
	for _, lead := range []string{"", "A ", "An ", "The "} {
		rest, ok := strings.CutPrefix(doc, lead+name+" ")
		if !ok || rest == "" {
			continue
		}
		if lead != "" && !isVerb(rest) {
			break // "A ring of bytes" of ring
		}
		if !unicode.IsLower(rune(rest[0])) {
			if rest = strings.TrimLeft(rest, "-–—: "); rest != "" && rest != doc {
				doc = upperFirst(rest)
			}
			break
		}
		doc, form = rest, verbDoc
		for _, is := range []string{"is ", "are "} {
			if rest, ok := strings.CutPrefix(doc, is); ok && startsNoun(rest) {
				doc, form = rest, nounDoc
			}
		}
		break
	}
	return endSentence(clipClause(doc, 160)), form
}

// A docForm says how a doc line goes with the name it stands behind.
type docForm int

const (
	plainDoc docForm = iota // a sentence of its own
	verbDoc                 // goes on from the name: "reads a file."
	nounDoc                 // says what the name is: "a reader of files."
)

// isVerb reports whether text goes on with a verb in the third person.
func isVerb(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "can", "may", "must", "will", "are", "do", "have", "should", "cannot":
		return true
	case "this", "its", "as", "us", "versus", "plus":
		return false
	}
	return len(word) > 1 && word[len(word)-1] == 's' && word[0] >= 'a' && word[0] <= 'z'
}

func isNote(doc string) bool {
	low := strings.ToLower(doc)
	for _, w := range []string{"todo", "fixme", "xxx", "hack", "warning:", "bpo-", "http", "see http", "gh-", "issue #"} {
		if strings.HasPrefix(low, w) {
			return true
		}
	}
	return false
}

func startsNoun(s string) bool {
	for _, w := range []string{"a ", "an ", "the ", "one ", "all ", "how ", "what ", "where "} {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}

// sentencesOf returns at most n sentences of text that say something, in at
// most size runes; the first of them clipped if it must be.
func sentencesOf(text string, n, size int) []string {
	var out []string
	left := size
	for len(out) < n && text != "" {
		line := firstSentence(text)
		text = strings.TrimLeft(text[len(line):], " ")
		if strings.HasSuffix(line, ":") || isNoise(line) || isLicence(line) {
			if len(out) > 0 {
				break // it leads to something that is not here
			}
			continue
		}
		if len(out) > 0 && utf8.RuneCountInString(line) > left {
			break
		}
		line = endSentence(clipClause(line, size))
		left -= utf8.RuneCountInString(line)
		out = append(out, line)
	}
	return out
}

// firstSentence returns text up to the end of its first sentence.
func firstSentence(text string) string {
	deep := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(':
			deep++
			continue
		case ')':
			deep--
			continue
		case '.', '!', '?':
		default:
			continue
		}
		if i+1 == len(text) {
			return text
		}
		end := i + 1
		if text[end] == ')' || text[end] == '"' || text[end] == '`' {
			if end++; end == len(text) {
				return text
			}
		}
		if text[end] != ' ' || isAbbreviation(text[:i+1]) || deep > 0 && end == i+1 {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(strings.TrimLeft(text[end:], " ")); unicode.IsLower(next) && text[i] == '.' {
			continue
		}
		return text[:end]
	}
	return text
}

func isAbbreviation(s string) bool {
	word := s[strings.LastIndexAny(s, " (")+1:]
	if len(word) > 8 {
		return false
	}
	switch strings.ToLower(word) {
	case "e.g.", "i.e.", "eg.", "ie.", "etc.", "cf.", "vs.", "no.", "fig.", "sec.", "ch.", "dr.", "mr.", "inc.", "ltd.", "approx.", "incl.", "resp.", "st.":
		return true
	}
	return len(word) == 2 && unicode.IsUpper(rune(word[0]))
}

// endSentence gives a sentence its full stop.
func endSentence(s string) string {
	s = strings.TrimRight(s, " :;,-")
	for _, more := range []string{" e.g.", " i.e.", " e.g", " (e.g."} { // the example is not here
		s = strings.TrimRight(strings.TrimSuffix(s, more), " :;,-")
	}
	if s == "" || strings.ContainsRune(".!?", rune(s[len(s)-1])) || strings.HasSuffix(s, "…") || strings.HasSuffix(s, ".)") || strings.HasSuffix(s, ".”") {
		return s
	}
	return s + "."
}

// cleanLine returns s on one line without control characters, runs of white
// space as one blank.
func cleanLine(s string) string {
	if isCleanLine(s) {
		return s
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff {
			return -1 // terminals and readers would obey them
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// isCleanLine reports whether cleanLine has nothing to do.
func isCleanLine(s string) bool {
	blank := true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f:
			return false
		case c != ' ':
			blank = false
		case blank:
			return false
		default:
			blank = true
		}
	}
	return !blank || s == ""
}

// clipClause returns s in at most n runes, cut at the end of a clause if one
// ends in its second half, else at a word.
func clipClause(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	cut := Clip(s, n)
	head := strings.TrimSuffix(cut, "…")
	for _, mark := range []string{"; ", ": ", " - ", " — ", ", ", " (", " that ", " which ", " so that ", " because ", " when ", " where ", " if ", " unless ", " by ", " for ", " with ", " and "} {
		if i := strings.LastIndex(head, mark); i >= len(head)/2 && strings.Count(s[:i], "(") == strings.Count(s[:i], ")") && strings.Count(s[:i], "`")%2 == 0 {
			return strings.TrimRight(head[:i], " ,;:")
		}
	}
	return cut
}

// Clip returns at most n runes of s, cut at a word.
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
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

// joinNames returns names as code, with commas between.
func joinNames(names []string) string {
	return strings.Join(quoteAll(names), ", ")
}

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = "`" + n + "`"
	}
	return out
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + manyOf(word)
}

func countLines(src []byte) int {
	n := bytes.Count(src, []byte{'\n'})
	if len(src) > 0 && src[len(src)-1] != '\n' {
		n++
	}
	return n
}

// manyOf returns the plural of an English noun.
func manyOf(word string) string {
	switch {
	case strings.HasSuffix(word, "class"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "sh"), strings.HasSuffix(word, "ss"):
		return word + "es"
	case strings.HasSuffix(word, "y") && len(word) > 1 && !strings.ContainsRune("aeiou", rune(word[len(word)-2])):
		return word[:len(word)-1] + "ies"
	}
	return word + "s"
}

// isLicence reports whether a paragraph is that of a licence or a copyright.
func isLicence(text string) bool {
	low := strings.ToLower(text)
	if strings.Contains(low, "licen") { // a file may be about licences
		for _, w := range [...]string{"licensed", "spdx", "apache", "mit ", "bsd", "gpl", "mozilla", "see ", " file", "governed", "terms", "found in", "found at", "license:", "licence:"} {
			if strings.Contains(low, w) {
				return true
			}
		}
	}
	for _, w := range [...]string{
		"copyright", "(c) 19", "(c) 20", "©", "spdx-", "all rights reserved", "permission is hereby granted", "redistribution and use", "redistributions", "free software", "without warranty", "warranties", "merchantability",
		"\"as is\"", "this software is provided", "in no event shall", "public domain", "permission to use, copy", "the above copyright", "express or implied",
	} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if !unicode.IsLower(r) {
		return s
	}
	if word, _, _ := strings.Cut(s, " "); strings.IndexFunc(word, unicode.IsUpper) > 0 || strings.ContainsAny(word, "_.()`/") {
		return s // a name: eBPF, readFile, os.Open
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

func lowerFirst(s string) string {
	for _, w := range []string{"A ", "An ", "The ", "One ", "All "} {
		if strings.HasPrefix(s, w) {
			return strings.ToLower(s[:1]) + s[1:]
		}
	}
	return s
}

// withoutLead takes off the words in which a comment speaks of itself: of "This
// module provides helpers for dates" it leaves "Helpers for dates".
func withoutLead(line string) string {
	for _, lead := range []string{"this is a ", "this is an ", "this is the ", "these are the ", "these are ", "here are "} {
		if after, ok := cutFold(line, lead); ok {
			return upperFirst(after)
		}
	}
	rest := ""
	for _, lead := range []string{"this ", "the following ", "in this "} {
		if after, ok := cutFold(line, lead); ok {
			rest = after
		}
	}
	if rest == "" {
		return line
	}
	ok := false
	for _, what := range []string{
		"module", "file", "package", "class", "script", "header file", "header", "library", "program", "document", "source file",
		"test file", "method", "function", "component", "example", "page", "directory", "folder", "crate", "plugin",
	} {
		if after, found := strings.CutPrefix(rest, what); found && strings.HasPrefix(after, " ") {
			rest, ok = after[1:], true
			break
		}
	}
	if !ok {
		return line
	}
	verb, after, _ := strings.Cut(rest, " ")
	switch verb {
	case "provides", "implements", "contains", "defines", "has", "holds", "is", "describes", "includes", "offers", "gives", "documents", "declares":
		rest = after
	default:
		if !isVerb(rest) {
			return line
		}
	}
	for _, word := range []string{"a ", "an ", "the ", "some ", "several ", "a number of "} {
		rest = strings.TrimPrefix(rest, word)
	}
	return upperFirst(rest)
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func isListItem(t string) bool {
	if len(t) > 2 && t[1] == ' ' && (t[0] == '-' || t[0] == '*' || t[0] == '+') {
		return true
	}
	i := 0
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	return i > 0 && i < 3 && i+1 < len(t) && (t[i] == '.' || t[i] == ')') && t[i+1] == ' '
}

// cutFold cuts prefix off t, regardless of case.
func cutFold(t, prefix string) (string, bool) {
	if len(prefix) == 0 || len(t) < len(prefix) || !strings.EqualFold(t[:len(prefix)], prefix) {
		return t, false
	}
	return t[len(prefix):], true
}

// saysGenerated reports whether a line is the note of a code generator.
func saysGenerated(t string) bool {
	if len(t) > 300 {
		return false
	}
	low := strings.ToLower(t)
	return strings.HasPrefix(low, "code generated") || strings.Contains(low, "@generated") || strings.Contains(low, "do not edit") ||
		strings.Contains(low, "autogenerated") || strings.Contains(low, "auto-generated") || strings.Contains(low, "automatically generated") ||
		strings.HasPrefix(low, "generated by")
}
