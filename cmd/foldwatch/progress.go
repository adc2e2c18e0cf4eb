package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A bar shows how far work has come: on a terminal as one line that is drawn
// over, elsewhere as a plain line when much has changed.
type bar struct {
	p        printer
	terminal bool
	now      func() time.Time
	drawn    bool
	last     time.Time
	lastPart int // tenths of the work at the last plain line
	stage    string
}

func (e *environment) newBar() *bar {
	return &bar{p: e.messages(false), terminal: isTerminal(e.stderr), now: e.now, lastPart: -1}
}

// show draws pr. Plain lines come when the stage changes, per tenth of the
// work, and at most one in two seconds.
func (b *bar) show(pr wire.Progress) {
	now := b.now()
	if b.terminal {
		if now.Sub(b.last) < 80*time.Millisecond {
			return
		}
		b.last, b.drawn = now, true
		b.p.printf("\r\x1b[K%s", progressLine(pr, 24))
		return
	}
	part := 0
	if pr.Total > 0 {
		part = 10 * pr.Done / pr.Total
	}
	if pr.Stage == b.stage && (part == b.lastPart || now.Sub(b.last) < 2*time.Second) {
		return
	}
	b.last, b.stage, b.lastPart = now, pr.Stage, part
	b.p.printf("%s\n", progressLine(pr, 0))
}

// done ends the drawn line.
func (b *bar) done() {
	if b.drawn {
		b.p.printf("\r\x1b[K")
	}
	b.drawn = false
}

// progressLine tells pr in one line, with a bar of width cells if width > 0.
func progressLine(pr wire.Progress, width int) string {
	var s strings.Builder
	stage := pr.Stage
	if stage == "" {
		stage = "indexing"
	}
	s.WriteString(stage)
	if pr.Total > 0 {
		if width > 0 {
			full := min(width, width*pr.Done/pr.Total)
			fmt.Fprintf(&s, " [%s%s]", strings.Repeat("=", full), strings.Repeat(" ", width-full))
		}
		fmt.Fprintf(&s, " %d/%d", pr.Done, pr.Total)
	} else if pr.Done > 0 {
		fmt.Fprintf(&s, " %d", pr.Done)
	}
	if pr.PerSecond > 0 {
		fmt.Fprintf(&s, ", %.0f/s", pr.PerSecond)
	}
	if pr.ETASeconds >= 1 {
		fmt.Fprintf(&s, ", %s left", span(time.Duration(pr.ETASeconds*float64(time.Second))))
	}
	return s.String()
}

// pollEvery is how often a job is asked for while a person watches it.
const pollEvery = 100 * time.Millisecond

// follow shows the job's progress until it has ended, and returns its error.
// The job goes on if ctx ends first.
func (e *environment) follow(ctx context.Context, c daemonClient, jobID string) error {
	b := e.newBar()
	defer b.done()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
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
		pr := wire.Progress{Stage: "waiting"}
		if j.Progress != nil {
			pr = *j.Progress
		}
		b.show(pr)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settled waits until the checkout has no first work left, showing progress,
// and returns its state.
func (e *environment) settled(ctx context.Context, c daemonClient, slug string) (wire.ProjectStatus, error) {
	b := e.newBar()
	defer b.done()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		st, err := c.ProjectStatus(ctx, slug)
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
		select {
		case <-tick.C:
		case <-ctx.Done():
			return st, ctx.Err()
		}
	}
}
