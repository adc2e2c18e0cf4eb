package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/foldwatch/foldwatch/api/agents"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// setupInstructions is setup for the files in which agents read how to work in a
// checkout.
func setupInstructions(ctx context.Context, app *App, names []string, f setupFlags) error {
	if err := f.valid(); err != nil {
		return err
	}
	if f.all {
		return usagef("foldwatch setup --instructions claude-code", "--instructions writes into the checkout, and is asked for by name: give the clients, or none for AGENTS.md")
	}
	if len(names) == 0 {
		names = []string{""}
	}
	root, err := checkoutRoot(ctx, app)
	if err != nil {
		return err
	}
	var files []agents.Instruction
	for _, name := range names {
		if name != "" {
			if _, err := agents.Find(name); err != nil {
				return err
			}
		}
		in := agents.InstructionOf(name)
		if !slices.ContainsFunc(files, func(have agents.Instruction) bool { return have.File == in.File }) {
			files = append(files, in)
		}
	}
	var results []setupResult
	missing := 0
	for _, in := range files {
		r := setupResult{File: in.File}
		if f.print {
			r.Did, r.Snippet, r.Name = "printed", agents.InstructionText, "instructions"
			results = append(results, r)
			continue
		}
		if err := instruct(root, in, f, &r); err != nil {
			return err
		}
		if f.check && r.Did != string(agents.Installed) {
			missing++
		}
		results = append(results, r)
	}
	if err := app.Emit(results, func(p terminal.Printer) { printSetup(app, p, results, f.check) }); err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("%s without our text", terminal.Plural(missing, "file"))
	}
	return nil
}

func instruct(root string, in agents.Instruction, f setupFlags, r *setupResult) error {
	if f.check {
		st, err := agents.CheckInstruction(root, in)
		r.Did = string(st)
		return err
	}
	act, did := agents.WriteInstruction, "installed"
	if f.remove {
		act, did = agents.RemoveInstruction, "removed"
	}
	res, err := act(root, in)
	if r.Did = did; !res.Changed {
		r.Did = "unchanged"
	}
	return err
}

// checkoutRoot returns the root of the checkout that contains the working
// directory.
func checkoutRoot(ctx context.Context, app *App) (string, error) {
	dir, err := app.workDir()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	l, err := usergit.Locate(ctx, dir)
	if err != nil {
		return "", err
	}
	return l.WorkTree, nil
}
