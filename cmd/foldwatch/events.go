package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
)

// errEnough ends a stream whose reader has what it asked for.
var errEnough = errors.New("enough")

// comeBack is how long events waits before it asks for another daemon.
const comeBack = time.Second

func eventsCommand(app *App) *cobra.Command {
	var after uint64
	var count int
	c := &cobra.Command{
		Use:   "events",
		Short: "Follow what happens, until Ctrl-C",
		Long: "Prints a line for each thing that happens: jobs, indexing, memories, syncs, health.\n" +
			"It goes on when the daemon is started again.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return followEvents(cmd.Context(), app, after, count)
		},
	}
	c.Flags().Uint64Var(&after, "after", 0, "begin after the event with that NUMBER, as far as events are kept (default: from now on)")
	c.Flags().IntVarP(&count, "count", "n", 0, "end after that many")
	return c
}

// followEvents prints events until ctx ends or there were count of them, 0 being
// any number.
func followEvents(ctx context.Context, app *App, after uint64, count int) error {
	c, err := app.daemon.Connect(ctx)
	if err != nil {
		return err
	}
	seen := 0
	show := func(ev wire.Event) error {
		after = ev.ID
		if slug := app.slug; slug != "" && ev.Project != "" && ev.Project != slug {
			return nil
		}
		if err := showEvent(app, ev); err != nil {
			return err
		}
		if seen++; seen == count {
			return errEnough
		}
		return nil
	}
	for {
		err := c.Events(ctx, after, nil, show)
		switch {
		case errors.Is(err, errEnough), ctx.Err() != nil: // Ctrl-C is how it ends
			return nil //nolint:nilerr // neither is a failure
		case err != nil && refused(err):
			return err
		}
		app.Messages(false).Printf("foldwatch: the daemon ended the stream; waiting for it\n")
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(comeBack):
		}
		if next, err := app.daemon.Running(ctx); err == nil && next != nil {
			c = next
		}
	}
}

// refused reports whether err is an answer of the daemon, and not that it went.
func refused(err error) bool {
	code := wire.KindOf(err).Code
	return code != "internal" && code != "no_daemon" && code != "unavailable"
}

// showEvent prints one event on one line.
func showEvent(app *App, ev wire.Event) error {
	if app.JSON {
		return json.NewEncoder(app.Stdout).Encode(ev)
	}
	var more []string
	for _, key := range slices.Sorted(maps.Keys(ev.Data)) {
		text := fmt.Sprint(ev.Data[key])
		if list, ok := ev.Data[key].([]any); ok {
			text = strings.Trim(text, "[]")
			if len(list) > 5 {
				text = fmt.Sprintf("%d of them", len(list))
			}
		}
		more = append(more, key+"="+text)
	}
	app.Data().Printf("%s  %-18s %-16s %s\n", ev.Time.Local().Format(time.TimeOnly), ev.Type, ev.Project, strings.Join(more, "  "))
	return nil
}
