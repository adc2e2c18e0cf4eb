package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// breaking streams one part of its events at a time, then ends, as a daemon does
// that is restarted.
type breaking struct {
	local.Client
	parts  [][]wire.Event
	refuse error
	asked  []uint64 // after which event
}

func (b *breaking) Health(context.Context) (wire.Health, error) {
	return wire.Health{Status: "ok"}, nil
}

func (b *breaking) Status(context.Context) (wire.Status, error) { return wire.Status{}, nil }

func (b *breaking) Events(_ context.Context, after uint64, _ func(), fn func(wire.Event) error) error {
	b.asked = append(b.asked, after)
	if b.refuse != nil {
		return b.refuse
	}
	if len(b.parts) == 0 {
		return wire.ErrNoDaemon
	}
	part := b.parts[0]
	b.parts = b.parts[1:]
	for _, e := range part {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// TestEventsGoOnAfterARestart from the last that was shown.
func TestEventsGoOnAfterARestart(t *testing.T) {
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	b := &breaking{parts: [][]wire.Event{
		{{ID: 7, Type: "memory:changed", Project: "zoo", Time: at, Data: map[string]any{"ids": []any{"a", "b"}, "by": "x\x1b[31m"}}, {ID: 8, Type: "job:failed", Project: "other", Time: at}},
		{{ID: 9, Type: "health:changed", Time: at}, {ID: 10, Type: "never shown", Time: at}},
	}}
	tr := newTrial(t, &fakeDaemon{}, t.TempDir())
	tr.app.slug = "zoo"
	tr.app.daemon.Dial = func(context.Context) (local.Client, error) { return b, nil }
	synctest.Test(t, func(t *testing.T) {
		if err := followEvents(t.Context(), tr.app, 0, 2); err != nil {
			t.Error(err)
		}
	})
	out := tr.out.String()
	if !strings.Contains(out, "memory:changed     zoo              by=x  ids=a b\n") || strings.Contains(out, "other") || strings.Contains(out, "never") || !strings.Contains(out, "health:changed") {
		t.Errorf("printed %q", out)
	}
	if len(b.asked) != 2 || b.asked[1] != 8 {
		t.Errorf("asked for what came after %v", b.asked)
	}
	b.refuse = fold.ErrForbidden
	if err := followEvents(t.Context(), tr.app, 0, 0); err == nil {
		t.Error("a refusal was waited for")
	}
}
