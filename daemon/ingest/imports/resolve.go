package imports

// Resolve returns the one file that an import in the file at from means: of a
// Go package or a folder its main file.
func (f *Files) Resolve(from, language, spec string) (string, bool) {
	var p string
	switch language {
	case "go":
		p = f.goPackage(spec)
	case "javascript", "typescript", "tsx", "vue", "svelte":
		p = f.nodeModule(from, spec)
	case "python":
		p = f.pythonModule(from, spec)
	case "rust":
		p = f.rustModule(from, spec)
	case "java", "kotlin", "scala":
		p = f.javaClass(spec)
	case "c", "cpp", "objc", "cuda":
		p = f.include(from, spec)
	case "html", "css", "scss", "sass", "less":
		p = f.resource(from, spec)
	case "hcl":
		p = f.hclModule(from, spec)
	case "make":
		p = f.makeInclude(from, spec)
	case "shell":
		p = f.shellScript(from, spec)
	case "ruby":
		p = f.rubyFile(from, spec)
	case "php":
		p = f.phpFile(from, spec)
	case "csharp":
		p = f.csharpType(spec)
	case "lua":
		p = f.luaModule(from, spec)
	case "zig":
		p = f.zigFile(from, spec)
	default:
		p = f.relative(from, spec)
	}
	return p, p != ""
}
