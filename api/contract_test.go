package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/mcp"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A contract asks every route for everything that the document says it answers,
// and holds each answer to the document.
type contract struct {
	t        *testing.T
	doc      *document
	handlers *apitest.Fake
	plain    *api.Server // as the daemon has it
	slow     *api.Server // answers one request a second
	busy     *api.Server // answers as many as it can
	seen     map[string]map[string]bool

	keeper *auth.Tokens
	odd    []string // what was wrong

	memory, link, tag, token, proposal string

	*lodging
}

// newContract returns a contract with a project of one linked memory.
func newContract(t *testing.T) *contract {
	t.Helper()
	c := &contract{t: t, doc: openDocument(t), handlers: apitest.New("app", "web"), seen: map[string]map[string]bool{}, lodging: newLodging(t, 60)}
	c.keeper = tokens(t)
	c.plain = api.NewServer(c.handlers, mcp.Handler(c.handlers, mcp.Options{}), api.Options{Version: "1.2.3", Auth: c.keeper, Tokens: c.keeper, Logins: c.logins})
	// What this one still does must not be done to what others are asked about.
	c.slow = api.NewServer(apitest.New("app", "web"), nil, api.Options{Version: "1.2.3", Rates: api.Rates{Owner: 1}})
	c.busy = api.NewServer(c.handlers, nil, api.Options{Version: "1.2.3"})
	c.busy.Fill()
	ctx, owner := t.Context(), fold.LocalScope()
	m, err := c.handlers.AddMemory(ctx, owner, "app", wire.MemoryCreate{Content: "# A\n\ntext", Tags: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.handlers.AddRepository(ctx, owner, "app", wire.RepositoryCreate{}); err != nil {
		t.Fatal(err)
	}
	c.memory, c.link, c.tag, c.token = m.ID, m.ID, `"`+m.ContentHash+`"`, m.ID
	c.proposal = m.ID
	return c
}

// requests are bodies by operation, and queries, as they are done. An operation
// that is added is added here.
func (c *contract) requests() map[string]string {
	link := `{"target_id":"` + c.memory + `"}`
	one := `{"id":"` + c.memory + `"}`
	return map[string]string{
		"addProject": `{"path":"/src/new"}`, "updateProject": `{"name":"n"}`, "setAlgorithm": `{"strength_weight":0.1,"decay_half_life_days":3}`,
		"projectOfPath": "?path=/src/app/x", "addRepository": `{}`, "sync": `{}`, "addMemory": `{"content":"# A\n\ntext"}`, "updateMemory": `{"append":"!"}`,
		"upload": `{"files":[{"path":"a.md","content":"b"}]}`, "adopt": `{"all":true}`, "removeMissing": `{}`, "addLink": link,
		"search": `{"query":"text","explain":true}`, "searchAll": `{"query":"text"}`, "context": `{"depth":1}`, "taskContext": `{"task":"t"}`,
		"reindex": `{}`, "restore": one, "undo": `{"rev":"HEAD"}`, "decay": `{}`, "pause": `{"for":"1h"}`, "reportEvent": `{"type":"x"}`, "diff": "?rev=HEAD",
		"createToken": `{"name":"n","scope":"read","projects":["app"]}`, "createTokenOfAuth": `{"name":"n","scope":"read","projects":["app"]}`,
		"problems": "?limit=3", "audit": "?project=app", "listMemories": "?limit=1&tags=x", "jobs": "?project=app",
		"projects": "", "project": "", "projectStatus": "", "projectStats": "", "drift": "", "algorithm": "", "resume": "", "reloadModels": "", "repositories": "", "getMemory": "",
		"memorySource": "?start_line=1&end_line=2", "links": "", "job": "", "prime": "", "sessionEvents": "", "log": "", "lost": "", "forgetLost": "", "status": "", "tokens": "", "tokensOfAuth": "",
		"health": "", "ready": "", "live": "", "metrics": "", "openapi": "", "events": "", "mcpSSE": "",
		"proposals": "?state=all&limit=1", "proposal": "", "acceptProposal": "", "rejectProposal": "",
		"deleteMemory": "", "removeLink": "", "removeLinkOf": "", "removeRepository": "", "revokeToken": "", "revokeTokenOfAuth": "", "removeProject": "",
		"mcp": `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, "mcpStream": "", "mcpEnd": "",
		"authProviders": "", "addAuthProvider": `{"id":"corp","issuer":"https://id.example.com","client_id":"fold","projects":["app"]}`, "removeAuthProvider": "", "me": "",
		"users": "", "assignRole": `{"role":"viewer","projects":["app"]}`, "removeUser": "", "login": "", "loginCallback": "", "logout": "", "resource": "", "resourceOfMCP": "",
	}
}

// request returns the usual request of r.
func (c *contract) request(r api.Route) *http.Request {
	id := c.memory
	switch {
	case strings.Contains(r.Path, "/repositories/"):
		id = "00112233445566aa"
	case strings.Contains(r.Path, "/proposals/"):
		id = c.proposal
	case strings.Contains(r.Path, "/tokens/"):
		id = c.token
	case r.ID == "assignRole":
		id = "u0"
	case r.ID == "removeUser":
		id = c.user()
	case r.ID == "job":
		id = "0000000000000001"
	}
	path := strings.NewReplacer("{slug}", "app", "{id}", id, "{link_id}", c.link, "{session}", "s", "{provider}", "corp").Replace(r.Path)
	body, ok := c.requests()[r.ID]
	if !ok {
		c.t.Errorf("%s: say in requests how it is asked", r.ID)
	}
	if strings.HasPrefix(body, "?") {
		path, body = path+body, ""
	}
	req := httptest.NewRequest(r.Method, path, strings.NewReader(body))
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	return req
}

// send notes the answer to a request, and what of it is not as documented.
func (c *contract) send(s *api.Server, r api.Route, req *http.Request) *httptest.ResponseRecorder {
	return c.sendBy(s.Owner(), r, req)
}

// sendBy is send by the handler of any listener.
func (c *contract) sendBy(h http.Handler, r api.Route, req *http.Request) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	w := leaving{httptest.NewRecorder(), cancel}
	h.ServeHTTP(w, req.WithContext(ctx))
	if fault := c.doc.fault(r, w.ResponseRecorder); fault != "" {
		c.odd = append(c.odd, r.Pattern()+" "+fault)
	}
	if c.seen[r.Pattern()] == nil {
		c.seen[r.Pattern()] = map[string]bool{}
	}
	c.seen[r.Pattern()][strconv.Itoa(w.Code)] = true
	return w.ResponseRecorder
}

// leaving is a client that goes as soon as a stream begins.
type leaving struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaving) Flush() {
	l.ResponseRecorder.Flush()
	l.leave()
}

// broken is a body that ends with an error.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func withBody(req *http.Request, body io.Reader) *http.Request {
	req.Body, req.ContentLength = io.NopCloser(body), -1
	req.Header.Set("Content-Type", "application/json")
	return req
}

func with(req *http.Request, name, value string) *http.Request {
	req.Header.Set(name, value)
	return req
}

// refused asks for every refusal that comes before an operation.
func (c *contract) refused(r api.Route) {
	c.send(c.plain, r, with(c.request(r), "Authorization", "Bearer fwt_x"))
	c.send(c.plain, r, with(c.request(r), "Origin", "http://evil.example"))
	c.send(c.busy, r, c.request(r))
	for range 20 { // ten seconds' worth at most, and more where seconds pass meanwhile
		if c.send(c.slow, r, c.request(r)).Code == http.StatusTooManyRequests {
			break
		}
	}
	if r.Method == http.MethodGet {
		return
	}
	c.send(c.plain, r, withBody(c.request(r), broken{io.ErrUnexpectedEOF}))
	c.send(c.plain, r, withBody(c.request(r), broken{os.ErrDeadlineExceeded}))
	c.send(c.plain, r, withBody(c.request(r), io.LimitReader(zeros{}, r.BodyLimit()+1)))
	c.send(c.plain, r, with(withBody(c.request(r), strings.NewReader("x")), "Content-Type", "text/plain"))
	if r.Method == http.MethodPost && r.In != nil && !r.Secret {
		c.send(c.plain, r, with(c.request(r), "Idempotency-Key", strings.Repeat("k", 256)))
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// failed has the handlers fail in every way there is a kind of error for.
func (c *contract) failed(r api.Route) {
	conflict := &fold.ConflictError{ID: fold.ID(c.memory), Want: "a", Have: "b", Current: []byte("x"), Yours: []byte("y")}
	kinds := []error{errors.New("secret cause"), conflict}
	statuses := map[int]bool{http.StatusConflict: true}
	for _, k := range wire.Kinds() {
		// All kinds of one status are told alike: one of them does, but for some routes.
		if all := r.ID == "project" || r.ID == "addMemory" || r.ID == "deleteMemory"; all || !statuses[k.Status] {
			kinds = append(kinds, fold.WithHint(fmt.Errorf("this: %w", k.Err), "do that"))
		}
		statuses[k.Status] = true
	}
	for _, err := range kinds {
		c.handlers.Fail = func(string) error { return err }
		w := c.send(c.plain, r, c.request(r))
		if strings.Contains(w.Body.String(), "secret cause") {
			c.odd = append(c.odd, r.Pattern()+" tells the cause of a failure inside")
		}
		if r.In != nil && slices.Contains(c.doc.statuses(r), "412") {
			c.send(c.plain, r, with(c.request(r), "If-Match", `"a"`))
		}
	}
	c.handlers.Fail = nil
}

// own asks for what only some routes answer.
func (c *contract) own(r api.Route) {
	switch r.ID {
	case "getMemory":
		c.send(c.plain, r, with(c.request(r), "If-None-Match", c.tag))
	case "addMemory":
		c.send(c.plain, r, withBody(c.request(r), strings.NewReader(`{"content":"# New"}`)))
	case "addProject":
		c.send(c.plain, r, withBody(c.request(r), strings.NewReader(`{"path":"/src/web"}`)))
	case "ready":
		c.send(api.NewServer(startingHandlers{c.handlers}, nil, api.Options{Version: "1"}), r, c.request(r))
	case "events":
		c.send(c.plain, r, with(c.request(r), "Last-Event-ID", "x"))
		c.send(api.NewServer(panickyHandlers{c.handlers}, nil, api.Options{Version: "1"}), r, c.request(r))
	case "health", "tokens", "tokensOfAuth":
		c.send(api.NewServer(panickyHandlers{c.handlers}, nil, api.Options{Version: "1", Tokens: &auth.Tokens{}}), r, c.request(r))
	case "revokeToken", "revokeTokenOfAuth":
		c.send(c.plain, r, c.request(r)) // it is not there any more
		c.send(c.unkept(), r, c.request(r))
	case "mcp", "mcpStream", "mcpEnd":
		c.ownMCP(r)
	}
	c.ownLogin(r)
	if r.ID == "ready" {
		c.send(api.NewServer(panickyHandlers{c.handlers}, nil, api.Options{Version: "1"}), r, c.request(r))
	}
}

// panickyHandlers fail where no error can be returned.
type panickyHandlers struct{ *apitest.Fake }

func (panickyHandlers) Health(context.Context) wire.Health { panic("boom") }
func (panickyHandlers) Subscribe(context.Context, fold.Scope, uint64) <-chan wire.Event {
	panic("boom")
}

// unkept returns a server whose state was closed.
func (c *contract) unkept() *api.Server {
	state, err := state.Open(c.t.Context(), c.t.TempDir())
	if err != nil {
		c.t.Fatal(err)
	}
	keeper, err := auth.OpenTokens(c.t.Context(), state, auth.TokensOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	made, err := keeper.Create(c.t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: "read"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.token = made.ID
	_ = state.Close()
	return api.NewServer(c.handlers, nil, api.Options{Version: "1", Tokens: keeper})
}

// anew makes again what r takes away.
func (c *contract) anew(r api.Route) {
	ctx, owner := c.t.Context(), fold.LocalScope()
	switch r.ID {
	case "removeLink", "removeLinkOf":
		l, err := c.handlers.AddLink(ctx, owner, "app", c.memory, wire.LinkCreate{TargetID: c.memory})
		if err != nil {
			c.t.Fatal(err)
		}
		c.link = l.ID
	case "proposal", "acceptProposal", "rejectProposal":
		c.proposal = c.handlers.Propose("app", c.memory, c.memory)
	case "revokeToken", "revokeTokenOfAuth":
		made, err := c.keeper.Create(ctx, auth.Owner(), wire.TokenCreate{Name: "n", Scope: "read"})
		if err != nil {
			c.t.Fatal(err)
		}
		c.token = made.ID
	case "removeAuthProvider", "addAuthProvider":
		_ = c.logins.RemoveProvider(ctx, "corp") // where there is one
		if r.ID == "removeAuthProvider" {
			if _, err := c.logins.AddProvider(ctx, wire.AuthProviderCreate{ID: "corp", Issuer: "https://id.example.com", ClientID: "fold"}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

func (c *contract) ownMCP(r api.Route) {
	boom := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })
	c.send(api.NewServer(c.handlers, boom, api.Options{Version: "1"}), r, c.request(r))
	c.send(api.NewServer(c.handlers, nil, api.Options{Version: "1"}), r, c.request(r))
	c.send(c.plain, r, with(c.request(r), "Mcp-Session-Id", "unknown"))
	c.send(c.plain, r, c.request(r))
	post := func(session, body string) *http.Request {
		req := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		for _, h := range []string{"Content-Type: application/json", "Accept: application/json, text/event-stream", "Mcp-Session-Id: " + session} {
			if name, value, _ := strings.Cut(h, ": "); value != "" {
				req.Header.Set(name, value)
			}
		}
		return req
	}
	routes := map[string]api.Route{}
	for _, r := range api.Routes() {
		routes[r.ID] = r
	}
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	session := c.send(c.plain, routes["mcp"], post("", hello)).Header().Get("Mcp-Session-Id")
	c.send(c.plain, routes["mcp"], post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	c.send(c.plain, routes["mcp"], post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	stream := with(httptest.NewRequest("GET", "/mcp", nil), "Mcp-Session-Id", session)
	c.send(c.plain, routes["mcpStream"], with(stream, "Accept", "text/event-stream"))
	c.send(c.plain, routes["mcpEnd"], with(httptest.NewRequest("DELETE", "/mcp", nil), "Mcp-Session-Id", session))
	if session == "" {
		c.t.Error("no session of MCP was begun")
	}
}

// TestContract shows that what the document says is what comes, and nothing
// else. With -update it writes the table of what came.
func TestContract(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	if _, err := c.handlers.Reindex(t.Context(), fold.LocalScope(), "app", wire.Reindex{}); err != nil {
		t.Fatal(err)
	}
	routes := api.Routes()
	last := []string{"deleteMemory", "removeRepository", "removeProject"}
	slices.SortStableFunc(routes, func(a, b api.Route) int { return slices.Index(last, a.ID) - slices.Index(last, b.ID) })
	for _, r := range routes {
		c.refused(r)
		c.failed(r)
		c.done(r)
		c.own(r)
	}
	for i, odd := range c.odd {
		if i == 30 {
			t.Errorf("and %d more", len(c.odd)-i)
			break
		}
		t.Error(odd)
	}
	c.table(routes)
}

// done asks as one does, where that is not left to own.
func (c *contract) done(r api.Route) {
	c.anew(r)
	w := c.send(c.plain, r, c.request(r))
	byOwn := []string{"mcpStream", "mcpEnd", "mcpSSE", "login", "loginCallback", "logout"}
	if w.Code >= 300 && !slices.Contains(byOwn, r.ID) {
		c.odd = append(c.odd, fmt.Sprintf("%s was not done: %d %s", r.Pattern(), w.Code, w.Body))
	}
}

// table compares what was documented with what came, and the table of it with
// the one in the tree.
func (c *contract) table(routes []api.Route) {
	slices.SortFunc(routes, func(a, b api.Route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	var b bytes.Buffer
	total := 0
	for _, r := range routes {
		var came []string
		for status := range c.seen[r.Pattern()] {
			came = append(came, status)
		}
		slices.Sort(came)
		for _, status := range c.doc.statuses(r) {
			if !slices.Contains(came, status) {
				c.t.Errorf("%s: %s is documented, and nothing came to it; add a case, or Never to the route", r.Pattern(), status)
			}
		}
		total += len(came)
		fmt.Fprintf(&b, "%-6s %s: %s\n", r.Method, r.Path, strings.Join(came, " "))
	}
	out := fmt.Appendf(nil, "%d routes, %d answers; each came, and was as documented.\n\n%s", len(routes), total, b.Bytes())
	c.t.Logf("CONTRACT routes=%d answers=%d bad=%d", len(routes), total, len(c.odd))
	path := filepath.Join("testdata", "answers.golden")
	if *update && !c.t.Failed() {
		if err := os.WriteFile(path, out, 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	if !bytes.Equal(out, want) {
		c.t.Errorf("api/%s is not what came; run: make openapi\n%s", path, out)
	}
}
