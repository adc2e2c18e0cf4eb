// Command foldwatch keeps the memory of a project: it indexes the source of git
// checkouts, keeps memories as markdown under fold/, and answers people and
// coding agents from both.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/charmbracelet/fang"
	"github.com/spf13/cobra"
)

// Set by the linker: -X main.setVersion=… -X main.setCommit=… -X main.setDate=….
var setVersion, setCommit, setDate string

// What this program calls itself. Built without the linker's flags it is what go
// install asked for, or says that it is nothing that was released.
var version, commit = identity(setVersion, setCommit, debug.ReadBuildInfo)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program. It returns the exit code: see exitCode.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return newEnvironment(stdin, stdout, stderr).run(ctx, args)
}

// run executes one command line.
func (e *environment) run(ctx context.Context, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := fang.Execute(ctx, root,
		fang.WithVersion(version),
		fang.WithCommit(commit),
		fang.WithoutManpage(), // its page has the date of today
		fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}), // reported below, with its hint
	)
	if errors.Is(err, errShown) {
		return exitCode(err)
	}
	if err != nil {
		e.report(err)
	}
	return exitCode(err)
}

// newRoot builds the command tree. Every command takes e, so that a test can
// run it against a daemon of its own.
func newRoot(e *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "foldwatch",
		Short: "A memory for your project and its agents, in git",
		Long: "foldwatch indexes the source of your git checkouts, keeps what was learned as\n" +
			"markdown under fold/, and answers you and your coding agents from both.\n\n" +
			"Start with: foldwatch up",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	pf := root.PersistentFlags()
	pf.StringVarP(&e.flags.project, "project", "p", "", "project SLUG (default: the checkout you are in)")
	pf.BoolVar(&e.flags.json, "json", false, "print data as JSON")
	pf.BoolVarP(&e.flags.quiet, "quiet", "q", false, "no messages, no progress")
	pf.BoolVar(&e.flags.noInput, "no-input", false, "never ask")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(err, cmd.CommandPath()+" --help")
	})

	group := func(id, title string, cmds ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("start", "Start", upCommand(e), serveCommand(e), addCommand(e), removeCommand(e), projectsCommand(e), setupCommand(e), serviceCommand(e))
	group("ask", "Ask", searchCommand(e), showCommand(e), contextCommand(e), sourceCommand(e), statusCommand(e))
	group("write", "Write", memoryCommand(e), linkCommand(e), proposalsCommand(e), decayCommand(e))
	group("history", "History", syncCommand(e), logCommand(e), diffCommand(e), restoreCommand(e), commitCommand(e),
		trackCommand(e), untrackCommand(e), mergeDriverCommand(e), publishCommand(e))
	group("care", "Care", indexCommand(e), jobsCommand(e), eventsCommand(e), rebuildCommand(e), pauseCommand(e), resumeCommand(e),
		quarantineCommand(e), doctorCommand(e), bugreportCommand(e), evalCommand(e), configCommand(e), versionCommand(e))
	group("models", "Models", modelCommand(e), allowCommand(e), denyCommand(e), auditCommand(e))
	group("agents", "Agents and other programs", mcpCommand(e), primeCommand(e), hookCommand(e), tokenCommand(e))
	root.AddCommand(chunkWorkerCommand(e), assetsCommand(), manCommand(e))
	refuseShells(root)
	completeValues(e, root)
	return root
}

// refuseShells has cobra's completion command refuse a shell that it does not know,
// instead of printing help as if nothing was asked.
func refuseShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var shells []string
			for _, s := range cmd.Commands() {
				shells = append(shells, s.Name())
			}
			return usagef("foldwatch completion bash", "there is no completion for %q; there is: %s", args[0], sortedWords(shells))
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// noSuchCommand rejects arguments of a command that only has subcommands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help"
	cmd.SuggestionsMinimumDistance = 2
	if means := guessed(cmd.CommandPath(), args); means != "" {
		hint = means
	} else if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = cmd.CommandPath() + " " + near[0]
	}
	return usagef(hint, "unknown command %q", args[0])
}

// parent returns a command that only holds others.
func parent(use, short string, cmds ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(cmds...)
	return c
}

// between accepts lo to hi arguments; hi < 0 is no upper bound.
func between(lo, hi int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= lo && (hi < 0 || len(args) <= hi) {
			return nil
		}
		return usagef(cmd.CommandPath()+" --help", "usage: foldwatch %s", trimProgram(cmd.UseLine()))
	}
}

// trimProgram drops the program's name from a usage line.
func trimProgram(line string) string { return strings.TrimPrefix(line, "foldwatch ") }
