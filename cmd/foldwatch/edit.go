package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// editText opens text in the user's editor and returns what it was saved as, and
// the file that holds it. Whoever is done with the text removes the file with
// discard; until then nothing that was typed is lost.
func editText(ctx context.Context, app *App, name, text string) (edited, path string, err error) {
	argv, err := editor(app)
	if err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp("", "foldwatch-edit-")
	if err != nil {
		return "", "", fmt.Errorf("edit: %w", err)
	}
	path = filepath.Join(dir, name+".md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", "", fmt.Errorf("edit: %w", err)
	}
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = app.Stdin, app.Stderr, app.Stderr // stdout is for data
	if err := cmd.Run(); err != nil {
		return "", "", fmt.Errorf("editor %s: %w\nyour text is kept in %s", argv[0], err, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("edit: %w", err)
	}
	return string(b), path, nil
}

// editor returns the command of $VISUAL or $EDITOR, or what every system has,
// where somebody can use it.
func editor(app *App) ([]string, error) {
	for _, v := range []string{"VISUAL", "EDITOR"} {
		if argv := strings.Fields(app.Getenv(v)); len(argv) > 0 {
			return argv, nil
		}
	}
	if !app.Interactive() {
		return nil, usage(errors.New("there is no editor: EDITOR is not set"), "EDITOR=nano foldwatch memory edit ID")
	}
	if runtime.GOOS == "windows" {
		return []string{"notepad"}, nil
	}
	return []string{"vi"}, nil
}

// discard removes a file of edit and its folder.
func discard(path string) {
	// What stays behind is a file in the temporary folder; nobody can act on it.
	_ = os.RemoveAll(filepath.Dir(path))
}
