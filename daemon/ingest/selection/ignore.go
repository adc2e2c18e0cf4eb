package selection

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
)

// IgnoreFile is the name of the files that say, in the syntax of .gitignore, what
// is not indexed: at the root of a checkout and in its folders.
const IgnoreFile = ".foldwatchignore"

// attributesFile is where git is told what is vendored and what is generated.
const attributesFile = ".gitattributes"

// Bounds of what a foreign file can make matching cost.
const (
	maxIgnoreFile = 64 << 10 // bytes that are read of one
	maxIgnoreLine = 300      // bytes; longer lines are passed over
	maxIgnores    = 2000     // patterns of a checkout
	maxIgnoreDirs = 50_000   // verdicts on folders that are kept
)

// DecidesFiles reports whether a change of the file at p, relative to the
// checkout, changes which files are indexed.
func DecidesFiles(p string) bool {
	switch path.Base(p) {
	case IgnoreFile, attributesFile, ".gitignore":
		return true
	}
	return p == ".git/info/exclude" || p == ".git/info/sparse-checkout"
}

// A pattern is one line of an ignore or attributes file.
type pattern struct {
	glob string // for doublestar; of the last part of a path, or of a path below the folder
	name bool   // glob is of the last part
	text bool   // glob is plain text
	dir  bool   // matches folders only
	take bool   // takes back what was ignored before it
}

// A patternFile holds the patterns of one file, which count in its folder.
type patternFile struct {
	folder   string // "" for the root, else with a final slash
	patterns []pattern
}

// ignores are the rules that stand in the files of a checkout. The zero value
// ignores nothing. Safe for concurrent use.
type ignores struct {
	stamps    []string      // of what was read
	names     []string      // of the ignore files
	files     []patternFile // of ignore files; outer folders first
	vendored  []patternFile // of linguist-vendored
	generated []patternFile // of linguist-generated

	mu   sync.Mutex
	dirs map[string]bool // folder → one of its patterns, or of those above it, ignores it
}

// ignored reports whether a file, or a folder, is ignored; decided is false where
// no pattern says anything. As with git, the last pattern that matches wins, and
// what lies in an ignored folder cannot be taken back.
func (g *ignores) ignored(p string, isDir bool) (ignored, decided bool) {
	if g == nil || len(g.files) == 0 {
		return false, false
	}
	return last(g.files, p, isDir)
}

// folderIgnored is ignored for a folder, with its verdict kept.
func (g *ignores) folderIgnored(dir string) (ignored, decided bool) {
	if g == nil || len(g.files) == 0 {
		return false, false
	}
	g.mu.Lock()
	ignored, decided = g.dirs[dir]
	g.mu.Unlock()
	if decided {
		return ignored, true
	}
	if ignored, decided = last(g.files, dir, true); decided {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.dirs == nil || len(g.dirs) >= maxIgnoreDirs {
			g.dirs = map[string]bool{}
		}
		g.dirs[dir] = ignored
	}
	return ignored, decided
}

// attribute returns what the attributes say of a file: that it is vendored or
// generated, or that it is not.
func (g *ignores) attribute(p string) (set, decided bool) {
	if g == nil {
		return false, false
	}
	vendored, a := last(g.vendored, p, false)
	generated, b := last(g.generated, p, false)
	return vendored || generated, a || b
}

// last returns what the last pattern that matches says of p.
func last(files []patternFile, p string, isDir bool) (ignored, decided bool) {
	base := path.Base(p)
	for _, f := range slices.Backward(files) {
		rest, ok := strings.CutPrefix(p, f.folder)
		if !ok || rest == "" {
			continue
		}
		for _, pt := range slices.Backward(f.patterns) {
			if pt.dir && !isDir {
				continue
			}
			of := rest
			if pt.name {
				of = base
			}
			if pt.glob == of && pt.text || !pt.text && doublestar.MatchUnvalidated(pt.glob, of) {
				return !pt.take, true
			}
		}
	}
	return false, false
}

// parseIgnore reads the lines of an ignore file as git reads .gitignore.
func parseIgnore(b []byte) []pattern {
	var out []pattern
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		s := strings.TrimSuffix(string(line), "\r")
		if s == "" || s[0] == '#' || len(s) > maxIgnoreLine {
			continue
		}
		s = trimSpaces(s)
		var pt pattern
		if rest, ok := strings.CutPrefix(s, "!"); ok {
			pt.take, s = true, rest
		}
		if pt.setGlob(s) {
			out = append(out, pt)
		}
	}
	return out
}

