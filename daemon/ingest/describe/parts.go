package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A partList gathers what a file defines.
type partList struct {
	s     *Subject
	named exportList
	out   []component
	at    map[string]int // name → place in out
}

// componentsOf lists what a file defines: from its chunks where it was parsed,
// else from the shape of its lines.
func componentsOf(s *Subject) []component {
	l := partList{s: s, named: exportsOf(s), at: make(map[string]int, len(s.Chunks))}
	for i := range s.Chunks {
		c := &s.Chunks[i]
		if c.NodeName == "" || c.NodeType == "lines" || c.NodeType == "paragraph" || c.NodeType == "module" && c.NodeName == s.Package {
			continue
		}
		if level := headingLevel(c.NodeType); level > 0 {
			l.heading(c, level)
		} else {
			l.definition(c)
		}
	}
	out := l.out
	keys := s.Language == "json" || s.Language == "yaml" && !slices.ContainsFunc(out, func(c component) bool { return c.kind == "document" })
	if len(out) == 0 || keys { // small keys have no chunk of their own
		if lines := outlineOf(s); len(lines) > 0 {
			out = lines
		}
	}
	if isProse(s.Language) {
		out = slices.DeleteFunc(out, func(c component) bool { return c.level == 0 }) // frontmatter
		out = flattenHeadings(out)
	}
	return out
}

func (l *partList) heading(c *fold.Chunk, level int) {
	name := cleanProse(lastHeading(cleanLine(c.NodeName), c.Parent))
	if level > 3 || name == "" || len(l.out) > 0 && l.out[len(l.out)-1].name == name && l.out[len(l.out)-1].level == level {
		return
	}
	l.out = append(l.out, component{kind: c.NodeType, name: name, level: level, order: len(l.out), open: true, lines: c.EndLine - c.StartLine + 1})
}

func (l *partList) definition(c *fold.Chunk) {
	s := l.s
	name := cleanLine(c.NodeName)
	parent, last := splitName(name, c.Parent)
	if parent != "" && isNested(s.Language) && c.Parent != "" {
		return // what stands at the top says what the file sets
	}
	if isComponent(s.Language) && parent != "" {
		parent, _, _ = strings.Cut(parent, ".") // functions stand in its script
		if !isFunction(kindWord(c.NodeType)) {
			l.holder(parent)
			return // script, template and style are in every one
		}
		l.method(c, parent, last)
		return
	}
	if parent != "" && !isType(c.NodeType) && !isModule(c.NodeType) && !isNested(s.Language) {
		l.method(c, parent, last)
		return
	}
	switch {
	case parent != "" && (!strings.HasPrefix(name, parent) || parent+last == name):
		name = parent + "." + last
	case parent != "": // as the language joins them, and as its methods name it
	case c.NodeType != "module":
		name = last
	}
	if c.NodeType == "impl" {
		name = implOf(name)
	}
	if name == "default" || name == "module.exports" {
		name = Stem(s.Path)
	}
	if len(name) > 80 {
		return // an expression, not a name
	}
	if i, ok := l.at[name]; ok {
		// A long definition has several chunks; the type and its impl too.
		p := &l.out[i]
		p.lines += c.EndLine - c.StartLine + 1
		if p.doc == "" && !c.Hidden {
			p.doc, p.form = docLine(c.Doc, name)
		}
		if p.kind == methodsElsewhere || p.kind == "impl" {
			p.kind = c.NodeType
		}
		return
	}
	p := component{kind: c.NodeType, name: name, order: len(l.out), lines: c.EndLine - c.StartLine + 1}
	if !c.Hidden {
		p.doc, p.form = docLine(c.Doc, name)
	}
	p.open = l.named.open(s, last, head(s.Source, c))
	if isFunction(kindWord(c.NodeType)) && (s.Language != "go" || testKind("go", last) == "" || !imports.IsTestFile(s.Path)) {
		p.signature = signatureOf(s.Language, s.Source, *c, last)
	}
	p.trivial = isTrivial(name, p.doc, p.lines)
	l.at[name] = len(l.out)
	l.out = append(l.out, p)
}

// method files a method under its type. Methods of a type in another file still
// say what this one does.
func (l *partList) method(c *fold.Chunk, parent, last string) {
	p := l.holder(parent)
	p.lines += c.EndLine - c.StartLine + 1
	doc, form := "", plainDoc
	if !c.Hidden {
		doc, form = docLine(c.Doc, last)
	}
	if last == "" || last == parent || isTrivial(last, doc, c.EndLine-c.StartLine+1) || slices.Contains(p.members, last) || slices.Contains(p.inner, last) {
		return
	}
	if !l.named.openMember(l.s, last, head(l.s.Source, c)) {
		p.inner = append(p.inner, last)
		return
	}
	p.members = append(p.members, last)
	if doc != "" && len(p.said) < 12 {
		p.said = append(p.said, member{last, signatureOf(l.s.Language, l.s.Source, *c, last), doc, form})
	}
}

// holder returns the type called name. One that the file does not define is
// defined elsewhere; a component is the file itself.
func (l *partList) holder(name string) *component {
	i, ok := l.at[name]
	if !ok {
		i = len(l.out)
		l.at[name] = i
		c := component{kind: methodsElsewhere, name: name, order: i, open: l.named.open(l.s, name, nil)}
		if isComponent(l.s.Language) {
			c.kind, c.open = "component", true
		}
		l.out = append(l.out, c)
	}
	return &l.out[i]
}

// isModule reports whether a kind of definition is a part of the file that holds
// others, and nobody's method.
func isModule(kind string) bool { return kind == "module" || kind == "namespace" || kind == "mod" }

// isComponent reports whether a file in the language is one component, which is
// called as the file.
func isComponent(language string) bool { return language == "vue" || language == "svelte" }

