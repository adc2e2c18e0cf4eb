package describe

import (
	"path"
	"strings"
	"unicode"
)

// isData reports whether a language holds settings or data, not code.
func isData(language string) bool {
	switch language {
	case "json", "jsonc", "yaml", "toml", "ini", "xml", "svg", "csv", "gomod", "properties", "env", "dockerfile", "make", "cmake", "hcl", "diff", "patch":
		return true
	}
	return false
}

// languageName returns the language as people write it; "" if it is not known.
func languageName(language string) string {
	switch language {
	case "":
		return ""
	case "typescript":
		return "TypeScript"
	case "tsx":
		return "TypeScript (TSX)"
	case "javascript":
		return "JavaScript"
	case "cpp":
		return "C++"
	case "csharp":
		return "C#"
	case "objc", "objectivec":
		return "Objective-C"
	case "c", "r", "sql", "html", "css", "json", "yaml", "toml", "xml", "svg", "ini", "csv", "php", "scss", "hcl":
		return strings.ToUpper(language)
	case "gomod":
		return "Go module"
	case "cmake":
		return "CMake"
	case "dockerfile":
		return "Docker"
	case "proto":
		return "Protocol Buffers"
	case "graphql":
		return "GraphQL"
	case "powershell":
		return "PowerShell"
	case "ocaml":
		return "OCaml"
	case "text":
		return "text"
	}
	return strings.ToUpper(language[:1]) + language[1:]
}

// article returns the indefinite article of a word.
func article(word string) string {
	switch word {
	case "HTML", "XML", "INI", "SQL", "SCSS", "SVG", "R", "HCL":
		return "an"
	case "":
		return "a"
	}
	if strings.IndexByte("AEIOaeio", word[0]) >= 0 {
		return "an"
	}
	return "a"
}

// exportWord returns what a language says of a name that other files can use;
// "" where names are not kept to a file.
func exportWord(language string) string {
	switch language {
	case "go", "javascript", "typescript", "tsx", "rust", "vue", "svelte":
		return "exports"
	}
	return ""
}

// isType reports whether a kind of definition names a type.
func isType(kind string) bool {
	switch kind {
	case "class", "struct", "enum", "trait", "interface", "type", "impl", "union", "record", "object", "protocol", "mixin", "typedef", "annotation":
		return true
	}
	return false
}

func isFunction(kind string) bool {
	return kind == "function" || kind == "method" || kind == "constructor"
}

// kindWord returns a kind of definition in words: a node type that no one named
// yet is its own word.
func kindWord(kind string) string {
	switch kind {
	case "impl":
		return "methods of the type"
	case methodsElsewhere:
		return "methods of a type defined elsewhere"
	case "key", "section", "target", "stage", "script", "job", "object", "database object", "table", "service", "pair", "block", "rule", "element", "test":
		return "" // the sentence above the list says it for all
	case "func", "def", "fun", "fn", "sub", "procedure":
		return "function"
	case "const", "var", "let", "val", "variable_declaration":
		return "variable"
	case "mod", "namespace":
		return "namespace"
	}
	return strings.ReplaceAll(kind, "_", " ")
}

// methodsElsewhere is the kind of a type that is defined in another file, of
// which this one defines methods.
const methodsElsewhere = "methods"

// testKind returns what the name of a function in a test file says it is: test,
// benchmark, example; "" if it is none.
func testKind(language, name string) string {
	switch language {
	case "go":
		for _, k := range [][2]string{{"Test", "test"}, {"Fuzz", "test"}, {"Benchmark", "benchmark"}, {"Example", "example"}} {
			if rest, ok := strings.CutPrefix(name, k[0]); ok && name != "TestMain" && (rest == "" || !unicode.IsLower(rune(rest[0]))) {
				return k[1]
			}
		}
		return ""
	case "java", "kotlin", "scala", "csharp", "rust", "swift":
		if name == "setUp" || name == "tearDown" || strings.HasPrefix(name, "assert") {
			return ""
		}
		return "test"
	}
	low := strings.ToLower(name)
	if strings.HasPrefix(low, "test") {
		return "test"
	}
	if strings.HasPrefix(low, "bench") {
		return "benchmark"
	}
	return ""
}

func isHeader(p string) bool {
	switch path.Ext(p) {
	case ".h", ".hh", ".hpp", ".hxx":
		return true
	}
	return false
}
