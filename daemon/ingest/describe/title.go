package describe

import (
	"bytes"
	"path"
	"slices"
	"strings"
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

// firstHeading returns the title a text gives itself.
func firstHeading(s *Subject, parts []component) string {
	src := s.Source[:min(len(s.Source), 16<<10)]
	if s.Language == "html" {
		low := bytes.ToLower(src)
		for _, tag := range []string{"title", "h1"} {
			i := bytes.Index(low, []byte("<"+tag))
			if i < 0 {
				continue
			}
			open := bytes.IndexByte(low[i:], '>')
			end := bytes.Index(low[i:], []byte("</"+tag+">"))
			if open > 0 && end > open {
				if t := cleanProse(string(src[i+open+1 : i+end])); t != "" && !strings.Contains(t, "{{") {
					return t
				}
			}
		}
		return ""
	}
	text := string(src)
	if t := frontmatterTitle(text); t != "" {
		return cleanProse(t)
	}
	text = text[frontmatterEnd(text):]
	fenced := false
	before := ""
	n := 0
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		if strings.HasPrefix(t, "```") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		if h := strings.TrimLeft(t, "#"); s.Language != "text" && len(h) < len(t) && len(t)-len(h) <= 3 && strings.HasPrefix(h, " ") {
			if h = cleanProse(strings.Trim(h, " #\t")); h != "" {
				return h
			}
		}
		if n++; before != "" && n < 30 && isUnderline(t) && !isUnderline(before) {
			return cleanProse(before)
		}
		before = t
	}
	if len(parts) > 0 && parts[0].level == 1 {
		return parts[0].name
	}
	return ""
}

// forwards reports whether a file hands on what others define.
func forwards(s *Subject) bool {
	switch s.Language {
	case "javascript", "typescript", "tsx", "python":
	default:
		return false
	}
	if s.Language == "python" {
		return path.Base(s.Path) == "__init__.py" && len(s.Chunks) <= 2
	}
	text := s.Source[:min(len(s.Source), 8<<10)]
	has := func(w string) bool { return bytes.Contains(text, []byte(w)) }
	return has("export *") || has("export {") && has(" from ") || has("__exportStar") || has("__reExport")
}
