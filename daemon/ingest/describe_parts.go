package ingest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A component is something a file defines that a reader may look for.
type component struct {
	kind    string // node type: class, function, h2, key, target, …
	name    string
	doc     string // one sentence, without the name if it began with it; may be ""
	level   int    // of a heading, from 1; 0 otherwise
	open    bool   // other files can use it
	lines   int
	order   int      // place in the file
	members []string // names of methods that others can use, in order
	inner   []string // names of its other methods
}

// line returns the component as an item of a markdown list.
func (c component) line() string {
	if c.level > 0 {
		return strings.Repeat("  ", c.level-1) + "- " + c.name
	}
	var b strings.Builder
	fmt.Fprintf(&b, "- `%s`", c.name)
	switch {
	case c.doc != "":
		b.WriteString(" - " + c.doc)
	case kindWord(c.kind) != "":
		b.WriteString(" - " + kindWord(c.kind))
		if len(c.members)+len(c.inner) > 0 {
			b.WriteByte('.')
		}
	}
	if shown := c.members; len(shown)+len(c.inner) > 0 {
		const most = 8
		if len(shown) == 0 {
			shown = c.inner
		}
		more := ""
		if len(shown) > most {
			more = fmt.Sprintf(" and %d more", len(shown)-most)
			shown = shown[:most]
		}
		fmt.Fprintf(&b, " Methods: %s%s.", strings.Join(shown, ", "), more)
	}
	return b.String()
}

// componentsOf lists what a file defines: from its chunks where it was parsed,
// else from the shape of its lines.
func componentsOf(s *Subject) []component {
	var out []component
	at := map[string]int{}
	member := func(parent, name string, open bool) {
		i, ok := at[parent]
		if !ok {
			// Methods of a type in another file still say what this one does.
			i = len(out)
			at[parent] = i
			out = append(out, component{kind: "methods", name: parent, order: i, open: isOpen(s.Language, parent, "")})
		}
		list := &out[i].inner
		if open {
			list = &out[i].members
		}
		if name != "" && !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, c := range s.Chunks {
		if c.NodeName == "" || c.NodeType == "lines" || c.NodeType == "paragraph" || c.NodeType == "module" && c.NodeName == s.Package {
			continue
		}
		name := cleanLine(c.NodeName)
		if level := headingLevel(c.NodeType); level > 0 {
			if name = lastHeading(name, c.Parent); level <= 3 && name != "" && (len(out) == 0 || out[len(out)-1].name != name || out[len(out)-1].level != level) {
				out = append(out, component{kind: c.NodeType, name: name, level: level, order: len(out), open: true, lines: c.EndLine - c.StartLine + 1})
			}
			continue
		}
		if parent, last := splitName(name, c.Parent); parent != "" && c.NodeType != "class" && c.NodeType != "interface" {
			member(parent, last, isOpen(s.Language, last, head(s.Source, c)))
			continue
		} else if parent != "" {
			name = parent + "." + last
		}
		if c.NodeType == "impl" {
			name = implOf(name)
		}
		if i, ok := at[name]; ok {
			// A long definition has several chunks; the type and its impl too.
			out[i].lines += c.EndLine - c.StartLine + 1
			if out[i].doc == "" {
				out[i].doc = docLine(c.Doc, name)
			}
			if out[i].kind == "methods" || out[i].kind == "impl" {
				out[i].kind = c.NodeType
			}
			continue
		}
		at[name] = len(out)
		out = append(out, component{
			kind: c.NodeType, name: name, doc: docLine(c.Doc, name), order: len(out),
			open: isOpen(s.Language, name, head(s.Source, c)), lines: c.EndLine - c.StartLine + 1,
		})
	}
	if len(out) == 0 {
		out = outlineOf(s)
	}
	if isProse(s.Language) {
		out = slices.DeleteFunc(out, func(c component) bool { return c.level == 0 }) // frontmatter
		out = flattenHeadings(out)
	}
	return out
}

// flattenHeadings lifts headings so that the topmost ones have level 1; a
// single heading of the first level is the title, and left out.
func flattenHeadings(in []component) []component {
	if len(in) == 0 {
		return nil
	}
	count := map[int]int{}
	top := 9
	for _, c := range in {
		count[c.level]++
		top = min(top, c.level)
	}
	if count[top] == 1 && in[0].level == top && len(in) > 1 {
		in = in[1:]
		top = 9
		for _, c := range in {
			top = min(top, c.level)
		}
	} else if count[top] == 1 && len(in) == 1 {
		return nil
	}
	out := slices.Clone(in)
	for i := range out {
		out[i].level -= top - 1
	}
	return out
}

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

// splitName splits a qualified name into what holds it and its own.
func splitName(name, parent string) (holder, last string) {
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

// head returns the first bytes of a chunk, where its modifiers stand.
func head(src []byte, c fold.Chunk) string {
	from := min(max(0, c.StartByte), len(src))
	return string(src[from:min(len(src), from+2048, max(from, c.EndByte))])
}

// isOpen reports whether other files can use a name, by the rules and habits of
// its language. code is the beginning of its chunk; it may be "".
func isOpen(language, name, code string) bool {
	if i := strings.LastIndexAny(name, ".:"); i >= 0 {
		name = name[i+1:]
	}
	first, _ := utf8.DecodeRuneInString(name)
	switch language {
	case "go":
		return unicode.IsUpper(first)
	case "python", "ruby", "php", "lua":
		return first != '_'
	case "javascript", "typescript", "tsx":
		return !hasWord(code, "private") && first != '_' && first != '#' && (code == "" || hasWord(code, "export") || !strings.Contains(code, "function ") || strings.Contains(code, "exports"))
	case "rust":
		return code == "" || hasWord(code, "pub")
	case "java", "csharp", "kotlin", "scala":
		return !hasWord(code, "private")
	case "c", "cpp":
		return !hasWord(code, "static")
	}
	return true
}

// hasWord reports whether a line of code that is no comment begins with w.
func hasWord(code, w string) bool {
	n := 0
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, "*") || strings.HasPrefix(line, "/*") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "@") {
			continue
		}
		if strings.HasPrefix(line, w+" ") || strings.HasPrefix(line, w+"(") || strings.Contains(line, " "+w+" ") {
			return true
		}
		if n++; n == 2 {
			break
		}
	}
	return false
}

