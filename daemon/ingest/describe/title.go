package describe

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// title returns a line by which a person tells this file from others.
func (d *description) title() string {
	s := d.s
	switch {
	case d.set.title != "":
		return d.set.title
	case isProse(s.Language):
		h := firstHeading(s, d.parts)
		if h != "" && !isCommonHeading(h) {
			return h
		}
		if line := titleClause(d.firstDoc()); line != "" {
			return line
		}
		if h != "" {
			return h + " (" + tailPath(s.Path) + ")"
		}
		return tailPath(s.Path)
	case d.test:
		return d.testTitle()
	}
	if line := titleClause(d.firstDoc()); line != "" {
		if base := Stem(s.Path); strings.HasPrefix(line, "Package ") || len(base) > 2 && strings.Contains(strings.ToLower(line), base) {
			return line
		}
		return line + " (" + tailPath(s.Path) + ")"
	}
	if s.Language == "go" && s.Package == "main" && Stem(s.Path) == "main" {
		return "Command " + commandName(s.Path) + " — " + tailPath(s.Path)
	}
	if name := packageOf(s.Path); name != "" && len(d.parts) == 0 {
		return "Package " + name + " — " + tailPath(s.Path)
	}
	if base := Stem(s.Path); (base == "index" || base == "mod" || base == "lib") && len(d.parts) == 0 && forwards(s) && path.Dir(s.Path) != "." {
		return "Index of " + path.Dir(s.Path) + " — " + path.Base(s.Path)
	}
	names := mainNames(s, d.ranked)
	if len(names) == 0 {
		return tailPath(s.Path)
	}
	return strings.Join(names, ", ") + " — " + tailPath(s.Path)
}

// testTitle says what the file tests.
func (d *description) testTitle() string {
	what := "Tests"
	if len(d.checks) > 0 && d.s.Language == "go" {
		for _, kind := range []string{"Example", "Benchmark"} {
			if !slices.ContainsFunc(d.parts, func(c component) bool {
				return testKind("go", c.name) != "" && !strings.HasPrefix(c.name, kind)
			}) {
				what = kind + "s"
			}
		}
	}
	switch s := d.s; {
	case s.Tested != "":
		return what + " of " + tailPath(s.Tested)
	case s.Package != "" && what != "Tests":
		return what + " of package " + strings.TrimSuffix(s.Package, "_test") + " (" + tailPath(s.Path) + ")"
	}
	return what + ": " + tailPath(d.s.Path)
}

// isCommonHeading reports whether a heading is one that many texts begin with,
// and so names none.
func isCommonHeading(h string) bool {
	switch strings.ToLower(strings.Trim(h, ": ")) {
	case "quick start", "quickstart", "getting started", "introduction", "overview", "features", "installation", "install", "usage", "table of contents", "contents", "toc", "about", "description", "readme", "summary", "name", "background", "documentation", "requirements", "license", "example", "examples":
		return true
	}
	return false
}

func (d *description) firstDoc() string {
	if len(d.doc) == 0 {
		return ""
	}
	return d.doc[0]
}

// titleClause returns the first sentence of doc as a title, shortened at a
// clause if it can be; "" if there is no doc.
func titleClause(doc string) string {
	line := strings.TrimRight(withoutLead(firstSentence(doc)), ".:;, ")
	return clipClause(line, 80)
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

// commandName returns the name under which a Go command is built.
func commandName(p string) string {
	if dir := path.Base(path.Dir(p)); dir != "." && dir != "/" {
		return dir
	}
	return "main"
}

// packageOf returns the dotted name of the Python package that an __init__.py
// makes of its folder; "" for other files.
func packageOf(p string) string {
	if path.Base(p) != "__init__.py" || path.Dir(p) == "." {
		return ""
	}
	dirs := strings.Split(path.Dir(p), "/")
	for i, d := range dirs {
		if d == "src" || d == "lib" || d == "python" {
			dirs = dirs[i+1:]
			break
		}
	}
	return strings.Join(dirs[max(0, len(dirs)-3):], ".")
}

// mainNames returns one to three names for a title.
func mainNames(s *Subject, ranked []component) []string {
	if isData(s.Language) || len(ranked) == 0 || ranked[0].level > 0 {
		return nil
	}
	main := ranked[0]
	if main.kind == methodsElsewhere {
		return main.methodNames(2)
	}
	if squash(main.name) == squash(Stem(s.Path)) {
		return []string{main.name}
	}
	var names []string
	size := 0
	for _, p := range ranked {
		if p.open != main.open && main.open || isType(p.kind) != isType(main.kind) || p.kind == methodsElsewhere || len(names) == 3 || p.trivial || p.name == "main" {
			continue
		}
		if size += len(p.name) + 2; size > 50 && len(names) > 0 {
			break
		}
		names = append(names, p.name)
	}
	return names
}

// methodNames returns at most n qualified names of methods.
func (c component) methodNames(n int) []string {
	list := c.members
	if len(list) == 0 {
		list = c.inner
	}
	var out []string
	for _, m := range list[:min(n, len(list))] {
		out = append(out, c.name+"."+m)
	}
	if len(out) == 0 {
		return []string{c.name}
	}
	return out
}
