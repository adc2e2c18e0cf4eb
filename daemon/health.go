package daemon

import (
	"context"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// healthPoll is how late a change is told that no event comes with: a checkout
// that vanished, or could not be opened.
const healthPoll = 5 * time.Second

// watchHealth tells of every change of what Health says, until ctx ends.
func (d *Daemon) watchHealth(ctx context.Context) {
	listen := func() <-chan wire.Event {
		return d.parts.Events.Subscribe(ctx, 0, func(e wire.Event) bool {
			return strings.HasPrefix(e.Type, "project:") || strings.HasPrefix(e.Type, "indexing:") && e.Type != "indexing:progress"
		})
	}
	events, was := listen(), d.Health(ctx).Status
	tick := time.NewTicker(healthPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				events = listen()
			}
		case <-tick.C:
		}
		if now := d.Health(ctx).Status; now != was {
			d.parts.Events.Publish("health:changed", "", map[string]any{"status": now, "was": was})
			was = now
		}
	}
}
