package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// events streams what happens as server-sent events. A client that comes back
// with Last-Event-ID gets what it missed, as far as that is still known.
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
		ch := s.doors.Subscribe(r.Context(), scopeOf(r.Context()), after)
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		if _, err := w.Write([]byte(": events of foldwatch\n\n")); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		for {
			select {
			case <-r.Context().Done():
				return
			case e, ok := <-ch:
				if !ok {
					return
				}
				if project != "" && e.Project != "" && e.Project != project {
					continue
				}
				b, err := json.Marshal(e)
				if err != nil {
					s.opt.Log.WarnContext(r.Context(), "Event left out", "id", e.ID, "err", err)
					continue
				}
				if _, err := fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Type, b); err != nil {
					return
				}
				if err := out.Flush(); err != nil {
					return
				}
			}
		}
	})
}
