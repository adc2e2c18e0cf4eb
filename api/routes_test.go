package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestEveryRouteSaysWhoMayCall fails for a route without declaration, and for
// one that is registered past the table.
func TestEveryRouteSaysWhoMayCall(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range api.Routes() {
		if !r.Access.Known() {
			t.Errorf("%s does not say who may call", r.Pattern())
		}
		if seen[r.Pattern()] || seen[r.ID] || r.ID == "" || r.Summary == "" {
			t.Errorf("%s (%s) is declared twice or without a name", r.Pattern(), r.ID)
		}
		seen[r.Pattern()], seen[r.ID] = true, true
		if changes := r.Method != "GET" && !readingPost[r.ID] || adminsRead[r.ID]; changes != (r.Access == api.Write || r.Access == api.Admin || r.Access == api.AdminOfAll) {
			t.Errorf("%s is declared %s", r.Pattern(), r.Access)
		}
	}
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	past := regexp.MustCompile(`\.HandleFunc\(|mux\.Handle\(|huma\.(Get|Post|Put|Patch|Delete)\(`)
	for _, f := range names {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") || f.Name() == "route.go" {
			continue
		}
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if m := past.Find(b); m != nil {
			t.Errorf("%s registers a route past the table: %s", f.Name(), m)
		}
	}
}

// readingPost are requests that change nothing but have a body, and MCP, whose
// tools declare by themselves. A logout ends what the caller came with.
var readingPost = map[string]bool{"search": true, "searchAll": true, "context": true, "taskContext": true, "mcp": true, "mcpEnd": true, "logout": true}

// adminsRead are requests that tell what is not for everybody who may read.
var adminsRead = map[string]bool{"users": true}

// ask sends one request of the owner to a server without a socket.
func ask(s *api.Server, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Owner().ServeHTTP(w, r)
	return w
}

func problemError(t *testing.T, w *httptest.ResponseRecorder) wire.Problem {
	t.Helper()
	var p wire.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("no problem: %d %s", w.Code, w.Body)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" || p.Status != w.Code || p.Type != "urn:foldwatch:problem:"+p.Code || p.Code == "" {
		t.Errorf("problem %s, %d: %+v", ct, w.Code, p)
	}
	return p
}

// everybody is who sends every request.
type everybody auth.Caller

func (e everybody) Authenticate(*http.Request) (auth.Caller, bool, error) {
	return auth.Caller(e), true, nil
}

