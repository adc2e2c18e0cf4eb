package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// checkPackers looks for what would ship memories with what is built in a checkout:
// they are notes of the people who work on it, not part of it.
func checkPackers(ctx context.Context, p *patient) []finding {
	trees := p.mainTrees(ctx)
	if len(trees) == 0 {
		return p.noTrees()
	}
	var found []finding
	for _, t := range trees {
		if rel, err := filepath.Rel(t.path, t.fold); err != nil || !filepath.IsLocal(rel) || !exists(t.fold) {
			continue // it lies elsewhere, or there is none
		}
		ignore := filepath.Join(t.fold, ".gitignore")
		text, err := os.ReadFile(ignore)
		hidden := err == nil && bytes.Contains(append([]byte("\n"), text...), []byte("\n*"))
		if !hidden && !t.ontoBranch() && t.status != nil {
			f := fail("printf '*\\n' > "+quoteArg(ignore), "%s: %s does not hide memories from git and packers", t.slug, ignore)
			if err != nil {
				f = f.fixedBy("write "+quoteArg(ignore), func(context.Context) error { return disk.WriteFile(ignore, []byte(gitops.IgnoreText), 0o644) })
			}
			found = append(found, f)
		}
		for _, s := range shippers(os.DirFS(t.path), t.foldDir(), hidden) {
			found = append(found, warn(s.mend+" (in "+quoteArg(t.path)+")", "%s: %s %s", t.slug, s.file, s.why))
		}
	}
	return orOK(found, "no image or package takes memories along")
}
