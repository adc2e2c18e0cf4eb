// Package describe says what one file is: title, summary, keywords and a body, from
// its path and text alone and without a model, so that every machine writes the same.
// It keeps no state, reads no file and never blocks.
package describe

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// Version names the rules of [Describe]. Whoever changes what it
// returns raises it: what was described before is then described anew.
const Version = "5"

// Describe returns the memory of a source file without asking a model: what
// its comments say, what it defines, what it builds on. It is a function of
// path, blob, tree and [Version] alone, so that two machines write
// equal bytes. It quotes no line that looks like a credential.
func Describe(s Subject) fold.Memory {
	d := newDescription(&s)
	m := d.memory()
	if len(secret.Scan([]byte(m.Title+"\n"+m.Body))) > 0 {
		// A comment holds a secret: names only.
		d.quiet()
		m = d.memory()
	}
	return m
}

func newDescription(s *Subject) *description {
	d := &description{s: s, test: imports.IsTestFile(s.Path), header: headerOf(s)}
	d.parts = componentsOf(s)
	d.set = settingsOf(s)
	if d.set.parts != nil {
		d.parts = d.set.parts
	}
	d.ranked = rank(d.parts, squash(Stem(s.Path)))
	if d.test {
		d.checks = checksOf(s, d.parts)
	}
	d.doc = fileDoc(s, &d.header)
	if len(d.doc) > 0 && len(d.parts) > 0 && d.parts[0].doc == d.doc[0] && isData(s.Language) {
		// The comment above the first key was about all of them.
		d.parts[0].doc = ""
		d.ranked = rank(d.parts, squash(Stem(s.Path)))
	}
	d.deps = dependenciesOf(s, d.set.outside)
	return d
}

// quiet drops all text that was quoted from the file.
func (d *description) quiet() {
	d.doc, d.checks = nil, nil
	d.set.title, d.set.summary, d.set.parts = "", "", nil
	for _, list := range [][]component{d.parts, d.ranked} {
		for i := range list {
			list[i].doc, list[i].signature = "", ""
		}
	}
	if isProse(d.s.Language) {
		d.parts, d.ranked = nil, nil
	}
}

func (d *description) memory() fold.Memory {
	s := d.s
	title := Clip(d.title(), MaxTitle)
	summary := d.summary("")
	m := fold.Memory{
		Title:        title,
		Aliases:      []string{title},
		Type:         "codebase",
		Source:       fold.SourceFile,
		Author:       "system",
		Tags:         tagsOf(s, d.test, d.header.generated != ""),
		Keywords:     keywordsOf(d),
		Context:      summary,
		FilePath:     s.Path,
		Language:     s.Language,
		SourceBlob:   s.Blob,
		OriginalDate: originalDate(s.Source),
	}
	m.CreatedAt, m.UpdatedAt = s.Times()
	// The heading has said the first sentence already, where it is the title.
	m.Body = d.body(title, d.summary(title))
	seen := map[fold.ID]bool{fold.FileID(s.Slug, s.Path): true}
	for _, dep := range d.deps {
		if dep.path == "" {
			continue
		}
		id := fold.FileID(s.Slug, dep.path)
		if !seen[id] {
			seen[id] = true
			m.Links = append(m.Links, fold.Link{To: id, Type: fold.LinkDependsOn, Weight: 1})
		}
	}
	return m
}

