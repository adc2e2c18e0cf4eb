package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Access says who may call a route.
type Access = auth.Access

// Who may call a route.
const (
	Public     = auth.Public
	Read       = auth.Read
	Write      = auth.Write
	Admin      = auth.Admin
	AdminOfAll = auth.AdminOfAll
)

// A Route is one operation of the API.
type Route struct {
	Access  Access
	Method  string
	Path    string // pattern of net/http
	ID      string // name of the operation and of the client's method
	Summary string
	Status  int   // of success; 0 means 200, or 204 where there is no body
	Limit   int64 // of the request's body in bytes; 0 means bodyLimit
	Stream  bool  // answers for as long as the client listens
	Secret  bool  // its answer is shown once: it is not kept for an Idempotency-Key

	// Also are answers beside the usual one and the problems that follow from the
	// declaration; where In is nil, all but the problems of the gate. Never are statuses of
	// such problems that the route cannot have. See [Route.Answers].
	Also  []Answer
	Never []int

	Params []*huma.Param // beside those of In

	// In is the struct of parameters and body, Out that of the answer, nil if
	// it has none. Both are nil for a route that is no typed operation.
	In, Out reflect.Type

	add func(*Server, huma.API, Route)
}

// Pattern returns the route as net/http names it.
func (r Route) Pattern() string { return r.Method + " " + r.Path }

// A handler does one operation.
type handler[I, B any] func(ctx context.Context, h Handlers, sc fold.Scope, in *I) (B, error)

// reply is what huma writes: a body with its ETag.
type reply[B any] struct {
	Status     int
	ETag       string `header:"ETag"`
	RetryAfter string `header:"Retry-After"`
	Body       B
}

// on declares an operation of the handlers that answers with a body.
func on[I, B any](a Access, method, path, id, summary string, h handler[I, B]) Route {
	return answered(a, method, path, id, summary, func(ctx context.Context, s *Server, in *I) (B, error) {
		return h(ctx, s.handlers, scopeOf(ctx), in)
	})
}

// answered declares an operation of the server that answers with a body.
func answered[I, B any](a Access, method, path, id, summary string, h func(ctx context.Context, s *Server, in *I) (B, error)) Route {
	return Route{
		Access: a, Method: method, Path: path, ID: id, Summary: summary,
		In: reflect.TypeFor[I](), Out: reflect.TypeFor[B](),
		add: func(s *Server, api huma.API, r Route) {
			op := operation(api, r)
			defer untag(&op, r)
			huma.Register(api, op, func(ctx context.Context, in *I) (*reply[B], error) {
				body, err := h(ctx, s, in)
				if err != nil {
					return nil, s.problemOf(ctx, r.ID, err, conditional(in))
				}
				out := &reply[B]{Status: r.status(), Body: body}
				switch b := any(body).(type) {
				case wire.Memory:
					out.ETag = etag(b.ContentHash)
					if noneMatch(in, out.ETag) {
						return nil, &problemError{Problem: wire.Problem{Status: http.StatusNotModified}, header: http.Header{"ETag": {out.ETag}}}
					}
				case wire.WriteReply:
					out.ETag = etag(b.ContentHash)
					if b.Created {
						out.Status = http.StatusCreated
					}
				case wire.ProjectAdded:
					if !b.Created {
						out.Status = http.StatusOK // it was registered already
					}
				case wire.Health:
					if b.Status == "starting" && r.ID == "ready" {
						out.Status, out.RetryAfter = http.StatusServiceUnavailable, retryAfter
					}
				}
				return out, nil
			})
		},
	}
}

// done declares an operation of the handlers that answers without a body.
func done[I any](a Access, method, path, id, summary string, h func(ctx context.Context, h Handlers, sc fold.Scope, in *I) error) Route {
	return finished(a, method, path, id, summary, func(ctx context.Context, s *Server, in *I) error {
		return h(ctx, s.handlers, scopeOf(ctx), in)
	})
}

// finished declares an operation of the server that answers without a body.
func finished[I any](a Access, method, path, id, summary string, h func(ctx context.Context, s *Server, in *I) error) Route {
	return Route{
		Access: a, Method: method, Path: path, ID: id, Summary: summary, Status: http.StatusNoContent,
		In: reflect.TypeFor[I](),
		add: func(s *Server, api huma.API, r Route) {
			huma.Register(api, operation(api, r), func(ctx context.Context, in *I) (*struct{}, error) {
				if err := h(ctx, s, in); err != nil {
					return nil, s.problemOf(ctx, r.ID, err, conditional(in))
				}
				return nil, nil
			})
		},
	}
}

// raw declares a route that writes its answer itself.
func raw(a Access, method, path, id, summary string, h func(s *Server) http.Handler) Route {
	return Route{
		Access: a, Method: method, Path: path, ID: id, Summary: summary,
		add: func(s *Server, api huma.API, r Route) {
			op := operation(api, r)
			api.OpenAPI().AddOperation(&op)
			s.mux.Handle(r.Pattern(), h(s))
		},
	}
}

func (r Route) status() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

func (r Route) limit() int64 {
	if r.Limit == 0 {
		return bodyLimit
	}
	return r.Limit
}

// untimed turns off the deadline that huma sets to read the body: huma does not reset it
// afterwards, which would cancel handlers that take longer.
const untimed = -1

func operation(api huma.API, r Route) huma.Operation {
	return huma.Operation{
		OperationID: r.ID, Method: r.Method, Path: r.Path, Summary: r.Summary,
		Description:   "Callable with scope: " + string(r.Access) + ".",
		DefaultStatus: r.status(), MaxBodyBytes: r.limit(),
		BodyReadTimeout: untimed,
		Parameters:      r.params(),
		Responses:       r.responses(api.OpenAPI()),
	}
}

// params are the parameters that are no part of In.
func (r Route) params() []*huma.Param {
	if r.Method == http.MethodPost && r.In != nil && !r.Secret {
		most := maxIdempotencyKey
		return append(r.Params, &huma.Param{
			Name: "Idempotency-Key", In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most},
			Description: "What was done under it is not done again within 24 hours, but answered as it was.",
		})
	}
	return r.Params
}

// Match is the precondition of a write.
type Match struct {
	IfMatch string `header:"If-Match" doc:"ETag of the memory as it was read; a mismatch is answered 412"`
}

func (m Match) conditional() bool { return m.IfMatch != "" && m.IfMatch != "*" }

// expect returns the hash that the caller expects, from If-Match or the body.
func (m Match) expect(body string) (string, error) {
	if !m.conditional() {
		return body, nil
	}
	hash := strings.Trim(m.IfMatch, `"`)
	if body != "" && body != hash {
		return "", errTwoHashes
	}
	return hash, nil
}

func conditional(in any) bool {
	c, ok := in.(interface{ conditional() bool })
	return ok && c.conditional()
}

func etag(hash string) string {
	if hash == "" {
		return ""
	}
	return `"` + hash + `"`
}

func noneMatch(in any, tag string) bool {
	c, ok := in.(interface{ knows(tag string) bool })
	return ok && tag != "" && c.knows(tag)
}

// scopeOf returns the scope of the caller whose request ctx belongs to; the
// zero scope, which may do nothing, where there is none.
func scopeOf(ctx context.Context) fold.Scope { return auth.CallerOf(ctx).Scope }
