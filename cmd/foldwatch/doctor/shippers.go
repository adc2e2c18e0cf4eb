package doctor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// A shipper is a file of a checkout by which memories would leave it with what is
// built there: a container image, a package.
type shipper struct {
	file string // relative to the checkout
	why  string
	mend string
}

// maxPackerFile bounds what is read of a file: such files are small.
const maxPackerFile = 256 << 10

// shippers looks into the root of a checkout for what would ship the folder of
// memories. hidden says that a .gitignore inside it hides it from what follows git.
// It knows images, to which no .gitignore means anything, and npm.
func shippers(root fs.FS, foldDir string, hidden bool) []shipper {
	var found []shipper
	for _, look := range []func(fs.FS, string, bool) []shipper{imageShippers, npmShipper} {
		found = append(found, look(root, foldDir, hidden)...)
	}
	return found
}

func readPacker(root fs.FS, name string) ([]byte, bool) {
	b, err := fs.ReadFile(root, name)
	return b, err == nil
}

// errLong says that a file has more than maxPackerFile.
var errLong = errors.New("it is longer than such a file is")

// A checkoutFS has the small files of a checkout. They are whoever's wrote there: no
// link is followed, nothing but a plain file is read or waited for, and no more than
// the first maxPackerFile of it.
type checkoutFS struct{ root *os.Root }

// Open is not possible: files are read whole.
func (c checkoutFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

// ReadFile returns what is read of a file, with errLong where that is not all.
func (c checkoutFS) ReadFile(name string) ([]byte, error) {
	b, _, more, err := disk.ReadSource(c.root, name, maxPackerFile, nil)
	if err == nil && more {
		err = fmt.Errorf("%s: %w", name, errLong)
	}
	return b, err
}

func (c checkoutFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(c.root.FS(), name) }

// appendLine is the command that adds a line to a file. Both may have been named by
// a stranger.
func appendLine(line, file string) string {
	return "printf '%s\\n' " + terminal.Quote(line) + " >> " + terminal.Quote(file)
}

// hidesAll reports whether the .gitignore in a folder leaves out all that is in the
// folder.
func hidesAll(text []byte) bool {
	all := false
	for line := range strings.Lines(string(text)) {
		line, back := strings.CutPrefix(strings.TrimRight(line, " \t\r\n"), "!")
		if line == "*" || line == "/*" || line == "**" || line == "/**" {
			all = !back
		}
	}
	return all
}

// copies matches an instruction that copies from the context, not from a stage.
var copies = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^\s*(COPY|ADD)\s+(.*)$`) })

// imageShippers finds Dockerfiles that copy a folder with fold/ in it. A .gitignore
// means nothing to them.
func imageShippers(root fs.FS, foldDir string, _ bool) []shipper {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil
	}
	var found []shipper
	for _, en := range entries {
		name := en.Name()
		base := strings.ToLower(name)
		if !strings.HasPrefix(base, "dockerfile") && !strings.HasPrefix(base, "containerfile") && !strings.HasSuffix(base, ".dockerfile") || strings.HasSuffix(base, ".dockerignore") {
			continue
		}
		b, there := readPacker(root, name)
		if !there || !copiesFold(b, foldDir) {
			continue
		}
		ignore, has := readPacker(root, name+".dockerignore") // goes before the one for all
		file := name + ".dockerignore"
		if !has {
			ignore, has = readPacker(root, ".containerignore")
			file = ".containerignore"
		}
		if !has {
			ignore, _ = readPacker(root, ".dockerignore")
			file = ".dockerignore"
		}
		if !ignoredByPatterns(ignore, foldDir) {
			found = append(found, shipper{name, "copies " + foldDir + "/ into the image", appendLine(foldDir, file)})
		}
	}
	return found
}

func copiesFold(dockerfile []byte, foldDir string) bool {
	text := strings.ReplaceAll(string(dockerfile), "\\\n", " ")
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, maxPackerFile+1)
	for sc.Scan() {
		m := copies().FindStringSubmatch(sc.Text())
		if m == nil {
			continue
		}
		var words []string
		if rest := strings.TrimSpace(m[2]); strings.HasPrefix(rest, "[") {
			_ = json.Unmarshal([]byte(rest), &words) // what is no list copies nothing
		} else {
			words = strings.Fields(rest)
		}
		if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--from=") }) {
			continue
		}
		words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") })
		if len(words) < 2 {
			continue
		}
		for _, from := range words[:len(words)-1] {
			from = strings.Trim(path.Clean(strings.TrimPrefix(strings.Trim(from, `"'`), "/")), "/")
			if from == "." || from == "*" || from == foldDir || strings.HasPrefix(from, foldDir+"/") {
				return true
			}
			if m, err := path.Match(from, foldDir); err == nil && m {
				return true
			}
		}
	}
	return false
}

// ignoredByPatterns reports whether lines of a .dockerignore, or of what is read like
// one, leave dir out: the last that matches decides.
func ignoredByPatterns(lines []byte, dir string) bool {
	ignored := false
	sc := bufio.NewScanner(bytes.NewReader(lines))
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line, back := strings.CutPrefix(line, "!")
		if covers(line, dir) {
			ignored = !back
		}
	}
	return ignored
}

// covers reports whether a pattern of an ignore file matches dir or all in it.
func covers(pattern, dir string) bool {
	pattern = strings.TrimPrefix(path.Clean(strings.TrimPrefix(strings.TrimSpace(pattern), "/")), "./")
	for _, suffix := range []string{"/**/*", "/**", "/*"} {
		pattern = strings.TrimSuffix(pattern, suffix)
	}
	pattern = strings.TrimPrefix(pattern, "**/")
	if pattern == "**" || pattern == "*" {
		return true
	}
	for at := dir; at != "." && at != "/"; at = path.Dir(at) {
		if m, err := path.Match(pattern, at); err == nil && m {
			return true
		}
	}
	return false
}

// npmShipper: npm reads the .gitignore inside fold/, so that only fold/ on a branch
// of the user is packed. "files" is a list of what is; else .npmignore.
func npmShipper(root fs.FS, foldDir string, hidden bool) []shipper {
	b, there := readPacker(root, "package.json")
	if !there || hidden {
		return nil
	}
	var manifest struct {
		Files   []string `json:"files"`
		Private bool     `json:"private"`
	}
	if json.Unmarshal(b, &manifest) != nil || manifest.Private {
		return nil // npm refuses to publish it
	}
	if manifest.Files != nil {
		packed := false
		for _, f := range manifest.Files {
			f, not := strings.CutPrefix(f, "!")
			if covers(f, foldDir) {
				packed = !not
			}
		}
		if !packed {
			return nil
		}
		return []shipper{{"package.json", `"files" has ` + foldDir + "/", `add "!` + foldDir + `" to "files" in package.json`}}
	}
	if ignore, has := readPacker(root, ".npmignore"); has && ignoredByPatterns(ignore, foldDir) {
		return nil
	}
	return []shipper{{"package.json", "npm packs " + foldDir + "/", appendLine(foldDir, ".npmignore")}}
}
