//go:build cgo

package syntax

// tables make the table of each language that has one. They are functions so
// that a worker pays for the languages it meets only.
var tables = map[string]func() *table{
	"go":         goTable,
	"rust":       rustTable,
	"javascript": javascriptTable,
	"typescript": typescriptTable,
	"tsx":        tsxTable,
	"python":     pythonTable,
	"java":       javaTable,
	"c":          cTable,
	"cpp":        cppTable,
	"shell":      shellTable,
	"ruby":       rubyTable,
	"lua":        luaTable,
	"zig":        zigTable,
	"php":        phpTable,
	"csharp":     csharpTable,
	"scala":      scalaTable,
	"kotlin":     kotlinTable,

	"html":   htmlTable,
	"vue":    htmlTable,
	"svelte": svelteTable,
	"css":    cssTable,
	"json":   jsonTable,
	"yaml":   yamlTable,
	"toml":   tomlTable,
	"hcl":    hclTable,
	"make":   makeTable,
}
