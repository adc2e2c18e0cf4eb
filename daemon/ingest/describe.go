package ingest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// DescriberVersion names the rules of [Describe]. Whoever changes what it
// returns changes it: descriptions are merged against the one before.
const DescriberVersion = "1"

// The limits of what we write (design.md 4).
const (
	maxTitle      = 100 // runes
	maxKeywords   = 15
	maxTags       = 6
	maxComponents = 15
	maxDeps       = 20
	maxSummary    = 700 // runes
)

// A Subject is one source file as it stood in a tree, cut into chunks.
type Subject struct {
	Slug     string // of the project
	Path     string // relative to the checkout, forward slashes
	Language string // as the chunker names it; "" if not known
	Blob     string // git blob id of Source
	Source   []byte // may be cut short for a very long file

	Chunks  []fold.Chunk // in order; Doc holds the first sentence of their comment
	Package string       // as the file declares it
	Doc     string       // first sentence of the file's own comment
	Imports []string     // as written

	// Created and Committed are the times of the first and the last commit of
	// the path. A zero Created is taken to be Committed.
	Created   time.Time
	Committed time.Time

	// Resolve returns the file of the same tree that an import means, if it
	// means one. May be nil.
	Resolve func(imp string) (path string, ok bool)
}

// Describe returns the memory of a source file without asking a model: what
// its comments say, what it defines, what it builds on. It is a function of
// path, blob, tree and [DescriberVersion] alone, so that two machines write
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

// A description is what the parts of the text are made from.
type description struct {
	s     *Subject
	doc   string // first sentences of the file's comment
	test  bool
	parts []component
	deps  []dependency
}

// A dependency is one import of the file.
type dependency struct {
	name string // as it is shown
	path string // file of the same tree; "" if it is from elsewhere
}

func newDescription(s *Subject) *description {
	d := &description{s: s, test: IsTestFile(s.Path)}
	d.parts = componentsOf(s)
	d.doc = fileDoc(s)
	d.deps = dependenciesOf(s)
	return d
}

// quiet drops all text that was quoted from the file.
func (d *description) quiet() {
	d.doc = ""
	for i := range d.parts {
		d.parts[i].doc = ""
	}
	if isProse(d.s.Language) {
		d.parts = nil
	}
}

func (d *description) memory() fold.Memory {
	s := d.s
	created := s.Created
	if created.IsZero() || created.After(s.Committed) {
		created = s.Committed
	}
	title := clipRunes(d.title(), maxTitle)
	summary := clipRunes(d.summary(), maxSummary)
	m := fold.Memory{
		Title:        title,
		Aliases:      []string{title},
		Type:         "codebase",
		Source:       fold.SourceFile,
		Author:       "system",
		Tags:         tagsOf(s, d.test),
		Keywords:     keywordsOf(s, d.parts),
		Context:      summary,
		FilePath:     s.Path,
		Language:     s.Language,
		SourceBlob:   s.Blob,
		OriginalDate: originalDate(s.Source),
		CreatedAt:    created.UTC(),
		UpdatedAt:    s.Committed.UTC(),
	}
	m.Body = d.body(title, summary)
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
	fmt.Fprintf(&b, "# %s\n\n%s\n", title, summary)
	if parts := mostImportant(d.parts, maxComponents); len(parts) > 0 {
		b.WriteString("\n## Key Components\n")
		for _, p := range parts {
			b.WriteString(p.line() + "\n")
		}
		if left := len(d.parts) - len(parts); left > 0 {
			fmt.Fprintf(&b, "- and %d more\n", left)
		}
	}
	if len(d.deps) > 0 {
		b.WriteString("\n## Dependencies\n")
		for i, dep := range d.deps {
			if i == maxDeps {
				fmt.Fprintf(&b, "- and %d more\n", len(d.deps)-i)
				break
			}
			if dep.path != "" && dep.path != dep.name {
				fmt.Fprintf(&b, "- `%s` (`%s`)\n", dep.name, dep.path)
			} else {
				fmt.Fprintf(&b, "- `%s`\n", dep.name)
			}
		}
	}
	return b.String()
}

// title returns a line by which a person tells this file from others.
func (d *description) title() string {
	s := d.s
	if isProse(s.Language) {
		if h := firstHeading(s, d.parts); h != "" {
			return h
		}
		if line := titleClause(d.doc); line != "" {
			return line
		}
		return tailPath(s.Path)
	}
	if d.test {
		return "Tests: " + tailPath(s.Path)
	}
	if line := titleClause(d.doc); line != "" {
		if strings.HasPrefix(line, "Package ") || strings.Contains(strings.ToLower(line), stem(s.Path)) {
			return line
		}
		return line + " (" + tailPath(s.Path) + ")"
	}
	if s.Language == "go" && s.Package == "main" && stem(s.Path) == "main" {
		return "Command " + commandName(s.Path) + " — " + tailPath(s.Path)
	}
	names := mainNames(s, d.parts)
	if len(names) == 0 {
		return tailPath(s.Path)
	}
	return strings.Join(names, ", ") + " — " + tailPath(s.Path)
}