// weight says how much a component matters to a reader of the file.
func (c component) weight(stem string) float64 {
	w := float64(min(c.lines, 200))/100 + float64(min(len(c.members), 20))/5
	if c.open {
		w += 4
	}
	if c.doc != "" {
		w++
	}
	if isType(c.kind) {
		w += 2
	}
	switch {
	case squash(c.name) != stem:
	case c.open:
		w += 8
	default:
		w += 2
	}
	if c.level > 0 {
		w += float64(6 - c.level)
	}
	return w
}

// mostImportant returns at most n components, in the order of the file.
func mostImportant(parts []component, n int) []component {
	if len(parts) <= n {
		return parts
	}
	out := slices.Clone(parts)
	slices.SortStableFunc(out, func(a, b component) int { return cmp.Compare(b.weight(""), a.weight("")) })
	out = out[:n]
	slices.SortFunc(out, func(a, b component) int { return a.order - b.order })
	return out
}

// mainPart returns what the file is about: the definition called as the file
// is, else the weightiest that others can use.
func mainPart(s *Subject, parts []component) (component, bool) {
	var best component
	top := -1.0
	for _, p := range parts {
		if p.level > 0 {
			continue
		}
		if w := p.weight(squash(stem(s.Path))); w > top {
			best, top = p, w
		}
	}
	return best, top >= 0
}

// mainNames returns one to three names for a title.
func mainNames(s *Subject, parts []component) []string {
	if isData(s.Language) {
		return nil
	}
	main, ok := mainPart(s, parts)
	if !ok {
		return nil
	}
	key := squash(stem(s.Path))
	if squash(main.name) == key {
		return []string{main.name}
	}
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, func(a, b component) int { return cmp.Compare(b.weight(key), a.weight(key)) })
	var names []string
	size := 0
	for _, p := range sorted {
		if p.open != main.open && main.open || isType(p.kind) != isType(main.kind) || len(names) == 3 || p.name == "init" || p.name == "main" {
			continue
		}
		if size += len(p.name) + 2; size > 50 && len(names) > 0 {
			break
		}
		names = append(names, p.name)
	}
	return names
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

