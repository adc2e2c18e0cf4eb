package imports

import (
	"path"
	"strings"
)

// above returns the folder of a file and those above it, the root last.
func above(file string) []string {
	var dirs []string
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == "." || dir == "/" {
			return dirs
		}
	}
}

// only returns the one file of a name whose path ends with suffix, "" if there
// is none or several.
func (f *Files) only(suffix string) string {
	found := ""
	for _, p := range f.named(path.Base(suffix)) {
		if p != suffix && !strings.HasSuffix(p, "/"+suffix) {
			continue
		}
		if found != "" {
			return ""
		}
		found = p
	}
	return found
}

// shellScript resolves what a script sources. What stands before the first slash
// may be computed, most often the script's own folder: then it is that or one
// above it.
func (f *Files) shellScript(from, spec string) string {
	spec = strings.NewReplacer(`"`, "", "'", "").Replace(spec)
	rest := shellTail(spec)
	if rest == "" || strings.ContainsAny(rest, "$*?`~") {
		return ""
	}
	dirs := []string{path.Dir(from), "."}
	if rest != spec {
		dirs = above(from)
	}
	for _, dir := range dirs {
		if p := path.Join(dir, rest); !strings.HasPrefix(p, "../") && f.Has(p) {
			return p
		}
	}
	return ""
}

// shellTail returns the path behind the expansion that spec begins with, all of
// spec if there is none, "" if it is absolute or the expansion is not a folder.
func shellTail(spec string) string {
	if strings.HasPrefix(spec, "/") || strings.HasPrefix(spec, "<") {
		return ""
	}
	if !strings.HasPrefix(spec, "$") {
		return spec
	}
	depth := 0
	for i := range len(spec) {
		switch spec[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		case '/':
			if depth == 0 {
				return strings.TrimLeft(spec[i:], "/")
			}
		}
	}
	return ""
}

// rubyFile resolves what is required: from the file itself what begins with a
// dot, else from the load path, which is lib of the gem the file lies in, or of
// another gem in the tree.
func (f *Files) rubyFile(from, spec string) string {
	spec = strings.TrimSuffix(spec, ".rb")
	if strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") {
		base := path.Join(path.Dir(from), spec)
		return f.first(base+".rb", base)
	}
	if spec == "" || strings.HasPrefix(spec, "/") || strings.Contains(spec, "..") {
		return ""
	}
	if path.Ext(spec) == ".rake" { // load, from the folder rake is started in
		return f.first(spec)
	}
	for _, dir := range above(from) {
		if p := f.first(path.Join(dir, "lib", spec+".rb")); p != "" {
			return p
		}
		// Tests have their folder on the load path: require "spec_helper".
		if base := path.Base(dir); base == "spec" || base == "test" {
			if p := f.first(path.Join(dir, spec+".rb")); p != "" {
				return p
			}
		}
	}
	if !strings.Contains(spec, "/") {
		return "" // json is that of Ruby, whatever gem in the tree has one
	}
	return f.only("lib/" + spec + ".rb")
}

// phpFile resolves an included path or the name of a class. Functions and
// constants lie in no file of their name.
func (f *Files) phpFile(from, spec string) string {
	switch {
	case strings.Contains(spec, " "):
		return "" // function A\f
	case strings.Contains(spec, `\`):
		return f.phpClass(spec)
	case strings.HasPrefix(spec, "./"):
		return f.first(path.Join(path.Dir(from), spec))
	case path.Ext(spec) == "":
		return "" // a class without a namespace
	}
	spec = strings.TrimLeft(spec, "/")
	for _, dir := range above(from) {
		if p := path.Join(dir, spec); !strings.HasPrefix(p, "../") && f.Has(p) {
			return p
		}
	}
	return ""
}

// phpClass resolves the name of a class by what composer.json says, or, where
// there is none, by the folders that are called as its namespace.
func (f *Files) phpClass(name string) string {
	name = strings.TrimPrefix(name, `\`)
	for _, m := range f.psr4 {
		if rest, ok := strings.CutPrefix(name, m.prefix); ok {
			if p := f.first(path.Join(m.dir, strings.ReplaceAll(rest, `\`, "/")+".php")); p != "" {
				return p
			}
		}
	}
	if len(f.psr4) > 0 {
		return ""
	}
	return f.nearestNamespace(strings.Split(name, `\`), ".php")
}

// nearestNamespace returns the one file of a class in whose path the most parts
// of its namespace stand, next to each other, as folders: at least two of them,
// or all.
func (f *Files) nearestNamespace(parts []string, ext string) string {
	last := len(parts) - 1
	best, most, several := "", 0, false
	for _, p := range f.named(parts[last] + ext) {
		n := 0
		for dir := path.Dir(p); n < last && path.Base(dir) == parts[last-1-n]; dir = path.Dir(dir) {
			n++
		}
		switch {
		case n > most:
			best, most, several = p, n, false
		case n == most:
			several = true
		}
	}
	if several || most < min(2, last) {
		return ""
	}
	return best
}

// csharpType resolves what using names if it is a type: using static, or an
// alias. A namespace is no file.
func (f *Files) csharpType(spec string) string {
	spec, _, _ = strings.Cut(spec, "<")
	parts := strings.Split(spec, ".")
	if len(parts) < 2 || parts[0] == "System" || parts[0] == "Microsoft" {
		return ""
	}
	if p := f.nearestNamespace(parts, ".cs"); p != "" {
		return p
	}
	// A folder may be called as the whole namespace: Acme.Orders/Line.cs.
	last := len(parts) - 1
	return f.only(strings.Join(parts[:last], ".") + "/" + parts[last] + ".cs")
}

// luaModule resolves a.b: a/b.lua or a/b/init.lua, beside the file, above it, or
// in the usual source folders there.
func (f *Files) luaModule(from, spec string) string {
	if strings.HasSuffix(spec, ".lua") { // dofile
		return f.first(path.Join(path.Dir(from), spec), spec)
	}
	rest := strings.ReplaceAll(spec, ".", "/")
	if rest == "" || strings.HasPrefix(rest, "/") {
		return ""
	}
	for _, dir := range above(from) {
		for _, in := range []string{"", "lua", "src", "lib"} {
			base := path.Join(dir, in, rest)
			if p := f.first(base+".lua", base+"/init.lua"); p != "" {
				return p
			}
		}
	}
	return ""
}

// zigFile resolves what is imported by path; std and other names are given to
// the compiler.
func (f *Files) zigFile(from, spec string) string {
	if path.Ext(spec) == "" {
		return ""
	}
	return f.first(path.Join(path.Dir(from), spec))
}
