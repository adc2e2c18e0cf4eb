package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/help"
)

// topicCommands are the topics of the manual, for `foldwatch help TOPIC`. They run
// nothing, so that they are not listed among the commands.
func topicCommands(app *App) []*cobra.Command {
	var cmds []*cobra.Command
	for _, t := range help.Topics() {
		c := &cobra.Command{Use: t.Name, Short: t.Title}
		c.SetHelpFunc(func(*cobra.Command, []string) { _, _ = io.WriteString(app.Stdout, t.Text) })
		cmds = append(cmds, c)
	}
	return cmds
}

// topicNames lists the topics of the manual.
func topicNames() string {
	var names []string
	for _, t := range help.Topics() {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}
