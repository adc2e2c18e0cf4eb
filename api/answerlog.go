package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/foldwatch/foldwatch/api/auth"
)

// logAnswer returns a writer that notes the status, and a function that logs the answer
// at level debug. If that level is off, they do nothing.
func (s *Server) logAnswer(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, func(route Route, who auth.Caller)) {
	if !s.opt.Log.Enabled(r.Context(), slog.LevelDebug) {
		return w, func(Route, auth.Caller) {}
	}
	began, known := time.Now(), &statusWriter{ResponseWriter: w}
	return known, func(route Route, who auth.Caller) {
		s.opt.Log.DebugContext(r.Context(), "Answered",
			"id", requestID(r.Context()), "operation", route.ID, "method", r.Method, "caller", who.ID, "status", known.status, "took", time.Since(began))
	}
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController, Flush for callers that use http.Flusher.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
