package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkObsidian looks at vaults that have the memories of a checkout in them: what
// Obsidian is told there may hide memories or write them anew.
func checkObsidian(ctx context.Context, p *patient) []finding {
	trees := p.mainTrees(ctx)
	if len(trees) == 0 {
		return p.noTrees()
	}
	var found []finding
	vaults := 0
	for _, t := range trees {
		inFold, inRoot := filepath.Join(t.fold, ".obsidian"), filepath.Join(t.path, ".obsidian")
		both := exists(inFold) && exists(inRoot)
		if both {
			found = append(found, warn("open one of them only, and delete the other's .obsidian", "%s: both %s/ and the checkout are vaults: links made in one break in the other", t.slug, t.foldDir()))
		}
		for _, v := range []struct{ dir, fold string }{{inFold, ""}, {inRoot, t.foldDir() + "/"}} {
			if !exists(v.dir) {
				continue
			}
			vaults++
			for _, f := range vaultFindings(v.dir, v.fold) {
				f.Text = t.slug + ": " + f.Text
				found = append(found, f)
			}
		}
	}
	return orOK(found, "%s, as memories need it", plural(vaults, "vault"))
}

// rewriters are plugins that write a note anew when it is opened or saved.
var rewriters = []string{"obsidian-linter", "frontmatter-modified-date", "update-time-on-edit", "obsidian-front-matter-title"}

// vaultFindings looks at the settings in dir of a vault in which memories lie below
// prefix.
func vaultFindings(dir, prefix string) []finding {
	var found []finding
	var app struct {
		Ignore   []string `json:"userIgnoreFilters"`
		Location string   `json:"newFileFolderPath"`
		Markdown bool     `json:"useMarkdownLinks"`
	}
	path := filepath.Join(dir, "app.json")
	switch err := readJSON(path, &app); {
	case err != nil:
		found = append(found, fail("mend or delete "+quoteArg(path), "%s cannot be read: %v", path, err))
	case prefix != "" && slices.ContainsFunc(app.Ignore, func(f string) bool { return strings.HasPrefix(prefix, strings.TrimPrefix(f, "/")) }):
		found = append(found, warn("Obsidian: Settings, Files and links, Excluded files: take it out", "%s excludes %s, so that neither search nor quick switcher finds a memory", path, prefix))
	}
	var plugins []string
	path = filepath.Join(dir, "community-plugins.json")
	if err := readJSON(path, &plugins); err != nil {
		return append(found, fail("mend or delete "+quoteArg(path), "%s cannot be read: %v", path, err))
	}
	for _, name := range plugins {
		if slices.Contains(rewriters, name) && !pluginSpares(filepath.Join(dir, "plugins", name, "data.json"), prefix) {
			found = append(found, warn("have it ignore the folder of memories", "the plugin %s rewrites front matter when a note is saved", name))
		}
	}
	return found
}

// pluginSpares reports whether a plugin was told to leave the folder of memories
// alone. Plugins call that differently; what counts is that the folder is named.
func pluginSpares(path, prefix string) bool {
	b, err := os.ReadFile(path)
	folder := strings.TrimSuffix(prefix, "/")
	return err == nil && folder != "" && strings.Contains(string(b), `"`+folder)
}

// readJSON reads a small file; none is no error.
func readJSON(path string, into any) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
