package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// problemError is a problem document on its way out through huma.
type problemError struct {
	wire.Problem
	header http.Header
}

// Error returns what failed.
func (p *problemError) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *problemError) GetStatus() int { return p.Status }

// GetHeaders returns headers that belong to the answer.
func (p *problemError) GetHeaders() http.Header { return p.header }

// ContentType returns the media type of problem documents.
func (p *problemError) ContentType(string) string { return "application/problem+json" }

// retryAfter is how many seconds a client should wait after a 429 or 503.
const retryAfter = "1"

// problemOf returns the problem for an error of the named operation; a conflict with an
// If-Match is a 412. The text of an internal error goes to the log, and only the id of the
// request to the client; so does that of an error that the operation does not document.
func (s *Server) problemOf(ctx context.Context, operation string, err error, ifMatch bool) *problemError {
	if done, ok := errors.AsType[*problemError](err); ok {
		return done
	}
	p := &problemError{Problem: wire.NewProblem(err)}
	if p.Code == "conflict" && ifMatch {
		p.Status = http.StatusPreconditionFailed
	}
	if p.Code == "internal" || !s.documented[operation][p.Status] {
		undocumented := p.Code
		p.Problem = wire.NewProblem(errInternal)
		if p.ID = requestID(ctx); p.ID == "" {
			p.ID = newRequestID()
		}
		p.Detail = "something unexpected failed; the log has the cause under " + p.ID
		s.opt.Log.ErrorContext(ctx, "Request failed", "id", p.ID, "operation", operation, "code", undocumented, "err", err)
	}
	p.header = headersOf(p.Status)
	p.Request = requestID(ctx)
	return p
}

// headersOf are what belongs to a problem of that status.
func headersOf(status int) http.Header {
	switch status {
	case http.StatusUnauthorized:
		return http.Header{"Www-Authenticate": {"Bearer"}}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return http.Header{"Retry-After": {retryAfter}}
	}
	return nil
}

// errInternal has no kind, so it becomes an internal error.
var errInternal = errors.New("internal")

// refusalCodes names the refusals of the HTTP layer itself, by codes of the
// registry, see [wire.Codes].
var refusalCodes = map[int]string{
	http.StatusBadRequest:            "invalid",
	http.StatusUnauthorized:          "unauthenticated",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusMethodNotAllowed:      "method_not_allowed",
	http.StatusRequestTimeout:        "timeout",
	http.StatusGone:                  "gone",
	http.StatusRequestEntityTooLarge: "too_large",
	http.StatusUnsupportedMediaType:  "not_json",
	http.StatusUnprocessableEntity:   "invalid",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusServiceUnavailable:    "unavailable",
}

// refusal returns the problem of an HTTP status that comes from no error of a handler.
func refusal(status int, detail, hint string) wire.Problem {
	k, ok := wire.KindByCode(refusalCodes[status])
	if !ok {
		k, status, detail = wire.KindOf(errInternal), http.StatusInternalServerError, "" // no status of ours
	}
	return wire.Problem{Type: wire.ProblemType(k.Code), Title: k.Title, Status: status, Detail: detail, Code: k.Code, Hint: hint}
}

// fromHuma converts an error that huma found in a request.
func fromHuma(m *huma.ErrorModel) wire.Problem {
	p := refusal(m.Status, m.Detail, "")
	for _, e := range m.Errors {
		if e != nil {
			p.Errors = append(p.Errors, wire.ProblemField{Location: e.Location, Message: e.Message})
		}
	}
	return p
}

// writeProblem answers with p outside of huma.
func writeProblem(w http.ResponseWriter, p wire.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	for name, value := range headersOf(p.Status) {
		if w.Header().Get(name) == "" {
			w.Header()[name] = value
		}
	}
	p.Request = w.Header().Get(requestHeader)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client left: nobody to tell
}

// errTwoHashes says that a request names two different hashes.
var errTwoHashes = fold.WithHint(
	errors.Join(errors.New("If-Match and expected_hash differ"), fold.ErrInvalid), "send one of them")
