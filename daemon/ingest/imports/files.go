// Package imports knows which file of a tree an import means, and which file a test
// is named after. It goes by names alone: of the tree it reads nothing but the files
// in which packages say what they are called.
package imports

import (
	"cmp"
	"encoding/json"
	"hash/maphash"
	"path"
	"slices"
	"strings"
)

// Files is the set of files of one tree, by which imports are resolved and tests
// tied. It does not change once made, and is safe for concurrent use. Beside the
// list of paths, which it shares with whoever made it, it takes some 15 bytes a
// file.
type Files struct {
	paths  []string // sorted, each once
	seed   maphash.Seed
	table  []int32           // by hash: 1 + place in paths, 0 for none
	bases  []int32           // places in paths, by file name and then path
	tests  []int32           // places in paths of test files
	goMods []goModule        // longest directory first
	node   map[string]string // name of a package → its directory
	psr4   []psr4            // longest prefix first

	// What came and went since: a save must not cost what the whole tree does.
	came []string // sorted
	went map[string]bool
	read func(path string) []byte

	packages *packages // of this set alone
}

// mostChanges is how many paths may have come or gone before a set is made anew.
const mostChanges = 256

// NewFiles returns the set of paths (relative, forward slashes), which must not
// be changed afterwards. read returns the content of one of them, for go.mod,
// package.json and composer.json files only; it may be nil, and may return nil.
func NewFiles(paths []string, read func(path string) []byte) *Files {
	if !slices.IsSorted(paths) {
		paths = slices.Clone(paths)
		slices.Sort(paths)
	}
	f := &Files{paths: slices.Compact(paths), seed: maphash.MakeSeed(), node: map[string]string{}, read: read, packages: &packages{}}
	size := 8
	for size < 2*len(f.paths) {
		size *= 2
	}
	f.table = make([]int32, size)
	f.bases = make([]int32, len(f.paths))
	for i, p := range f.paths {
		f.bases[i] = int32(i)
		at := f.slot(p)
		for f.table[at] != 0 {
			at = (at + 1) % len(f.table)
		}
		f.table[at] = int32(i) + 1
		if IsTestFile(p) {
			f.tests = append(f.tests, int32(i))
		}
	}
	slices.SortFunc(f.bases, func(a, b int32) int {
		return cmp.Or(cmp.Compare(baseOf(f.paths[a]), baseOf(f.paths[b])), cmp.Compare(a, b))
	})
	f.readPackages()
	return f
}

func (f *Files) slot(p string) int {
	return int(maphash.String(f.seed, p) % uint64(len(f.table)))
}

// readPackages reads the names by which packages import each other.
func (f *Files) readPackages() {
	if f.read == nil {
		return
	}
	for _, p := range f.named("go.mod") {
		if m := ModulePath(f.read(p)); m != "" {
			f.goMods = append(f.goMods, goModule{dir: path.Dir(p), path: m})
		}
	}
	slices.SortStableFunc(f.goMods, func(a, b goModule) int { return len(b.path) - len(a.path) })
	for _, p := range f.named("package.json") {
		var pkg struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(f.read(p), &pkg) == nil && pkg.Name != "" {
			if _, ok := f.node[pkg.Name]; !ok {
				f.node[pkg.Name] = path.Dir(p)
			}
		}
	}
	f.readComposer()
}

// Reread returns the same set with the names of its packages read again.
func (f *Files) Reread() *Files { return NewFiles(f.All(), f.read) }

// With returns the set with paths that came and without those that went.
func (f *Files) With(came, went []string) *Files {
	next := *f
	next.packages = &packages{}
	next.came = slices.Clone(f.came)
	next.went = make(map[string]bool, len(f.went)+len(went))
	for p := range f.went {
		next.went[p] = true
	}
	anew := false
	for _, p := range came {
		if f.Has(p) {
			continue
		}
		anew = anew || IsPackageFile(p)
		if delete(next.went, p); !f.listed(p) {
			at, have := slices.BinarySearch(next.came, p)
			if !have {
				next.came = slices.Insert(next.came, at, p)
			}
		}
	}
	for _, p := range went {
		if !f.Has(p) {
			continue
		}
		anew = anew || IsPackageFile(p)
		if at, have := slices.BinarySearch(next.came, p); have {
			next.came = slices.Delete(next.came, at, at+1)
		} else {
			next.went[p] = true
		}
	}
	if anew || len(next.came)+len(next.went) > mostChanges {
		return NewFiles(next.All(), f.read)
	}
	return &next
}

