package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

const (
	// heartbeatTime is how long a stream is silent before it sends a heartbeat.
	heartbeatTime = 15 * time.Second
	// eventTime is how long a client may take to read an event.
	eventTime = 30 * time.Second
)

// events streams events as server-sent events. A client that reconnects with Last-Event-ID
// gets the events that it missed as far as they are still stored, and is told if they are
// not. A client that does not read is disconnected.
func (s *Server) events() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		if last == "" {
			last = r.URL.Query().Get("last_event_id")
		}
		after := uint64(0)
		if last != "" {
			var err error
			if after, err = strconv.ParseUint(last, 10, 64); err != nil {
				writeProblem(w, refusal(http.StatusUnprocessableEntity, fmt.Sprintf("Last-Event-ID %.40q is not a number", last), ""))
				return
			}
		}
		project := r.URL.Query().Get("project")
		ch := s.handlers.Subscribe(r.Context(), scopeOf(r.Context()), after)
		w.Header().Set("Content-Type", "text/event-stream")
		out := eventWriter{w, http.NewResponseController(w)}
		if !out.write(": events of foldwatch\n\n") {
			return
		}
		beat := time.NewTicker(heartbeatTime)
		defer beat.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case now := <-beat.C:
				// Without an id: a client that reconnects must name its last real event.
				if b, err := json.Marshal(wire.Event{ID: after, Type: "heartbeat", Time: now.UTC()}); err != nil || !out.write(fmt.Sprintf("event: heartbeat\ndata: %s\n\n", b)) {
					return
				}
			case e, ok := <-ch:
				if !ok {
					return
				}
				after = e.ID
				if project != "" && e.Project != "" && e.Project != project {
					continue
				}
				b, err := json.Marshal(e)
				if err != nil {
					s.opt.Log.WarnContext(r.Context(), "Event left out", "id", e.ID, "err", err)
					continue
				}
				if !out.write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Type, b)) {
					return
				}
				beat.Reset(heartbeatTime)
			}
		}
	})
}

// An eventWriter writes to a client that may have stopped reading.
type eventWriter struct {
	w   http.ResponseWriter
	out *http.ResponseController
}

// write reports whether text was sent in time.
func (e eventWriter) write(text string) bool {
	_ = e.out.SetWriteDeadline(time.Now().Add(eventTime)) // writers of tests have none
	if _, err := e.w.Write([]byte(text)); err != nil {
		return false
	}
	return e.out.Flush() == nil
}
