package wire

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// ErrNoDaemon says that nothing listens on the socket.
var ErrNoDaemon = errors.New("foldwatch is not running")

// What a request can be refused for before it reaches a handler.
var (
	ErrRateLimited = errors.New("too many requests")
	ErrTooLarge    = errors.New("body is too large")
	ErrNotJSON     = errors.New("body is not JSON")
	ErrMethod      = errors.New("method is not possible here")
	ErrGone        = errors.New("retired")
)

// A Problem is an error as every door tells it: an RFC 9457 problem document.
type Problem struct {
	Type    string         `json:"type" doc:"urn:foldwatch:problem:<code>; never changes its meaning"`
	Title   string         `json:"title"`
	Status  int            `json:"status"`
	Detail  string         `json:"detail,omitempty" doc:"what failed, and on what"`
	Code    string         `json:"code" doc:"stable short name of the kind"`
	Hint    string         `json:"hint,omitempty" doc:"what resolves it"`
	Request string         `json:"request_id,omitempty" doc:"X-Request-Id of the request, by which the log names it"`
	ID      string         `json:"id,omitempty" doc:"memory in conflict, or what the log has a failure inside under"`
	Want    string         `json:"want,omitempty" doc:"content hash the caller had read"`
	Current *Version       `json:"current,omitempty" doc:"what is stored now"`
	Yours   *Version       `json:"yours,omitempty" doc:"what would have been stored"`
	Errors  []ProblemField `json:"errors,omitempty"`
}

// A Version is one side of a conflict.
type Version struct {
	ContentHash string `json:"content_hash"`
	Content     string `json:"content" doc:"bytes of the memory file"`
}

// A ProblemField is one part of a request that breaks a rule.
type ProblemField struct {
	Location string `json:"location,omitempty"`
	Message  string `json:"message"`
}

// A Kind is a row of the table that says how each kind of error leaves the
// program: as HTTP status, as stable code, as exit code, as sentence to a model.
type Kind struct {
	Err    error  // tested with errors.Is
	Code   string // stable
	Title  string
	Status int    // of HTTP
	Also   int    // the status where HTTP has a closer one, 0 if it has none: 412 for a stale If-Match
	Exit   int    // of the command line, surfaces.md 1
	Tell   string // what a model can do about it; "" if the error says it all
}

// internal is the kind of every error that is in no row: its text is for the
// log, not for the caller.
var internal = Kind{Code: "internal", Title: "Unexpected failure", Status: 500, Exit: 1, Tell: "This is a fault of foldwatch; its log has the cause under that number."}

// Kinds returns the table, most specific kind first.
func Kinds() []Kind {
	return []Kind{
		{Err: ErrNoDaemon, Code: "no_daemon", Title: "Not running", Status: 503, Exit: 3, Tell: "Ask the user to run: foldwatch serve"},
		{Err: fold.ErrConflict, Code: "conflict", Title: "Changed since it was read", Status: 409, Also: 412, Exit: 5, Tell: "Read it again with memory_get, merge, and send its content_hash as expected_hash."},
		{Err: fold.ErrSecret, Code: "secret", Title: "Holds a credential", Status: 422, Exit: 6, Tell: "Remove the credential from the text and try again; nothing was stored."},
		{Err: fold.ErrQuarantined, Code: "quarantined", Title: "File set aside", Status: 422, Exit: 1, Tell: "The file must be mended by hand first; foldwatch problems says why it is set aside."},
		{Err: fold.ErrUnauthenticated, Code: "unauthenticated", Title: "Who is calling is not known", Status: 401, Exit: 6},
		{Err: fold.ErrForbidden, Code: "forbidden", Title: "Not allowed", Status: 403, Exit: 6},
		{Err: fold.ErrNotFound, Code: "not_found", Title: "Not found", Status: 404, Exit: 4, Tell: "memory_search and memory_list give the ids that exist, project_list the projects."},
		{Err: fold.ErrInvalid, Code: "invalid", Title: "Input breaks a rule", Status: 422, Also: 400, Exit: 2},
		{Err: syscall.ENOSPC, Code: "no_space", Title: "No space left", Status: 507, Exit: 1, Tell: "Nothing was stored; the disk is full."},
		{Err: syscall.EDQUOT, Code: "no_space", Title: "No space left", Status: 507, Exit: 1, Tell: "Nothing was stored; the quota is used up."},
		{Err: fold.ErrUnavailable, Code: "unavailable", Title: "Not available now", Status: 503, Exit: 1, Tell: "Try again later."},
		{Err: context.DeadlineExceeded, Code: "timeout", Title: "Took too long", Status: 503, Also: 408, Exit: 1, Tell: "Try again, with a smaller request."},
		{Err: context.Canceled, Code: "cancelled", Title: "Cancelled", Status: 503, Exit: 1},
		{Err: ErrRateLimited, Code: "rate_limited", Title: "Too many requests", Status: 429, Exit: 1, Tell: "Wait a moment, then go on more slowly."},
		{Err: ErrTooLarge, Code: "too_large", Title: "Body is too large", Status: 413, Exit: 2, Tell: "Send less at once."},
		{Err: ErrNotJSON, Code: "not_json", Title: "Body is not JSON", Status: 415, Exit: 1},
		{Err: ErrMethod, Code: "method_not_allowed", Title: "Method is not possible here", Status: 405, Exit: 1},
		{Err: ErrGone, Code: "gone", Title: "Retired", Status: 410, Exit: 1},
	}
}

