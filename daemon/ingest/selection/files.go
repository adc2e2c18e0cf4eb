package selection

import (
	"slices"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// SetFiles makes the set of source files that of list, which must not change.
func (s *Selection) SetFiles(list []string) {
	if sameList(s.Files().All(), list) {
		return
	}
	s.UseFiles(imports.NewFiles(list, s.readPackage))
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
