package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	// drawEvery is the least time between two drawings of the line.
	drawEvery = 80 * time.Millisecond
	// lineAfter is how long work goes on before it is worth a plain line, and
	// lineEvery the time between two of one stage.
	lineAfter, lineEvery = time.Second, 5 * time.Second
	// barLeast and barMost are the cells of a drawn bar.
	barLeast, barMost = 10, 30
)

// A bar shows how far work has come: on a terminal as one line that is drawn
// over, elsewhere as a plain line every few seconds. It says once that searches
// work before all is done.
type bar struct {
	p     printer
	width func() int // of the terminal in cells; 0 where there is none
	now   func() time.Time
	drawn bool
	began time.Time
	last  time.Time
	stage string // at the last plain line
	told  bool   // that searches work
}

func (e *environment) newBar() *bar {
	b := &bar{p: e.messages(false), now: e.now, began: e.now(), width: func() int { return 0 }}
	if f, ok := e.stderr.(*os.File); ok && isTerminal(e.stderr) && e.getenv("TERM") != "dumb" {
		b.width = func() int {
			w, _, err := term.GetSize(int(f.Fd()))
			if err != nil || w <= 0 {
				return 80
			}
			return w
		}
	}
	return b
}

// show tells pr, if it is time to.
func (b *bar) show(pr wire.Progress) {
	now, width := b.now(), b.width()
	if pr.Searchable > 0 && pr.Searchable < pr.Total && !b.told && now.Sub(b.began) >= lineAfter {
		b.told = true
		b.clear()
		b.p.printf("search works now: %d of %s so far\n", pr.Searchable, plural(pr.Total, nounOf(pr)))
	}
	if width > 0 {
		if now.Sub(b.last) >= drawEvery {
			b.last, b.drawn = now, true
			b.p.printf("\r%s\x1b[K", progressIn(pr, width-1))
		}
		return
	}
	since := b.last
	if since.IsZero() {
		since = b.began
	}
	if wait := now.Sub(since); wait < lineAfter || pr.Stage == b.stage && wait < lineEvery {
		return
	}
	b.last, b.stage = now, pr.Stage
	b.p.printf("%s\n", progressLine(pr))
}

// clear ends the drawn line; the next show draws it again.
func (b *bar) clear() {
	if b.drawn {
		b.p.printf("\r\x1b[K")
	}
	b.drawn, b.last = false, time.Time{}
}

func nounOf(pr wire.Progress) string {
	switch pr.Stage {
	case "reading memories", "embedding", "words":
		return "memory"
	case "reading commits":
		return "commit"
	}
	if strings.HasPrefix(pr.Stage, "asking") {
		return "question"
	}
	return "file"
}

// progressLine tells all of pr in one line.
func progressLine(pr wire.Progress) string {
	parts := []string{stageOf(pr)}
	if pr.Total > 0 {
		parts[0] += fmt.Sprintf(" %d%%", percent(pr))
		parts = append(parts, fmt.Sprintf("%d of %s", pr.Done, plural(pr.Total, nounOf(pr))))
	} else if pr.Done > 0 {
		parts = append(parts, plural(pr.Done, nounOf(pr)))
	}
	if pr.BytesTotal > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", size(pr.Bytes), size(pr.BytesTotal)))
	}
	parts = append(parts, rates(pr)...)
	if eta := left(pr); eta != "" {
		parts = append(parts, eta)
	}
	return strings.Join(parts, ", ")
}

// progressIn tells pr with a bar, in at most width cells: what matters least is
// left out first.
func progressIn(pr wire.Progress, width int) string {
	head, tail := stageOf(pr), ""
	if pr.Total > 0 {
		tail = fmt.Sprintf("%3d%%  %d/%s", percent(pr), pr.Done, plural(pr.Total, nounOf(pr)))
	} else if pr.Done > 0 {
		tail = plural(pr.Done, nounOf(pr))
	}
	eta := left(pr)
	var more []string // may be left out, the last first
	if pr.BytesTotal > 0 {
		more = append(more, size(pr.Bytes)+"/"+size(pr.BytesTotal))
	}
	more = append(more, rates(pr)...)
	with := func(n int) string {
		parts := []string{}
		for _, s := range append([]string{tail}, more[:n]...) {
			if s != "" {
				parts = append(parts, s)
			}
		}
		if eta != "" {
			parts = append(parts, eta)
		}
		return strings.Join(parts, "  ")
	}
	n := len(more)
	for n > 0 && len(head)+len(with(n))+barLeast+5 > width {
		n--
	}
	line := with(n)
	if line == "" {
		return clip(head, width)
	}
	cells := min(barMost, width-len(head)-len(line)-5) // two brackets, the gaps
	if pr.Total == 0 || cells < barLeast {
		return clip(head+"  "+line, width)
	}
	full := min(cells, cells*pr.Done/pr.Total)
	return head + "  [" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "] " + line
}

