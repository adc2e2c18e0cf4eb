package api

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Kind returns the row of the one table of error kinds that err belongs to: its
// code, HTTP status, exit code and the sentence for a model. The table itself
// stands in package wire, below the client and the MCP door that need it too.
func Kind(err error) wire.Kind { return wire.KindOf(err) }

// problem is a problem document on its way out through huma.
type problem struct {
	wire.Problem
	header http.Header
}

// Error returns what failed.
func (p *problem) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// GetHeaders returns headers that belong to the answer.
func (p *problem) GetHeaders() http.Header { return p.header }

// ContentType returns the media type of problem documents.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// retryAfter is how many seconds a client waits before it asks a busy or
// unwilling daemon again.
const retryAfter = "1"

// tell makes a problem of err. One that came of an If-Match is a 412. The text
// of an internal error goes to the log under a random id and only the id out.
func (s *Server) tell(r string, err error, ifMatch bool) *problem {
	if done, ok := errors.AsType[*problem](err); ok {
		return done
	}
	p := &problem{Problem: wire.NewProblem(err)}
	switch {
	case p.Code == "internal":
		p.ID = rand.Text()[:12]
		p.Detail = "something unexpected failed; the log has the cause under " + p.ID
		s.opt.Log.Error("Request failed", "id", p.ID, "operation", r, "err", err)
	case p.Code == "conflict" && ifMatch:
		p.Status = http.StatusPreconditionFailed
	}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		p.header = http.Header{"Retry-After": {retryAfter}}
	}
	return p
}

// statusCodes names the refusals of the HTTP layer itself.
var statusCodes = map[int]string{
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
	http.StatusServiceUnavailable:    "unavailable",
}

// refusal makes the problem of an HTTP status that no error kind stands behind.
func refusal(status int, detail, hint string) wire.Problem {
	code := statusCodes[status]
	if code == "" {
		code = "http_" + strconv.Itoa(status)
	}
	title := http.StatusText(status)
	if k, ok := wire.KindByCode(code); ok {
		title = k.Title
	}
	return wire.Problem{Type: wire.ProblemType(code), Title: title, Status: status, Detail: detail, Code: code, Hint: hint}
}

// fromHuma turns the errors that huma makes while it reads a request into ours.
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
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client left: nobody to tell
}

// errTwoHashes says that a request names two different hashes.
var errTwoHashes = fold.WithHint(
	errors.Join(errors.New("If-Match and expected_hash differ"), fold.ErrInvalid), "send one of them")
