package selection

import (
	"path"
	"strings"

	"github.com/foldwatch/foldwatch/meta/secret"
)

// Eligible reports whether the source file at path may be indexed, by its name
// alone. foldDir is the folder of memories, or "".
func (r Rules) Eligible(p, foldDir string) bool {
	if p == "" || (foldDir != "" && (p == foldDir || strings.HasPrefix(p, foldDir+"/"))) {
		return false
	}
	for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if neverDirs[path.Base(dir)] {
			return false
		}
	}
	return !secret.IsSecretFile(p) && r.wanted(p) && r.ignored(p) == ""
}

// HeldBack reports whether the file at path is left out only because its name
// says that it holds credentials. Status lists it; it is never read.
func (r Rules) HeldBack(p, foldDir string) bool {
	return secret.IsSecretFile(p) && r.wanted(p) && r.ignored(p) == "" && (foldDir == "" || !strings.HasPrefix(p, foldDir+"/"))
}

// leftOutBy returns why the file at path is not indexed where its checkout
// decides that; "" if it is, or if its name decides.
func (r Rules) leftOutBy(p, foldDir string) string {
	if foldDir != "" && strings.HasPrefix(p, foldDir+"/") || secret.IsSecretFile(p) {
		return ""
	}
	if !r.wanted(p) {
		return byProject
	}
	return r.ignored(p)
}

func (r Rules) wanted(p string) bool {
	return (len(r.Include) == 0 || matchAny(r.Include, p)) && !matchAny(r.Exclude, p)
}

// ToFold reports whether descriptions of n eligible files go into fold/.
func (r Rules) ToFold(n int) bool {
	switch r.FileMemories {
	case "fold":
		return true
	case "local":
		return false
	}
	return n <= AutoLimit
}

// AutoLimit is how many eligible files a project may have for
// file_memories = "auto" to keep one memory file each in fold/ (design.md 5).
const AutoLimit = 2000
