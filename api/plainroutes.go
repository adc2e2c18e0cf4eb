package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// plainRoutes are those about the daemon, and those whose bodies are not JSON.
func plainRoutes() []Route {
	return append([]Route{healthRoute("health", "/health", "Tell how the daemon is"), readyRoute(), liveRoute(), metricsRoute(), documentRoute(), eventsRoute()}, mcpRoutes()...)
}

// healthRoute is open to all who can connect, but only lists projects that the caller may
// read.
func healthRoute(id, path, summary string) Route {
	r := on(Public, "GET", path, id, summary,
		func(ctx context.Context, h Handlers, sc fold.Scope, _ *inNone) (wire.Health, error) {
			health := h.Health(ctx)
			checks := map[string]string{}
			for slug, state := range health.Checks {
				if sc.CanRead(slug) {
					checks[slug] = state
				}
			}
			health.Checks = checks
			return health, nil
		})
	r.Never = []int{http.StatusInsufficientStorage}
	return r
}

func readyRoute() Route {
	r := healthRoute("ready", "/health/ready", "Answer 200 once searches are served, 503 before")
	r.Also = []Answer{{Status: http.StatusServiceUnavailable, Says: "Starting, or too much is asked at once.", Type: jsonType, Body: r.Out}}
	return r
}

func liveRoute() Route {
	r := raw(Public, "GET", "/health/live", "live", "Answer 200 as long as the daemon runs", (*Server).live)
	r.Also = []Answer{{Status: http.StatusOK, Type: jsonType, Body: reflect.TypeFor[wire.Health]()}}
	r.Never = []int{http.StatusInternalServerError}
	return r
}

func metricsRoute() Route {
	r := raw(Read, "GET", "/metrics", "metrics", "Prometheus metrics", (*Server).metrics)
	r.Also = []Answer{{Status: http.StatusOK, Says: "Text format 0.0.4.", Type: "text/plain"}}
	return r
}

func documentRoute() Route {
	r := raw(Public, "GET", "/openapi.json", "openapi", "OpenAPI 3.1 description", (*Server).openapi)
	r.Also = []Answer{{Status: http.StatusOK, Says: "This document.", Type: documentType, Body: reflect.TypeFor[map[string]any]()}}
	r.Never = []int{http.StatusInternalServerError}
	return r
}

func eventsRoute() Route {
	r := raw(Read, "GET", "/api/events", "events", "Follow what happens (server-sent events)", (*Server).events)
	r.Stream = true
	r.Params = []*huma.Param{
		{Name: "project", In: "query", Schema: &huma.Schema{Type: huma.TypeString}, Description: "only what happens in it, and to the daemon; default: all that may be read"},
		{Name: "last_event_id", In: "query", Schema: &huma.Schema{Type: huma.TypeString}, Description: "as Last-Event-ID, for who cannot send that"},
		{Name: "Last-Event-ID", In: "header", Schema: &huma.Schema{Type: huma.TypeString}, Description: "id of the last event that was seen: those after it come first"},
	}
	r.Also = []Answer{
		{Status: http.StatusOK, Says: "Events until the caller leaves, or is dropped because it does not keep up; the data of each is an Event.", Type: "text/event-stream"},
		{Status: http.StatusUnprocessableEntity, Says: "Last-Event-ID is no number.", Type: problemType, Body: reflect.TypeFor[wire.Problem]()},
	}
	return r
}

// mcpRoutes are those of MCP, with the statuses of its streamable HTTP.
func mcpRoutes() []Route {
	post := raw(Read, "POST", "/mcp", "mcp", "MCP", (*Server).mcpHandler)
	get := raw(Read, "GET", "/mcp", "mcpStream", "MCP stream of older clients", (*Server).mcpHandler)
	end := raw(Read, "DELETE", "/mcp", "mcpEnd", "End an MCP session of older clients", (*Server).mcpHandler)
	gone := raw(Public, "GET", "/mcp/sse", "mcpSSE", "Gone: points to /mcp", (*Server).gone)
	post.Limit, get.Stream = uploadLimit, true
	message := reflect.TypeFor[map[string]any]()
	refused := func(status int, says string) Answer { return Answer{status, says, "text/plain", nil} }
	none := Answer{http.StatusNotFound, "", problemType, reflect.TypeFor[wire.Problem]()} // MCP is not served here
	post.Also = []Answer{
		{http.StatusOK, "The answer to a request.", jsonType, message},
		{http.StatusOK, "", "text/event-stream", nil},
		{http.StatusAccepted, "A notification, or an answer to us.", "", nil},
		refused(http.StatusBadRequest, "No message of MCP."),
		refused(http.StatusNotFound, "The session is not known here any more: begin another."), none,
	}
	get.Also = []Answer{
		{http.StatusOK, "What the server tells by itself.", "text/event-stream", nil},
		refused(http.StatusBadRequest, "No session is named, or the client does not accept a stream."),
		refused(http.StatusNotFound, "The session is not known here any more: begin another."), none,
	}
	end.Also = []Answer{
		{http.StatusNoContent, "Ended.", "", nil},
		refused(http.StatusBadRequest, "No session is named."),
		refused(http.StatusNotFound, "The session is not known here any more."), none,
	}
	gone.Also = []Answer{{http.StatusGone, "", problemType, reflect.TypeFor[wire.Problem]()}}
	gone.Never = []int{http.StatusInternalServerError}
	return []Route{post, get, end, gone}
}