func clip(s string, width int) string {
	if columns(s) <= width {
		return s
	}
	return ansi.Truncate(s, max(width, 0), "")
}

func stageOf(pr wire.Progress) string {
	if pr.Stage == "" {
		return "indexing"
	}
	return pr.Stage
}

// percent is 100 only when all is done.
func percent(pr wire.Progress) int {
	if pr.Done >= pr.Total {
		return 100
	}
	return 100 * pr.Done / pr.Total
}

// rates tells files and bytes a second, as far as they are known.
func rates(pr wire.Progress) []string {
	var parts []string
	switch {
	case pr.PerSecond >= 10:
		parts = append(parts, fmt.Sprintf("%.0f/s", pr.PerSecond))
	case pr.PerSecond > 0:
		parts = append(parts, fmt.Sprintf("%.1f/s", pr.PerSecond))
	}
	if pr.BytesPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB/s", pr.BytesPerSecond/(1<<20)))
	}
	return parts
}

// left tells the time until the stage ends, "" if that is not known.
func left(pr wire.Progress) string {
	d := time.Duration(pr.ETASeconds * float64(time.Second)).Round(time.Second)
	switch {
	case d < time.Second:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%ds left", d/time.Second)
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm %02ds left", d/time.Minute, d%time.Minute/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm left", d.Round(time.Minute)/time.Minute)
	}
	return fmt.Sprintf("%dh %02dm left", d/time.Hour, d%time.Hour/time.Minute)
}

// pollEvery is how often a job is asked for while a person watches it, at most.
const pollEvery = 250 * time.Millisecond

// A pulse ticks soon at first, since most jobs end soon, then less and less
// often: it adds at most half to what a job takes.
type pulse struct{ every time.Duration }

func (p *pulse) wait(ctx context.Context) error {
	p.every = min(max(3*time.Millisecond, p.every*3/2), pollEvery)
	t := time.NewTimer(p.every)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// follow shows the job's progress until it has ended, and returns its error.
// The job goes on if ctx ends first.
func (e *environment) follow(ctx context.Context, c daemonClient, jobID string, b *bar) error {
	defer b.clear()
	var p pulse
	for {
		j, err := c.Job(ctx, jobID)
		if err != nil {
			return err
		}
		switch j.Status {
		case "completed":
			return nil
		case "failed", "cancelled":
			why := j.Error
			if why == "" {
				why = "no reason given"
			}
			return fold.WithHint(fmt.Errorf("job %s %s: %s", j.ID, j.Status, why), "foldwatch jobs "+j.ID)
		case "paused":
			return fold.WithHint(fmt.Errorf("job %s is paused", j.ID), "foldwatch resume")
		}
		b.show(e.progressOf(ctx, c, j))
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// progressOf returns how far the job has come, or while it waits for its turn
// the work before it.
func (e *environment) progressOf(ctx context.Context, c daemonClient, j wire.Job) wire.Progress {
	if j.Progress != nil {
		return *j.Progress
	}
	if st, err := c.ProjectStatus(ctx, j.Project); err == nil && st.Progress != nil { // else the next look at the job tells what is wrong
		return *st.Progress
	}
	return wire.Progress{Stage: "waiting"}
}

// settled waits until the checkout that was added has no first work left, showing
// progress, and returns its state.
func (e *environment) settled(ctx context.Context, c daemonClient, added wire.ProjectAdded, b *bar) (wire.ProjectStatus, error) {
	defer b.clear()
	var p pulse
	for {
		st, err := statusOf(ctx, c, added)
		if err != nil {
			return st, err
		}
		if st.State != "starting" && st.State != "indexing" {
			return st, nil
		}
		pr := wire.Progress{Stage: st.State}
		if st.Progress != nil {
			pr = *st.Progress
		}
		b.show(pr)
		if err := p.wait(ctx); err != nil {
			return st, err
		}
	}
}

// statusOf returns the state of the checkout that was added. The state of its
// project is that of the main one, where there are several.
func statusOf(ctx context.Context, c daemonClient, added wire.ProjectAdded) (wire.ProjectStatus, error) {
	main, err := c.ProjectStatus(ctx, added.Project.Slug)
	if err != nil || added.Key == "" || main.Key == added.Key {
		return main, err
	}
	all, err := c.Status(ctx)
	if err != nil {
		return main, err
	}
	for _, st := range all.Projects {
		if st.Key == added.Key {
			return st, nil
		}
	}
	return main, nil // it was taken off the list meanwhile
}
