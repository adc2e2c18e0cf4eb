package conf

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Project is what fold/project.toml says. The file is committed and comes
// from whoever can push: it names the project and narrows what is indexed, and
// that is all it can do.
type Project struct {
	ID        string // proj_ and hex digits, made once
	Slug      string // never changes: ids are derived from it
	Name      string
	CreatedAt time.Time

	// Include and Exclude are globs with forward slashes, relative to the
	// checkout. An empty Include is everything.
	Include []string
	Exclude []string
	// FileMemories is "", auto, fold or local; it counts only where the user
	// has not decided.
	FileMemories string
}

// A Notice is something in a project file that has no effect, and why.
type Notice struct {
	Line int // from 1; 0 if not known
	Text string
}

// ProjectFile is the name of the file below fold/.
const ProjectFile = "project.toml"

// maxProjectFile bounds what is parsed, in bytes; ours has some 300.
const maxProjectFile = 64 << 10

// ParseProject reads a project file. What it may not say is left out and named
// in the notices. It returns ErrInvalid if b does not parse or names no
// project: the caller keeps what it last read.
func ParseProject(b []byte) (Project, []Notice, error) {
	if len(b) > maxProjectFile {
		return Project{}, nil, fmt.Errorf("%s: %d bytes, at most %d: %w", ProjectFile, len(b), maxProjectFile, fold.ErrInvalid)
	}
	settings, err := readTOML(ProjectFile, b)
	if err != nil {
		return Project{}, nil, err
	}
	var p Project
	r := &projectReader{p: &p, wishes: map[string]bool{}}
	for _, s := range settings {
		if err := r.take(s); err != nil {
			return Project{}, nil, err
		}
	}
	switch {
	case p.Slug == "":
		return Project{}, nil, fmt.Errorf("%s: project.slug is missing: %w", ProjectFile, fold.ErrInvalid)
	case p.ID == "":
		return Project{}, nil, fmt.Errorf("%s: project.id is missing: %w", ProjectFile, fold.ErrInvalid)
	}
	if p.Name == "" {
		p.Name = p.Slug
	}
	return p, r.notices, nil
}

type projectReader struct {
	p       *Project
	notices []Notice
	wishes  map[string]bool // sections a notice was given for
}

func (r *projectReader) notice(s setting, format string, args ...any) {
	r.notices = append(r.notices, Notice{Line: s.line, Text: fmt.Sprintf(format, args...)})
}

func (r *projectReader) take(s setting) error {
	name := strings.Join(s.path, ".")
	text, isText := s.value.(string)
	bad := func(want string) error {
		return fmt.Errorf("%s: %s: %w", s.where(), name, badType(s.value, want))
	}
	switch name {
	case "project", "indexing": // an empty section
		return nil
	case "project.id":
		if !isText || !isProjectID(text) {
			return bad("an id such as proj_5f0c2b7d")
		}
		r.p.ID = text
	case "project.slug":
		if !isText || text == "" || fold.Slug(text) != text {
			return bad("a slug of a-z, 0-9 and -")
		}
		r.p.Slug = text
	case "project.name":
		if !isText {
			return bad("text in quotes")
		}
		r.p.Name = cleanName(text)
	case "project.created_at":
		at, ok := asTime(s.value)
		if !ok {
			return bad("a time such as 2026-02-03T10:00:00Z")
		}
		r.p.CreatedAt = at
	case "indexing.include", "indexing.exclude":
		globs, ok := s.value.([]string)
		if !ok {
			r.notice(s, "%s is not a list of globs: ignored", name)
			return nil
		}
		kept := r.globs(s, name, globs)
		if name == "indexing.include" {
			r.p.Include = kept
			if len(kept) == 1 && (kept[0] == "**/*" || kept[0] == "**") {
				r.p.Include = nil
			}
		} else {
			r.p.Exclude = kept
		}
	case "indexing.file_memories":
		if !isText || !slices.Contains(fileMemories(), text) {
			r.notice(s, "%s is not one of %s: ignored", name, strings.Join(fileMemories(), ", "))
			return nil
		}
		r.p.FileMemories = text
	default:
		r.wish(s, name)
	}
	return nil
}

// wish notes, once per section, something a project file has no say in.
func (r *projectReader) wish(s setting, name string) {
	section := s.path[0]
	if section == "project" || section == "indexing" || len(s.path) == 1 && s.value != nil {
		r.notice(s, "%q has no effect in a project file", clip(name))
		return
	}
	if r.wishes[section] {
		return
	}
	r.wishes[section] = true
	switch section {
	case "embedding":
		r.notice(s, "[embedding] has no effect in a project file; to choose a model on this machine, run: foldwatch model use NAME")
	case "llm", "providers", "provider":
		r.notice(s, "[%s] has no effect in a project file; to let this project use a provider, run: foldwatch provider allow PROVIDER", section)
	case "sync", "remote", "git":
		r.notice(s, "[%s] has no effect in a project file; to sync this checkout, run: foldwatch sync on", section)
	default:
		r.notice(s, "[%s] has no effect in a project file; settings of this machine stand in config.toml, see: foldwatch config show --origin", clip(section))
	}
}

