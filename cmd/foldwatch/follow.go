package main

import (
	"context"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

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
func follow(ctx context.Context, c local.Client, jobID string, b *terminal.Bar) error {
	defer b.Clear()
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
		b.Show(progressOf(ctx, c, j))
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
}

// progressOf returns how far the job has come, or while it waits for its turn
// the work before it.
func progressOf(ctx context.Context, c local.Client, j wire.Job) wire.Progress {
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
func settled(ctx context.Context, c local.Client, added wire.ProjectAdded, b *terminal.Bar) (wire.ProjectStatus, error) {
	defer b.Clear()
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
		b.Show(pr)
		if err := p.wait(ctx); err != nil {
			return st, err
		}
	}
}

// statusOf returns the state of the checkout that was added. The state of its
// project is that of the main one, where there are several.
func statusOf(ctx context.Context, c local.Client, added wire.ProjectAdded) (wire.ProjectStatus, error) {
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
