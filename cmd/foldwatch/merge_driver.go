package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// mergeDriverCommand is what git runs for a memory that both sides of a merge,
// rebase, cherry-pick or stash changed. It asks no daemon: git waits for it,
// file by file. The result takes the place of the second file, and the exit code
// says whether git may go on: 0 it is merged, else it is left as it was, and git
// calls it a conflict.
func mergeDriverCommand(*environment) *cobra.Command {
	return &cobra.Command{
		Use:   "merge-driver BASE OURS THEIRS PATH",
		Short: "Merge one memory for git",
		Long: "Merge one memory for git, the way the daemon does:\n\n" +
			"  git config merge.foldwatch.driver 'foldwatch merge-driver %O %A %B %P'\n" +
			"  printf '%s merge=foldwatch\\n' 'fold/**/*.md' fold/project.toml >> .gitattributes",
		Hidden: true,
		Args:   between(4, 4),
		RunE: func(_ *cobra.Command, args []string) error {
			return driveMerge(args[0], args[1], args[2], args[3], time.Now())
		},
	}
}

// driveMerge merges the files base, ours and theirs, versions of what lies at
// path in the repository, into ours.
func driveMerge(base, ours, theirs, path string, now time.Time) error {
	var sides [3][]byte
	for i, name := range [...]string{base, ours, theirs} {
		b, err := readMerged(name)
		if err != nil {
			return fmt.Errorf("merge %s: %w", path, err)
		}
		sides[i] = b
	}
	merged, err := mergeSides(sides, belowFold(path), now)
	if err != nil {
		return fmt.Errorf("merge %s: %w", path, err)
	}
	f, err := os.OpenFile(ours, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(merged); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// mergeSides merges base, ours and theirs of what lies at a path below the folder of
// memories. Two clones that began side by side have a project file each.
func mergeSides(sides [3][]byte, at string, now time.Time) ([]byte, error) {
	if at == fold.ProjectFile {
		ours, _, err := conf.ParseProject(sides[1])
		if err != nil {
			return nil, err
		}
		theirs, _, err := conf.ParseProject(sides[2])
		if err != nil {
			return nil, err
		}
		return conf.EncodeProject(conf.MergeProject(ours, theirs)), nil
	}
	if fold.ValidPath(at) != nil {
		return nil, fmt.Errorf("only memories are merged: %w", fold.ErrInvalid)
	}
	if len(sides[0]) == 0 {
		sides[0] = nil // git has no other way to say that there is none
	}
	r, err := fold.MergeAt(sides[0], sides[1], sides[2], fold.MergeOptions{Now: now, Path: at})
	return r.Bytes, err
}

func readMerged(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > fold.MaxFile {
		return nil, fmt.Errorf("%d bytes, at most %d: %w", info.Size(), fold.MaxFile, fold.ErrInvalid)
	}
	return os.ReadFile(name)
}

// belowFold returns path, which git gives from the top of the repository, as it
// lies below the folder of memories. Nobody says which folder that is: of a file
// of our own form the last three parts tell, and any other is a note, whose place
// does not count.
func belowFold(path string) string {
	parts := strings.Split(path, "/")
	if n := len(parts); n > 3 {
		if at := strings.Join(parts[n-3:], "/"); fold.ValidPath(at) == nil {
			if _, own := fold.OwnPath(at); own {
				return at
			}
		}
	}
	return parts[len(parts)-1]
}
