package repos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// ProjectAt reads the project file of a fold folder. The folder is ours if it
// is absent, empty, or holds a project.toml that parses (design.md 3).
func ProjectAt(foldPath string) (conf.Project, bool, error) {
	name := filepath.Base(foldPath)
	fi, err := os.Lstat(foldPath)
	if errors.Is(err, fs.ErrNotExist) {
		return conf.Project{}, false, nil
	}
	if err != nil {
		return conf.Project{}, false, err
	}
	foreign := fold.WithHint(fold.ErrInvalid, "keep the memories in another folder: --fold-dir NAME")
	if !fi.IsDir() {
		return conf.Project{}, false, fmt.Errorf("%s is not a folder: %w", name, foreign)
	}
	b, err := os.ReadFile(filepath.Join(foldPath, conf.ProjectFile))
	if err == nil {
		p, _, err := conf.ParseProject(b)
		if err == nil && p.Slug == "" {
			return p, false, fmt.Errorf("%s/%s is not ours, it has no slug: %w", name, conf.ProjectFile, foreign)
		}
		if err != nil { // ours most likely, with a slip of somebody who edited it
			return p, false, fold.WithHint(fmt.Errorf("%s/%s cannot be read: %w", name, conf.ProjectFile, err),
				"mend that line; if the file is not foldwatch's, keep the memories in another folder: --fold-dir NAME")
		}
		return p, true, nil
	}
	entries, err := os.ReadDir(foldPath)
	if err != nil {
		return conf.Project{}, false, err
	}
	for _, e := range entries {
		if e.Name() != ".gitignore" && e.Name() != ".obsidian" && !disk.IsTemp(e.Name()) {
			return conf.Project{}, false, fmt.Errorf("%s/ holds something else (%s): %w", name, e.Name(), foreign)
		}
	}
	return conf.Project{}, false, nil
}
