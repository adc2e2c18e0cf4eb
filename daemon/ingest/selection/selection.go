// Package selection knows which files of a checkout count, and why the others do not:
// what git tracks or does not ignore, less what ignore files, project.toml, habits of
// vendoring and names that promise credentials leave out. A [Selection] owns the rules
// and the last listing of one checkout; listing asks git and may block, everything else
// answers from memory.
package selection

import (
	"os"
	"slices"
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

// SetFiles makes the set of source files that of list, which must not change.
func (s *Selection) SetFiles(list []string) {
	if sameList(s.Files().All(), list) {
		return
	}
	s.UseFiles(imports.NewFiles(list, s.readPackage))
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

// sameList reports whether two lists are one and the same, or equal.
func sameList(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b)
}

// ChangeFiles adds paths that are eligible to the set of source files, and takes
// out others.
func (s *Selection) ChangeFiles(came, went []string) {
	rules := s.Rules()
	came = slices.DeleteFunc(slices.Clone(came), func(p string) bool {
		there, _ := s.Stands(p)
		return !there || !rules.Eligible(p, s.opt.FoldDir)
	})
	s.UseFiles(s.Files().With(came, went))
}

// RereadPackages reads the names of packages again where changed has files that say
// them, and returns those.
func (s *Selection) RereadPackages(changed []string) (saying []string) {
	files := s.Files()
	for _, p := range changed {
		if imports.IsPackageFile(p) && files.Has(p) {
			saying = append(saying, p)
		}
	}
	if len(saying) > 0 {
		s.UseFiles(files.Reread())
	}
	return saying
}

// Stands reports whether there is a file at p, or certainly none.
func (s *Selection) Stands(p string) (there, gone bool) {
	fi, err := s.opt.Root.Lstat(p)
	if err != nil {
		return false, disk.Missing(err)
	}
	return !fi.IsDir(), fi.IsDir()
}

// FoldDir is the folder of memories as it would be named among source files.
func (s *Selection) FoldDir() string { return s.opt.FoldDir }
