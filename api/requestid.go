package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

// requestHeader carries the id of a request: the caller's own, so that it finds
// its request in the log again, or one made here. Every answer has it, every
// problem names it, and so does every line of the log about the request.
const requestHeader = "X-Request-Id"

// requestIDMost is how long the id of a caller may be, in bytes.
const requestIDMost = 64

type requestKey struct{}

// requestID returns the id of the request that ctx belongs to, "" where there is
// none.
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// identified returns r with its id in the context, and writes that into the
// headers of its answer.
func identified(w http.ResponseWriter, r *http.Request) *http.Request {
	id := r.Header.Get(requestHeader)
	if !plainID(id) {
		id = newRequestID()
	}
	w.Header().Set(requestHeader, id)
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
}

func newRequestID() string { return strings.ToLower(rand.Text()[:12]) }

// plainID reports whether id, which others chose, may stand in a log.
func plainID(id string) bool {
	return id != "" && len(id) <= requestIDMost && strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}
