package daemon

import (
	"context"
	"fmt"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/layer"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// eventMost is how large the payload of an event may be in bytes.
const eventMost = 64 << 10

// ReportEvent records what happened in an agent's session as its working memory:
// in this process alone, for an hour at most.
func (d *Daemon) ReportEvent(_ context.Context, sc fold.Scope, slug, session string, in wire.SessionEvent) error {
	cos, err := d.of(sc, slug)
	if err != nil {
		return err
	}
	name := cos[0].Record.Slug
	if !sc.CanWrite(name) {
		return fmt.Errorf("report to project %s: %w", name, fold.ErrForbidden)
	}
	if in.Type == "" || len(in.Type) > 100 || session == "" || len(session) > 200 {
		return fmt.Errorf("an event has a type of at most 100 bytes and a session of at most 200: %w", fold.ErrInvalid)
	}
	if len(in.Payload) > eventMost {
		return fmt.Errorf("the payload has %d bytes, at most %d: %w", len(in.Payload), eventMost, fold.ErrInvalid)
	}
	d.working.Add(layer.Key{Project: name, Session: session}, in.Type, in.Payload)
	return nil
}

// SessionEvents returns the working memory of a session.
func (d *Daemon) SessionEvents(_ context.Context, sc fold.Scope, slug, session string) (wire.SessionEvents, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.SessionEvents{}, err
	}
	out := wire.SessionEvents{Items: []wire.SessionEvent{}}
	for _, item := range d.working.Items(layer.Key{Project: cos[0].Record.Slug, Session: session}) {
		at := item.At
		out.Items = append(out.Items, wire.SessionEvent{Type: item.Type, Payload: item.Data, Time: &at})
	}
	return out, nil
}
