package mcp

import (
	"context"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// updateGap is the least time between two notifications of one resource: the
// first is sent at once, and what happens within the gap is one more at its end.
const updateGap = time.Second

// A pacer limits how often subscribers are notified, by key: the URI of a resource, or
// listKey.
type throttle struct {
	notified map[string]time.Time // when last, while that is less than updateGap ago
	due      map[string]bool      // changed since
}

// listKey stands for the list of resources.
const listKey = ""

func newThrottle() *throttle {
	return &throttle{notified: map[string]time.Time{}, due: map[string]bool{}}
}

// changed notes a change, and reports whether to notify now.
func (p *throttle) changed(key string, now time.Time) bool {
	if at, ok := p.notified[key]; ok && now.Sub(at) < updateGap {
		p.due[key] = true
		return false
	}
	delete(p.due, key)
	p.notified[key] = now
	return true
}

// takeDue returns the keys to notify now, and forgets those without a change.
func (p *throttle) takeDue(now time.Time) []string {
	var out []string
	for key, at := range p.notified {
		switch {
		case now.Sub(at) < updateGap:
		case p.due[key]:
			delete(p.due, key)
			p.notified[key] = now
			out = append(out, key)
		default:
			delete(p.notified, key)
		}
	}
	return out
}

// Run notifies subscribers of changed resources, and all clients when the list of
// resources changed, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	events := s.handlers.Subscribe(ctx, fold.LocalScope(), 0)
	p, last := newThrottle(), uint64(0)
	tick := time.NewTicker(updateGap / 4)
	defer tick.Stop()
	tick.Stop() // runs only for a moment after a notification
	for running := false; ; {
		select {
		case e, ok := <-events:
			if !ok && ctx.Err() != nil {
				return nil
			}
			if !ok { // the subscription did not keep up: continue where it stopped
				events = s.handlers.Subscribe(ctx, fold.LocalScope(), last)
				continue
			}
			last = e.ID
			for _, key := range changedBy(e) {
				if p.changed(key, time.Now()) {
					s.tell(ctx, key)
				}
			}
		case now := <-tick.C:
			for _, key := range p.takeDue(now) {
				s.tell(ctx, key)
			}
		}
		switch busy := len(p.notified) > 0; {
		case busy && !running:
			tick.Reset(updateGap / 4)
			running = true
		case !busy && running:
			tick.Stop()
			running = false
		}
	}
}

// changedBy returns the resources that an event changes.
func changedBy(e wire.Event) []string {
	switch {
	case e.Type == "events:missed":
		return []string{listKey}
	case e.Project == "":
		return nil
	case strings.HasPrefix(e.Type, "project:"), e.Type == "sync:renamed":
		return []string{listKey}
	case strings.HasPrefix(e.Type, "memory:"):
		out := []string{indexURI(e.Project)}
		for _, id := range eventIDs(e) {
			out = append(out, memoryURI(e.Project, id))
		}
		return out
	}
	return nil
}

// listChange is a resource that comes and goes, and is in no list: the SDK tells
// of changes of those resources only that it keeps itself.
const listChange = "fold://change"

func (s *Server) tell(ctx context.Context, key string) {
	if key == listKey {
		s.mcp.AddResource(&sdk.Resource{URI: listChange, Name: "change"}, s.readResource)
		s.mcp.RemoveResources(listChange)
		return
	}
	if err := s.mcp.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: key}); err != nil {
		s.opt.Log.DebugContext(ctx, "Subscriber not told", "err", err)
	}
}
