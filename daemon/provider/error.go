package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// An Error is a failed answer of a provider, or why there was none. Its text never
// contains what was sent, nor the key: of the provider's text only short codes are
// quoted.
type Error struct {
	Provider string
	Status   int    // of HTTP; 0 if there was no answer
	Code     string // the provider's, such as invalid_api_key
	Reason   string
	Hint     string
	Again    bool          // it may work later
	After    time.Duration // when, by the Retry-After of the provider
	kind     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("provider %s %s: %v", e.Provider, e.Reason, e.kind)
}

// Unwrap returns the kind of the error, with a hint if there is one.
func (e *Error) Unwrap() error {
	if e.Hint != "" {
		return fold.WithHint(e.kind, e.Hint)
	}
	return e.kind
}

// TooLong reports whether the request may have been too large, so that a smaller one
// could succeed.
func (e *Error) TooLong() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity
}

// failure returns the error of a request without an answer.
func (c *Client) failure(err error) *Error {
	e := &Error{Provider: c.opt.Name, Again: true, kind: fold.ErrUnavailable}
	var ne net.Error
	var de *net.DNSError
	switch {
	case errors.Is(err, errRedirect):
		e.Again, e.kind, e.Reason = false, fold.ErrInvalid, "redirects to another host, which is not followed"
	case errors.Is(err, context.Canceled):
		e.Reason = "was not waited for"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		e.Reason = "did not answer in time"
	case errors.As(err, &de):
		e.Reason = "has a host name that is not found"
	case c.local:
		e.Reason, e.Hint = "does not run on this machine at "+c.base.Host, "start it, or run: foldwatch model use builtin"
	default:
		e.Reason = "cannot be reached"
	}
	return e
}

// bad returns the error of an answer that cannot be read, which may be the page of a
// proxy that is gone in a minute.
func (c *Client) bad(reason string) *Error {
	return &Error{Provider: c.opt.Name, Status: http.StatusOK, Reason: reason, Again: true, kind: fold.ErrUnavailable}
}

// refusal returns the error of a status other than 200.
func (c *Client) refusal(resp *http.Response) *Error {
	e := &Error{Provider: c.opt.Name, Status: resp.StatusCode, kind: fold.ErrUnavailable, Code: errorCode(resp.Body)}
	e.Reason = "answered " + strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	if e.Code != "" {
		e.Reason += " (" + e.Code + ")"
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		e.kind = fold.ErrForbidden
		e.Hint = "check the key: the variable that key_env names must be set where the daemon starts, or key_file name a file with it"
	case resp.StatusCode == http.StatusNotFound:
		e.kind = fold.ErrNotFound // the model, or the URL: the caller knows the right command
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout, resp.StatusCode >= 500:
		e.Again = true
		e.After = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	default:
		e.kind = fold.ErrInvalid
	}
	return e
}

// retryAfter parses the header: seconds, or a date. Zero means there is none.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil && n > 0 && n < 1e6 {
		return time.Duration(n * float64(time.Second))
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// errorCode finds the short code in an answer. A message could repeat what was sent, or a
// part of the key.
func errorCode(r io.Reader) string {
	b, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		return ""
	}
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(b, &body) != nil {
		return ""
	}
	var fields struct{ Code, Type, Status any }
	if json.Unmarshal(body.Error, &fields) != nil {
		return ""
	}
	for _, v := range []any{fields.Status, fields.Code, fields.Type} {
		if s, ok := v.(string); ok && isCode(s) {
			return s
		}
	}
	return ""
}

// isCode reports whether s is an identifier such as insufficient_quota.
func isCode(s string) bool {
	if s == "" || len(s) > 40 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' }) < 0
}
