package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func doctorCommand(app *App) *cobra.Command {
	var fix, dryRun bool
	c := &cobra.Command{
		Use:        "doctor",
		Aliases:    []string{"check"},
		SuggestFor: []string{"fix", "repair", "diagnose"},
		Short:      "Check everything, and name the command that mends each problem",
		Long: "Looks at the program, its folders, the daemon, the service and every checkout, one numbered\n" +
			"check after the other. Exit code 7 says that one failed. --fix mends what can be mended\n" +
			"without a decision of yours, and says what it changed.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dryRun && !fix {
				return usagef("foldwatch doctor --fix --dry-run", "--dry-run is for --fix")
			}
			app.daemon.HideNotices() // the checks tell more
			found := doctor.Run(cmd.Context(), app.doctorHost(), fix && !dryRun)
			n := doctor.Tally(found)
			if err := app.Emit(map[string]any{"checks": found, "counts": n}, func(terminal.Printer) { doctor.Print(app.Streams, found, dryRun) }); err != nil {
				return err
			}
			if n[doctor.Fail] > 0 {
				return fmt.Errorf("%w: %s", errDegraded, terminal.Plural(n[doctor.Fail], "problem"))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "mend what can be mended without asking")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "with --fix: only say what would be changed")
	return c
}

// doctorHost is what doctor looks at.
func (app *App) doctorHost() *doctor.Host {
	return &doctor.Host{
		Daemon: app.daemon, Service: app.checkService,
		Parsers: app.parsers(), Program: app.program, WorkDir: app.workDir, Agents: app.agentOptions,
		Now: app.now, Wait: app.wait, Free: app.free,
		DriftTimeout: app.drift, GitTimeout: app.git,
		Reindex: func(ctx context.Context, c local.Client, slug string, in wire.Reindex) error {
			ref, err := c.Reindex(ctx, slug, in)
			if err != nil {
				return err
			}
			b := app.NewBar(app.now)
			if err := follow(ctx, c, ref.JobID, b); err != nil {
				return err
			}
			_, err = settled(ctx, c, wire.ProjectAdded{Project: wire.Project{Slug: slug}}, b)
			return err
		},
	}
}
