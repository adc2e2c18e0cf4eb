package imports

import (
	"path"
	"strings"
)

// resource resolves what a page or a style sheet refers to: a path beside it or
// below the root of the tree, without what a browser adds to it.
func (f *Files) resource(from, spec string) string {
	spec, _, _ = strings.Cut(spec, "?")
	if strings.HasPrefix(spec, "//") || strings.HasPrefix(spec, "data:") {
		return "" // of another machine, or of none
	}
	return f.relative(from, spec)
}

// hclModule resolves the source of a Terraform module: a folder, by its main
// file. What does not begin with a dot is a name in a registry.
func (f *Files) hclModule(from, spec string) string {
	if !strings.HasPrefix(spec, "./") && !strings.HasPrefix(spec, "../") {
		return ""
	}
	dir := path.Join(path.Dir(from), spec)
	if p := f.first(dir+"/main.tf", dir+"/terragrunt.hcl"); p != "" {
		return p
	}
	for _, p := range f.inDir(dir) {
		if path.Ext(p) == ".tf" {
			return p
		}
	}
	return ""
}

// makeInclude resolves an include of a makefile: beside it, or from the folder
// make was started in, which is mostly the root.
func (f *Files) makeInclude(from, spec string) string {
	if strings.ContainsAny(spec, "$*?%") || path.IsAbs(spec) {
		return ""
	}
	return f.first(path.Join(path.Dir(from), spec), spec)
}