func isType(kind string) bool {
	switch kind {
	case "class", "struct", "enum", "trait", "interface", "type", "impl", "union", "record":
		return true
	}
	return false
}

func kindWord(kind string) string {
	switch kind {
	case "impl":
		return "methods of the type"
	case "methods":
		return "methods of a type defined elsewhere"
	case "key", "section", "target", "object", "stage":
		return "" // the sentence above the list says it for all
	}
	return kind
}

// groupNames says what a file defines: "the types A and B", "3 functions", …,
// what matters most first.
func groupNames(parts []component, stem string) []string {
	type group struct {
		one, many string
		names     []string
	}
	groups := []*group{
		{one: "type", many: "types"}, {one: "function", many: "functions"}, {one: "section", many: "sections"}, {},
	}
	others := map[string]*group{}
	if len(parts) > 0 && parts[0].level == 0 {
		parts = slices.Clone(parts)
		slices.SortStableFunc(parts, func(a, b component) int { return cmp.Compare(b.weight(stem), a.weight(stem)) })
	}
	for _, p := range parts {
		switch {
		case p.level > 1:
		case p.level == 1:
			groups[2].names = append(groups[2].names, "“"+p.name+"”")
		case isType(p.kind):
			groups[0].names = append(groups[0].names, "`"+p.name+"`")
		case p.kind == "function" || p.kind == "method":
			groups[1].names = append(groups[1].names, "`"+p.name+"`")
		default:
			word := p.kind
			if word == "methods" {
				groups[0].names = append(groups[0].names, "methods of `"+p.name+"`")
				continue
			}
			g := others[word]
			if g == nil {
				g = &group{one: word, many: word + "s"}
				others[word] = g
				groups = append(groups, g)
			}
			g.names = append(g.names, "`"+p.name+"`")
		}
	}
	var out []string
	for _, g := range groups {
		switch n := len(g.names); {
		case n == 0:
		case n == 1 && strings.HasPrefix(g.names[0], "methods of"):
			out = append(out, g.names[0])
		case n == 1:
			out = append(out, "the "+g.one+" "+g.names[0])
		case n <= 4:
			out = append(out, "the "+g.many+" "+joinWords(g.names))
		default:
			out = append(out, fmt.Sprintf("%d %s, among them %s", n, g.many, joinWords(g.names[:3])))
		}
	}
	if len(out) > 1 && slices.ContainsFunc(out[:len(out)-1], func(s string) bool { return strings.Contains(s, "among them") }) {
		for i := range out[:len(out)-1] {
			out[i] = strings.Replace(out[i], ", among them ", " (", 1)
			if strings.Contains(out[i], " (") {
				out[i] += " …)"
			}
		}
	}
	return out
}

// IsTestFile reports whether a path is that of a test, by the habits of its
// language.
func IsTestFile(p string) bool {
	base := path.Base(p)
	name := strings.TrimSuffix(base, path.Ext(base))
	low := strings.ToLower(name)
	switch path.Ext(base) {
	case ".go":
		return strings.HasSuffix(low, "_test")
	case ".py":
		return strings.HasPrefix(low, "test_") || strings.HasSuffix(low, "_test") || low == "conftest"
	case ".rb":
		return strings.HasSuffix(low, "_test") || strings.HasSuffix(low, "_spec")
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		return strings.HasSuffix(low, ".test") || strings.HasSuffix(low, ".spec") || strings.Contains("/"+p, "/__tests__/")
	case ".java", ".kt", ".scala", ".cs":
		return strings.HasSuffix(name, "Test") || strings.HasSuffix(name, "Tests") || strings.HasPrefix(name, "Test") && len(name) > 4 && unicode.IsUpper(rune(name[4])) || strings.HasSuffix(name, "IT")
	case ".rs":
		return strings.HasPrefix(p, "tests/") || strings.Contains(p, "/tests/") || low == "tests" || strings.HasSuffix(low, "_test") || strings.HasSuffix(low, "_tests")
	case ".c", ".cc", ".cpp", ".cxx":
		return strings.HasSuffix(low, "_test") || strings.HasPrefix(low, "test_") || strings.HasSuffix(low, "_unittest") || strings.HasSuffix(low, "_tests") || strings.HasSuffix(name, "Test")
	}
	return false
}
