package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func pauseCommand(app *App) *cobra.Command {
	var in wire.Pause
	c := &cobra.Command{
		Use:   "pause",
		Short: "Stop watching and committing for a while",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.For != "" {
				if d, err := time.ParseDuration(in.For); err != nil || d <= 0 {
					return usagef("foldwatch pause --for 1h", "--for %q is not a duration such as 30m or 1h", in.For)
				}
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				st, err := c.Pause(cmd.Context(), slug, in)
				if err != nil {
					return err
				}
				return app.Emit(st, func(p terminal.Printer) {
					until := "until: foldwatch resume"
					if st.PausedUntil != nil {
						until = "until " + st.PausedUntil.Local().Format(time.DateTime)
					}
					p.Printf("paused %s %s\n", slug, until)
				})
			})
		},
	}
	c.Flags().StringVar(&in.For, "for", "", "DURATION such as 1h (default: until resume)")
	return c
}

func resumeCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Watch and commit again",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				st, err := c.Resume(cmd.Context(), slug)
				if err != nil {
					return err
				}
				return app.Emit(st, func(p terminal.Printer) { p.Printf("resumed %s\n", slug) })
			})
		},
	}
}
