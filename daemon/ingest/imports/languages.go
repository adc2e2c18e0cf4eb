package imports

import (
	"cmp"
	"path"
	"strings"
)

// goPackage returns the file that stands for a Go package, "" if it is not here.
func (f *Files) goPackage(spec string) string {
	p, known := f.packages.get(spec)
	if !known {
		p = f.findGoPackage(spec)
		f.packages.put(spec, p)
	}
	return p
}

func (f *Files) findGoPackage(spec string) string {
	for _, m := range f.goMods {
		rest, ok := strings.CutPrefix(spec, m.path)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		if p := f.goMain(path.Join(m.dir, rest), spec); p != "" {
			return p
		}
	}
	// The standard library in its own tree, and vendored packages.
	for _, dir := range []string{"vendor/" + spec, "src/" + spec, spec} {
		if len(f.goMods) > 0 && dir == spec && !strings.Contains(f.goMods[0].path, ".") || strings.HasPrefix(dir, "vendor/") || strings.HasPrefix(dir, "src/") {
			if p := f.goMain(dir, spec); p != "" {
				return p
			}
		}
	}
	return ""
}

// goMain returns the file that stands for the Go package spec in dir: doc.go, the
// one called as its folder or as the package, else the first that is no test and
// not for one system only.
func (f *Files) goMain(dir, spec string) string {
	if p := f.first(path.Join(dir, "doc.go"), path.Join(dir, path.Base(dir)+".go")); p != "" {
		return p
	}
	if p := f.first(path.Join(dir, goName(spec)+".go")); p != "" {
		return p // of a package in the root, or in a folder of another name
	}
	last := ""
	for _, p := range f.inDir(path.Clean(dir)) {
		if path.Ext(p) == ".go" && !IsTestFile(p) {
			if !strings.Contains(path.Base(p), "_") {
				return p
			}
			last = cmp.Or(last, p)
		}
	}
	return last
}

// goName returns the name that a Go package mostly has by its import path: yaml
// of gopkg.in/yaml.v3, cobra of example.com/go-cobra/v2.
func goName(spec string) string {
	name := path.Base(spec)
	if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		name = path.Base(path.Dir(spec))
	}
	name, _, _ = strings.Cut(name, ".")
	return strings.TrimSuffix(strings.TrimPrefix(name, "go-"), "-go")
}

// nodeSuffixes are tried in the order of TypeScript's own resolution.
func nodeSuffixes() []string {
	return []string{"", ".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".json", "/index.ts", "/index.tsx", "/index.js", "/index.jsx", "/index.mjs", "/index.vue"}
}

func (f *Files) nodeModule(from, spec string) string {
	spec, _, _ = strings.Cut(spec, "?")
	try := func(base string) string {
		for _, suffix := range nodeSuffixes() {
			if p := f.first(base + suffix); p != "" {
				return p
			}
		}
		// TypeScript source is imported under the name it will be compiled to.
		for _, js := range []string{".js", ".jsx", ".mjs", ".cjs"} {
			if cut, ok := strings.CutSuffix(base, js); ok {
				if p := f.first(cut+".ts", cut+".tsx", cut+".mts", cut+".cts", cut+".d.ts", cut+".d.mts", cut+".d.cts"); p != "" {
					return p
				}
			}
		}
		return ""
	}
	if strings.HasPrefix(spec, ".") {
		return try(path.Join(path.Dir(from), spec))
	}
	if rest, ok := strings.CutPrefix(spec, "/"); ok {
		return try(rest)
	}
	for _, alias := range []string{"@/", "~/", "src/", "$lib/"} {
		// The habit of most bundlers: the source folder of the package.
		if rest, ok := strings.CutPrefix(spec, alias); ok {
			if alias == "$lib/" {
				rest = "lib/" + rest // SvelteKit
			}
			for dir := path.Dir(from); ; dir = path.Dir(dir) {
				if p := try(path.Join(dir, "src", rest)); p != "" {
					return p
				}
				if dir == "." || dir == "/" {
					return ""
				}
			}
		}
	}
	for name := spec; name != "." && name != ""; name = path.Dir(name) {
		dir, ok := f.node[name]
		if !ok {
			continue
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(spec, name), "/")
		if rest == "" {
			return f.nodeMain(dir)
		}
		if p := try(path.Join(dir, rest)); p != "" {
			return p
		}
		return try(path.Join(dir, "src", rest))
	}
	return ""
}

func (f *Files) nodeMain(dir string) string {
	for _, base := range []string{"src/index", "index", "lib/index", "src/main", "main"} {
		for _, ext := range []string{".ts", ".tsx", ".js", ".jsx", ".mjs"} {
			if p := f.first(path.Join(dir, base+ext)); p != "" {
				return p
			}
		}
	}
	return ""
}

func (f *Files) pythonModule(from, spec string) string {
	dots := len(spec) - len(strings.TrimLeft(spec, "."))
	rest := strings.ReplaceAll(spec[dots:], ".", "/")
	try := func(dir string) string {
		base := path.Join(dir, rest)
		if p := f.first(base+".py", base+"/__init__.py", base+".pyi"); p != "" {
			return p
		}
		// from pkg.mod import Name: the last part may be a name in the module.
		if up := path.Dir(base); rest != "" && strings.Contains(rest, "/") {
			return f.first(up+".py", up+"/__init__.py")
		}
		return ""
	}
	if dots > 0 {
		dir := path.Dir(from)
		for range dots - 1 {
			dir = path.Dir(dir)
		}
		if p := try(dir); p != "" {
			return p
		}
		if rest != "" && !strings.Contains(rest, "/") {
			return f.first(path.Join(dir, "__init__.py"))
		}
		return ""
	}
	if rest == "" {
		return ""
	}
	// Absolute: the folder that holds the package may be any above the file,
	// or the usual source folders.
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		if dir == "." || dir == "/" {
			break
		}
		if p := try(path.Dir(dir)); p != "" && p != from && (strings.Contains(rest, "/") || f.first(path.Join(path.Dir(dir), rest, "__init__.py")) != "" || path.Dir(dir) == ".") {
			return p
		}
	}
	for _, root := range []string{".", "src", "lib", "python"} {
		if p := try(root); p != "" {
			return p
		}
	}
	if f.Has(path.Join(path.Dir(from), "__init__.py")) {
		return "" // in a package, an absolute import means no neighbour
	}
	// A script imports its neighbours.
	return f.first(path.Join(path.Dir(from), rest+".py"))
}

