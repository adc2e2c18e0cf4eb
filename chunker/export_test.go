package chunker

import "strings"

// SyntaxPaths returns a file name for each language that has a table.
func SyntaxPaths() []string {
	var paths []string
	for _, l := range languages {
		if !l.syntax {
			continue
		}
		path, _, _ := strings.Cut(l.bases, " ")
		if ext, _, _ := strings.Cut(l.exts, " "); ext != "" {
			path = "a." + ext
		}
		paths = append(paths, path)
	}
	return paths
}

// Serve is ServeWorker with a hook that is called before each file.
var Serve = serve

// OutlineNames returns the kinds and names that go/parser finds.
func OutlineNames(src []byte) []string {
	o := outlineGo(src, 200, false)
	if o == nil {
		return nil
	}
	var out []string
	for _, it := range o.items {
		out = append(out, it.kind+" "+it.name)
	}
	return out
}
