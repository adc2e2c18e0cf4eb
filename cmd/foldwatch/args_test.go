package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOtherNames: no two commands of a parent have a name in common, and what is hinted
// at for a word is not shadowed by a command of that name.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		var names, hints []string
		for _, sub := range c.Commands() {
			names = append(append(names, sub.Name()), sub.Aliases...)
			hints = append(hints, sub.SuggestFor...)
			walk(sub)
		}
		slices.Sort(names)
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%s: a name is used twice: %v", c.CommandPath(), names)
		}
		for _, h := range hints {
			if slices.Contains(names, h) {
				t.Errorf("%s %s is a command, and hinted at another", c.CommandPath(), h)
			}
		}
	}
	walk(newRoot(newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})))
}

// TestHintForAnUnknownCommand names the command that is meant.
func TestHintForAnUnknownCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"serach":   "foldwatch search",
		"list":     "foldwatch memory",
		"init":     "foldwatch up",
		"undo":     "foldwatch restore",
		"link lst": "foldwatch link list",
		"zzzzzz":   "foldwatch --help",
	} {
		var out, errs bytes.Buffer
		app := newApp(strings.NewReader(""), &out, &errs)
		if code := app.run(t.Context(), strings.Fields(line)); code != exitUsage {
			t.Errorf("%s: exit code %d", line, code)
		}
		if !strings.Contains(errs.String(), "\nhint: "+want+"\n") {
			t.Errorf("%s: %q, want the hint %q", line, errs.String(), want)
		}
	}
}
