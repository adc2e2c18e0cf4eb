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
	"slices"
	"syscall"
	"time"

	"github.com/charmbracelet/fang"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/spf13/cobra"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the whole program. It returns the exit code: see exitCode.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return newApp(stdin, stdout, stderr).run(ctx, args)
}

// run executes one command line.
func (app *App) run(ctx context.Context, args []string) int {
	root := newRoot(app)
	root.SetArgs(args)
	root.SetIn(app.Stdin)
	root.SetOut(app.Stdout)
	root.SetErr(app.Stderr)
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
		app.report(err)
	}
	return exitCode(err)
}

// newRoot builds the command tree. Every command takes e, so that a test can
// run it against a daemon of its own.
func newRoot(app *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "foldwatch",
		Short: "A memory for your project and its agents, in git",
		Long: "foldwatch indexes the source of your git checkouts, keeps what was learned as\n" +
			"markdown under fold/, and answers you and your coding agents from both.\n\n" +
			"Start with: foldwatch up\n\n" +
			"The manual, by foldwatch help TOPIC: " + topicNames() + ".",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	pf := root.PersistentFlags()
	pf.StringVarP(&app.slug, "project", "p", "", "project SLUG (default: the checkout you are in)")
	pf.BoolVar(&app.JSON, "json", false, "print data as JSON")
	pf.BoolVarP(&app.Quiet, "quiet", "q", false, "no messages, no progress")
	pf.BoolVar(&app.NoInput, "no-input", false, "never ask")
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
	group("start", "Start", upCommand(app), serveCommand(app), addCommand(app), removeCommand(app), projectsCommand(app), setupCommand(app), serviceCommand(app))
	group("ask", "Ask", searchCommand(app), showCommand(app), contextCommand(app), sourceCommand(app), statusCommand(app))
	group("write", "Write", memoryCommand(app), linkCommand(app), proposalsCommand(app), decayCommand(app))
	group("history", "History", syncCommand(app), logCommand(app), diffCommand(app), restoreCommand(app), commitCommand(app),
		trackCommand(app), untrackCommand(app), mergeDriverCommand(app), publishCommand(app))
	group("care", "Care", indexCommand(app), jobsCommand(app), eventsCommand(app), rebuildCommand(app), pauseCommand(app), resumeCommand(app),
		problemsCommand(app), doctorCommand(app), bugreportCommand(app), evalCommand(app), configCommand(app), versionCommand(app))
	group("models", "Models", modelCommand(app), providerCommand(app))
	group("agents", "Agents and other programs", mcpCommand(app), primeCommand(app), hookCommand(app), tokenCommand(app))
	for _, c := range serviceCommand(app).Commands() {
		if slices.Contains([]string{"start", "stop", "restart", "logs"}, c.Name()) { // of every day, without "service" too
			c.Hidden = true
			root.AddCommand(c)
		}
	}
	root.AddCommand(chunkWorkerCommand(app), assetsCommand(), manCommand(app))
	root.AddCommand(topicCommands(app)...)
	refuseShells(root)
	completeValues(app, root)
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
			return usagef("foldwatch completion bash", "there is no completion for %q; there is: %s", args[0], terminal.Sorted(shells))
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *App {
	app := &App{
		Streams: terminal.NewStreams(stdin, stdout, stderr),
		workDir: os.Getwd, program: os.Executable, now: time.Now, wait: wait,
		timeouts: timeouts{drift: time.Minute, git: 5 * time.Second}, // a large index is compared in some seconds
		free:     freeSpace, parsers: chunker.Engine, serve: serve,
	}
	app.config = &local.Config{Environ: os.Environ(), Getenv: func(name string) string { return app.Getenv(name) }}
	app.daemon = &local.Daemon{
		Streams: app.Streams, Config: app.config, Service: daemonService{app}, Version: fullVersion(), Proc: "/proc",
		Timeout: 10 * time.Second, AnswerWithin: 30 * time.Second, // a loaded machine answers in seconds
	}
	app.daemon.Dial = app.daemon.DialSocket
	return app
}
