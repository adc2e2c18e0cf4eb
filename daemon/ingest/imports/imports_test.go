package imports

import (
	"slices"
	"testing"
)

func TestResolveImports(t *testing.T) {
	files := NewFiles([]string{
		"go.mod", "auth/auth.go", "auth/auth_test.go", "store/a.go", "store/doc.go", "tools/go.mod", "tools/gen/gen.go",
		"package.json", "packages/ui/package.json", "packages/ui/src/index.tsx", "packages/ui/src/button.tsx", "web/src/app.ts", "web/src/lib/http.ts", "web/src/lib/index.ts", "web/src/old.js", "web/src/theme/vars.css",
		"pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py", "pkg/sub/b.py", "scripts/run.py", "scripts/helper.py", "src/flat/core.py", "src/flat/__init__.py",
		"crates/core/src/lib.rs", "crates/core/src/net/mod.rs", "crates/core/src/net/tcp.rs", "crates/core/src/util.rs", "crates/my-io/src/lib.rs",
		"app/src/main/java/com/acme/Main.java", "app/src/main/java/com/acme/util/Text.java",
		"c/src/main.c", "c/src/local.h", "c/include/proj/api.h", "other/include/proj/api.h",
	}, func(p string) []byte {
		return []byte(map[string]string{
			"go.mod": "// the module\nmodule example.com/app // v1\n\ngo 1.26\n", "tools/go.mod": "module \"example.com/app/tools\"\n",
			"packages/ui/package.json": `{"name": "@acme/ui"}`, "package.json": "{broken",
		}[p])
	})
	for _, tc := range []struct {
		from, language string
		imports        []string
		want           []string
	}{
		{"main.go", "go", []string{"example.com/app/auth", `"example.com/app/store"`, "fmt", "example.com/app/tools/gen", "example.com/apple", "example.com/app/none"}, []string{"auth/auth.go", "store/doc.go", "tools/gen/gen.go"}},
		{"web/src/app.ts", "typescript", []string{"./lib/http", "./lib", "./old", "import x from './lib/http.js'", "react", "@acme/ui", "@acme/ui/button", "@/lib/http", "../../outside", "./theme/vars.css?inline"}, []string{"web/src/lib/http.ts", "web/src/lib/index.ts", "web/src/old.js", "packages/ui/src/index.tsx", "packages/ui/src/button.tsx", "web/src/theme/vars.css"}},
		{"pkg/sub/b.py", "python", []string{".", "..a", "from .. import a", "from pkg.a import f", "import os", "pkg.sub"}, []string{"pkg/sub/__init__.py", "pkg/a.py"}},
		{"scripts/run.py", "python", []string{"helper", "flat.core", "import pkg.sub.b as x, sys"}, []string{"scripts/helper.py", "src/flat/core.py", "pkg/sub/b.py"}},
		{"crates/core/src/net/mod.rs", "rust", []string{"crate::util::Thing", "use super::util::{a, b as c};", "mod tcp;", "self::tcp", "std::io", "use my_io::Reader", "serde::Serialize"}, []string{"crates/core/src/util.rs", "crates/core/src/net/tcp.rs", "crates/my-io/src/lib.rs"}},
		{"crates/core/src/lib.rs", "rust", []string{"pub mod net;", "use crate::net::{tcp::{Conn, Listener}, self};"}, []string{"crates/core/src/net/mod.rs", "crates/core/src/net/tcp.rs"}},
		{"app/src/main/java/com/acme/Main.java", "java", []string{"com.acme.util.Text", "import static com.acme.util.Text.trim;", "java.util.List"}, []string{"app/src/main/java/com/acme/util/Text.java"}},
		{"c/src/main.c", "c", []string{`"local.h"`, "#include \"proj/api.h\"", "<stdio.h>", "../../x/proj/api.h"}, []string{"c/src/local.h", "c/include/proj/api.h"}},
	} {
		if got := resolveAll(files, tc.from, tc.language, tc.imports); !slices.Equal(got, tc.want) {
			t.Errorf("resolveAll(%s, %q) =\n%q, want\n%q", tc.from, tc.imports, got, tc.want)
		}
	}
}

func TestTestLinks(t *testing.T) {
	files := NewFiles([]string{
		"a/scan.go", "a/scan_test.go", "b/scan.go", "a/export_test.go", "a/lonely_test.go",
		"web/api.ts", "web/api.test.ts", "web/__tests__/util.js", "web/util.js", "web/view.tsx", "web/view.spec.jsx",
		"py/core.py", "tests/test_core.py", "tests/conftest.py",
		"app/src/main/java/x/Foo.java", "app/src/test/java/x/FooTest.java", "lib/src/main/java/x/Foo.java",
		"rs/src/parse.rs", "rs/tests/parse.rs",
		"c/buf.c", "c/buf.h", "c/test_buf.c", "cc/map.cc", "cc/map_unittest.cc",
		"rb/lib/user.rb", "rb/spec/user_spec.rb", "kt/Bar.kt", "kt/BarTest.kt",
	}, nil)
	want := []TestLink{
		{"a/scan_test.go", "a/scan.go"},
		{"app/src/test/java/x/FooTest.java", "app/src/main/java/x/Foo.java"},
		{"c/test_buf.c", "c/buf.c"},
		{"cc/map_unittest.cc", "cc/map.cc"},
		{"kt/BarTest.kt", "kt/Bar.kt"},
		{"rb/spec/user_spec.rb", "rb/lib/user.rb"},
		{"rs/tests/parse.rs", "rs/src/parse.rs"},
		{"tests/test_core.py", "py/core.py"},
		{"web/__tests__/util.js", "web/util.js"},
		{"web/api.test.ts", "web/api.ts"},
		{"web/view.spec.jsx", "web/view.tsx"},
	}
	if got := files.TestLinks(); !slices.Equal(got, want) {
		t.Errorf("TestLinks() =\n%q, want\n%q", got, want)
	}
}

// resolveAll returns the files that the imports of the file at from, as
// written, mean; each once, in order, not from itself.
func resolveAll(f *Files, from, language string, imports []string) []string {
	var out []string
	for _, raw := range imports {
		for _, spec := range Specs(language, raw) {
			if p, ok := f.Resolve(from, language, spec); ok && p != from && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}