func (d *description) body(title, summary string) string {
	var b strings.Builder
	b.Grow(2048)
	b.WriteString("# " + title + "\n\n")
	if summary != "" {
		b.WriteString(summary + "\n")
	}
	d.writeComponents(&b)
	d.writeDependencies(&b)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (d *description) writeComponents(b *strings.Builder) {
	shown, also, left := choose(d.parts, d.ranked, d.test)
	if len(shown) == 0 {
		return
	}
	if isProse(d.s.Language) {
		b.WriteString("\n## Sections\n")
	} else {
		b.WriteString("\n## Key Components\n")
	}
	for _, p := range shown {
		p.writeLine(b)
	}
	switch {
	case len(also) > 0 && left > 0:
		fmt.Fprintf(b, "- also %s and %d more\n", joinNames(also), left)
	case len(also) > 0:
		fmt.Fprintf(b, "- also %s\n", joinWords(quoteAll(also)))
	case left > 0:
		fmt.Fprintf(b, "- and %d more\n", left)
	}
}

// writeDependencies lists what lies in the same tree file by file, and what
// comes from elsewhere on one line each for packages and the language's own.
func (d *description) writeDependencies(b *strings.Builder) {
	if len(d.deps) == 0 {
		return
	}
	b.WriteString("\n## Dependencies\n")
	var outside, standard []string
	here := 0
	for _, dep := range d.deps {
		switch {
		case dep.path != "":
			if here++; here <= maxDeps {
				b.WriteString("- `" + dep.path + "`")
				if isName(dep.name, dep.path) {
					b.WriteString(" (`" + dep.name + "`)")
				}
				b.WriteByte('\n')
			}
		case dep.standard:
			standard = append(standard, dep.name)
		default:
			outside = append(outside, dep.name)
		}
	}
	if here > maxDeps {
		fmt.Fprintf(b, "- and %d more\n", here-maxDeps)
	}
	for _, line := range []struct {
		lead  string
		names []string
	}{{"packages: ", outside}, {"standard library: ", standard}} {
		if n := len(line.names); n > maxDeps {
			fmt.Fprintf(b, "- %s%s and %d more\n", line.lead, joinNames(line.names[:maxDeps]), n-maxDeps)
		} else if n > 0 {
			fmt.Fprintf(b, "- %s%s\n", line.lead, joinNames(line.names))
		}
	}
}

// isName reports whether the way an import is written says more than the path
// of the file it leads to.
func isName(name, file string) bool {
	return name != file && !strings.HasPrefix(name, ".") && !strings.Contains(name, "::") && !strings.HasSuffix(file, "/"+name) &&
		strings.TrimSuffix(file, path.Ext(file)) != strings.ReplaceAll(name, ".", "/")
}

func dependenciesOf(s *Subject, outside []string) []dependency {
	var out []dependency
	seen := map[string]bool{}
	for _, raw := range s.Imports {
		for _, spec := range imports.Specs(s.Language, raw) {
			if strings.Trim(spec, ".") == "" && slices.ContainsFunc(s.Imports, func(o string) bool { return len(o) > len(spec) && strings.HasPrefix(o, spec) && o[len(spec)] != '.' }) {
				continue // from . import x: x says it
			}
			dep := dependency{name: cleanLine(spec)}
			if s.Resolve != nil {
				if p, ok := s.Resolve(spec); ok {
					dep.path = p
				}
			}
			if dep.path == "" {
				dep.name = outsideName(s.Language, dep.name)
				dep.standard = imports.IsStandard(s.Language, dep.name)
			}
			key := cmp.Or(dep.path, dep.name)
			if dep.path == "" && (strings.HasPrefix(dep.name, ".") || dep.name == "self" || dep.name == "super" || dep.name == "crate") || strings.Trim(dep.name, "/") == "" || dep.path == s.Path || seen[key] {
				continue
			}
			seen[key] = true
			out = append(out, dep)
		}
	}
	for _, name := range outside {
		if !seen[name] {
			seen[name] = true
			out = append(out, dependency{name: name})
		}
	}
	// What is in the tree comes first: that is where the reader goes on.
	slices.SortStableFunc(out, func(a, b dependency) int {
		switch {
		case (a.path != "") == (b.path != ""):
			return 0
		case a.path != "":
			return -1
		}
		return 1
	})
	return out
}

// outsideName returns how an import from elsewhere is shown: of a Rust path the
// module, not each item taken from it.
func outsideName(language, spec string) string {
	if language != "rust" {
		return spec
	}
	parts := strings.Split(spec, "::")
	for len(parts) > 1 && (len(parts) > 2 || parts[1] != "" && parts[1][0] >= 'A' && parts[1][0] <= 'Z') {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, "::")
}