// trimSpaces takes the spaces off the end of s, up to one behind a backslash.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			end = i + 1
		case s[i] != ' ':
			end = i + 1
		}
	}
	return s[:end]
}

// setGlob takes git's pattern s; false if it can match nothing.
func (pt *pattern) setGlob(s string) bool {
	if rest, ok := strings.CutSuffix(s, "/"); ok {
		pt.dir, s = true, rest
	}
	pt.name = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" || strings.Count(s, "**") > 8 {
		return false
	}
	if pt.name {
		s = strings.ReplaceAll(s, "**", "*")
	} else if s == "**" || strings.HasSuffix(s, "/**") {
		s += "/*" // all below a folder, but not the folder
	}
	pt.text = !strings.ContainsAny(s, `*?[\{},`)
	glob, ok := starGlob(s)
	pt.glob = glob
	return ok && doublestar.ValidatePattern(glob)
}

// starGlob writes a pattern of git's as one of doublestar's, which knows braces
// and no named classes.
func starGlob(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				return "", false
			}
			b.WriteByte('\\')
			b.WriteByte(s[i])
		case '{', '}', ',':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '[':
			n := writeClass(&b, s[i+1:])
			if n < 0 {
				return "", false
			}
			i += n
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// writeClass writes the class that begins s, without its opening bracket, and
// returns how long it is; -1 if it does not end.
func writeClass(b *strings.Builder, s string) int {
	b.WriteByte('[')
	i := 0
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		b.WriteByte('!')
		i++
	}
	for first := true; i < len(s); first = false {
		switch c := s[i]; {
		case c == ']' && !first:
			b.WriteByte(']')
			return i + 1
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			name, _, ok := strings.Cut(s[i+2:], ":]")
			set := namedClass(name)
			if !ok || set == "" {
				return -1
			}
			b.WriteString(set)
			i += len(name) + 4
		case c == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i += 2
		case c == ']' || c == '[' || c == '!' || c == '^':
			b.WriteByte('\\')
			b.WriteByte(c)
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return -1
}

// namedClass returns the characters of a class such as [:digit:], "" if there is
// no such.
func namedClass(name string) string {
	switch name {
	case "alpha":
		return "a-zA-Z"
	case "digit":
		return "0-9"
	case "alnum":
		return "a-zA-Z0-9"
	case "upper":
		return "A-Z"
	case "lower":
		return "a-z"
	case "xdigit":
		return "0-9a-fA-F"
	case "space":
		return " \t\n\v\f\r"
	case "blank":
		return " \t"
	case "punct":
		return `\!-/:-@\[-` + "`" + `{-~`
	}
	return ""
}

// parseAttributes reads what an attributes file says is vendored and generated.
// A pattern there never means what lies in a folder.
func parseAttributes(b []byte) (vendored, generated []pattern) {
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		words := strings.Fields(string(line))
		if len(words) < 2 || words[0][0] == '#' || words[0][0] == '"' || len(words[0]) > maxIgnoreLine {
			continue
		}
		var pt pattern
		if strings.HasSuffix(words[0], "/") || !pt.setGlob(words[0]) {
			continue
		}
		for _, w := range words[1:] {
			name, off := strings.CutPrefix(w, "-")
			name, value, valued := strings.Cut(name, "=")
			pt.take = off || value == "false"
			if valued && value != "true" && value != "false" {
				continue
			}
			switch name {
			case "linguist-vendored":
				vendored = append(vendored, pt)
			case "linguist-generated":
				generated = append(generated, pt)
			}
		}
	}
	return vendored, generated
}

// ruleFiles returns those of the listed files, and the one at the root whatever
// git thinks of it, that say what is not indexed.
func ruleFiles(listed []string) []string {
	names := []string{attributesFile, IgnoreFile}
	for _, p := range listed {
		if !strings.HasSuffix(p, IgnoreFile) && !strings.HasSuffix(p, attributesFile) {
			continue
		}
		if base := path.Base(p); p != base && (base == attributesFile || base == IgnoreFile) {
			names = append(names, p)
		}
	}
	slices.SortFunc(names, func(a, b string) int { // what stands deeper counts for more
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), strings.Compare(a, b))
	})
	return names
}
