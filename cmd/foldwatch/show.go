package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func showCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID|FILE",
		Aliases: []string{"get", "cat", "view"},
		Short:   "Print one memory: by its id, or by the file that it describes",
		Args:    between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := memoryID(args[0]); err != nil && fileNamed(app, args[0]) == "" {
				return fold.WithHint(err, "foldwatch show takes the id of a memory, or a file: foldwatch memory list")
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				id, err := memoryOf(cmd.Context(), app, c, slug, args[0])
				if err != nil {
					return err
				}
				m, err := c.GetMemory(cmd.Context(), slug, id)
				if err != nil {
					return err
				}
				return app.Emit(m, func(p terminal.Printer) { printMemory(p, m, app.now()) })
			})
		},
	}
}

func printMemory(p terminal.Printer, m wire.Memory, now time.Time) {
	field := func(name, value string) {
		if value != "" {
			p.Printf("%-10s %s\n", name, value)
		}
	}
	p.Printf("%s\n", terminal.Bold(m.Title))
	field("id", m.ID)
	field("type", m.Type+", from "+m.Source)
	field("author", m.Author)
	field("tags", strings.Join(m.Tags, ", "))
	field("source", m.FilePath)
	file := "kept in the index only"
	switch {
	case m.Path != "":
		file = "fold/" + m.Path
	case m.State.BlockedReason != "":
		file = "none yet"
	}
	field("file", file)
	field("updated", m.UpdatedAt.Local().Format(time.DateTime)+" ("+terminal.Ago(m.UpdatedAt, now)+")")
	field("strength", fmt.Sprintf("%.2f, recalled %s", m.Strength, terminal.Plural(m.RetrievalCount, "time")))
	if m.Stale {
		field("stale", "its source has changed since")
	}
	if m.State.BlockedReason != "" {
		field("history", m.State.BlockedReason)
	}
	for _, l := range m.Links {
		if l.Type == string(fold.LinkConflictsWith) && m.Type == fold.TypeConflict {
			field("conflict", "this is another version of "+l.TargetID+"  "+l.Title)
			continue
		}
		field("link", linkText(l, "→"))
	}
	for _, l := range m.Backlinks {
		if l.Type == string(fold.LinkConflictsWith) {
			field("conflict", "two sides changed it; the other version is "+l.SourceID+"  "+l.Title)
			continue
		}
		field("link", linkText(l, "←"))
	}
	p.Printf("\n%s\n", terminal.Block(strings.TrimRight(m.Content, "\n")))
}

// linkText tells one link as seen from the memory at hand.
func linkText(l wire.Link, arrow string) string {
	other := l.TargetID
	if arrow == "←" {
		other = l.SourceID
	}
	s := fmt.Sprintf("%s %s %s", arrow, l.Type, other)
	if l.Title != "" {
		s += "  " + l.Title
	}
	if l.Derived {
		s += "  (derived: " + l.Evidence + ")"
	}
	if l.Context != "" {
		s += "  " + l.Context
	}
	return s
}

func contextCommand(app *App) *cobra.Command {
	var in wire.ContextRequest
	c := &cobra.Command{
		Use:   "context ID",
		Short: "Print what stands around a memory: linked, and close in meaning",
		Args:  between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := memoryID(args[0])
			if err != nil {
				return err
			}
			if in.Depth < 1 || in.Depth > 3 {
				return usagef("", "--depth must be 1, 2 or 3")
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				r, err := c.Context(cmd.Context(), slug, id, in)
				if err != nil {
					return err
				}
				return app.Emit(r, func(p terminal.Printer) { printContext(p, r) })
			})
		},
	}
	c.Flags().IntVar(&in.Depth, "depth", 1, "links away, 1 to 3")
	c.Flags().IntVar(&in.Limit, "limit", 20, "at most N linked memories")
	return c
}

func printContext(p terminal.Printer, r wire.ContextReply) {
	p.Printf("%s  %s\n", terminal.Bold(r.Memory.Title), r.Memory.ID)
	if r.Memory.FilePath != "" {
		p.Printf("  %s\n", r.Memory.FilePath)
	}
	if len(r.RelatedMemories) > 0 {
		p.Printf("\nlinked\n")
	}
	for _, m := range r.RelatedMemories {
		arrow := "→"
		if m.Direction == "in" {
			arrow = "←"
		}
		mark := ""
		if m.Derived {
			mark = "  (derived: " + m.Evidence + ")"
		}
		p.Printf("  %s%s %s  %s  %s%s\n", strings.Repeat("  ", max(0, m.Depth-1)), arrow, m.Relationship, m.Title, itemPlace(m.MemoryItem), mark)
	}
	if len(r.SimilarMemories) > 0 {
		p.Printf("\nclose in meaning\n")
	}
	for _, m := range r.SimilarMemories {
		p.Printf("  %.2f  %s  %s\n", m.Relevance, m.Title, itemPlace(m.MemoryItem))
	}
	if r.Truncated {
		p.Printf("\nthere is more: raise --limit\n")
	}
}

func itemPlace(m wire.MemoryItem) string {
	if m.FilePath != "" {
		return m.FilePath + "  " + m.ID
	}
	return m.ID
}

func sourceCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "source ID",
		Short: "Print the source a memory describes",
		Args:  between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := memoryID(args[0])
			if err != nil {
				return err
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				s, err := c.MemorySource(cmd.Context(), slug, id, 0, 0)
				if err != nil {
					return err
				}
				if s.Stale {
					app.Messages(false).Printf("%s has changed since it was described\n", s.FilePath)
				}
				return app.Emit(s, func(p terminal.Printer) {
					p.Printf("%s", terminal.Block(s.Content))
					if !strings.HasSuffix(s.Content, "\n") {
						p.Printf("\n")
					}
				})
			})
		},
	}
}
