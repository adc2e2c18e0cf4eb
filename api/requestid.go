package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

// requestHeader has the id of a request: that of the caller, who can so find the request
// in the log, or a new one. It is in each answer, problem and log line of the request.
const requestHeader = "X-Request-Id"

// maxRequestID is how long the id of a caller may be, in bytes.
const maxRequestID = 64

type requestKey struct{}

// requestID returns the id of the request that ctx belongs to, "" if there is none.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// withRequestID returns r with its id in the context, and writes that into the
// headers of its answer.
func withRequestID(w http.ResponseWriter, r *http.Request) *http.Request {
	id := r.Header.Get(requestHeader)
	if !validRequestID(id) {
		id = newRequestID()
	}
	w.Header().Set(requestHeader, id)
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
}

func newRequestID() string { return strings.ToLower(rand.Text()[:12]) }

// validRequestID reports whether id, which others chose, may stand in a log.
func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}
