package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func proposalsCommand(app *App) *cobra.Command {
	list := proposalsListCommand(app)
	c := &cobra.Command{
		Use:   "proposals",
		Short: "Print what is proposed for the memories, and decide about it",
		Long: "Memories that say nearly the same are proposed to be merged, by their words alone, with no\n" +
			"model. Nothing changes before you accept it, and what you reject does not come again.\n" +
			"In the configuration, evolve = \"off\" makes no proposals, and \"auto\" accepts each, as\n" +
			"a commit that foldwatch restore --commit takes back.",
		Args: list.Args,
		RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list, proposalsShowCommand(app), proposalsAcceptCommand(app), proposalsRejectCommand(app))
	return c
}

func proposalsListCommand(app *App) *cobra.Command {
	var q wire.ProposalQuery
	var diffs bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Print what waits for a decision",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noSuchCommand(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return app.inProject(ctx, func(c local.Client, slug string) error {
				l, err := c.Proposals(ctx, slug, q)
				if err != nil {
					return err
				}
				for i := range l.Items {
					if diffs && l.Items[i].State == "open" {
						if l.Items[i], err = c.Proposal(ctx, slug, l.Items[i].ID); err != nil {
							return err
						}
					}
				}
				return app.Emit(l, func(p terminal.Printer) {
					for i, pr := range l.Items {
						if i > 0 {
							p.Printf("\n")
						}
						printProposal(p, pr, time.Now())
					}
					tellProposals(app, l)
				})
			})
		},
	}
	f := c.Flags()
	f.StringVar(&q.State, "state", "open", "open, accepted, rejected or all")
	f.IntVar(&q.Limit, "limit", 0, "at most N (default 50)")
	f.StringVar(&q.Cursor, "cursor", "", "go on behind a page, by its next_cursor")
	f.BoolVarP(&diffs, "verbose", "v", false, "also what accepting each would change")
	return c
}

// tellProposals says what can be done about those of a list.
func tellProposals(app *App, l wire.ProposalList) {
	say := app.Messages(false)
	if len(l.Items) == 0 {
		say.Printf("nothing is proposed\n")
		return
	}
	if l.NextCursor != "" {
		say.Printf("more: foldwatch proposals list --cursor %s\n", l.NextCursor)
	}
	for _, p := range l.Items {
		if p.State == "open" && !p.Stale {
			id := p.ID[:min(8, len(p.ID))]
			say.Printf("what it changes: foldwatch proposals show %s; to decide: foldwatch proposals accept %s, or reject\n", id, id)
			return
		}
	}
}

// printProposal prints one proposal: what, which memories, why.
func printProposal(p terminal.Printer, pr wire.Proposal, now time.Time) {
	state := ""
	switch {
	case pr.Stale:
		state = "  stale: a memory changed since"
	case pr.DecidedAt != nil:
		state = "  " + pr.State + " " + terminal.Ago(*pr.DecidedAt, now)
		if pr.DecidedBy != "" {
			state += " by " + pr.DecidedBy
		}
	}
	p.Printf("%s  %s  %.0f %%%s\n", pr.ID, terminal.Bold(pr.Kind), 100*pr.Confidence, state)
	roles := map[string]string{"changed": "changes", "superseded": "merges in", "target": "links to"}
	if pr.Kind == "merge" {
		roles["changed"] = "keeps"
	}
	for _, m := range pr.Memories {
		title := m.Title
		if title == "" {
			title = "(gone)"
		}
		p.Printf("    %-9s %s  %s\n", roles[m.Role], m.ID, terminal.Short(title, 80))
	}
	p.Printf("    %-9s %s\n", "why", pr.Reason)
	if pr.Evidence != "" {
		p.Printf("    %-9s %s\n", "evidence", pr.Evidence)
	}
	if pr.State == "open" && !pr.Stale {
		p.Printf("    %-9s %s\n", "accepting", pr.Does)
	}
	if pr.Diff != "" {
		p.Printf("%s\n", terminal.Block(strings.TrimRight(pr.Diff, "\n")))
	}
}

func proposalsShowCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Print a proposal, and what accepting it would change",
		Args:              between(1, 1),
		ValidArgsFunction: completion(app, proposalIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				pr, err := c.Proposal(cmd.Context(), slug, args[0])
				if err != nil {
					return err
				}
				return app.Emit(pr, func(p terminal.Printer) { printProposal(p, pr, time.Now()) })
			})
		},
	}
}

func proposalsAcceptCommand(app *App) *cobra.Command {
	return proposalsDecideCommand(app, "accept", "Do what is proposed, each as one commit", func(ctx context.Context, c local.Client, slug, id string) error {
		r, err := c.AcceptProposal(ctx, slug, id)
		if err != nil {
			return err
		}
		did := "changed"
		if r.Superseded != "" {
			did = "merged"
		}
		if err := emitAccepted(app, r, did); err != nil || r.Rev == "" {
			return err
		}
		app.Messages(false).Printf("to take it back: foldwatch restore --commit %.12s\n", r.Rev)
		return nil
	})
}

// emitAccepted prints what was accepted, as a write is printed.
func emitAccepted(app *App, r wire.ProposalAccepted, did string) error {
	if app.JSON {
		return app.Emit(r, nil)
	}
	return emitWrite(app, r.WriteReply, did)
}

func proposalsRejectCommand(app *App) *cobra.Command {
	return proposalsDecideCommand(app, "reject", "Remember that something is not wanted: it is not proposed again", func(ctx context.Context, c local.Client, slug, id string) error {
		r, err := c.RejectProposal(ctx, slug, id)
		if err != nil {
			return err
		}
		return app.Emit(r, func(p terminal.Printer) { p.Printf("%s  rejected\n", r.ID) })
	})
}

// proposalsDecideCommand decides about the proposals that are named, or about all
// that wait. One that cannot be decided does not keep the others from it; the exit
// code is that of the first.
func proposalsDecideCommand(app *App, use, says string, decide func(ctx context.Context, c local.Client, slug, id string) error) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:               use + " ID…|--all",
		Short:             says,
		Args:              between(0, -1),
		ValidArgsFunction: completion(app, proposalIDs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usagef("foldwatch proposals "+use+" --help", "give either ids of proposals or --all")
			}
			ctx := cmd.Context()
			return app.inProject(ctx, func(c local.Client, slug string) error {
				if all {
					var err error
					if args, err = openProposals(ctx, c, slug); err != nil {
						return err
					}
					if len(args) == 0 {
						app.Messages(false).Printf("nothing is proposed\n")
					}
				}
				var first error
				for _, id := range args {
					err := decide(ctx, c, slug, id)
					switch {
					case err == nil:
					case all && (errors.Is(err, fold.ErrConflict) || errors.Is(err, fold.ErrNotFound)):
						// One before it changed a memory that it is about.
						app.Messages(false).Printf("%s is left: %s\n", id, err)
					case len(args) == 1 || ctx.Err() != nil:
						return err
					default:
						app.report(err)
						if first == nil {
							first = err
						}
					}
				}
				if first != nil {
					return fmt.Errorf("%w: %w", errShown, first)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all that wait for a decision")
	return c
}

// openProposals returns the ids of all that wait for a decision and can have one.
func openProposals(ctx context.Context, c local.Client, slug string) (ids []string, err error) {
	q := wire.ProposalQuery{Limit: 200}
	for {
		l, err := c.Proposals(ctx, slug, q)
		if err != nil {
			return nil, err
		}
		for _, p := range l.Items {
			if !p.Stale {
				ids = append(ids, p.ID)
			}
		}
		if q.Cursor = l.NextCursor; q.Cursor == "" {
			return ids, nil
		}
	}
}

// proposalIDs completes ids of proposals, if a daemon runs that can tell.
func proposalIDs(app *App, cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	c, err := app.daemon.Dialed(ctx)
	if err != nil || c == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	slug, err := app.project(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l, err := c.Proposals(ctx, slug, wire.ProposalQuery{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, p := range l.Items {
		out = append(out, cobra.CompletionWithDesc(p.ID, terminal.Clean(p.Kind+": "+p.Reason)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
