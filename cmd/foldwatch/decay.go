package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func decayCommand(app *App) *cobra.Command {
	var in wire.DecayRequest
	c := &cobra.Command{
		Use:   "decay",
		Short: "Tell which memories have faded; --archive moves them out of fold/",
		Long: "A memory fades while nobody reads or changes it: its strength halves every 30 days\n" +
			"(decay_half_life_days; decisions 180, facts 90, episodes 7). Pinned ones do not fade,\n" +
			"and what a living memory links to is kept. Archived memories stay in the history.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				r, err := c.Decay(cmd.Context(), slug, in)
				if err != nil {
					return err
				}
				return app.Emit(r, func(p terminal.Printer) { printDecay(p, app.Messages(false), r, in.Archive && !in.DryRun) })
			})
		},
	}
	f := c.Flags()
	f.BoolVar(&in.Archive, "archive", false, "move them out of fold/, as one commit")
	f.BoolVar(&in.DryRun, "dry-run", false, "change nothing")
	f.Float64Var(&in.Threshold, "threshold", 0, "strength `S` below which a memory has faded (default 0.05)")
	return c
}

func printDecay(p, say terminal.Printer, r wire.DecayReply, archive bool) {
	var t terminal.Table
	for _, m := range r.Items {
		used := "never read"
		if m.LastAccessed != nil {
			used = "read " + terminal.Ago(*m.LastAccessed, time.Now())
		}
		t.Row(m.ID, fmt.Sprintf("%.3f", m.Strength), m.Type, terminal.Short(m.Title, 60), "changed "+terminal.Ago(m.UpdatedAt, time.Now()), used)
	}
	t.Print(p)
	if more := r.Decayed - len(r.Items); more > 0 {
		say.Printf("and %d more\n", more)
	}
	kept := ""
	if r.Kept > 0 {
		kept = fmt.Sprintf("; %d more are kept, since memories that live link to them", r.Kept)
	}
	say.Printf("%d of %s below strength %g%s\n", r.Decayed, terminal.Plural(r.Checked, "memory"), r.Threshold, kept)
	switch {
	case r.Deleted > 0:
		say.Printf("archived %d; to bring them back: foldwatch restore --commit %.12s\n", r.Deleted, r.Rev)
		if left := r.Decayed - r.Deleted; left > 0 {
			say.Printf("%d are left: foldwatch decay --archive\n", left)
		}
	case r.Decayed > 0 && !archive:
		say.Printf("to move them out of fold/: foldwatch decay --archive\n")
	}
}
