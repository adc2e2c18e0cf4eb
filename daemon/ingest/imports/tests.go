package imports

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A TestLink ties a test to the file it tests, by their names.
type TestLink struct {
	Test, Source string
}

// TestLinks returns, for each test in the set, the source file its name says it
// tests, sorted by test. A test whose name fits several files is tied to the
// nearest; one that fits none is left out.
func (f *Files) TestLinks() []TestLink {
	var out []TestLink
	f.eachTest(func(p string) {
		if src := f.tested(p); src != "" {
			out = append(out, TestLink{Test: p, Source: src})
		}
	})
	slices.SortFunc(out, func(a, b TestLink) int {
		return cmp.Or(strings.Compare(a.Test, b.Test), strings.Compare(a.Source, b.Source))
	})
	return out
}

// TestLinksOf returns those of [Files.TestLinks] that one of paths, sources that
// came or went, may be or have been an end of, and those of tests, whose ids
// loose holds. What a test's name says it tests is a part of it.
func (f *Files) TestLinksOf(paths map[string]bool, loose func(test string) bool) []TestLink {
	if len(paths) > 32 {
		return slices.DeleteFunc(f.TestLinks(), func(l TestLink) bool { return !paths[l.Test] && !paths[l.Source] && !loose(l.Test) })
	}
	var stems []string
	for p := range paths {
		if base := baseOf(p); !IsTestFile(p) {
			stems = append(stems, strings.TrimSuffix(base, path.Ext(base)))
		}
	}
	var out []TestLink
	f.eachTest(func(p string) {
		base := baseOf(p)
		named := slices.ContainsFunc(stems, func(s string) bool { return strings.Contains(base, s) })
		if !named && !paths[p] && !loose(p) {
			return
		}
		if src := f.tested(p); src != "" && (paths[p] || paths[src] || loose(p)) {
			out = append(out, TestLink{Test: p, Source: src})
		}
	})
	slices.SortFunc(out, func(a, b TestLink) int {
		return cmp.Or(strings.Compare(a.Test, b.Test), strings.Compare(a.Source, b.Source))
	})
	return out
}

// Tested returns the source file that the test at p is named after; "" if p is
// no test, or is named after none.
func (f *Files) Tested(p string) string {
	if !IsTestFile(p) {
		return ""
	}
	return f.tested(p)
}

// tested is Tested for a file that is known to be a test.
func (f *Files) tested(p string) string {
	name, exts := testedName(p)
	best, at := "", -1
	for _, n := range name {
		for _, ext := range exts {
			for _, cand := range f.named(n + ext) {
				if cand == p || IsTestFile(cand) {
					continue
				}
				if s := nearness(p, cand); s > at {
					best, at = cand, s
				}
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// nearness says how well two paths go together: the same folder, then its
// mirror under another root (src/test/java and src/main/java, tests/ and src/),
// then folders in common. -1 if only the names agree and the folders say no.
func nearness(test, src string) int {
	td, sd := path.Dir(test), path.Dir(src)
	if td == sd {
		return 1000
	}
	if path.Dir(td) == sd { // __tests__/, tests/ below the source
		return 900
	}
	tail := 0
	a, b := strings.Split(td, "/"), strings.Split(sd, "/")
	for tail < len(a) && tail < len(b) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	n := 10*shared(test, src) + 20*tail
	if n == 0 && len(a) > 1 && len(b) > 1 && !isTestFolder(a[0]) {
		return -1
	}
	return n
}

func isTestFolder(d string) bool {
	return d == "test" || d == "tests" || d == "spec" || d == "__tests__"
}

// testedName returns the names, best first, and extensions that the file tested
// by p may have.
func testedName(p string) (names, exts []string) {
	base := path.Base(p)
	ext := path.Ext(base)
	name := strings.TrimSuffix(base, ext)
	add := func(n string) {
		if n != "" && n != name && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	exts = []string{ext}
	switch ext {
	case ".go":
		name := strings.TrimSuffix(name, "_test")
		add(name)
		for _, kind := range []string{"_internal", "_external", "_bench", "_fuzz", "_unix", "_linux", "_windows"} {
			add(strings.TrimSuffix(name, kind))
		}
		if name == "example" || name == "export" {
			return nil, nil
		}
	case ".py":
		add(strings.TrimPrefix(name, "test_"))
		add(strings.TrimSuffix(name, "_test"))
	case ".php", ".swift":
		add(strings.TrimSuffix(name, "Tests"))
		add(strings.TrimSuffix(name, "Test"))
	case ".rb", ".lua", ".exs":
		if ext == ".exs" {
			exts = []string{".ex", ext}
		}
		add(strings.TrimSuffix(strings.TrimSuffix(name, "_test"), "_spec"))
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		cut := strings.TrimSuffix(strings.TrimSuffix(name, ".test"), ".spec")
		cut = strings.TrimSuffix(strings.TrimSuffix(cut, "_test"), "_spec")
		add(cut)
		if cut == name {
			names = append(names, name) // in __tests__/, under its own name
		}
		exts = []string{ext, ".ts", ".tsx", ".js", ".jsx", ".mjs", ".vue", ".svelte"}
	case ".java", ".kt", ".scala", ".cs":
		add(strings.TrimSuffix(name, "Tests"))
		add(strings.TrimSuffix(name, "Test"))
		add(strings.TrimSuffix(name, "IT"))
		add(strings.TrimPrefix(name, "Test"))
		exts = []string{ext, ".java", ".kt"}
	case ".rs":
		add(strings.TrimSuffix(strings.TrimSuffix(name, "_tests"), "_test"))
		names = append(names, name)
	case ".c", ".cc", ".cpp", ".cxx":
		cut := strings.TrimSuffix(strings.TrimSuffix(name, "_unittest"), "_tests")
		add(strings.TrimSuffix(cut, "_test"))
		add(strings.TrimPrefix(name, "test_"))
		add(strings.TrimSuffix(name, "Test"))
		exts = []string{ext, ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"}
	}
	return names, exts
}
