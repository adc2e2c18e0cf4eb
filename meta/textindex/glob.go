package textindex

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	globMeta = `*?[]{}\`
	maxGlob  = 512 // bytes
)

// A pathGlob is a parsed [Filter.PathGlob]. One of all, folder, ext and match
// is set.
type pathGlob struct {
	all    bool           // everything that has or has not a path
	folder string         // everything below it
	ext    string         // everything with this extension, in any folder
	prefix string         // literal beginning of what match matches
	match  *regexp.Regexp // RE2: linear in the path, whatever the glob
}

// parseGlob returns ErrInvalid for a glob that does not end what it begins.
func parseGlob(glob string) (pathGlob, error) {
	if len(glob) > maxGlob {
		return pathGlob{}, fmt.Errorf("longer than %d bytes: %w", maxGlob, fold.ErrInvalid)
	}
	glob = strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	if glob == "**" || glob == "**/*" {
		return pathGlob{all: true}, nil
	}
	if dir, ok := strings.CutSuffix(glob, "/**"); ok && !strings.ContainsAny(dir, globMeta) {
		return pathGlob{folder: dir}, nil
	}
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob
	}
	if base, ok := strings.CutPrefix(glob, "**/"); ok {
		if ext := baseExt(base); ext != "" {
			return pathGlob{ext: ext}, nil
		}
	}
	expr, err := globRegexp(glob)
	if err != nil {
		return pathGlob{}, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return pathGlob{}, fmt.Errorf("%w: %w", err, fold.ErrInvalid)
	}
	g := pathGlob{prefix: glob, match: re}
	if i := strings.IndexAny(glob, globMeta); i >= 0 {
		g.prefix = glob[:i]
	}
	return g, nil
}

// globRegexp returns glob as a regular expression over whole paths.
func globRegexp(glob string) (string, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	braces := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			n := i
			for n < len(glob) && glob[n] == '*' {
				n++
			}
			switch start := i == 0 || glob[i-1] == '/'; {
			case n-i == 1:
				b.WriteString(`[^/]*`)
			case start && n < len(glob) && glob[n] == '/': // a/**/b matches a/b
				b.WriteString(`(?:.*/)?`)
				n++
			default:
				b.WriteString(`.*`)
			}
			i = n - 1
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end <= 0 {
				return "", fmt.Errorf("%q is not closed: %w", "[", fold.ErrInvalid)
			}
			set := glob[i+1 : i+1+end]
			i += end + 1
			not := ""
			if set[0] == '!' || set[0] == '^' {
				not, set = "^/", set[1:]
			}
			if set == "" {
				return "", fmt.Errorf("%q is empty: %w", "[]", fold.ErrInvalid)
			}
			b.WriteString("[" + not + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `&`, `\&`).Replace(set) + "]")
		case '{':
			braces++
			b.WriteString("(?:")
		case '}':
			if braces == 0 {
				b.WriteString(`\}`)
				continue
			}
			braces--
			b.WriteByte(')')
		case ',':
			if braces > 0 {
				b.WriteByte('|')
			} else {
				b.WriteByte(',')
			}
		case '\\':
			if i++; i == len(glob) {
				return "", fmt.Errorf("ends in a backslash: %w", fold.ErrInvalid)
			}
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		default:
			n := i + 1
			for n < len(glob) && !strings.ContainsRune(globMeta+",", rune(glob[n])) {
				n++
			}
			b.WriteString(regexp.QuoteMeta(glob[i:n]))
			i = n - 1
		}
	}
	if braces > 0 {
		return "", fmt.Errorf("%q is not closed: %w", "{", fold.ErrInvalid)
	}
	b.WriteString(`\z`)
	return b.String(), nil
}
