package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/help"
	"github.com/foldwatch/foldwatch/packaging/unit"
	"github.com/spf13/cobra"
)

// assetsCommand writes what packages have beside the program. It is the program
// itself that does, so that no page and no unit is of another version.
func assetsCommand() *cobra.Command {
	var date, program string
	c := &cobra.Command{
		Use:   "assets DIR",
		Short: "Write what packages have beside the program",
		Long: "Write units, completions and man pages below DIR, where a package for Linux has them below /,\n" +
			"and the service of Windows as windows/service.json.",
		Hidden: true,
		Args:   between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := time.Parse(time.DateOnly, date); err != nil {
				return usagef("foldwatch assets DIR --date 2026-01-31", "--date %q is no date", date)
			}
			files, err := assets(cmd.Root(), program, date)
			if err != nil {
				return err
			}
			for path, text := range files {
				path = filepath.Join(args[0], filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // of a package, for everybody
					return err
				}
				if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // likewise
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&date, "date", "", "DATE of the man pages, such as 2026-01-31")
	c.Flags().StringVar(&program, "program", "/usr/bin/foldwatch", "PATH at which the units find the program")
	return c
}

// assets returns the files by their paths, without the first slash.
func assets(root *cobra.Command, program, date string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, f := range unit.Packaged(program) {
		files[f.Path[1:]] = []byte(f.Text)
	}
	row, err := json.MarshalIndent(unit.PackagedService(), "", "  ")
	if err != nil {
		return nil, err
	}
	files["windows/service.json"] = append(row, '\n')
	for _, p := range help.Pages(root, date) {
		files["usr/share/man/man1/"+p.Name+".1"] = []byte(p.Text)
	}
	for path, write := range map[string]func(io.Writer) error{
		"usr/share/bash-completion/completions/foldwatch":    func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"usr/share/zsh/site-functions/_foldwatch":            root.GenZshCompletion,
		"usr/share/fish/vendor_completions.d/foldwatch.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files[path] = b.Bytes()
	}
	return files, nil
}

// manCommand prints a page as packages have it, for systems without one.
func manCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:    "man [COMMAND]",
		Short:  "Print the man page of foldwatch, or of a command",
		Long:   "Print a man page: foldwatch man | man -l -",
		Hidden: true,
		Args:   between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(append([]string{cmd.Root().Name()}, args...), "-")
			for _, p := range help.Pages(cmd.Root(), buildDate(setDate, debug.ReadBuildInfo)) {
				if p.Name == name {
					_, err := io.WriteString(app.Stdout, p.Text)
					return err
				}
			}
			return usagef("foldwatch --help", "there is no command %q", args[0])
		},
	}
}
