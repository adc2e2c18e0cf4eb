package imports

import (
	"slices"
	"testing"
)

func TestResolveMoreImports(t *testing.T) {
	files := NewFiles([]string{
		"go.mod", "active_help.go", "cobra.go", "zz_linux.go", "sub/a_linux.go", "sub/b.go", "only/x_unix.go", "v2/yaml.go",
		"types/a.d.ts", "types/b.d.cts", "types/impl.ts",
		"lib/asyncio/__init__.py", "lib/asyncio/base.py", "lib/asyncio/subprocess.py", "tools/run.py", "tools/subprocess.py",
		"src/pkg/__init__.py", "src/pkg/core.py", "src/pkg/sub/__init__.py", "src/pkg/sub/deep.py", "tests/test_core.py",
		"compat/string.h", "compat/use.c", "src/main.c", "include/lib/list.h", "third/lib/list.h",
	}, func(p string) []byte {
		if p == "go.mod" {
			return []byte("module example.com/go-cobra/v2\n")
		}
		return nil
	})
	for _, tc := range []struct {
		from, language string
		imports        []string
		want           []string
	}{
		{"sub/b.go", "go", []string{"example.com/go-cobra/v2", "example.com/go-cobra/v2/sub", "example.com/go-cobra/v2/only"}, []string{"cobra.go", "only/x_unix.go"}},
		{"cobra.go", "go", []string{"example.com/go-cobra/v2/sub"}, []string{"sub/b.go"}},
		{"types/impl.ts", "typescript", []string{"./a.js", "./b.cjs", "./none.js"}, []string{"types/a.d.ts", "types/b.d.cts"}},
		{"lib/asyncio/base.py", "python", []string{"subprocess", ".subprocess"}, []string{"lib/asyncio/subprocess.py"}},
		{"tools/run.py", "python", []string{"subprocess"}, []string{"tools/subprocess.py"}},
		{"tests/test_core.py", "python", []string{"pkg.core", "pkg", "pkg.sub.deep", "pkg.sub.deep.Name"}, []string{"src/pkg/core.py", "src/pkg/__init__.py", "src/pkg/sub/deep.py"}},
		{"src/pkg/sub/deep.py", "python", []string{"..core", "."}, []string{"src/pkg/core.py", "src/pkg/sub/__init__.py"}},
		{"src/main.c", "c", []string{"string.h", "lib/list.h"}, []string{"include/lib/list.h"}},
		{"compat/use.c", "c", []string{"string.h"}, []string{"compat/string.h"}},
	} {
		if got := resolveAll(files, tc.from, tc.language, tc.imports); !slices.Equal(got, tc.want) {
			t.Errorf("resolveAll(%s, %q) =\n%q, want\n%q", tc.from, tc.imports, got, tc.want)
		}
	}
}

func TestIsStandard(t *testing.T) {
	for _, tc := range []struct {
		language, spec string
		want           bool
	}{
		{"go", "net/http", true},
		{"go", "github.com/x/y", false},
		{"python", "os.path", true},
		{"python", "requests", false},
		{"typescript", "node:fs", true},
		{"typescript", "fs/promises", true},
		{"typescript", "@scope/fs", false},
		{"rust", "std::io", true},
		{"rust", "serde", false},
		{"java", "java.util.List", true},
		{"c", "stdio.h", true},
		{"cpp", "vector", true},
		{"c", "git2.h", false},
		{"lua", "os", false},
	} {
		if got := IsStandard(tc.language, tc.spec); got != tc.want {
			t.Errorf("isStandard(%s, %s) = %v, want %v", tc.language, tc.spec, got, tc.want)
		}
	}
}
