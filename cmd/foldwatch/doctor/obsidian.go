package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// checkObsidian looks at vaults that have the memories of a checkout in them: what
// Obsidian is told there may hide memories or write them anew.
func checkObsidian(ctx context.Context, x *exam) []Result {
	trees := x.mainCheckouts(ctx)
	var found []Result
	vaults := 0
	for _, t := range trees {
		inFold, inRoot := filepath.Join(t.fold, ".obsidian"), filepath.Join(t.path, ".obsidian")
		both := local.Exists(inFold) && local.Exists(inRoot)
		if both {
			found = append(found, Warning("open one of them only, and delete the other's .obsidian", "%s: both %s/ and the checkout are vaults: links made in one break in the other", t.slug, t.foldDir()))
		}
		for _, v := range []struct{ dir, fold string }{{inFold, ""}, {inRoot, t.foldDir() + "/"}} {
			if !local.Exists(v.dir) {
				continue
			}
			vaults++
			for _, f := range vaultFindings(t.path, v.dir, v.fold) {
				f.Text = t.slug + ": " + f.Text
				found = append(found, f)
			}
		}
	}
	return OrPass(found, "%s, as memories need it", terminal.Plural(vaults, "vault"))
}

// rewriters are plugins that write a note anew when it is opened or saved.
var rewriters = []string{"obsidian-linter", "frontmatter-modified-date", "update-time-on-edit", "obsidian-front-matter-title"}

// vaultFindings looks at the settings in dir of a vault in which memories lie below
// prefix.
func vaultFindings(checkout, dir, prefix string) []Result {
	base := checkout
	if rel, err := filepath.Rel(checkout, dir); err != nil || !filepath.IsLocal(rel) {
		base = filepath.Dir(dir) // the folder of memories lies elsewhere
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return []Result{Skip("%s cannot be looked into: %v", base, err)}
	}
	defer root.Close()
	read := func(path string, into any) error {
		rel, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		return readJSON(checkoutFS{root}, filepath.ToSlash(rel), into)
	}
	var found []Result
	var app struct {
		Ignore   []string `json:"userIgnoreFilters"`
		Location string   `json:"newFileFolderPath"`
		Markdown bool     `json:"useMarkdownLinks"`
	}
	path := filepath.Join(dir, "app.json")
	switch err := read(path, &app); {
	case errors.Is(err, disk.ErrNotRegular):
		found = append(found, Skip("%s is no plain file in a plain folder, and not looked at", path))
	case err != nil:
		found = append(found, Fault("mend or delete "+terminal.Quote(path), "%s cannot be read: %v", path, err))
	case prefix != "" && slices.ContainsFunc(app.Ignore, func(f string) bool { return strings.HasPrefix(prefix, strings.TrimPrefix(f, "/")) }):
		found = append(found, Warning("Obsidian: Settings, Files and links, Excluded files: take it out", "%s excludes %s, so that neither search nor quick switcher finds a memory", path, prefix))
	}
	var plugins []string
	path = filepath.Join(dir, "community-plugins.json")
	switch err := read(path, &plugins); {
	case errors.Is(err, disk.ErrNotRegular):
		return append(found, Skip("%s is no plain file in a plain folder, and not looked at", path))
	case err != nil:
		return append(found, Fault("mend or delete "+terminal.Quote(path), "%s cannot be read: %v", path, err))
	}
	for _, name := range plugins {
		if !slices.Contains(rewriters, name) {
			continue
		}
		var settings json.RawMessage
		if err := read(filepath.Join(dir, "plugins", name, "data.json"), &settings); err != nil || !spares(settings, prefix) {
			found = append(found, Warning("have it ignore the folder of memories", "the plugin %s rewrites front matter when a note is saved", name))
		}
	}
	return found
}

// spares reports whether a plugin's settings have it leave the folder of memories
// alone. Plugins call that differently; what counts is that the folder is named.
func spares(settings []byte, prefix string) bool {
	folder := strings.TrimSuffix(prefix, "/")
	return folder != "" && bytes.Contains(settings, []byte(`"`+folder))
}

// readJSON reads a small file; none is no error.
func readJSON(files fs.FS, name string, into any) error {
	b, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
