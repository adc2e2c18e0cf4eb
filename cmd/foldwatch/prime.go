package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func primeCommand(app *App) *cobra.Command {
	q := wire.PrimeQuery{Budget: 1500}
	format := "md"
	c := &cobra.Command{
		Use:   "prime",
		Short: "Print the brief of a session: state, decisions, conventions, what is new",
		Long: "For an agent that starts to work in the checkout: what it should know, within a\n" +
			"budget of tokens. Most agents can run it when a session begins.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Budget < 200 || q.Budget > 8000 {
				return usagef("foldwatch prime --help", "a budget is between 200 and 8000 tokens")
			}
			app.daemon.HideNotices() // the brief has them
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				p, err := c.Prime(cmd.Context(), slug, q)
				if err != nil {
					return err
				}
				if format == "json" {
					return terminal.WriteJSON(app.Stdout, p)
				}
				return app.Emit(p, func(out terminal.Printer) { out.Printf("%s", terminal.Block(strings.TrimRight(p.Text, "\n")+"\n")) })
			})
		},
	}
	c.Flags().IntVar(&q.Budget, "budget", q.Budget, "at most N tokens")
	c.Flags().Var(oneOf(&format, "md", "json"), "format", "md|json")
	return c
}
