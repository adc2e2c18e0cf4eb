package main

import (
	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/chunker"
)

// chunkWorkerCommand is the process that parses source for the daemon, which
// alone starts it: a grammar that crashes ends this process and no other.
func chunkWorkerCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:    "chunk-worker",
		Short:  "Cut source for the daemon",
		Hidden: true,
		Args:   between(0, 0),
		RunE: func(*cobra.Command, []string) error {
			dropStartPages()
			return chunker.ServeWorker(app.Stdin, app.Stdout)
		},
	}
}
