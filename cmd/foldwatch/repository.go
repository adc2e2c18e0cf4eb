package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// needRepository checks that path lies in a git repository. On a terminal it
// offers to make one.
func needRepository(ctx context.Context, app *App, path, command string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return unreadable(path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, fold.ErrNotFound)
	case !info.IsDir():
		return usagef("foldwatch "+command+" "+terminal.Quote(filepath.Dir(path)), "%s is not a folder", path)
	}
	if local.InRepository(path) {
		return nil
	}
	if _, err := os.ReadDir(path); errors.Is(err, fs.ErrPermission) {
		return unreadable(path)
	}
	makeOne := "git init " + terminal.Quote(path)
	refusal := usagef(makeOne+" && foldwatch "+command+" "+terminal.Quote(path), "%s is not a git repository", path)
	if !app.Interactive() {
		return refusal
	}
	if !app.Ask(path + " is not a git repository. Run `" + makeOne + "`?") {
		return refusal
	}
	out, err := exec.CommandContext(ctx, "git", "init", "--quiet", "--", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s: %w", makeOne, strings.TrimSpace(string(out)), err)
	}
	app.Messages(false).Printf("made an empty git repository in %s\n", path)
	return nil
}

// unreadable is why nobody can say what a folder is.
func unreadable(path string) error {
	return fold.WithHint(fmt.Errorf("%s cannot be read by you: %w", path, fold.ErrForbidden),
		"clone it as yourself, or have its owner let you read it")
}