// Len returns how many files the set has.
func (f *Files) Len() int { return len(f.paths) + len(f.came) - len(f.went) }

// All returns the paths, sorted. They must not be changed.
func (f *Files) All() []string {
	if len(f.came)+len(f.went) == 0 {
		return f.paths
	}
	all := make([]string, 0, f.Len())
	for _, p := range f.paths {
		if !f.went[p] {
			all = append(all, p)
		}
	}
	all = append(all, f.came...)
	slices.Sort(all)
	return all
}

// listed reports whether the list that the set was made of holds p.
func (f *Files) listed(p string) bool {
	if len(f.paths) == 0 {
		return false
	}
	for at := f.slot(p); f.table[at] != 0; at = (at + 1) % len(f.table) {
		if f.paths[f.table[at]-1] == p {
			return true
		}
	}
	return false
}

// Has reports whether the set holds path.
func (f *Files) Has(path string) bool {
	if f.listed(path) {
		return !f.went[path]
	}
	if len(f.came) == 0 {
		return false
	}
	_, have := slices.BinarySearch(f.came, path)
	return have
}

// named returns the files of that name, sorted.
func (f *Files) named(base string) []string {
	var out []string
	at, _ := slices.BinarySearchFunc(f.bases, base, func(i int32, b string) int { return cmp.Compare(baseOf(f.paths[i]), b) })
	for ; at < len(f.bases) && baseOf(f.paths[f.bases[at]]) == base; at++ {
		if p := f.paths[f.bases[at]]; !f.went[p] {
			out = append(out, p)
		}
	}
	n := len(out)
	for _, p := range f.came {
		if baseOf(p) == base {
			out = append(out, p)
		}
	}
	if n > 0 && len(out) > n {
		slices.Sort(out)
	}
	return out
}

// inDir returns the files that lie in dir itself ("." for the root), sorted.
func (f *Files) inDir(dir string) []string {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	var out []string
	for at, _ := slices.BinarySearch(f.paths, prefix); at < len(f.paths) && strings.HasPrefix(f.paths[at], prefix); {
		p := f.paths[at]
		if deeper := strings.IndexByte(p[len(prefix):], '/'); deeper >= 0 { // pass over the folder: "0" comes after "/"
			at, _ = slices.BinarySearch(f.paths, p[:len(prefix)+deeper]+"0")
			continue
		}
		if at++; !f.went[p] {
			out = append(out, p)
		}
	}
	n := len(out)
	for _, p := range f.came {
		if path.Dir(p) == dir {
			out = append(out, p)
		}
	}
	if n > 0 && len(out) > n {
		slices.Sort(out)
	}
	return out
}

// eachTest calls fn with the test files of the set.
func (f *Files) eachTest(fn func(p string)) {
	for _, i := range f.tests {
		if p := f.paths[i]; !f.went[p] {
			fn(p)
		}
	}
	for _, p := range f.came {
		if IsTestFile(p) {
			fn(p)
		}
	}
}

// readComposer reads where PHP packages say that their classes lie.
func (f *Files) readComposer() {
	for _, p := range f.named("composer.json") {
		type autoload struct {
			PSR4 map[string]any `json:"psr-4"`
		}
		var pkg struct {
			Autoload autoload `json:"autoload"`
			Dev      autoload `json:"autoload-dev"`
		}
		if strings.Contains("/"+p, "/vendor/") || json.Unmarshal(f.read(p), &pkg) != nil {
			continue
		}
		for _, a := range []autoload{pkg.Autoload, pkg.Dev} {
			for prefix, where := range a.PSR4 {
				dirs, _ := where.([]any)
				if dir, ok := where.(string); ok {
					dirs = []any{dir}
				}
				for _, d := range dirs {
					if dir, ok := d.(string); ok {
						f.psr4 = append(f.psr4, psr4{prefix: prefix, dir: path.Join(path.Dir(p), dir)})
					}
				}
			}
		}
	}
	slices.SortFunc(f.psr4, func(a, b psr4) int {
		return cmp.Or(len(b.prefix)-len(a.prefix), cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.dir, b.dir))
	})
}

// first returns the first of the paths that is in the set, "" if none is.
func (f *Files) first(paths ...string) string {
	for _, p := range paths {
		if p = path.Clean(p); f.Has(p) {
			return p
		}
	}
	return ""
}
