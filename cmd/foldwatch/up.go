package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// idleExit is how long a daemon that nobody asked for by name stays without a
// client.
const idleExit = 30 * time.Minute

func upCommand(app *App) *cobra.Command {
	var in wire.ProjectCreate
	var detach, once bool
	c := &cobra.Command{
		Use:        "up [PATH]",
		SuggestFor: []string{"init", "watch", "run", "daemon"},
		Short:      "Start here: index a checkout and keep its memory",
		Long: "Registers the checkout at PATH (default: this folder) if need be, indexes it, and\n" +
			"serves until Ctrl-C. With a daemon running it registers, indexes and returns.",
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			abs, err := app.absolute(path)
			if err != nil {
				return err
			}
			if err := needRepository(cmd.Context(), app, abs, "up"); err != nil {
				return err
			}
			in.Path = abs
			if in.Remote, err = remoteURL(app, in.Remote); err != nil {
				return err
			}
			return runUp(cmd.Context(), app, in, detach, once)
		},
	}
	c.Flags().BoolVarP(&detach, "detach", "d", false, "leave the daemon running in the background")
	c.Flags().BoolVar(&once, "once", false, "exit when everything is indexed")
	registrationFlags(c, &in)
	return c
}

// runUp registers and indexes the checkout with the daemon that runs, with one
// started in the background, or with one that runs here until ctx ends.
func runUp(ctx context.Context, app *App, in wire.ProjectCreate, detach, once bool) error {
	c, err := app.daemon.Running(ctx)
	if err != nil {
		return err
	}
	if _, err := app.config.Settings(); err != nil && c == nil {
		return err
	}
	if c == nil && (detach || app.asService()) {
		if c, err = app.daemon.Spawn(ctx); err != nil {
			return err
		}
	}
	if c != nil {
		app.daemon.TellConfig()
		app.daemon.TellNotices(ctx, c)
		err := bringUp(ctx, app, c, in)
		if errors.Is(err, wire.ErrNoDaemon) {
			return fold.WithHint(fmt.Errorf("%w: the daemon ended before it was ready", wire.ErrNoDaemon),
				"foldwatch up goes on where it was; why it ended: foldwatch doctor")
		}
		if err == nil && !detach && !once {
			app.Messages(false).Printf("\nwatched by the daemon that runs already; to stop it watching: foldwatch pause\n")
		}
		return err
	}

	// Serve here. The daemon stops when the work below fails or was all that
	// was asked for; Ctrl-C ends ctx, and with it both.
	serveCtx, stop := context.WithCancel(ctx)
	defer stop()
	g, workCtx := errgroup.WithContext(serveCtx)
	ready := make(chan struct{})
	g.Go(func() error {
		defer stop()
		return app.serve(serveCtx, app, serveOptions{OnReady: func(string) { close(ready) }, LogFile: true})
	})
	g.Go(func() error {
		select {
		case <-ready:
		case <-workCtx.Done():
			return nil // why, is the other's to say
		}
		err := workHere(workCtx, app, in, once)
		if err != nil || once {
			stop()
		}
		return err
	})
	err = g.Wait()
	if err == nil && ctx.Err() != nil && !once {
		app.Messages(false).Printf("stopped\n")
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	return err
}

// workHere is what `up` does once the daemon inside this process answers.
func workHere(ctx context.Context, app *App, in wire.ProjectCreate, once bool) error {
	c, err := app.daemon.Running(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		return fmt.Errorf("the daemon of this process does not answer: %w", fold.ErrUnavailable)
	}
	if err := bringUp(ctx, app, c, in); err != nil {
		return err
	}
	if !once {
		app.Messages(false).Printf("\nwatching; Ctrl-C stops\n")
	}
	return nil
}

// upReply is what `up --json` prints.
type upReply struct {
	Ready   bool               `json:"ready"`
	Project string             `json:"project"`
	Created bool               `json:"created"`
	Socket  string             `json:"socket"`
	Status  wire.ProjectStatus `json:"status"`
	TookMS  int64              `json:"took_ms"`
	Try     []string           `json:"try"`
	Connect string             `json:"connect"`

	at string // " -p SLUG" where it is typed from elsewhere, else ""
}

// bringUp registers the checkout, follows its index, and prints `ready`.
func bringUp(ctx context.Context, app *App, c local.Client, in wire.ProjectCreate) error {
	began := app.now()
	added, err := c.AddProject(ctx, in)
	if err != nil {
		return err
	}
	for _, n := range added.Notices {
		app.Messages(false).Printf("foldwatch: %s\n", n)
	}
	if on := added.Repository; on != nil && !app.JSON {
		printSyncOn(app, app.Messages(true), *on)
	}
	b := app.NewBar(app.now)
	if added.JobID != "" {
		if err := follow(ctx, c, added.JobID, b); err != nil {
			return err
		}
	}
	st, err := settled(ctx, c, added, b)
	if err != nil {
		return err
	}
	daemon, err := c.Status(ctx)
	if err != nil {
		return err
	}
	at := "" // where the commands to try are typed from
	if wd, err := app.workDir(); err == nil {
		if rel, err := filepath.Rel(st.Path, wd); err != nil || !filepath.IsLocal(rel) {
			at = " -p " + added.Project.Slug
		}
	}
	// Told already, above the progress of the index.
	st.Notices = slices.DeleteFunc(st.Notices, func(n string) bool { return slices.Contains(added.Notices, n) })
	r := upReply{
		Ready: st.State == "ready", Project: added.Project.Slug, Created: added.Created,
		Socket: daemon.Socket, Status: st, TookMS: app.now().Sub(began).Milliseconds(),
		Try:     []string{`foldwatch search "where are errors handled"` + at, `foldwatch memory add "what you want remembered"` + at},
		Connect: "foldwatch setup claude-code", at: at,
	}
	if st.State == "failed" || st.State == "missing" {
		return fold.WithHint(fmt.Errorf("%s is %s: %s", st.Slug, st.State, st.Reason), st.Hint)
	}
	return app.Emit(r, func(p terminal.Printer) { printUp(p, r) })
}

func printUp(p terminal.Printer, r upReply) {
	word := "ready"
	if !r.Ready {
		word = r.Status.State
	}
	f := r.Status.Files
	p.Printf("%s  %s: %s, %s, %s in %.1f s\n", terminal.Bold(word), r.Project,
		terminal.Plural(f.Indexed, "file"), terminal.Plural(r.Status.Memories, "memory"), terminal.Plural(r.Status.Chunks, "chunk"), float64(r.TookMS)/1000)
	if r.Status.Reason != "" {
		p.Printf("  %s\n", r.Status.Reason)
		if r.Status.Hint != "" {
			p.Printf("  mend: %s\n", r.Status.Hint)
		}
	}
	if n := max(f.Failed+f.Skipped, r.Status.ProblemCount); n > 0 {
		p.Printf("  %s not indexed, or not whole (%s); why: foldwatch problems%s\n", terminal.Plural(n, "file"), kindsOf(f, n), r.at)
	}
	if n := r.Status.VectorsDue; n > 0 {
		p.Printf("  searches by words find all of it; %s follow while foldwatch runs\n", "the vectors of "+terminal.Plural(n, "memory"))
	}
	for _, n := range r.Status.Notices {
		p.Printf("  %s\n", n)
	}
	p.Printf("socket  %s\n", r.Socket)
	p.Printf("try     %s\n", r.Try[0])
	for _, t := range r.Try[1:] {
		p.Printf("        %s\n", t)
	}
	p.Printf("agent   %s   (others: foldwatch setup --all; any: foldwatch mcp)\n", r.Connect)
}

// kindsOf tells n files that are set aside apart: what neither failed nor is
// skipped is in the index with a part, as text, or is no source file.
func kindsOf(f wire.FileCounts, n int) string {
	parts := []string{fmt.Sprintf("%d failed", f.Failed), fmt.Sprintf("%d skipped", f.Skipped)}
	if rest := n - f.Failed - f.Skipped; rest > 0 {
		parts = append(parts, fmt.Sprintf("%d in part", rest))
	}
	return strings.Join(parts, ", ")
}

func serveCommand(app *App) *cobra.Command {
	var auto, logFile bool
	var by string
	c := &cobra.Command{
		Use:        "serve",
		SuggestFor: []string{"server"},
		Short:      "Run the daemon in the foreground for all registered checkouts",
		Args:       between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			opt := serveOptions{LogFile: logFile, OnReady: func(socket string) {
				app.Messages(false).Printf("ready  socket %s\n", socket)
			}}
			if auto {
				opt.IdleExit = idleExit
			}
			opt.LogFile = opt.LogFile || by != ""
			run := func(ctx context.Context) error {
				err := app.serve(ctx, app, opt)
				if ctx.Err() != nil && errors.Is(err, context.Canceled) {
					err = nil // Ctrl-C is how it ends
				}
				return err
			}
			if by == "scm" {
				return unit.RunSCM(ctx, run, final)
			}
			err := run(ctx)
			if by != "" && final(err) {
				app.report(err) // these systems know no exit code to leave alone
				err = nil
			}
			return err
		},
	}
	c.Flags().StringVar(&by, "by", "", "what starts it: launchd, task or scm")
	c.Flags().BoolVar(&auto, "auto", false, "end after 30 minutes without a client")
	c.Flags().BoolVar(&logFile, "log-file", false, "log to daemon.log in the state folder")
	for _, ours := range []string{"auto", "log-file", "by"} { // for daemons that no person starts
		if err := c.Flags().MarkHidden(ours); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return c
}