// maxGlobs and maxGlob bound what a foreign file can make matching cost.
const (
	maxGlobs = 200
	maxGlob  = 300 // bytes
)

// globs keeps the patterns that stay inside the checkout.
func (r *projectReader) globs(s setting, name string, globs []string) []string {
	var kept []string
	for _, g := range globs {
		switch {
		case len(kept) == maxGlobs:
			r.notice(s, "%s: only the first %d patterns count", name, maxGlobs)
			return kept
		case g == "" || len(g) > maxGlob || strings.ContainsAny(g, "\x00\n\r") || strings.Count(g, "**") > 8 || strings.Count(g, "{") > 4:
			r.notice(s, "%s: %q is not a usable pattern: ignored", name, clip(g))
		case strings.HasPrefix(g, "/"), strings.HasPrefix(g, "~"), strings.Contains(g, `\`), isDrive(g):
			r.notice(s, "%s: %q is not relative to the checkout: ignored", name, clip(g))
		case slices.Contains(strings.Split(g, "/"), ".."):
			r.notice(s, "%s: %q leads out of the checkout: ignored", name, clip(g))
		default:
			kept = append(kept, path.Clean(g))
		}
	}
	return kept
}

func isDrive(g string) bool { return len(g) > 1 && g[1] == ':' }

func isProjectID(s string) bool {
	rest, ok := strings.CutPrefix(s, "proj_")
	if !ok || len(rest) < 4 || len(rest) > 64 {
		return false
	}
	return strings.IndexFunc(rest, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}

func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:100])
	}
	return strings.TrimSpace(s)
}

func clip(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return s
}

func asTime(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return v.UTC(), true
	case string:
		t, err := time.Parse(time.RFC3339, v)
		return t.UTC(), err == nil
	}
	return time.Time{}, false
}

// EncodeProject returns the file of p, in the order of the manual. What it
// writes, ParseProject reads back equal.
func EncodeProject(p Project) []byte {
	var b strings.Builder
	b.WriteString("[project]\n")
	fmt.Fprintf(&b, "id = %s\n", tomlText(p.ID))
	fmt.Fprintf(&b, "slug = %s         # never changes: ids are derived from it\n", tomlText(p.Slug))
	fmt.Fprintf(&b, "name = %s\n", tomlText(p.Name))
	if !p.CreatedAt.IsZero() {
		fmt.Fprintf(&b, "created_at = %s\n", tomlText(p.CreatedAt.UTC().Format(time.RFC3339)))
	}
	b.WriteString("\n[indexing]\n")
	include := p.Include
	if len(include) == 0 {
		include = []string{"**/*"}
	}
	fmt.Fprintf(&b, "include = %s\n", tomlList(include))
	fmt.Fprintf(&b, "exclude = %s\n", tomlList(p.Exclude))
	if p.FileMemories != "" {
		fmt.Fprintf(&b, "file_memories = %s\n", tomlText(p.FileMemories))
	}
	return []byte(b.String())
}

// MergeProject joins the project files of two sides: the smaller created_at
// wins id, slug, name and the rest; exclude is the union of both. It is the
// same whichever side is ours (git.md G19).
func MergeProject(ours, theirs Project) Project {
	if projectLess(theirs, ours) {
		ours, theirs = theirs, ours
	}
	out := ours
	out.Exclude = slices.Clone(ours.Exclude)
	out.Exclude = append(out.Exclude, theirs.Exclude...)
	slices.Sort(out.Exclude)
	out.Exclude = slices.Compact(out.Exclude)
	if out.FileMemories == "" {
		out.FileMemories = theirs.FileMemories
	}
	return out
}

// projectLess orders projects by age; one without a time is the younger.
func projectLess(a, b Project) bool {
	if az, bz := a.CreatedAt.IsZero(), b.CreatedAt.IsZero(); az != bz {
		return bz
	}
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c < 0
	}
	ka := []string{a.ID, a.Slug, a.Name, strings.Join(a.Include, "\x00"), a.FileMemories}
	kb := []string{b.ID, b.Slug, b.Name, strings.Join(b.Include, "\x00"), b.FileMemories}
	return slices.Compare(ka, kb) < 0
}

// tomlText returns s as a basic TOML string.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func tomlList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = tomlText(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// tomlValue returns v as TOML writes it.
func tomlValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlText(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eEnI") {
			s += ".0"
		}
		return s, nil
	case time.Duration:
		return tomlText(v.String()), nil
	case []string:
		return tomlList(v), nil
	}
	return "", fmt.Errorf("a %T cannot be a TOML value here: %w", v, fold.ErrInvalid)
}
