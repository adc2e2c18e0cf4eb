package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
)

// hookTime is how long an agent waits for a hook at most.
const hookTime = 180 * time.Millisecond

const (
	hookInput   = 4 << 20  // bytes that are read of an event
	hookPayload = 64 << 10 // bytes that are sent on
	hookField   = 4 << 10  // of a field, where the whole is larger
)

func hookCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "hook EVENT",
		Short: "Take an event of an agent's hook (JSON on stdin); never fails, never waits",
		Long: "For the hooks of agents: reads what happened as JSON from stdin and keeps it as\n" +
			"working memory of the session, in the running daemon and nowhere else. It starts\n" +
			"no daemon, prints nothing, takes at most 200 ms and always exits 0.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), hookTime)
			defer cancel()
			done := make(chan struct{})
			go func() { // stdin may never end
				defer close(done)
				runHook(ctx, app, args)
			}()
			select {
			case <-done:
			case <-ctx.Done():
			}
			return nil
		},
	}
}

// runHook reports one event. What goes wrong is nobody's business: an agent's work
// must not depend on it.
func runHook(ctx context.Context, app *App, args []string) {
	b, err := io.ReadAll(io.LimitReader(app.Stdin, hookInput))
	if err != nil || len(args) == 0 {
		return
	}
	var about struct {
		SessionID string `json:"session_id"` // Claude Code, Gemini CLI, Codex
		Session   string `json:"sessionId"`
		Cwd       string `json:"cwd"`
	}
	payload := json.RawMessage(b)
	if json.Unmarshal(b, &about) != nil {
		if payload, err = json.Marshal(string(b)); err != nil {
			return
		}
	}
	if _, err := app.config.Dirs(); err != nil {
		return
	}
	c, err := app.daemon.Dialed(ctx)
	if err != nil || c == nil {
		return
	}
	slug := cmp.Or(app.slug, app.Getenv("FOLDWATCH_PROJECT"))
	if slug == "" {
		dir := about.Cwd
		if dir == "" {
			if dir, err = app.workDir(); err != nil {
				return
			}
		}
		p, err := c.ProjectOfPath(ctx, dir)
		if err != nil {
			return
		}
		slug = p.Slug
	}
	session := cmp.Or(about.SessionID, about.Session, "default")
	_ = c.ReportEvent(ctx, slug, session, wire.SessionEvent{Type: args[0], Payload: smaller(payload)})
}

// smaller returns payload, or what is short in it where it is too large as a whole.
func smaller(payload json.RawMessage) json.RawMessage {
	if len(payload) <= hookPayload {
		return payload
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return nil
	}
	left := hookPayload - hookField
	for name, v := range fields {
		if len(v) > hookField || len(v)+len(name) > left {
			delete(fields, name)
			continue
		}
		left -= len(v) + len(name) + 8
	}
	fields["truncated"] = json.RawMessage("true")
	b, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return b
}