// titleClause returns the first sentence of doc as a title, shortened at a
// clause if it can be; "" if there is no doc.
func titleClause(doc string) string {
	const most = 80
	line := strings.TrimRight(firstSentence(doc), ".:;, ")
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	best := ""
	for _, mark := range []string{"; ", ": ", " - ", " — ", ", ", " (", " that ", " which ", " so that ", " by ", " for ", " with ", " and "} {
		for at := 0; ; {
			i := strings.Index(line[at:], mark)
			if i < 0 {
				break
			}
			at += i
			if n := utf8.RuneCountInString(line[:at]); n >= 40 && n <= most && len(line[:at]) > len(best) {
				best = line[:at]
			}
			at += len(mark)
		}
		if best != "" {
			return best
		}
	}
	return clipRunes(line, most)
}

// summary returns two to four sentences: what the comments say, what the file
// defines, what it builds on.
func (d *description) summary() string {
	var out []string
	if d.doc != "" {
		out = append(out, endSentence(d.doc))
	} else if p, ok := mainPart(d.s, d.parts); ok && p.doc != "" {
		doc := p.doc
		if first, _ := utf8.DecodeRuneInString(doc); unicode.IsLower(first) {
			doc = "`" + p.name + "` " + doc
		}
		out = append(out, endSentence(doc))
	}
	out = append(out, d.structure())
	if line := d.builtOn(); line != "" {
		out = append(out, line)
	}
	return strings.Join(out, " ")
}

// structure says in one sentence what the file is and defines.
func (d *description) structure() string {
	s := d.s
	what := languageName(s.Language)
	if what == "" {
		what = "A file"
	} else {
		word := " file"
		if d.test {
			word = " test file"
		}
		what = article(what) + " " + what + word
	}
	if s.Package != "" && !isProse(s.Language) {
		what += " of package " + s.Package
	}
	lead := "`" + s.Path + "` is " + strings.ToLower(what[:1]) + what[1:]
	groups := groupNames(d.parts, squash(stem(s.Path)))
	if len(groups) == 0 {
		if n := countLines(s.Source); n > 0 {
			return fmt.Sprintf("%s with %s.", lead, plural(n, "line"))
		}
		return lead + "."
	}
	verb := " that defines "
	if isProse(s.Language) {
		verb = " with "
	} else if isData(s.Language) {
		verb = " that sets "
	}
	return lead + verb + joinWords(groups) + "."
}

// builtOn says in one sentence what the file imports.
func (d *description) builtOn() string {
	if isProse(d.s.Language) {
		return ""
	}
	var names []string
	for _, dep := range d.deps {
		name := dep.name
		if dep.path != "" && d.s.Language != "go" {
			name = dep.path // "./x" says little out of its place
		}
		names = append(names, "`"+name+"`")
	}
	if len(names) == 0 {
		return ""
	}
	const most = 6
	if left := len(names) - most; left > 0 {
		names = append(names[:most], plural(left, "other"))
	}
	return "It builds on " + joinWords(names) + "."
}

func dependenciesOf(s *Subject) []dependency {
	var out []dependency
	seen := map[string]bool{}
	for _, raw := range s.Imports {
		for _, spec := range importSpecs(s.Language, raw) {
			dep := dependency{name: cleanLine(spec)}
			if s.Resolve != nil {
				if p, ok := s.Resolve(spec); ok {
					dep.path = p
				}
			}
			if dep.path == "" {
				dep.name = outsideName(s.Language, dep.name)
			}
			key := cmp.Or(dep.path, dep.name)
			if strings.Trim(dep.name, ".") == "" || dep.path == s.Path || seen[key] {
				continue
			}
			seen[key] = true
			out = append(out, dep)
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

// tailPath returns the file's name with the folder it is in.
func tailPath(p string) string {
	dir := path.Base(path.Dir(p))
	if dir == "." || dir == "/" {
		return path.Base(p)
	}
	return dir + "/" + path.Base(p)
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

// commandName returns the name under which a Go command is built.
func commandName(p string) string {
	if dir := path.Base(path.Dir(p)); dir != "." && dir != "/" {
		return dir
	}
	return "main"
}

// stem returns the file's name without extensions, lower case.
func stem(p string) string {
	base := path.Base(p)
	if i := strings.IndexByte(base[min(1, len(base)):], '.'); i >= 0 {
		base = base[:i+1]
	}
	return strings.ToLower(base)
}
