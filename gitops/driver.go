package gitops

import (
	"context"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// mergeDriver is the name of our driver in attributes and configuration.
const mergeDriver = "foldwatch"

// MergesMemories reports whether git merges memories by their meaning in this
// checkout: its configuration says which program our driver is, and its attributes
// name that for memories and for the project file. It starts git.
func (s *Store) MergesMemories(ctx context.Context) (bool, error) {
	driver, err := s.l.git("config", "--get", "merge."+mergeDriver+".driver").line(ctx)
	if exitCode(err) == 1 || err == nil && driver == "" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read git's configuration: %w", err)
	}
	out, err := s.l.git("check-attr", "-z", "merge", "--", s.foldDir()+"/decision/a-memory-00000000.md", s.foldDir()+"/"+fold.ProjectFile).output(ctx)
	if err != nil {
		return false, fmt.Errorf("read attributes: %w", err)
	}
	f := strings.Split(string(out), "\x00")
	return len(f) > 5 && f[2] == mergeDriver && f[5] == mergeDriver, nil
}
