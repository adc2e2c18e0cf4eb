package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// idleExit is how long a daemon that nobody asked for by name stays without a
// client.
const idleExit = 30 * time.Minute

func upCommand(e *environment) *cobra.Command {
	var in wire.ProjectCreate
	var detach, once bool
	c := &cobra.Command{
		Use:   "up [PATH]",
		Short: "Start here: index a checkout and keep its memory",
		Long: "Registers the checkout at PATH (default: this folder) if need be, indexes it, and\n" +
			"serves until Ctrl-C. With a daemon running it registers, indexes and returns.",
		Args: between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			abs, err := e.absolute(path)
			if err != nil {
				return err
			}
			if err := e.needRepository(cmd.Context(), abs, "up"); err != nil {
				return err
			}
			in.Path = abs
			if in.Remote, err = e.remote(in.Remote); err != nil {
				return err
			}
			return e.up(cmd.Context(), in, detach, once)
		},
	}
	c.Flags().BoolVarP(&detach, "detach", "d", false, "leave the daemon running in the background")
	c.Flags().BoolVar(&once, "once", false, "exit when everything is indexed")
	registrationFlags(c, &in)
	return c
}

// up registers and indexes the checkout with the daemon that runs, with one
// started in the background, or with one that runs here until ctx ends.
func (e *environment) up(ctx context.Context, in wire.ProjectCreate, detach, once bool) error {
	c, err := e.running(ctx)
	if err != nil {
		return err
	}
	if _, err := e.settings(); err != nil && c == nil {
		return err
	}
	if c == nil && (detach || e.asService()) {
		if c, err = e.spawn(ctx); err != nil {
			return err
		}
	}
	if c != nil {
		e.tellSlips()
		e.tellNotices(ctx, c)
		err := e.bringUp(ctx, c, in)
		if errors.Is(err, wire.ErrNoDaemon) {
			return fold.WithHint(fmt.Errorf("%w: the daemon ended before it was ready", wire.ErrNoDaemon),
				"foldwatch up goes on where it was; why it ended: foldwatch doctor")
		}
		if err == nil && !detach && !once {
			e.messages(false).printf("\nwatched by the daemon that runs already; to stop it watching: foldwatch pause\n")
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
		return e.serve(serveCtx, e, serveOptions{OnReady: func(string) { close(ready) }, LogFile: true})
	})
	g.Go(func() error {
		select {
		case <-ready:
		case <-workCtx.Done():
			return nil // why, is the other's to say
		}
		err := e.workHere(workCtx, in, once)
		if err != nil || once {
			stop()
		}
		return err
	})
	err = g.Wait()
	if err == nil && ctx.Err() != nil && !once {
		e.messages(false).printf("stopped\n")
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	return err
}

// workHere is what `up` does once the daemon inside this process answers.
func (e *environment) workHere(ctx context.Context, in wire.ProjectCreate, once bool) error {
	c, err := e.running(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		return fmt.Errorf("the daemon of this process does not answer: %w", fold.ErrUnavailable)
	}
	if err := e.bringUp(ctx, c, in); err != nil {
		return err
	}
	if !once {
		e.messages(false).printf("\nwatching; Ctrl-C stops\n")
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
func (e *environment) bringUp(ctx context.Context, c daemonClient, in wire.ProjectCreate) error {
	began := e.now()
	added, err := c.AddProject(ctx, in)
	if err != nil {
		return err
	}
	for _, n := range added.Notices {
		e.messages(false).printf("foldwatch: %s\n", n)
	}
	if on := added.Repository; on != nil && !e.flags.json {
		e.printSyncOn(e.messages(true), *on)
	}
	b := e.newBar()
	if added.JobID != "" {
		if err := e.follow(ctx, c, added.JobID, b); err != nil {
			return err
		}
	}
	st, err := e.settled(ctx, c, added, b)
	if err != nil {
		return err
	}
	daemon, err := c.Status(ctx)
	if err != nil {
		return err
	}
	at := "" // where the commands to try are typed from
	if wd, err := e.workDir(); err == nil {
		if rel, err := filepath.Rel(st.Path, wd); err != nil || !filepath.IsLocal(rel) {
			at = " -p " + added.Project.Slug
		}
	}
	// Told already, above the progress of the index.
	st.Notices = slices.DeleteFunc(st.Notices, func(n string) bool { return slices.Contains(added.Notices, n) })
	r := upReply{
		Ready: st.State == "ready", Project: added.Project.Slug, Created: added.Created,
		Socket: daemon.Socket, Status: st, TookMS: e.now().Sub(began).Milliseconds(),
		Try:     []string{`foldwatch search "where are errors handled"` + at, `foldwatch memory add "what you want remembered"` + at},
		Connect: "foldwatch setup claude-code", at: at,
	}
	if st.State == "failed" || st.State == "missing" {
		return fold.WithHint(fmt.Errorf("%s is %s: %s", st.Slug, st.State, st.Reason), st.Hint)
	}
	return e.emit(r, func(p printer) { printUp(p, r) })
}

func printUp(p printer, r upReply) {
	word := "ready"
	if !r.Ready {
		word = r.Status.State
	}
	f := r.Status.Files
	p.printf("%s  %s: %s, %s, %s in %.1f s\n", bold(word), r.Project,
		plural(f.Indexed, "file"), plural(r.Status.Memories, "memory"), plural(r.Status.Chunks, "chunk"), float64(r.TookMS)/1000)
	if r.Status.Reason != "" {
		p.printf("  %s\n", r.Status.Reason)
		if r.Status.Hint != "" {
			p.printf("  mend: %s\n", r.Status.Hint)
		}
	}
	if n := max(f.Failed+f.Skipped, r.Status.ProblemCount); n > 0 {
		p.printf("  %s not indexed, or not whole (%s); why: foldwatch quarantine%s\n", plural(n, "file"), kindsOf(f, n), r.at)
	}
	if n := r.Status.VectorsDue; n > 0 {
		p.printf("  searches by words find all of it; %s follow while foldwatch runs\n", "the vectors of "+plural(n, "memory"))
	}
	for _, n := range r.Status.Notices {
		p.printf("  %s\n", n)
	}
	p.printf("socket  %s\n", r.Socket)
	p.printf("try     %s\n", r.Try[0])
	for _, t := range r.Try[1:] {
		p.printf("        %s\n", t)
	}
	p.printf("agent   %s   (others: foldwatch setup --all; any: foldwatch mcp)\n", r.Connect)
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

// needRepository checks that path lies in a git repository. On a terminal it
// offers to make one.
func (e *environment) needRepository(ctx context.Context, path, command string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return unreadable(path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, fold.ErrNotFound)
	case !info.IsDir():
		return usagef("foldwatch "+command+" "+quoteArg(filepath.Dir(path)), "%s is not a folder", path)
	}
	if inRepository(path) {
		return nil
	}
	if _, err := os.ReadDir(path); errors.Is(err, fs.ErrPermission) {
		return unreadable(path)
	}
	makeOne := "git init " + quoteArg(path)
	refusal := usagef(makeOne+" && foldwatch "+command+" "+quoteArg(path), "%s is not a git repository", path)
	if !e.interactive() {
		return refusal
	}
	if !e.ask(path + " is not a git repository. Run `" + makeOne + "`?") {
		return refusal
	}
	out, err := exec.CommandContext(ctx, "git", "init", "--quiet", "--", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s: %w", makeOne, strings.TrimSpace(string(out)), err)
	}
	e.messages(false).printf("made an empty git repository in %s\n", path)
	return nil
}

// unreadable is why nobody can say what a folder is.
func unreadable(path string) error {
	return fold.WithHint(fmt.Errorf("%s cannot be read by you: %w", path, fold.ErrForbidden),
		"clone it as yourself, or have its owner let you read it")
}

// inRepository reports whether path or a folder above it is a work tree or a
// bare repository. What the daemon makes of it, it decides by asking git.
func inRepository(path string) bool {
	for {
		if exists(filepath.Join(path, ".git")) {
			return true
		}
		if exists(filepath.Join(path, "HEAD")) && exists(filepath.Join(path, "objects")) && exists(filepath.Join(path, "refs")) {
			return true
		}
		up := filepath.Dir(path)
		if up == path {
			return false
		}
		path = up
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// quoteArg quotes s for a shell where it must be.
func quoteArg(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@\\", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func serveCommand(e *environment) *cobra.Command {
	var auto, logFile bool
	var by string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon in the foreground for all registered checkouts",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			opt := serveOptions{LogFile: logFile, OnReady: func(socket string) {
				e.messages(false).printf("ready  socket %s\n", socket)
			}}
			if auto {
				opt.IdleExit = idleExit
			}
			opt.LogFile = opt.LogFile || by != ""
			run := func(ctx context.Context) error {
				err := e.serve(ctx, e, opt)
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
				e.report(err) // these systems know no exit code to leave alone
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
