package chunker

import (
	"bytes"
	"path"
	"strings"
)

// Language returns the name of the language of the file at filePath, lower case
// and as one word: go, typescript, tsx, cpp, markdown, html, text, …. Head is
// the file or its beginning; it decides where the name does not (.h files,
// scripts). It returns "" if the language is not known: then the file is cut by
// lines.
func Language(filePath string, head []byte) string {
	base := strings.ToLower(path.Base(strings.ReplaceAll(filePath, `\`, "/")))
	if lang := languageOfBase(base); lang != "" {
		return lang
	}
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if ext == "h" {
		return headerLanguage(head)
	}
	if lang := languageOfExt(ext); lang != "" {
		return lang
	}
	return scriptLanguage(head)
}

// hasSyntax reports whether lang is cut by a parser where one is built in.
func hasSyntax(lang string) bool {
	switch lang {
	case "go", "rust", "typescript", "tsx", "javascript", "python", "java", "c", "cpp":
		return true
	}
	return false
}

func languageOfBase(base string) string {
	switch base {
	case "makefile", "gnumakefile", "bsdmakefile":
		return "make"
	case "dockerfile", "containerfile":
		return "dockerfile"
	case "cmakelists.txt":
		return "cmake"
	case "go.mod", "go.sum", "go.work":
		return "gomod"
	case "gemfile", "rakefile", "vagrantfile", "podfile":
		return "ruby"
	case "jenkinsfile":
		return "groovy"
	case "sconstruct", "sconscript", "wscript":
		return "python"
	case "build", "build.bazel", "workspace":
		return "starlark"
	case "readme", "license", "licence", "copying", "authors", "contributors", "changelog", "changes", "news", "notice", "todo", "install", "version", "patents":
		return "text"
	case ".bashrc", ".profile", ".zshrc", ".bash_profile":
		return "shell"
	}
	return ""
}

func languageOfExt(ext string) string {
	switch ext {
	case "go":
		return "go"
	case "rs":
		return "rust"
	case "ts", "mts", "cts":
		return "typescript"
	case "tsx":
		return "tsx"
	case "js", "mjs", "cjs", "jsx", "es6":
		return "javascript"
	case "py", "pyi", "pyw":
		return "python"
	case "java":
		return "java"
	case "c":
		return "c"
	case "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "inl", "ipp", "tpp", "cppm", "ixx", "cu", "cuh", "ino":
		return "cpp"
	case "md", "markdown", "mdown", "mkd", "mdx":
		return "markdown"
	case "html", "htm", "xhtml":
		return "html"
	case "vue", "svelte":
		return ext
	case "txt", "text", "rst", "adoc", "asciidoc", "org", "tex", "log", "textile":
		return "text"
	case "sh", "bash", "zsh", "ksh", "bats":
		return "shell"
	case "rb", "rake", "gemspec":
		return "ruby"
	case "kt", "kts":
		return "kotlin"
	case "cs":
		return "csharp"
	case "yml", "yaml":
		return "yaml"
	case "ex", "exs":
		return "elixir"
	case "erl", "hrl":
		return "erlang"
	case "hs", "lhs":
		return "haskell"
	case "ml", "mli":
		return "ocaml"
	case "pl", "pm":
		return "perl"
	case "tf", "hcl", "tfvars":
		return "hcl"
	case "mk", "mak":
		return "make"
	case "ps1", "psm1":
		return "powershell"
	case "bzl", "star":
		return "starlark"
	case "m", "mm":
		return "objectivec"
	case "s", "asm":
		return "assembly"
	case "json", "json5", "jsonc":
		return "json"
	case "php", "swift", "scala", "lua", "zig", "dart", "r", "jl", "nim", "clj", "sql", "css", "scss", "sass", "less",
		"xml", "svg", "toml", "ini", "proto", "graphql", "groovy", "cmake", "vim", "fish", "dockerfile", "diff", "patch", "csv", "nix", "sol", "v", "vhd":
		return ext
	}
	return ""
}

// headerLanguage tells C from C++ by words that occur in no C header.
func headerLanguage(head []byte) string {
	head = head[:min(len(head), 64<<10)]
	for _, word := range [...]string{"namespace ", "template <", "template<", "\nclass ", "public:", "private:", "std::", "virtual ", "constexpr ", "nullptr", "operator=="} {
		// extern "C" guards are what C headers say to C++ compilers, so none
		// of these words may be one that stands beside them.
		if bytes.Contains(head, []byte(word)) {
			return "cpp"
		}
	}
	return "c"
}

// scriptLanguage reads the first line of a script.
func scriptLanguage(head []byte) string {
	if !bytes.HasPrefix(head, []byte("#!")) {
		return ""
	}
	line, _, _ := bytes.Cut(head[:min(len(head), 256)], []byte{'\n'})
	for word := range strings.FieldsSeq(strings.TrimPrefix(string(line), "#!")) {
		switch name := strings.TrimRight(path.Base(word), "0123456789."); name {
		case "sh", "bash", "zsh", "ksh", "dash", "ash":
			return "shell"
		case "python", "pypy":
			return "python"
		case "node", "nodejs", "bun":
			return "javascript"
		case "deno", "ts-node", "tsx":
			return "typescript"
		case "ruby", "perl", "php", "lua", "fish":
			return name
		}
	}
	return ""
}