// isNested reports whether a language's nested names are keys of one tree
// rather than methods of types.
func isNested(language string) bool {
	return isData(language) || language == "css" || language == "scss"
}

// isTrivial reports whether a definition says nothing about the file: every
// type has one like it.
func isTrivial(name, doc string, lines int) bool {
	switch name {
	case "constructor", "toString", "hashCode", "equals", "init", "initialize", "String", "GoString", "Error", "Unwrap", "drop", "fmt", "default", "valueOf", "toJSON", "setUp", "tearDown", "setUpClass", "tearDownClass", "TestMain", "dispose", "Dispose", "finalize", "ToString", "GetHashCode", "Equals":
		return doc == ""
	}
	if strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return true
	}
	if doc != "" || lines == 0 || lines > 4 {
		return false
	}
	for _, p := range []string{"get", "set", "is", "has", "Get", "Set", "Is", "Has"} {
		if rest := strings.TrimPrefix(name, p); len(rest) < len(name) && rest != "" && (rest[0] == '_' || rest[0] >= 'A' && rest[0] <= 'Z') {
			return p != "Get" && p != "Set" && p != "Is" && p != "Has" || lines <= 3
		}
	}
	return false
}

// rank weighs components and returns them with what matters most to a reader of
// the file first. It sets the weight and the order of each.
func rank(parts []component, stem string) []component {
	for i := range parts {
		parts[i].order = i
		parts[i].weight = parts[i].weigh(stem)
	}
	out := slices.Clone(parts)
	if len(parts) > 0 && (parts[0].level > 0 || kindWord(parts[0].kind) == "") {
		return out // of headings and keys, none matters more than those before it
	}
	slices.SortStableFunc(out, func(a, b component) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	return out
}

// weigh says how much a component matters to a reader of the file.
func (c *component) weigh(stem string) float64 {
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
	if c.trivial {
		w -= 5
	}
	switch {
	case len(c.name) < len(stem) || squash(c.name) != stem:
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

// choose returns the components that are shown, in the order of the file, the
// names of others that files can use, and how many more there are.
func choose(parts, ranked []component, test bool) (shown []component, also []string, left int) {
	if len(parts) == 0 {
		return nil, nil, 0
	}
	anyOpen := slices.ContainsFunc(parts, func(c component) bool { return c.open && !c.trivial })
	taken := make([]bool, len(parts))
	n := 0
	for _, p := range ranked {
		room := maxComponents
		if anyOpen && !p.open && !test {
			room = 10 // what is internal only fills up
			if p.doc == "" && p.lines < 20 && len(p.members)+len(p.inner) == 0 {
				continue
			}
		}
		if n < room && (!p.trivial || len(parts) == 1) {
			taken[p.order] = true
			n++
		}
	}
	for _, p := range parts {
		switch {
		case taken[p.order]:
			shown = append(shown, p)
		case p.open && !p.trivial && len(also) < maxAlso && p.level == 0 && !test:
			also = append(also, p.name)
		default:
			left++
		}
	}
	most := 8
	if len(shown) > 4 {
		most = 0
	}
	for i := range shown {
		shown[i].said = shown[i].said[:min(most, len(shown[i].said))]
	}
	return oneLine(shown), also, left
}

// oneLine puts components of which only the name is known on one line.
func oneLine(list []component) []component {
	if len(list) < 2 {
		return list
	}
	names := make([]string, len(list))
	for i, c := range list {
		if c.doc != "" || c.signature != "" || c.level > 0 || len(c.members)+len(c.inner) > 0 || kindWord(c.kind) != "" && c.kind != list[0].kind {
			return list
		}
		names[i] = c.name
	}
	c := list[0]
	c.name = strings.Join(names, "`, `")
	if word := kindWord(c.kind); word != "" {
		c.kind = manyOf(word)
	}
	return []component{c}
}

// groupNames says what a file defines: "the types A and B", "3 functions (…)",
// what matters most first. Where exports is set, only what other files can use
// counts, if anything is; closed is how many are left out.
func groupNames(ranked []component, exports bool) (out []string, closed int) {
	type group struct {
		one   string
		names []string
	}
	var groups []*group
	find := func(word string) *group {
		for _, g := range groups {
			if g.one == word {
				return g
			}
		}
		groups = append(groups, &group{one: word})
		return groups[len(groups)-1]
	}
	anyOpen := exports && slices.ContainsFunc(ranked, func(c component) bool { return c.open && !c.trivial })
	find("type")
	find("function")
	for _, p := range ranked {
		switch word := kindWord(p.kind); {
		case p.level > 0:
		case anyOpen && !p.open:
			closed++
		case p.trivial && len(ranked) > 1:
		case p.kind == methodsElsewhere:
			find("type").names = append(find("type").names, "methods of `"+p.name+"`")
		case isType(p.kind):
			find("type").names = append(find("type").names, "`"+p.name+"`")
		case isFunction(word):
			find("function").names = append(find("function").names, "`"+p.name+"`")
		default:
			if word == "" {
				word = p.kind
			}
			find(word).names = append(find(word).names, "`"+p.name+"`")
		}
	}
	for _, g := range groups {
		switch n := len(g.names); {
		case n == 0:
		case strings.HasPrefix(g.names[0], "methods of") && n == 1:
			out = append(out, g.names[0])
		case n == 1:
			out = append(out, "the "+g.one+" "+g.names[0])
		case n <= 4:
			out = append(out, "the "+manyOf(g.one)+" "+joinWords(g.names))
		default:
			out = append(out, fmt.Sprintf("%d %s (%s, …)", n, manyOf(g.one), strings.Join(g.names[:3], ", ")))
		}
	}
	return out, closed
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
