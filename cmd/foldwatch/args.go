package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// between accepts lo to hi arguments; hi < 0 is no upper bound.
func between(lo, hi int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= lo && (hi < 0 || len(args) <= hi) {
			return nil
		}
		return usagef(cmd.CommandPath()+" --help", "usage: foldwatch %s", strings.TrimPrefix(cmd.UseLine(), "foldwatch "))
	}
}

// parent returns a command that only holds others.
func parent(use, short string, cmds ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(cmds...)
	return c
}

// noSuchCommand rejects arguments of a command that only has subcommands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := cmd.CommandPath() + " --help"
	cmd.SuggestionsMinimumDistance = 2
	if meant := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return slices.Contains(c.SuggestFor, strings.ToLower(args[0])) }); meant >= 0 {
		hint = cmd.Commands()[meant].CommandPath()
	} else if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = cmd.CommandPath() + " " + near[0]
	}
	return usagef(hint, "unknown command %q", args[0])
}

// choice is a flag that takes one of a few words.
type choice struct {
	value   *string
	allowed []string
}

func oneOf(value *string, allowed ...string) *choice { return &choice{value, allowed} }

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}
