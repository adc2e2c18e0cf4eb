package corpus

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Corpus is what one project of a measuring daemon holds.
type Corpus struct {
	Slug string
	// Tree is a folder whose files are the checkout's; "" for none. It is only
	// read.
	Tree string
	// Past are commits before the tree as it is, oldest first.
	Past []usergit.FixtureCommit
	// Memories lie under fold/. Names are what the questions call them.
	Memories []fold.Memory
	Names    map[fold.ID]string
	// Scopes are the globs of the files that the questions of a set are asked of,
	// by set; those without one are asked of everything.
	Scopes map[string]string
	// Note says how the corpus differs from what the questions are about.
	Note string
}

// Slug returns the project of the corpus that q is asked of.
func Slug(q eval.Query) string { return SlugOf(q.Repo, q.Set) }

// SlugOf is the slug of a repository's corpus for a set. Sets a and b share one.
func SlugOf(repo, set string) string {
	if set == "c" {
		return repo + "-c"
	}
	return repo
}

// Export writes files, blobs by path, below dir. Blobs longer than
// gitops.MaxBlob are left out, as in an index.
func Export(ctx context.Context, l *usergit.Repo, files map[string]string, dir string) error {
	paths := map[string][]string{}
	for p, blob := range files {
		if filepath.IsLocal(filepath.FromSlash(p)) {
			paths[blob] = append(paths[blob], p)
		}
	}
	return l.Blobs(ctx, slices.Sorted(maps.Keys(paths)), func(blob string, b []byte) error {
		if b == nil || len(b) > usergit.MaxBlob {
			return nil
		}
		for _, p := range paths[blob] {
			if err := writeBelow(dir, p, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeBelow writes the file at path, which has forward slashes, below dir.
func writeBelow(dir, path string, b []byte) error {
	dst := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	return os.WriteFile(dst, b, 0o644)
}
