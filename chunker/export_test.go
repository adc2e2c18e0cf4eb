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
