package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

var (
	lineOfPath = later(`:\d+$`)
	wholeID    = later(`^[0-9a-fA-F]{16}$`)
)

// fileNamed returns the absolute path of the file that somebody names in place of a
// memory, as search prints it, with a line or without; "" where no repository has such a file.
func fileNamed(app *App, arg string) string {
	if wholeID().MatchString(arg) {
		return ""
	}
	for _, name := range []string{arg, lineOfPath().ReplaceAllString(arg, "")} {
		abs, err := app.absolute(name)
		if err != nil {
			return ""
		}
		if info, err := os.Stat(abs); err == nil && info.Mode().IsRegular() && local.InRepository(filepath.Dir(abs)) {
			return abs
		}
	}
	return ""
}

// memoryOf returns the id of the memory that arg names: by its id, by its own file, or
// by the source file that it describes.
func memoryOf(ctx context.Context, app *App, c local.Client, slug, arg string) (string, error) {
	file := fileNamed(app, arg)
	if file == "" {
		return memoryID(arg)
	}
	pr, err := c.Project(ctx, slug)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	for _, co := range pr.Checkouts {
		rel, err := filepath.Rel(co.Path, file)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if in, err := filepath.Rel(co.Fold, file); err == nil && filepath.IsLocal(in) && co.Fold != "" {
			if id, err := memoryID(strings.TrimSuffix(filepath.Base(in), ".md")); err == nil && wholeID().MatchString(id) {
				return id, nil
			}
		}
		rel = filepath.ToSlash(rel)
		list, err := c.ListMemories(ctx, slug, wire.ListQuery{Q: rel, Limit: 200})
		if err != nil {
			return "", err
		}
		for _, m := range list.Items {
			if m.FilePath == rel && m.Source == "file" || m.Path != "" && filepath.Join(co.Fold, m.Path) == file {
				return m.ID, nil
			}
		}
		return "", fold.WithHint(fmt.Errorf("no memory describes %s: %w", rel, fold.ErrNotFound), "foldwatch search --path "+terminal.Quote(rel)+" QUERY")
	}
	return "", fold.WithHint(fmt.Errorf("%s is in no checkout of %s: %w", file, slug, fold.ErrNotFound), "foldwatch projects")
}

// typesListed is how many pages of memories are looked through for their types.
const typesListed = 5

// noSuchType says which types there are, where a list of one is empty.
func noSuchType(ctx context.Context, c local.Client, slug string, q wire.ListQuery) string {
	if q.Type == "" {
		return ""
	}
	var types []string
	page := wire.ListQuery{Limit: 200}
	for range typesListed {
		list, err := c.ListMemories(ctx, slug, page)
		if err != nil {
			return ""
		}
		for _, m := range list.Items {
			if !slices.Contains(types, m.Type) {
				types = append(types, m.Type)
			}
		}
		if page.Cursor = list.NextCursor; page.Cursor == "" {
			break
		}
	}
	if len(types) == 0 || slices.Contains(types, q.Type) {
		return ""
	}
	return fmt.Sprintf("no memory is of type %q; there are: %s", q.Type, terminal.Sorted(types))
}

// memoryID reads how people name a memory: its id, its file below fold/, or a
// wiki link to it.
func memoryID(arg string) (string, error) {
	s := strings.TrimSuffix(strings.TrimPrefix(arg, "[["), "]]")
	s, _, _ = strings.Cut(s, "|")
	if regexp.MustCompile(`^(fold/)?([0-9a-f]/[0-9a-f]/)?[0-9a-fA-F]{16}(\.md)?$`).MatchString(s) {
		s = strings.TrimSuffix(path.Base(s), ".md")
		return strings.ToLower(s), nil
	}
	if regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString(s) {
		return s, nil // a foreign id; the daemon knows whether it is an alias
	}
	return "", fmt.Errorf("id %q is not 16 hex digits: %w", terminal.Short(arg, 40), fold.ErrInvalid)
}
