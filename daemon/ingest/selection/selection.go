// Package selection knows which files of a checkout count, and why the others do not:
// what git tracks or does not ignore, less what ignore files, project.toml, habits of
// vendoring and names that promise credentials leave out. A [Selection] owns the rules
// and the last listing of one checkout; listing asks git and may block, everything else
// answers from memory.
package selection

import (
	"os"
	"path"
	"sync"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// Options say which checkout a [Selection] is of.
type Options struct {
	Repo     *usergit.Repo
	Root     *os.Root // the work tree; nil for a bare repository
	FoldDir  string   // the folder of memories, which holds no source
	MaxBytes int64    // how much is read of a file in which a package says its name
}

// A Selection is which files of one checkout count. It is safe for concurrent use but
// for [Selection.List] and what calls it, of which one runs at a time.
type Selection struct {
	opt     Options
	Tracked *usergit.TrackedFiles // what git lists

	mu     sync.Mutex // guards the fields below
	rules  Rules
	number int             // how often the rules were replaced
	last   *Listing        // nil before the first
	pruned map[string]bool // folders that are not listed
	set    *imports.Files
}

// A Listing is what the rules made of the files of the checkout, as they were
// listed last. It does not change once made.
type Listing struct {
	version uint64   // of the lister's list
	rules   int      // number of the rules
	Files   []string // eligible, sorted
	Held    []string // held back for their names

	ruleFiles []string       // that say what is not indexed
	leftOut   map[string]int // files that are not indexed, by why
}

// New returns the selection of a checkout by rules.
func New(opt Options, rules Rules) *Selection {
	s := &Selection{opt: opt, rules: rules, pruned: map[string]bool{}}
	s.Tracked = opt.Repo.NewTrackedFiles(s.skipDir)
	s.set = imports.NewFiles(nil, s.readPackage)
	return s
}

// SetRules replaces what is indexed and described; the next listing follows it.
// What the files of the checkout ignore stays as it was read.
func (s *Selection) SetRules(r Rules) {
	s.mu.Lock()
	r.ignores = s.rules.ignores
	s.rules = r
	s.number++
	s.mu.Unlock()
	s.relist()
}

// Rules returns what is indexed and described.
func (s *Selection) Rules() Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules
}

// Files returns the set of source files in the checkout, by which imports are
// resolved and tests tied.
func (s *Selection) Files() *imports.Files {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

// UseFiles makes the set of source files that.
func (s *Selection) UseFiles(set *imports.Files) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = set
}

// FoldDir is the folder of memories as it would be named among source files.
func (s *Selection) FoldDir() string { return s.opt.FoldDir }

// skipDir reports folders that nothing is indexed from, when something is from
// those they lie s. Such folders are not walked.
func (s *Selection) skipDir(dir string) bool {
	if dir == s.opt.FoldDir || neverDirs[path.Base(dir)] {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.rules.prunesAt(dir) {
		return false
	}
	s.pruned[dir] = true
	return true
}

// relist has all files listed anew, since other folders are left out now.
func (s *Selection) relist() {
	s.mu.Lock()
	s.pruned = map[string]bool{}
	s.mu.Unlock()
	s.Tracked.Forget()
}

// readPackage returns a file in which a package says its name, nil if it cannot be read.
func (s *Selection) readPackage(p string) []byte {
	if s.opt.Root == nil {
		return nil
	}
	b, _, _, err := disk.ReadSource(s.opt.Root, p, s.opt.MaxBytes, nil)
	if err != nil {
		return nil
	}
	return b
}