// Codes returns the registry of codes: the table, each code once, and that of
// failures inside.
func Codes() []Kind {
	all := append(Kinds(), internal)
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(k Kind) bool {
		twice := seen[k.Code]
		seen[k.Code] = true
		return twice
	})
}

// KindOf returns the row of err. An error of no kind is internal.
func KindOf(err error) Kind {
	for _, k := range Kinds() {
		if errors.Is(err, k.Err) {
			return k
		}
	}
	return internal
}

// KindByCode returns the row with that code; false if there is none.
func KindByCode(code string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Code == code {
			return k, true
		}
	}
	return internal, false
}

// NewProblem tells err as a problem document. The text of an internal error
// stays out of it: the caller sets ID to what the log has it under.
func NewProblem(err error) Problem {
	k := KindOf(err)
	p := Problem{Type: ProblemType(k.Code), Title: k.Title, Status: k.Status, Code: k.Code, Hint: fold.Hint(err)}
	if k.Err != nil {
		p.Detail = err.Error()
	}
	if c, ok := errors.AsType[*fold.ConflictError](err); ok {
		p.ID, p.Want = string(c.ID), c.Want
		p.Current = &Version{ContentHash: c.Have, Content: string(c.Current)}
		if c.Yours != nil {
			p.Yours = &Version{ContentHash: fold.ContentHash(c.Yours), Content: string(c.Yours)}
		}
	}
	return p
}

// ProblemType returns the URI of a code.
func ProblemType(code string) string { return "urn:foldwatch:problem:" + code }

// Err returns the problem as the error it was told from: errors.Is finds its
// kind, fold.Hint its hint, and a conflict carries both versions.
func (p Problem) Err() error {
	var err error = &problemError{p: p}
	if p.Code == "conflict" && p.Current != nil {
		c := &fold.ConflictError{ID: fold.ID(p.ID), Want: p.Want, Have: p.Current.ContentHash, Current: []byte(p.Current.Content)}
		if p.Yours != nil {
			c.Yours = []byte(p.Yours.Content)
		}
		err = &problemError{p: p, as: c}
	}
	if p.Hint != "" {
		err = fold.WithHint(err, p.Hint)
	}
	return err
}

// problemError is an error that came over the wire.
type problemError struct {
	p  Problem
	as error // more than the kind, where there is more
}

func (e *problemError) Error() string {
	text := e.p.Detail
	if text == "" {
		text = e.p.Title
	}
	for _, f := range e.p.Errors {
		text += "; "
		if f.Location != "" {
			text += f.Location + ": "
		}
		text += f.Message
	}
	if e.p.Code == "internal" && e.p.ID != "" {
		text += " (log entry " + e.p.ID + ")"
	}
	return text
}

func (e *problemError) Unwrap() []error {
	var errs []error
	if e.as != nil {
		errs = append(errs, e.as)
	}
	if k, ok := KindByCode(e.p.Code); ok {
		errs = append(errs, k.Err)
	}
	return errs
}
