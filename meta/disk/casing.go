package disk

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Where the case of names does not count, as on macOS and Windows, a file that was
// renamed from Owl.md to owl.md is still there under its former name. Whoever asks
// whether a file went has to ask for the name as it stands in its folder.

// hasExactName reports whether what lies at path p below root, which exists, is named so
// letter by letter. Where the case of names counts it takes a look at each part of p,
// elsewhere it lists their folders. That é may be written as one code point or as two
// makes no difference: systems change it.
func hasExactName(root *os.Root, p string) bool {
	for end := 0; end < len(p); {
		if i := strings.IndexByte(p[end+1:], '/'); i >= 0 {
			end += 1 + i
		} else {
			end = len(p)
		}
		if part := p[:end]; caseIgnored(root, part) && !isListed(root, part) {
			return false
		}
	}
	return true
}

// caseIgnored reports whether p below root, which exists, is found under a name in other
// case, too, that its folder does not have. What inodes say is not enough: some file
// systems have one for each name that is asked for.
func caseIgnored(root *os.Root, p string) bool {
	dir, name := path.Split(p)
	other := otherCase(name)
	if other == name {
		return false
	}
	_, err := root.Lstat(dir + other)
	return err == nil && (!isListed(root, p) || !isListed(root, dir+other))
}

// A CaseFinder is [caseIgnored] for many paths below Root. It takes the paths of a folder
// for alike as soon as case is lost for one of them, and so lists few. It is not safe
// for concurrent use.
type CaseFinder struct {
	Root *os.Root
	lost map[string]bool // folders
}

// Ignored reports what caseIgnored does of p.
func (c *CaseFinder) Ignored(p string) bool {
	dir := path.Dir(p)
	if c.lost[dir] {
		return true
	}
	if !caseIgnored(c.Root, p) {
		return false
	}
	if c.lost == nil {
		c.lost = map[string]bool{}
	}
	c.lost[dir] = true
	return true
}

// otherCase returns name with large letters for small ones and the reverse. Letters of
// ASCII are enough where there are any: some systems know the case of no others.
func otherCase(name string) string {
	ascii := strings.ContainsFunc(name, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) })
	return strings.Map(func(r rune) rune {
		switch {
		case ascii && r > unicode.MaxASCII:
			return r
		case unicode.IsUpper(r):
			return unicode.ToLower(r)
		default:
			return unicode.ToUpper(r)
		}
	}, name)
}

// isListed reports whether the folder of p has its name. What cannot be listed is
// taken to have it: nothing is forgotten for that.
func isListed(root *os.Root, p string) bool {
	d, err := root.Open(path.Dir(p))
	if err != nil {
		return true
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return true
	}
	name := path.Base(p)
	if slices.Contains(names, name) {
		return true
	}
	name = norm.NFC.String(name)
	return slices.ContainsFunc(names, func(n string) bool { return norm.NFC.String(n) == name })
}

// ReadExactName is [Root.Read] for a file that has that name: where case does not count,
// one whose name has other case does not exist.
func (r *Root) ReadExactName(p string, max int64) ([]byte, Info, error) {
	b, info, err := r.Read(p, max)
	if err == nil && !r.hasExactName(p) {
		return nil, Info{}, wrap(OpRead, p, fs.ErrNotExist)
	}
	return b, info, err
}

// lstatNamed is [Root.Lstat] of what has that name.
func (r *Root) lstatNamed(p string) (Info, error) {
	info, err := r.Lstat(p)
	if err == nil && !r.hasExactName(p) {
		return Info{}, wrap(OpOpen, p, fs.ErrNotExist)
	}
	return info, err
}

// hasExactName is [hasExactName] for what people name: paths of ids have one spelling.
func (r *Root) hasExactName(p string) bool {
	if _, own := fold.OwnPath(p); own {
		return true
	}
	return hasExactName(r.root, p)
}
