package chunker

import "strings"

// A language is what files in it are known by. All words are lower case and
// separated by blanks.
type language struct {
	name    string
	exts    string // without their dot
	bases   string // whole base names
	scripts string // interpreters named in a first line, without version
	// syntax says that there is a table: files are cut by a parser where one
	// is built in, and by paragraphs elsewhere.
	syntax bool
}

// languages are all that are known by name. To have one cut by its syntax: add
// syntax/table_<name>.go, name it in syntax/tables.go (which only builds with cgo
// have), set syntax here, and put a sample into testdata/<name>. Tests hold the
// four together.
var languages = [...]language{
	{name: "go", exts: "go", syntax: true},
	{name: "rust", exts: "rs", syntax: true},
	{name: "typescript", exts: "ts mts cts", scripts: "deno ts-node", syntax: true},
	{name: "tsx", exts: "tsx", syntax: true},
	{name: "javascript", exts: "js mjs cjs jsx es6", scripts: "node nodejs bun", syntax: true},
	{name: "python", exts: "py pyi pyw", bases: "sconstruct sconscript wscript", scripts: "python pypy", syntax: true},
	{name: "java", exts: "java", syntax: true},
	{name: "c", exts: "c", syntax: true},
	{name: "cpp", exts: "cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp cppm ixx cu cuh ino", syntax: true},
	{name: "shell", exts: "sh bash zsh ksh bats", bases: ".bashrc .profile .zshrc .bash_profile", scripts: "sh bash zsh ksh dash ash", syntax: true},
	{name: "ruby", exts: "rb rake gemspec ru", bases: "gemfile rakefile vagrantfile podfile", scripts: "ruby", syntax: true},
	{name: "php", exts: "php phtml", scripts: "php", syntax: true},
	{name: "csharp", exts: "cs csx", syntax: true},
	{name: "scala", exts: "scala sc sbt", scripts: "scala", syntax: true},
	{name: "lua", exts: "lua rockspec", scripts: "lua luajit", syntax: true},
	{name: "zig", exts: "zig zon", syntax: true},
	{name: "kotlin", exts: "kt kts", scripts: "kotlin", syntax: true},

	{name: "html", exts: "html htm xhtml", syntax: true},
	{name: "vue", exts: "vue", syntax: true},
	{name: "svelte", exts: "svelte", syntax: true},
	{name: "css", exts: "css", syntax: true},
	{name: "json", exts: "json json5 jsonc geojson webmanifest avsc", bases: "composer.lock flake.lock pipfile.lock .babelrc .prettierrc .eslintrc .jshintrc .swcrc", syntax: true},
	{name: "yaml", exts: "yml yaml cff", bases: ".clang-format .clang-tidy .yamllint pubspec.lock", syntax: true},
	{name: "toml", exts: "toml", bases: "cargo.lock poetry.lock uv.lock gopkg.lock pipfile", syntax: true},
	{name: "hcl", exts: "tf hcl tfvars nomad", syntax: true},
	{name: "make", exts: "mk mak", bases: "makefile gnumakefile bsdmakefile", syntax: true},

	{name: "markdown", exts: "md markdown mdown mkd mdx"},
	{name: "text", exts: "txt text rst adoc asciidoc org tex log textile", bases: "readme license licence copying authors contributors changelog changes news notice todo install version patents"},

	{name: "assembly", exts: "s asm"},
	{name: "batch", exts: "bat cmd"},
	{name: "clojure", exts: "clj cljs cljc edn", scripts: "bb"},
	{name: "cmake", exts: "cmake", bases: "cmakelists.txt"},
	{name: "csv", exts: "csv"},
	{name: "dart", exts: "dart"},
	{name: "diff", exts: "diff"},
	{name: "dockerfile", exts: "dockerfile", bases: "dockerfile containerfile"},
	{name: "elixir", exts: "ex exs", bases: "mix.lock", scripts: "elixir"},
	{name: "erlang", exts: "erl hrl", scripts: "escript"},
	{name: "fish", exts: "fish", scripts: "fish"},
	{name: "fsharp", exts: "fs fsx fsi"},
	{name: "glsl", exts: "glsl vert frag"},
	{name: "gomod", bases: "go.mod go.sum go.work"},
	{name: "graphql", exts: "graphql gql graphqls"},
	{name: "groovy", exts: "groovy gradle", bases: "jenkinsfile"},
	{name: "haskell", exts: "hs lhs", scripts: "runhaskell"},
	{name: "ini", exts: "ini cfg", bases: ".editorconfig .gitconfig .gitmodules .npmrc .flake8 .pylintrc"},
	{name: "jinja", exts: "j2 jinja jinja2"},
	{name: "julia", exts: "jl", scripts: "julia"},
	{name: "less", exts: "less"},
	{name: "nim", exts: "nim nims"},
	{name: "nix", exts: "nix"},
	{name: "objectivec", exts: "m mm"},
	{name: "ocaml", exts: "ml mli"},
	{name: "patch", exts: "patch"},
	{name: "perl", exts: "pl pm", scripts: "perl"},
	{name: "powershell", exts: "ps1 psm1 psd1", scripts: "pwsh"},
	{name: "properties", exts: "properties"},
	{name: "proto", exts: "proto"},
	{name: "r", exts: "r", bases: ".rprofile", scripts: "rscript"},
	{name: "sass", exts: "sass"},
	{name: "scss", exts: "scss"},
	{name: "solidity", exts: "sol"},
	{name: "sql", exts: "sql psql ddl"},
	{name: "starlark", exts: "bzl star", bases: "build build.bazel workspace"},
	{name: "svg", exts: "svg"},
	{name: "swift", exts: "swift", scripts: "swift"},
	{name: "thrift", exts: "thrift"},
	{name: "verilog", exts: "v sv svh"},
	{name: "vhdl", exts: "vhd vhdl"},
	{name: "vim", exts: "vim"},
	{name: "xml", exts: "xml xsd xsl xslt plist csproj fsproj vbproj props targets wsdl"},
}

// What languages says, by what is asked for. They are never written to.
var (
	languageOfExt    = languageBy(func(l language) string { return l.exts })
	languageOfBase   = languageBy(func(l language) string { return l.bases })
	languageOfScript = languageBy(func(l language) string { return l.scripts })
	hasSyntax        = withSyntax()
)

// languageBy returns the names of languages by the words of one of their fields.
func languageBy(field func(language) string) map[string]string {
	by := make(map[string]string)
	for _, l := range languages {
		for word := range strings.FieldsSeq(field(l)) {
			by[word] = l.name
		}
	}
	return by
}

// withSyntax returns which languages are cut by a parser where one is built in.
func withSyntax() map[string]bool {
	by := make(map[string]bool)
	for _, l := range languages {
		if l.syntax {
			by[l.name] = true
		}
	}
	return by
}
