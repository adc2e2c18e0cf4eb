package main

import (
	"cmp"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// setupFlags say what setup does with each client; none of them installs.
type setupFlags struct{ all, check, remove, print, instructions bool }

// A setupResult tells what setup did for one client.
type setupResult struct {
	Client  string `json:"client"`
	Name    string `json:"name"`
	Did     string `json:"did"` // installed, unchanged, removed, absent, different, printed, not here
	File    string `json:"file,omitempty"`
	Backup  string `json:"backup,omitempty"`
	Snippet string `json:"snippet,omitempty"`
}

func printSetup(app *App, p terminal.Printer, results []setupResult, check bool) {
	if check {
		var t terminal.Table
		for _, r := range results {
			t.Row(cmp.Or(r.Client, "instructions"), r.Did, r.File)
		}
		t.Print(p)
		return
	}
	say := app.Messages(false)
	for _, r := range results {
		if r.Did != "printed" {
			p.Printf("%s  %s  %s\n", cmp.Or(r.Client, "instructions"), r.Did, r.File)
			if r.Backup != "" {
				say.Printf("the file as it was: %s\n", r.Backup)
			}
			if r.Did == "installed" && r.Client != "" {
				say.Printf("%s takes it up when it is started again\n", r.Name)
			}
			continue
		}
		where := "into its MCP configuration"
		if r.File != "" {
			where = "into " + r.File
		}
		say.Printf("%s: put this %s\n", r.Name, where)
		p.Printf("%s\n", terminal.Block(strings.TrimRight(r.Snippet, "\n")))
	}
}
