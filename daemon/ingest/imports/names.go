package imports

import (
	"path"
	"strings"
	"unicode"
)

// IsTestFile reports whether a path is that of a test, by the habits of its
// language.
func IsTestFile(p string) bool {
	base := path.Base(p)
	name := strings.TrimSuffix(base, path.Ext(base))
	low := strings.ToLower(name)
	switch path.Ext(base) {
	case ".go":
		return strings.HasSuffix(low, "_test")
	case ".py":
		return strings.HasPrefix(low, "test_") || strings.HasSuffix(low, "_test") || low == "conftest"
	case ".php", ".swift":
		return strings.HasSuffix(name, "Test") || strings.HasSuffix(name, "Tests")
	case ".bats":
		return true
	case ".rb", ".lua", ".exs":
		return strings.HasSuffix(low, "_test") || strings.HasSuffix(low, "_spec")
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		return strings.HasSuffix(low, ".test") || strings.HasSuffix(low, ".spec") || strings.HasSuffix(low, "_test") || strings.HasSuffix(low, "_spec") || strings.Contains("/"+p, "/__tests__/")
	case ".java", ".kt", ".scala", ".cs":
		return strings.HasSuffix(name, "Test") || strings.HasSuffix(name, "Tests") || strings.HasPrefix(name, "Test") && len(name) > 4 && unicode.IsUpper(rune(name[4])) || strings.HasSuffix(name, "IT")
	case ".rs":
		return strings.HasPrefix(p, "tests/") || strings.Contains(p, "/tests/") || low == "tests" || strings.HasSuffix(low, "_test") || strings.HasSuffix(low, "_tests")
	case ".c", ".cc", ".cpp", ".cxx":
		return strings.HasSuffix(low, "_test") || strings.HasPrefix(low, "test_") || strings.HasSuffix(low, "_unittest") || strings.HasSuffix(low, "_tests") || strings.HasSuffix(name, "Test")
	}
	return false
}

// shared returns how many leading folders two paths have in common.
func shared(a, b string) int {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(x)-1 && n < len(y)-1 && x[n] == y[n] {
		n++
	}
	return n
}