func TestScopesAreHeldOnEveryRoute(t *testing.T) {
	t.Parallel()
	scopes := map[api.Access]fold.Scope{
		api.Public: {}, api.Read: {Projects: []string{"app"}}, api.Write: {Projects: []string{"app"}, Write: true},
		api.Admin: {Projects: []string{"app"}, Write: true, Admin: true}, api.AdminOfAll: fold.LocalScope(),
	}
	rank := map[api.Access]int{api.Public: 0, api.Read: 1, api.Write: 2, api.Admin: 3, api.AdminOfAll: 4}
	handlers := apitest.New("app")
	servers := map[api.Access]*api.Server{}
	for who, sc := range scopes {
		servers[who] = api.NewServer(handlers, nil, api.Options{Auth: everybody{ID: "x", Scope: sc}})
	}
	for _, r := range api.Routes() {
		if r.Stream {
			continue
		}
		path := strings.NewReplacer("{slug}", "app", "{id}", "0123456789abcdef", "{link_id}", "0123456789abcdef").Replace(r.Path)
		for who, s := range servers {
			w := ask(s, r.Method, path, "{}")
			if refused := w.Code == http.StatusForbidden; refused != (rank[who] < rank[r.Access]) {
				t.Errorf("%s as %s: %d %s", r.Pattern(), who, w.Code, w.Body)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	handlers := apitest.New("app")
	s := api.NewServer(handlers, nil, api.Options{Version: "1.2.3"})
	for _, tc := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"GET", "/api/projects/nope", "", 404, "not_found"},
		{"GET", "/nope", "", 404, "not_found"},
		{"GET", "/api/projects/../../x", "", 404, "not_found"},
		{"GET", "/api/projects//status", "", 404, "not_found"},
		{"PATCH", "/api/projects/app", "{}", 405, "method_not_allowed"},
		{"GET", "/api/projects/app/memories/..%2F..%2Fx", "", 404, "not_found"},
		{"GET", "/api/projects/app/memories/a%2Fb", "", 422, "invalid"},
		{"POST", "/api/projects/app/memories", "{", 400, "invalid"},
		{"POST", "/api/projects/app/memories", "{}", 422, "invalid"},
		{"POST", "/api/projects/app/memories", `{"content":"x","nope":1}`, 422, "invalid"},
		{"POST", "/api/projects/app/memories", `{"content":"AKIA"}`, 422, "secret"},
		{"POST", "/api/projects/app/memories", `{"content":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too_large"},
		{"GET", "/mcp/sse", "", 410, "gone"},
		{"POST", "/mcp", "{}", 404, "not_found"},
		{"GET", "/status/jobs/none", "", 404, "not_found"},
	} {
		w := ask(s, tc.method, tc.path, tc.body)
		if p := problemError(t, w); w.Code != tc.status || p.Code != tc.code {
			t.Errorf("%s %s = %d %s, want %d %s: %s", tc.method, tc.path, w.Code, p.Code, tc.status, tc.code, clip(w.Body.String()))
		}
		if w.Header().Get("X-Foldwatch-Version") != "1.2.3" {
			t.Errorf("%s %s: no version", tc.method, tc.path)
		}
	}
	if p := problemError(t, ask(s, "POST", "/api/projects/app/memories", `{"content":"AKIA"}`)); p.Hint == "" {
		t.Error("a refused secret without a way out")
	}
	if w := ask(s, "POST", "/api/projects/app/memories", `{"content":"x"}`, "Content-Type", "text/plain"); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain = %d", w.Code)
	}
	for _, origin := range []string{"http://evil.example", "null", "http://localhost:8080"} {
		if w := ask(s, "GET", "/health", "", "Origin", origin); w.Code != http.StatusForbidden {
			t.Errorf("Origin %s = %d", origin, w.Code)
		}
	}
	handlers.Fail = func(string) error { return errors.New("password hunter2") }
	if w := ask(s, "GET", "/api/projects/app", ""); w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") || problemError(t, w).ID == "" {
		t.Errorf("internal error told as %d %s", w.Code, w.Body)
	}
	handlers.Fail = func(string) error { return fmt.Errorf("disk is read-only: %w", fold.ErrUnavailable) }
	if w := ask(s, "GET", "/api/projects/app", ""); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("unavailable = %d %v", w.Code, w.Header())
	}
}

func clip(s string) string { return s[:min(len(s), 200)] }

func TestETagsAndPreconditions(t *testing.T) {
	s := api.NewServer(apitest.New("app"), nil, api.Options{})
	w := ask(s, "POST", "/api/projects/app/memories", `{"content":"one"}`)
	var added wire.WriteReply
	if err := json.Unmarshal(w.Body.Bytes(), &added); err != nil || w.Code != http.StatusCreated {
		t.Fatalf("create = %d %s", w.Code, w.Body)
	}
	path, tag := "/api/projects/app/memories/"+added.ID, `"`+added.ContentHash+`"`
	if w = ask(s, "GET", path, ""); w.Header().Get("ETag") != tag || !strings.Contains(w.Body.String(), `"links":[]`) {
		t.Errorf("ETag = %q, want %q: %s", w.Header().Get("ETag"), tag, w.Body)
	}
	if w = ask(s, "GET", path, "", "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("If-None-Match = %d %s", w.Code, w.Body)
	}
	if w = ask(s, "PUT", path, `{"content":"two"}`, "If-Match", tag); w.Code != 200 || w.Header().Get("ETag") == tag {
		t.Fatalf("PUT = %d %s", w.Code, w.Body)
	}
	for _, tc := range []struct {
		method, path, body, match string
		status                    int
	}{
		{"PUT", path, `{"content":"three"}`, tag, 412},
		{"PUT", path, `{"content":"three","expected_hash":"` + added.ContentHash + `"}`, "", 409},
		{"PUT", path, `{"content":"three"}`, `W/` + tag, 412},
		{"DELETE", path, "", tag, 412},
		{"DELETE", path + "?expected_hash=" + added.ContentHash, "", "", 409},
	} {
		w := ask(s, tc.method, tc.path, tc.body, "If-Match", tc.match)
		p := problemError(t, w)
		if w.Code != tc.status || p.Code != "conflict" || p.Current == nil || p.Current.Content != "two" {
			t.Errorf("%s %s If-Match %s = %d %+v", tc.method, tc.body, tc.match, w.Code, p)
		}
		if tc.method == "PUT" && (p.Yours == nil || p.Yours.Content != "three") {
			t.Errorf("yours = %+v", p.Yours)
		}
	}
	if w := ask(s, "PUT", path, `{"content":"x","expected_hash":"other"}`, "If-Match", tag); w.Code != 422 {
		t.Errorf("two different hashes = %d", w.Code)
	}
	if w := ask(s, "DELETE", path, "", "If-Match", "*"); w.Code != 200 {
		t.Errorf("If-Match * = %d %s", w.Code, w.Body)
	}
}

func TestIdempotencyKeyDoesOnce(t *testing.T) {
	handlers := apitest.New("app")
	s := api.NewServer(handlers, nil, api.Options{})
	first := ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", "k1")
	again := ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", "k1")
	if first.Code != http.StatusAccepted || again.Body.String() != first.Body.String() || again.Code != first.Code || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %d %s, again %d %s", first.Code, first.Body, again.Code, again.Body)
	}
	if other := ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", "k2"); other.Body.String() == first.Body.String() {
		t.Error("another key did nothing")
	}
	if w := ask(s, "POST", "/api/projects/app/reindex", `{"full":true}`, "Idempotency-Key", "k1"); w.Code != 422 {
		t.Errorf("another body under the same key = %d", w.Code)
	}
	handlers.Fail = func(string) error { return fmt.Errorf("full: %w", fold.ErrUnavailable) }
	if w := ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", "k3"); w.Code != 503 {
		t.Errorf("unavailable = %d", w.Code)
	}
	handlers.Fail = nil
	if w := ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", "k3"); w.Code != 202 {
		t.Errorf("after a failure = %d", w.Code)
	}
	list, err := handlers.Jobs(context.Background(), fold.LocalScope(), "", 0)
	if err != nil || len(list.Items) != 3 {
		t.Errorf("jobs = %d, %v", len(list.Items), err)
	}
}

func TestPlainRoutes(t *testing.T) {
	t.Parallel()
	s := api.NewServer(apitest.New("app"), nil, api.Options{Version: "1.2.3"})
	for path, want := range map[string]string{
		"/health": `"status":"ok"`, "/health/live": `"status":"ok"`, "/health/ready": `"status":"ok"`,
		"/metrics":      "foldwatch_memories{project=\"app\",checkout=\"00112233\"} 0\n",
		"/openapi.json": `"openapi": "3.1.0"`,
		"/status":       `"projects":[{`,
		"/status/jobs":  `"items":[]`,
	} {
		if w := ask(s, "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s = %d %s", path, w.Code, clip(w.Body.String()))
		}
	}
	if w := ask(s, "HEAD", "/health", ""); w.Code != 200 {
		t.Errorf("HEAD = %d", w.Code)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(ask(s, "GET", "/openapi.json", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range api.Routes() {
		if got := doc.Paths[r.Path][strings.ToLower(r.Method)].OperationID; r.In != nil && got != r.ID {
			t.Errorf("%s is %q in the OpenAPI document", r.Pattern(), got)
		}
	}
	starting := api.NewServer(startingHandlers{apitest.New()}, nil, api.Options{})
	if w := ask(starting, "GET", "/health/ready", ""); w.Code != 503 {
		t.Errorf("ready while starting = %d", w.Code)
	}
	if w := ask(starting, "GET", "/health", ""); w.Code != 200 {
		t.Errorf("health while starting = %d", w.Code)
	}
}

type startingHandlers struct{ *apitest.Fake }

func (startingHandlers) Health(context.Context) wire.Health { return wire.Health{Status: "starting"} }

func TestAPanicIsA500(t *testing.T) {
	s := api.NewServer(panicHandlers{apitest.New("app")}, nil, api.Options{})
	if w := ask(s, "GET", "/status", ""); w.Code != 500 || strings.Contains(w.Body.String(), "boom") {
		t.Errorf("panic = %d %s", w.Code, w.Body)
	}
}

type panicHandlers struct{ *apitest.Fake }

func (panicHandlers) Status(context.Context, fold.Scope) (wire.Status, error) { panic("boom") }

func TestMCPGetsItsRequests(t *testing.T) {
	var got []string
	s := api.NewServer(apitest.New("app"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		got = append(got, fmt.Sprint(r.Method, string(b), err))
	}), api.Options{})
	ask(s, "POST", "/mcp", "{}")
	ask(s, "GET", "/mcp", "")
	ask(s, "DELETE", "/mcp", "")
	if fmt.Sprint(got) != "[POST{}<nil> GET<nil> DELETE<nil>]" {
		t.Errorf("MCP got %v", got)
	}
}
