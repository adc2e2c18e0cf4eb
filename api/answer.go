package api

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foldwatch/foldwatch/api/wire"
)

// An Answer is one kind of answer of a route. A status may have several, each with its own
// media type.
type Answer struct {
	Status int
	Says   string // "" is the usual text of the status
	Type   string // media type; "" is an answer without body
	// Body is what JSON decodes into; nil where the body is not JSON.
	Body reflect.Type
}

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// Answers returns every answer of the route, by status: successes and problems. The
// OpenAPI document is made of them, and no other status is ever sent, see
// [Server.problemOf].
func (r Route) Answers() []Answer {
	all := slices.Clone(r.Also)
	switch {
	case r.Out != nil:
		all = append(all, Answer{Status: r.status(), Type: jsonType, Body: r.Out})
	case r.In != nil:
		all = append(all, Answer{Status: r.status()})
	}
	for status := range r.refusals() {
		all = append(all, Answer{Status: status, Type: problemType, Body: reflect.TypeFor[wire.Problem]()})
	}
	slices.SortFunc(all, func(a, b Answer) int { return cmp.Or(a.Status-b.Status, cmp.Compare(a.Type, b.Type)) })
	return all
}

// refusals returns the statuses of the problems that the route may answer with. They
// follow from its declaration, except for those that it excludes by Never.
func (r Route) refusals() map[int]bool {
	all := map[int]bool{}
	for _, status := range []int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, // by the gate
		http.StatusInternalServerError, http.StatusServiceUnavailable,
	} {
		all[status] = true
	}
	changes := r.Method != http.MethodGet
	if changes { // a body is read, and its type checked
		for _, status := range []int{
			http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		} {
			all[status] = true
		}
	}
	if r.In != nil {
		all[http.StatusInsufficientStorage] = true
		all[http.StatusNotFound] = r.In.NumField() > 0
		all[http.StatusUnprocessableEntity] = r.In.NumField() > 0 || r.Method == http.MethodPost // an Idempotency-Key
		all[http.StatusConflict] = changes && r.Access != Read
		_, all[http.StatusPreconditionFailed] = r.In.FieldByName("IfMatch")
	}
	for _, status := range r.Never {
		all[status] = false
	}
	maps.DeleteFunc(all, func(_ int, may bool) bool { return !may })
	return all
}

// statusTexts describe the problems that routes share, in the OpenAPI document.
var statusTexts = map[int]string{
	http.StatusBadRequest:            "The body cannot be read as JSON.",
	http.StatusUnauthorized:          "The credentials are not valid, or there are none where some are needed.",
	http.StatusForbidden:             "The caller may not do this, or the request came from a web page or for another host.",
	http.StatusNotFound:              "What the request names does not exist, as far as the caller may know.",
	http.StatusRequestTimeout:        "The body did not arrive in time.",
	http.StatusConflict:              "Changed since it was read; both versions are in the problem where it is a memory.",
	http.StatusGone:                  "Retired; the hint says what took its place.",
	http.StatusPreconditionFailed:    "If-Match names a version that is not the stored one; both are in the problem.",
	http.StatusRequestEntityTooLarge: "The body is larger than what is taken.",
	http.StatusUnsupportedMediaType:  "The body is not application/json.",
	http.StatusUnprocessableEntity:   "The input breaks a rule, or holds a credential.",
	http.StatusTooManyRequests:       "The caller, or its address, sends more than its share.",
	http.StatusInternalServerError:   "Something unexpected failed; the log has the cause under the id.",
	http.StatusServiceUnavailable:    "Not possible now: starting, busy, or the checkout cannot be written.",
	http.StatusInsufficientStorage:   "The disk is full; nothing was stored.",
}