func (f *Files) rustModule(from, spec string) string {
	parts := strings.Split(spec, "::")
	dir := path.Dir(from)
	base := strings.TrimSuffix(path.Base(from), ".rs")
	// The folder in which the modules below this file lie.
	own := path.Join(dir, base)
	if base == "mod" || base == "lib" || base == "main" {
		own = dir
	}
	var at string
	switch parts[0] {
	case "crate":
		at, parts = crateRoot(from), parts[1:]
	case "self":
		at, parts = own, parts[1:]
	case "super":
		at = own
		for len(parts) > 0 && parts[0] == "super" {
			at, parts = path.Dir(at), parts[1:]
		}
	case "mod":
		at, parts = own, parts[1:]
	case "std", "core", "alloc":
		return ""
	default:
		// A name in this crate, or another crate of the workspace.
		if p := f.rustPath(own, parts); p != "" {
			return p
		}
		for _, name := range []string{parts[0], strings.ReplaceAll(parts[0], "_", "-")} {
			for _, prefix := range []string{"crates/" + name, name, "packages/" + name} {
				if lib := f.first(prefix + "/src/lib.rs"); lib != "" {
					if p := f.rustPath(path.Dir(lib), parts[1:]); p != "" {
						return p
					}
					return lib
				}
			}
		}
		return ""
	}
	return f.rustPath(at, parts)
}

// rustPath follows module names down from a folder, as far as there are files.
func (f *Files) rustPath(dir string, parts []string) string {
	found := ""
	for _, name := range parts {
		next := f.first(path.Join(dir, name+".rs"), path.Join(dir, name, "mod.rs"))
		if next == "" {
			break
		}
		found, dir = next, path.Join(dir, name)
	}
	return found
}

// crateRoot returns the source folder of the crate that a file belongs to.
func crateRoot(from string) string {
	if i := strings.LastIndex("/"+from, "/src/"); i >= 0 {
		return path.Clean(from[:i] + "src")
	}
	return path.Dir(from)
}

func (f *Files) javaClass(spec string) string {
	spec = strings.TrimSuffix(strings.TrimSuffix(spec, ".*"), "._")
	parts := strings.Split(spec, ".")
	// A static or nested name goes on behind the class.
	for n := len(parts); n >= 2; n-- {
		suffix := strings.Join(parts[:n], "/")
		for _, ext := range []string{".java", ".kt", ".scala"} {
			for _, p := range f.named(parts[n-1] + ext) {
				if p == suffix+ext || strings.HasSuffix(p, "/"+suffix+ext) {
					return p
				}
			}
		}
	}
	return ""
}

// include resolves #include "x": beside the file, then whatever path ends so;
// of several the one that shares most folders with the file.
func (f *Files) include(from, spec string) string {
	if p := f.first(path.Join(path.Dir(from), spec), spec); p != "" {
		return p
	}
	if isCHeader(spec) {
		return "" // the system's, although a folder of the tree may hold its own
	}
	clean := path.Clean(spec)
	for strings.HasPrefix(clean, "../") {
		clean = clean[3:]
	}
	best, share := "", -1
	for _, p := range f.named(path.Base(clean)) {
		if !strings.HasSuffix(p, "/"+clean) {
			continue
		}
		if n := shared(p, from); n > share {
			best, share = p, n
		}
	}
	return best
}

// relative resolves what other languages name by path: scripts, styles, pages.
func (f *Files) relative(from, spec string) string {
	spec, _, _ = strings.Cut(spec, "#")
	if spec == "" || strings.Contains(spec, "://") {
		return ""
	}
	base := path.Join(path.Dir(from), spec)
	if strings.HasPrefix(spec, "/") {
		base = spec[1:]
	}
	ext := path.Ext(from)
	return f.first(base, base+ext, path.Join(path.Dir(base), "_"+path.Base(base)+ext))
}
