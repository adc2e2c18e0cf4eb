package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// checkPackers looks for what would ship memories with what is built in a checkout:
// they are notes of the people who work on it, not part of it.
func checkPackers(ctx context.Context, x *exam) []Result {
	trees := x.mainCheckouts(ctx)
	var found []Result
	for _, t := range trees {
		found = append(found, packerFindings(t)...)
	}
	return OrPass(found, "no image or package takes memories along")
}

func packerFindings(t checkout) []Result {
	if rel, err := filepath.Rel(t.path, t.fold); err != nil || !filepath.IsLocal(rel) {
		return nil // it lies elsewhere
	}
	root, err := os.OpenRoot(t.path)
	if err != nil {
		return nil // the projects check tells
	}
	defer root.Close()
	switch info, err := root.Lstat(t.foldDir()); {
	case err != nil:
		return nil // there is none
	case !info.IsDir():
		return []Result{Warning("put a folder in its place", "%s: %s is no folder, and what it leads to is not looked at", t.slug, t.fold)}
	}
	var found []Result
	files := checkoutFS{root}
	ignore := t.foldDir() + "/.gitignore"
	text, err := files.ReadFile(ignore)
	hidden := err == nil && hidesAll(text)
	if !hidden && !t.tracked() && t.status != nil {
		at := filepath.Join(t.fold, ".gitignore")
		mend := "add the line * to " + terminal.Quote(at)
		if err != nil {
			mend = "have " + terminal.Quote(at) + " be a file with the line *"
		}
		f := Fault(mend, "%s: %s does not hide memories from git and packers", t.slug, at)
		if errors.Is(err, fs.ErrNotExist) {
			f = f.remediedBy("write "+terminal.Quote(at), func(context.Context) error { return createIn(t.path, ignore, gitops.IgnoreText) })
		}
		found = append(found, f)
	}
	for _, s := range shippers(files, t.foldDir(), hidden) {
		found = append(found, Warning(s.mend+" (in "+terminal.Quote(t.path)+")", "%s: %s %s", t.slug, s.file, s.why))
	}
	return found
}

// createIn writes a new file in a checkout, and nowhere else: it follows no link, and
// fails where anything has that name.
func createIn(checkout, name, text string) error {
	root, err := disk.OpenRoot(checkout, disk.Options{})
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Create(name, []byte(text))
}