// describeShared adds to the document what all routes share.
func describeShared(doc *huma.OpenAPI) {
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {
		Type: "http", Scheme: "bearer", Description: "A token of foldwatch token create. At the socket none is needed: there the caller is the owner.",
	}}
	doc.Security = []map[string][]string{{}, {"token": {}}}
	text := &huma.Schema{Type: huma.TypeString}
	doc.Components.Headers = map[string]*huma.Header{
		"Request":      {Description: "Id of the request, as sent or made here.", Required: true, Schema: text},
		"Version":      {Description: "Version of the daemon.", Required: true, Schema: text},
		"Notices":      {Description: "At the socket, where the request has a header of this name and no token: what a person should know, such as that a project is paused; a line each, percent-encoded as in a query. Empty if there is nothing.", Schema: text},
		"ETag":         {Description: "The content hash, quoted; for If-Match and If-None-Match.", Schema: text},
		"Retry":        {Description: "Seconds to wait before the next try.", Required: true, Schema: &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9]+$"}},
		"Authenticate": {Description: "How to authenticate.", Required: true, Schema: text},
	}
	doc.Components.Schemas.Schema(reflect.TypeFor[wire.Event](), true, "") // of a stream, so no body has it
	doc.Components.Responses = map[string]*huma.Response{}
	for status, says := range statusTexts {
		doc.Components.Responses[problemName(status)] = inline(doc, []Answer{{Status: status, Says: says, Type: problemType, Body: reflect.TypeFor[wire.Problem]()}})
	}
}

func problemName(status int) string { return "Problem" + strconv.Itoa(status) }

// responses are the answers of the route as the document has them.
func (r Route) responses(doc *huma.OpenAPI) map[string]*huma.Response {
	by := map[int][]Answer{}
	for _, a := range r.Answers() {
		by[a.Status] = append(by[a.Status], a)
	}
	out := map[string]*huma.Response{}
	for status, answers := range by {
		if len(answers) == 1 && answers[0].Type == problemType && statusTexts[status] != "" {
			out[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + problemName(status)}
			continue
		}
		out[strconv.Itoa(status)] = inline(doc, answers)
	}
	return out
}

// inline describes all answers of one status.
func inline(doc *huma.OpenAPI, answers []Answer) *huma.Response {
	status := answers[0].Status
	out := &huma.Response{
		Description: cmp.Or(answers[0].Says, statusTexts[status], http.StatusText(status)+"."),
		Headers:     map[string]*huma.Param{requestHeader: headerRef("Request"), "X-Foldwatch-Version": headerRef("Version"), wire.NoticesHeader: headerRef("Notices")},
	}
	if tagged(answers) {
		out.Headers["ETag"] = &huma.Param{Ref: "#/components/headers/ETag"}
	}
	switch status {
	case http.StatusUnauthorized:
		out.Headers["WWW-Authenticate"] = headerRef("Authenticate")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		out.Headers["Retry-After"] = headerRef("Retry")
	}
	for _, a := range answers {
		if a.Type == "" {
			continue
		}
		if out.Content == nil {
			out.Content = map[string]*huma.MediaType{}
		}
		schema := &huma.Schema{Type: huma.TypeString}
		if a.Body != nil {
			schema = doc.Components.Schemas.Schema(a.Body, true, "")
		}
		out.Content[a.Type] = &huma.MediaType{Schema: schema}
	}
	return out
}

// tagged reports whether one of the answers has an ETag.
func tagged(answers []Answer) bool {
	return slices.ContainsFunc(answers, func(a Answer) bool {
		return a.Body == reflect.TypeFor[wire.Memory]() || a.Body == reflect.TypeFor[wire.WriteReply]() || a.Status == http.StatusNotModified
	})
}

// untag removes the headers ETag and Retry-After, which huma adds to every answer of the
// operation because some have them.
func untag(op *huma.Operation, r Route) {
	for _, res := range op.Responses {
		maps.DeleteFunc(res.Headers, func(_ string, h *huma.Param) bool { return h.Ref == "" })
	}
	if r.Out == reflect.TypeFor[wire.Memory]() || r.Out == reflect.TypeFor[wire.WriteReply]() {
		op.Responses[strconv.Itoa(r.status())].Headers["ETag"] = headerRef("ETag")
	}
}

func headerRef(name string) *huma.Param { return &huma.Param{Ref: "#/components/headers/" + name} }
