package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func statusCommand(app *App) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:        "status",
		Aliases:    []string{"ps", "info", "health"},
		SuggestFor: []string{"stats"},
		Short:      "Tell how daemon and projects are",
		Args:       between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			app.daemon.HideNotices() // they are part of what is printed
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			st, err := cl.Status(cmd.Context())
			if err != nil {
				return err
			}
			if slug := app.slug; slug != "" {
				one, err := cl.ProjectStatus(cmd.Context(), slug)
				if err != nil {
					return err
				}
				st.Projects = slices.DeleteFunc(st.Projects, func(p wire.ProjectStatus) bool { return p.Slug != one.Slug })
			}
			if err := app.Emit(st, func(p terminal.Printer) { printStatus(p, st, app.now()) }); err != nil {
				return err
			}
			if check {
				why := degraded(st)
				if app.config.Err != nil {
					why = append(why, "the configuration cannot be used")
				}
				if len(why) > 0 {
					return fmt.Errorf("%w: %s", errDegraded, strings.Join(why, "; "))
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&check, "check", false, "exit 7 when something needs a person")
	return c
}

// degraded returns what in st needs a person, one phrase each.
func degraded(st wire.Status) []string {
	var why []string
	for _, p := range st.Projects {
		switch p.State {
		case "paused", "read-only", "missing", "failed":
			why = append(why, p.Slug+" is "+p.State)
		}
		if p.Watch == "polling" {
			why = append(why, p.Slug+" is watched by polling")
		}
		if p.Files.Failed > 0 {
			why = append(why, fmt.Sprintf("%s: %s failed", p.Slug, terminal.Plural(p.Files.Failed, "file")))
		}
		if p.Sync == "paused" {
			why = append(why, "sync of "+p.Slug+" is paused")
		}
		if n := setAside(p.Problems); n > 0 {
			why = append(why, fmt.Sprintf("%s: %s set aside", p.Slug, terminal.Plural(n, "file")))
		}
	}
	return why
}

// setAside counts quarantined files; skipped ones are as they should be.
func setAside(problems []wire.FileProblem) int {
	n := 0
	for _, p := range problems {
		if p.State == "quarantined" {
			n++
		}
	}
	return n
}

// readiness says in a few words whether all projects are ready, and else how they are.
func readiness(st wire.Status) string {
	var not []string
	for _, p := range st.Projects {
		if p.State != "ready" {
			not = append(not, p.Slug+" is "+p.State)
		}
	}
	switch {
	case st.Ready:
		return "ready"
	case len(not) == 0:
		return "starting"
	case len(not) == 1:
		return not[0]
	default:
		return fmt.Sprintf("%d of %d projects are not ready", len(not), len(st.Projects))
	}
}

func printStatus(p terminal.Printer, st wire.Status, now time.Time) {
	p.Printf("%s %s  pid %d  up %s  %s\n", terminal.Bold("foldwatch"), st.Version, st.PID, terminal.Span(now.Sub(st.StartedAt)), readiness(st))
	p.Printf("socket    %s\n", st.Socket)
	if st.Listen != "" {
		p.Printf("listen    %s, with a token\n", st.Listen)
	}
	if st.Webhooks != "" {
		p.Printf("webhooks  %s, signed\n", st.Webhooks)
	}
	p.Printf("embedder  %s\n", st.Embedder)
	if st.RSSBytes > 0 {
		p.Printf("memory    %s, %.1f s of CPU\n", terminal.Size(st.RSSBytes), st.CPUSeconds)
	}
	for _, n := range st.Notices {
		p.Printf("notice    %s\n", n)
	}
	if len(st.Projects) == 0 {
		p.Printf("\nno project is registered yet; start with: foldwatch up\n")
	}
	for _, pr := range st.Projects {
		printProjectStatus(p, pr, now)
		printWebhook(p, st.Webhooks, pr.Repository)
	}
}

