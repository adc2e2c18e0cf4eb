package chunker

import (
	"path"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Variant returns what besides its bytes decides how the file at filePath is
// cut: its language, and of a component (Vue, Svelte) also its name, which is
// that of the file. It is part of the key of cached results.
func Variant(filePath string, head []byte) string {
	lang := Language(filePath, head)
	if isComponent(lang) {
		return lang + "/" + componentName(filePath)
	}
	return lang
}

func isComponent(lang string) bool { return lang == "vue" || lang == "svelte" }

// componentName returns the name by which others import the component at
// filePath: CartPanel of ui/CartPanel.vue, ui of ui/index.vue.
func componentName(filePath string) string {
	filePath = strings.ReplaceAll(filePath, `\`, "/")
	name := strings.TrimSuffix(path.Base(filePath), path.Ext(filePath))
	if dir := path.Base(path.Dir(filePath)); name == "index" && dir != "." && dir != "/" {
		name = dir
	}
	return clean(name)
}

// qualify puts the name of a component before the names of its parts.
func qualify(chunks []fold.Chunk, component string) {
	if component == "" {
		return
	}
	for i := range chunks {
		c := &chunks[i]
		if c.NodeName != "" {
			c.NodeName = clean(component + "." + c.NodeName)
		}
		if c.Parent != "" {
			c.Parent = clean(component + "." + c.Parent)
		}
	}
}
