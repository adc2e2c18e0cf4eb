package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/agents"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func setupCommand(app *App) *cobra.Command {
	var f setupFlags
	c := &cobra.Command{
		Use:     "setup [CLIENT…]",
		Aliases: []string{"connect"},
		Short:   "Connect a coding agent: write or print its MCP entry",
		Long: "Writes the entry into the client's own configuration, where nothing else changes\n" +
			"and --remove leaves the file as it was. With --all, into those of the clients that\n" +
			"are here. Without arguments it lists the clients.\n\n" +
			"--instructions is about the file in which agents read how to work in the checkout\n" +
			"you are in (AGENTS.md, CLAUDE.md, GEMINI.md, Cursor's rules): a short text there\n" +
			"tells them to ask the memory, and to write into it.",
		Example: "foldwatch setup claude-code\nfoldwatch setup --all\nfoldwatch setup cursor --print\nfoldwatch setup claude-code --remove\nfoldwatch setup --instructions claude-code",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.instructions {
				return setupInstructions(cmd.Context(), app, args, f)
			}
			return runSetup(app, args, f)
		},
	}
	c.Flags().BoolVar(&f.all, "all", false, "every client that is here")
	c.Flags().BoolVar(&f.check, "check", false, "only tell whether the entry is there; exit 1 if one is missing")
	c.Flags().BoolVar(&f.remove, "remove", false, "take the entry out again")
	c.Flags().BoolVar(&f.print, "print", false, "print the entry, write nothing")
	c.Flags().BoolVar(&f.instructions, "instructions", false, "the file of the checkout that tells agents how to work in it")
	return c
}

// notHere is what is told of a client that nobody seems to use on this machine.
const notHere = "not here"

func (f setupFlags) valid() error {
	if f.check && (f.remove || f.print) || f.remove && f.print {
		return usagef("foldwatch setup --help", "--check, --remove and --print exclude each other")
	}
	return nil
}

func runSetup(app *App, names []string, f setupFlags) error {
	list := len(names) == 0 && !f.all
	if err := f.valid(); err != nil {
		return err
	}
	if f.all && len(names) > 0 {
		return usagef("foldwatch setup --all", "give either clients or --all")
	}
	var clients []agents.Client
	for _, name := range names {
		c, err := agents.Find(name)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	if f.all || list {
		clients = agents.List()
	}
	opt, err := app.agentOptions()
	if err != nil {
		return err
	}
	if list && !f.print && !f.remove {
		f.check = true
	}
	var results []setupResult
	missing := 0
	var failed []error
	for _, c := range clients {
		if f.all && !f.check && !f.print && !f.remove && !c.Present(opt) {
			if c.Known() {
				results = append(results, setupResult{Client: c.ID, Name: c.Name, Did: notHere, File: c.File(opt)})
			}
			continue
		}
		r, err := setupOne(c, opt, f)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "setup ") { // it names the client
				err = fmt.Errorf("%s: %w", c.ID, err)
			}
			failed = append(failed, err)
			continue
		}
		if r.Did == string(agents.Absent) && f.all && !c.Present(opt) {
			r.Did = notHere
		}
		if f.check && r.Did != string(agents.Installed) && r.Did != notHere {
			missing++
		}
		results = append(results, r)
	}
	if err := app.Emit(results, func(p terminal.Printer) { printSetup(app, p, results, f.check) }); err != nil {
		return err
	}
	if list {
		app.Messages(false).Printf("to connect one: foldwatch setup CLIENT\n")
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if f.check && !list && missing > 0 {
		return fmt.Errorf("%s without our entry", terminal.Plural(missing, "client"))
	}
	return nil
}

// agentOptions tell clients how to call this very program.
func (app *App) agentOptions() (agents.Options, error) {
	exe, err := app.program()
	if err != nil {
		return agents.Options{}, fmt.Errorf("find this program: %w", err)
	}
	home := app.Getenv("HOME")
	if home == "" {
		if home, err = os.UserHomeDir(); err != nil {
			return agents.Options{}, fold.WithHint(fmt.Errorf("agents have their configuration in your home folder, and which that is, is not known: %w: %w", err, fold.ErrInvalid),
				"set HOME to it")
		}
	}
	opt := agents.Options{Home: home, Command: exe, Env: app.Getenv}
	if app.slug != "" {
		opt.Args = []string{"mcp", "--project", app.slug}
	}
	return opt, nil
}

func setupOne(c agents.Client, opt agents.Options, f setupFlags) (setupResult, error) {
	r := setupResult{Client: c.ID, Name: c.Name, File: c.File(opt)}
	switch {
	case f.check && r.File == "":
		r.Did = string(agents.Absent)
		return r, nil
	case f.check:
		st, err := agents.Check(c.ID, opt)
		r.Did = string(st)
		return r, err
	case f.print || !c.Known() && !f.remove:
		path, snippet, err := agents.Print(c.ID, opt)
		r.Did, r.File, r.Snippet = "printed", path, snippet
		return r, err
	case f.remove && r.File == "":
		r.Did = "unchanged"
		return r, nil
	}
	act, did := agents.Install, "installed"
	if f.remove {
		act, did = agents.Remove, "removed"
	}
	res, err := act(c.ID, opt)
	r.Did, r.File, r.Backup = did, res.File, res.Backup
	if !res.Changed {
		r.Did = "unchanged"
	}
	return r, err
}
