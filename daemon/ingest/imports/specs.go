package imports

import (
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/regex"
)

// Specs returns the modules that one import names, whether it was given
// as a name or as the whole statement.
func Specs(language, raw string) []string {
	raw = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(raw), ";"))
	if raw == "" || len(raw) > 4096 {
		return nil
	}
	switch language {
	case "go":
		return []string{strings.Trim(lastField(raw), "\"`")}
	case "javascript", "typescript", "tsx", "vue", "svelte":
		if m := jsSpec().FindStringSubmatch(raw); m != nil {
			return []string{m[1]}
		}
		return []string{strings.Trim(raw, "\"'`")}
	case "python":
		return pythonSpecs(raw)
	case "rust":
		return rustSpecs(raw)
	case "java", "kotlin", "scala":
		raw = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(raw, "import")), "static "))
		raw, _, _ = strings.Cut(raw, " as ")
		return []string{strings.TrimSpace(raw)}
	case "c", "cpp", "objc", "cuda":
		if m := quotedSpec().FindStringSubmatch(raw); m != nil {
			return []string{m[1]}
		}
		return []string{strings.TrimSpace(strings.TrimPrefix(raw, "#include"))}
	case "shell", "ruby", "php", "csharp", "lua", "zig":
		return []string{raw} // with the quotes of an expansion
	}
	if m := quotedSpec().FindStringSubmatch(raw); m != nil {
		return []string{m[1]}
	}
	return []string{raw}
}

func lastField(s string) string {
	f := strings.Fields(s)
	return f[len(f)-1]
}

// pythonSpecs reads `import a, b as c` and `from x import y, z`; of the latter
// each name may be a module of its own.
func pythonSpecs(raw string) []string {
	raw = strings.NewReplacer("(", " ", ")", " ", "\\", " ", "\n", " ").Replace(raw)
	if m := pyFrom().FindStringSubmatch(raw); m != nil {
		if strings.Trim(m[1], ".") != "" {
			return []string{m[1]}
		}
		var out []string
		for name := range strings.SplitSeq(m[2], ",") {
			if name, _, _ = strings.Cut(strings.TrimSpace(name), " "); name != "" && name != "*" {
				out = append(out, m[1]+name)
			}
		}
		return out
	}
	var out []string
	for name := range strings.SplitSeq(strings.TrimPrefix(raw, "import "), ",") {
		if name, _, _ = strings.Cut(strings.TrimSpace(name), " "); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// rustSpecs opens `use a::{b, c::d as e}` into paths. `mod x` becomes mod::x.
func rustSpecs(raw string) []string {
	for _, p := range []string{"pub(crate) ", "pub(super) ", "pub "} {
		raw = strings.TrimPrefix(raw, p)
	}
	if name, ok := strings.CutPrefix(raw, "mod "); ok {
		return []string{"mod::" + strings.TrimSpace(name)}
	}
	raw = strings.TrimSpace(strings.TrimPrefix(raw, "use "))
	var out []string
	openRust("", raw, 0, &out)
	return out
}

func openRust(prefix, tree string, depth int, out *[]string) {
	if depth > 8 || len(*out) > 64 {
		return
	}
	tree = strings.TrimSpace(tree)
	open := strings.IndexByte(tree, '{')
	if open < 0 {
		tree, _, _ = strings.Cut(tree, " as ")
		tree = strings.TrimSuffix(strings.TrimSpace(tree), "::*")
		switch tree {
		case "self", "*", "":
			tree = strings.TrimSuffix(prefix, "::")
		default:
			tree = prefix + tree
		}
		if tree != "" && !slices.Contains(*out, tree) {
			*out = append(*out, tree)
		}
		return
	}
	inner := strings.TrimSuffix(strings.TrimSpace(tree[open+1:]), "}")
	level, start := 0, 0
	for i := 0; i <= len(inner); i++ {
		if i == len(inner) || inner[i] == ',' && level == 0 {
			if part := strings.TrimSpace(inner[start:i]); part != "" {
				openRust(prefix+strings.TrimSpace(tree[:open]), part, depth+1, out)
			}
			start = i + 1
			continue
		}
		switch inner[i] {
		case '{':
			level++
		case '}':
			level--
		}
	}
}

// Patterns of import statements, for what comes as a statement instead of the
// module's name. Compiled once, never changed.
var (
	jsSpec     = regex.Later(`(?:from|import|require)\s*\(?\s*['"\x60]([^'"\x60]+)['"\x60]`)
	pyFrom     = regex.Later(`(?s)^from\s+(\.*[\w.]*)\s+import\s+(.+)$`)
	quotedSpec = regex.Later(`["'<]([^"'>]+)["'>]`)
)
