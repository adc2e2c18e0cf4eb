package imports

import (
	"bytes"
	"strings"
	"sync"
)

// ModulePath returns the module path of a go.mod file; "" if it has none.
func ModulePath(b []byte) string {
	for line := range bytes.Lines(b) {
		rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("module"))
		if !ok || len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		rest, _, _ = bytes.Cut(rest, []byte("//"))
		return strings.Trim(string(bytes.TrimSpace(rest)), `"`)
	}
	return ""
}

type goModule struct{ dir, path string }

// A psr4 says where the PHP classes of a namespace lie: those of prefix, which
// ends with a backslash, below dir.
type psr4 struct{ prefix, dir string }

// packages are the Go packages that were asked for, by import path, with the files
// that stand for them: every file imports the same few.
type packages struct {
	mu   sync.Mutex
	file map[string]string // "" for those that are not in the set
}

func (p *packages) get(spec string) (file string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	file, ok = p.file[spec]
	return file, ok
}

func (p *packages) put(spec, file string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil || len(p.file) >= mostPackages {
		p.file = make(map[string]string)
	}
	p.file[spec] = file
}

// mostPackages is how many are kept.
const mostPackages = 4096

// IsPackageFile reports whether the file at p says by what name its package is
// imported: such files are read to make a set.
func IsPackageFile(p string) bool {
	base := baseOf(p)
	return base == "go.mod" || base == "package.json" || base == "composer.json"
}

// baseOf is path.Base of a clean path.
func baseOf(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
