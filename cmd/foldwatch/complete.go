package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// knownTypes are the types that foldwatch itself gives, or treats in a way of its own. A
// memory may have any.
var knownTypes = []string{"general", "decision", "convention", "spec", "code_pattern", "bug_fix", "fact", "episode", "codebase", "commit", fold.TypeConflict}

// completeTime bounds what a shell waits for a word. No daemon is started for one.
const completeTime = 300 * time.Millisecond

// idsCompleted is how many memories a shell is offered, those that changed last.
const idsCompleted = 50

// completeValues has a shell complete what flags and arguments take: the words of a
// choice, types, projects and memories.
func completeValues(app *App, root *cobra.Command) {
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		each := func(f *pflag.Flag) {
			words := []string(nil)
			switch v, isChoice := f.Value.(*choice); {
			case isChoice:
				words = v.allowed
			case f.Name == "type" && c.Parent() != nil && c.Parent().Name() == "link":
				for _, t := range []fold.LinkType{fold.LinkRelated, fold.LinkReferences, fold.LinkDependsOn, fold.LinkModifies} {
					words = append(words, string(t))
				}
			case f.Name == "type":
				words = knownTypes
			default:
				return
			}
			_ = c.RegisterFlagCompletionFunc(f.Name, fixed(words...)) // fails where it has one
		}
		c.Flags().VisitAll(each)
		if _, arg, _ := strings.Cut(c.Use, " "); c.ValidArgsFunction == nil && (strings.HasPrefix(arg, "ID") || strings.HasPrefix(arg, "[ID") || arg == "SRC DST") &&
			c.Parent() != nil && !slices.Contains([]string{"token", "jobs", "problems"}, c.Parent().Name()) && c.Name() != "jobs" && c.Name() != "problems" {
			c.ValidArgsFunction = completion(app, completeIDs)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	_ = root.RegisterFlagCompletionFunc("project", completion(app, completeProjects)) // the flag is defined by newRoot
}

// completing returns a client of the daemon that runs, nil where none does.
func completing(app *App, cmd *cobra.Command) (context.Context, context.CancelFunc, local.Client) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	c, err := app.daemon.Dialed(ctx)
	if err != nil {
		c = nil
	}
	return ctx, cancel, c
}

// completeProjects offers the slugs of the projects.
func completeProjects(app *App, cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel, c := completing(app, cmd)
	defer cancel()
	if c == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := c.Projects(ctx) // nothing is offered
	var out []cobra.Completion
	for _, p := range list.Items {
		out = append(out, cobra.CompletionWithDesc(p.Slug, terminal.Clean(p.Name)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeIDs offers the memories that changed last, with their titles.
func completeIDs(app *App, cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel, c := completing(app, cmd)
	defer cancel()
	if c == nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var out []cobra.Completion
	if slug, err := app.project(ctx, c); err == nil {
		list, _ := c.ListMemories(ctx, slug, wire.ListQuery{Limit: idsCompleted}) // nothing is offered
		for _, m := range list.Items {
			out = append(out, cobra.CompletionWithDesc(m.ID, terminal.Short(terminal.Clean(m.Title), 60)))
		}
	}
	return out, cobra.ShellCompDirectiveKeepOrder
}

// completion has a shell be offered what fn finds.
func completion(app *App, fn func(app *App, cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return fn(app, cmd, args, word)
	}
}