func printProjectStatus(p terminal.Printer, pr wire.ProjectStatus, now time.Time) {
	state := pr.State
	if pr.Resting {
		state += ", resting"
	}
	p.Printf("\n%s  %s  %s\n", terminal.Bold(pr.Slug), state, pr.Path)
	if pr.Reason != "" {
		p.Printf("  reason    %s\n", pr.Reason)
	}
	if pr.Hint != "" {
		p.Printf("  mend      %s\n", pr.Hint)
	}
	if pr.PausedUntil != nil {
		p.Printf("  paused    until %s\n", pr.PausedUntil.Local().Format(time.DateTime))
	}
	if pr.Progress != nil {
		p.Printf("  progress  %s\n", terminal.ProgressLine(*pr.Progress))
	}
	f := pr.Files
	p.Printf("  files     %d indexed, %d stale, %d skipped, %d failed, %d queued\n", f.Indexed, f.Stale, f.Skipped, f.Failed, f.Queued)
	p.Printf("  holds     %s, %s, %s, %s\n", terminal.Plural(pr.Memories, "memory"), terminal.Plural(pr.Chunks, "chunk"), terminal.Plural(pr.Vectors, "vector"), terminal.Plural(pr.Links, "link"))
	if pr.Conflicts > 0 {
		p.Printf("  conflicts %s: foldwatch memory list --type conflict -p %s\n", terminal.Plural(pr.Conflicts, "other version")+" of a memory that two sides changed", pr.Slug)
	}
	if pr.Proposals > 0 {
		waits := "wait"
		if pr.Proposals == 1 {
			waits = "waits"
		}
		p.Printf("  proposals %d %s for a decision: foldwatch proposals -p %s\n", pr.Proposals, waits, pr.Slug)
	}
	if pr.VectorsDue > 0 {
		p.Printf("  vectors   those of %s are still to come; words find them already\n", terminal.Plural(pr.VectorsDue, "memory"))
	}
	p.Printf("  index     chunker %s, vectors %s, %s\n", pr.Chunker, pr.Engine, terminal.Plural(pr.Queued, "job")+" queued")
	if v := pr.VectorSearch; v != nil && v.Recall > 0 {
		p.Printf("  nearest   %s, recall@10 %.3f, p50 %.2f ms: %s\n", v.Engine, v.Recall, v.P50MS, v.Why)
	}
	if m := pr.Embedder; m != nil {
		p.Printf("  meaning   %s %s, %s, on %s\n", m.Provider, m.Model, terminal.Plural(m.Dimension, "dimension"), m.Where)
		if m.Weight == m.ChunkWeight && m.WeightWhy == m.ChunkWeightWhy {
			p.Printf("  weight    %.2g: %s\n", m.Weight, m.WeightWhy)
		} else {
			p.Printf("  weight    %.2g for files and memories: %s\n", m.Weight, m.WeightWhy)
			p.Printf("            %.2g for functions and sections: %s\n", m.ChunkWeight, m.ChunkWeightWhy)
		}
		if m.Next != "" {
			p.Printf("  next      %s: its vectors are being made, those above answer until then\n", m.Next)
		}
		if m.HeldUntil != nil {
			name := cmp.Or(m.Next, m.Provider+"/"+m.Model)
			p.Printf("  held      %s failed too often, or asked for time, and is asked again at %s; at once with: foldwatch model use %s\n",
				name, m.HeldUntil.Local().Format(time.TimeOnly), name)
		}
		if m.SentToday > 0 {
			most := ""
			if m.DailyTexts > 0 {
				most = fmt.Sprintf(" of %d a day", m.DailyTexts)
			}
			p.Printf("  sent      %s%s today (UTC) to %s\n", terminal.Plural(int(m.SentToday), "text"), most, m.Where)
		}
	}
	watch := pr.Watch
	if pr.WatchReason != "" {
		watch += " (" + pr.WatchReason + ")"
	}
	p.Printf("  watch     %s, file memories %s\n", watch, pr.FileMemories)
	last := "none yet"
	if c := pr.LastCommit; c != nil {
		last = fmt.Sprintf("%s %s (%s)", c.Rev[:min(12, len(c.Rev))], terminal.Ago(c.Time, now), c.Message)
	}
	next := ", sync " + pr.Sync
	if pr.Mode == modeTracked {
		next = "" // nobody counts what was edited by hand, or deleted
		if pr.Uncommitted > 0 {
			next = ", " + terminal.Plural(pr.Uncommitted, "memory") + " to commit: foldwatch commit"
		}
	}
	p.Printf("  history   %s, last commit %s%s\n", pr.Mode, last, next)
	printRepository(p, pr.Repository, now)
	for _, n := range pr.Notices {
		p.Printf("  notice    %s\n", n)
	}
	first := firstProblems(pr.Problems)
	printProblems(p, "  ", 8, first)
	if more := max(pr.ProblemCount, len(pr.Problems)) - len(first); more > 0 {
		p.Printf("  and %d more: foldwatch problems -p %s\n", more, pr.Slug)
	}
}

// shownProblems is how many files the status of a project names: a screen
// holds several projects, and a big tree has hundreds of skipped files.
const shownProblems = 5

// firstProblems returns the few problems to show, those that need a person
// before files that are skipped as they should be.
func firstProblems(all []wire.FileProblem) []wire.FileProblem {
	skipped := func(pb wire.FileProblem) int {
		if pb.State == "skipped" {
			return 1
		}
		return 0
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b wire.FileProblem) int { return skipped(a) - skipped(b) })
	return sorted[:min(len(sorted), shownProblems)]
}

// printProblems names files, the state of each in a column of at least width
// cells. What mends several in a row is said once, below the last of them.
func printProblems(p terminal.Printer, indent string, width int, problems []wire.FileProblem) {
	for i, pb := range problems {
		p.Printf("%s%-*s  %s: %s\n", indent, width, pb.State, pb.Path, pb.Reason)
		if pb.Hint != "" && (i+1 == len(problems) || problems[i+1].Hint != pb.Hint) {
			p.Printf("%s%-*s  %s\n", indent, width, "mend", pb.Hint)
		}
	}
}
