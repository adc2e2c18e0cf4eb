package usergit

import (
	"path/filepath"
	"strings"
)

func resolve(p string) (string, error) { return filepath.EvalSymlinks(filepath.FromSlash(p)) }

// within reports whether path is dir or lies below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
