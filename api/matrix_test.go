package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/mcp"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/state"
)

// classes is what each route asks of its caller, written down apart from the
// table of routes: 0 nothing, 1 read, 2 write, 3 admin, 4 admin of all projects.
// A route that is added is added here too, by somebody who thinks about it.
func classes() map[string]int {
	all := map[string]int{}
	for class, names := range []string{
		"health ready live openapi mcpSSE authProviders login loginCallback resource resourceOfMCP",
		`projects projectOfPath project projectStatus projectStats drift lost algorithm audit problems repositories listMemories getMemory memorySource
			links search searchAll context taskContext jobs job log diff status metrics events mcp mcpStream mcpEnd tokens tokensOfAuth prime sessionEvents me logout
			proposals proposal`,
		`sync addMemory updateMemory deleteMemory adopt removeMissing upload addLink removeLink removeLinkOf reindex restore forgetLost undo decay acceptProposal rejectProposal
			createToken createTokenOfAuth revokeToken revokeTokenOfAuth reportEvent`,
		"updateProject removeProject setAlgorithm pause resume addRepository removeRepository",
		"addProject reloadModels addAuthProvider removeAuthProvider users assignRole removeUser",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = class
		}
	}
	return all
}

// toolWrites says of each tool whether it needs a caller who may write.
func toolWrites() map[string]bool {
	return map[string]bool{
		"project_list": false, "project_get": false, "memory_get": false, "memory_list": false, "memory_search": false,
		"memory_context": false, "memory_link_list": false, "codebase_search": false,
		"memory_add": true, "memory_update": true, "memory_delete": true, "memory_link_add": true, "codebase_index": true, "files_upload": true,
	}
}

// A credential is one way to send a request.
type credential struct {
	name   string
	value  string // of Authorization; "" is none
	valid  bool
	rank   int  // 1 read, 2 write, 3 admin; as in classes
	all    bool // of all projects, else of app
	socket bool
	cookie string // of a session; at the socket it says nothing
}

// A rig is a server with every credential.
type rig struct {
	server *api.Server
	creds  []credential
	run    http.Handler
	tcp    http.Handler
}

func newRig(t *testing.T) *rig {
	t.Helper()
	state, err := state.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	now := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	keeper, err := auth.OpenTokens(t.Context(), state, auth.TokensOptions{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	create := func(scope, expires string, projects ...string) wire.TokenCreated {
		made, err := keeper.Create(t.Context(), auth.Owner(), wire.TokenCreate{Name: "n", Scope: scope, Expires: expires, Projects: projects})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	expired, revoked := create("admin", "1h"), create("admin", "90d")
	if err := keeper.Revoke(t.Context(), auth.Owner(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	r := &rig{creds: []credential{
		{name: "none"},
		{name: "garbage", value: "Bearer fwt_x"},
		{name: "basic", value: "Basic YTpi"},
		{name: "unknown", value: "Bearer " + auth.Secret{1}.String()},
		{name: "expired", value: "Bearer " + expired.Secret},
		{name: "revoked", value: "Bearer " + revoked.Secret},
	}}
	for rank, scope := range map[int]string{1: "read", 2: "write", 3: "admin"} {
		for _, all := range []bool{true, false} {
			projects := []string{"app"}
			if all {
				projects = nil
			}
			r.creds = append(r.creds, credential{name: fmt.Sprint(scope, projects), value: "Bearer " + create(scope, "90d", projects...).Secret, valid: true, rank: rank, all: all})
		}
	}
	logins, sessions := withSessions(t, state, keeper, clock, func() { now = now.Add(13 * time.Hour) })
	r.creds = append(r.creds, sessions...)
	for _, c := range slices.Clone(r.creds) { // the same at the socket
		if c.cookie != "" && c.name != "session of viewer" {
			continue // there none of them says anything
		}
		c.socket = true
		if c.name == "none" || c.cookie != "" {
			c.name, c.valid, c.rank, c.all = "owner", true, 3, true
		}
		r.creds = append(r.creds, c)
	}
	handlers := apitest.New("app", "web")
	r.server = api.NewServer(handlers, mcp.Handler(handlers, mcp.Options{}), api.Options{
		Auth: keeper, Tokens: keeper, Logins: logins, Now: clock, Rates: api.Rates{Owner: -1, Token: -1, Peer: -1},
	})
	r.run, r.tcp = r.server.Owner(), r.server.OtherAt("7350")
	return r
}

// withSessions returns logins with a session of every kind, put into state as a
// login puts them; later is to pass between those that are over and the others.
func withSessions(t *testing.T, st *state.DB, keeper *auth.Tokens, now func() time.Time, later func()) (*auth.Logins, []credential) {
	t.Helper()
	creds := []credential{{name: "no session", cookie: strings.Repeat("0", 43)}, {name: "short cookie", cookie: "x"}}
	add := func(name, provider, role string, projects []string, valid bool, life time.Duration) {
		value := fmt.Sprintf("%043d", len(creds))
		id, at := fmt.Sprintf("user%d", len(creds)), now()
		sum := sha256.Sum256([]byte(value))
		err := errors.Join(
			st.PutUser(t.Context(), state.User{ID: id, Issuer: "https://id.example.com", Subject: id, Provider: provider, Assigned: role, Projects: projects, Created: at}),
			st.PutSession(t.Context(), state.Session{Hash: hex.EncodeToString(sum[:]), UserID: id, Created: at, Seen: at, Expires: at.Add(life)}))
		if err != nil {
			t.Fatal(err)
		}
		creds = append(creds, credential{name: name, cookie: value, valid: valid, rank: slices.Index([]string{"", "viewer", "member", "admin"}, role), all: len(projects) == 0})
	}
	add("idle session", "corp", "admin", nil, false, 100*time.Hour)
	add("expired session", "corp", "admin", nil, false, time.Hour)
	later()
	add("session of a provider that is gone", "gone", "admin", nil, false, 100*time.Hour)
	add("session without a role", "corp", "", nil, false, 100*time.Hour)
	for _, role := range []string{"viewer", "member", "admin"} {
		add("session of "+role, "corp", role, nil, true, 100*time.Hour)
		add("session of "+role+" of app", "corp", role, []string{"app"}, true, 100*time.Hour)
	}
	logins, err := auth.OpenLogins(t.Context(), st, auth.LoginsOptions{
		URL: "http://127.0.0.1:7350", Providers: map[string]conf.AuthProvider{"corp": {Issuer: "https://id.example.com", ClientID: "fold"}},
		Secrets: t.TempDir(), Idle: 12 * time.Hour, Max: 100 * time.Hour, Tokens: keeper, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return logins, creds
}

// A cell is one request, and what must come of it.
type cell struct {
	route       api.Route
	cred        credential
	project     string
	host        string
	origin      string
	contentType string
}

// want is the status that must refuse the cell, 0 if it must get to the handlers.
func (c cell) want(class int) int {
	rightHost := c.cred.socket || c.host == "127.0.0.1:7350" || c.host == "[::1]:7350"
	inScope := c.cred.all || c.project == "app" || !strings.Contains(c.route.Path, "{slug}")
	own := c.cred.cookie != "" && c.cred.valid && !c.cred.socket && c.origin == "http://"+c.host
	switch {
	case !rightHost || c.origin != "" && !own:
		return http.StatusForbidden
	case c.cred.value != "" && !c.cred.valid, class > 0 && !c.cred.valid:
		return http.StatusUnauthorized
	case class > 3 && !c.cred.all, c.cred.rank < min(class, 3):
		return http.StatusForbidden
	case class > 0 && c.cred.cookie != "" && !c.cred.socket && c.route.Method != "GET" && !own:
		return http.StatusForbidden
	case c.contentType != "application/json" && c.route.Method != "GET":
		return http.StatusUnsupportedMediaType
	case !inScope:
		return http.StatusNotFound
	}
	return 0
}

// odd counts what is unlike the usual request of its caller.
func (c cell) odd(host string) (n int) {
	usual := ""
	if c.cred.cookie != "" && !c.cred.socket {
		usual = "http://" + c.host
	}
	for _, is := range []bool{c.host != host, c.origin != usual, c.contentType != "application/json", c.project != "app"} {
		if is {
			n++
		}
	}
	return n
}

func (r *rig) send(c cell) *httptest.ResponseRecorder {
	path := strings.NewReplacer("{slug}", c.project, "{id}", "0123456789abcdef", "{link_id}", "0123456789abcdef", "{provider}", "none").Replace(c.route.Path)
	if c.route.ID == "projectOfPath" {
		path += "?path=/nowhere"
	}
	body := `{"content":"x","target_id":"0123456789abcdef","query":"x","task":"x","files":[{"path":"a","content":"b"}],"id":"0123456789abcdef"}`
	switch c.route.ID {
	case "addAuthProvider":
		body = `{"id":"other","issuer":"https://id.example.com","client_id":"fold"}`
	case "assignRole":
		body = `{"role":"viewer"}`
	}
	if c.route.ID == "addProject" {
		body = `{"path":"/src/app","slug":"app"}`
	}
	req := httptest.NewRequest(c.route.Method, path, strings.NewReader(body))
	if c.route.Method == "GET" {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Host = c.host
	req.Header.Set("Content-Type", c.contentType)
	req.Header.Set("X-Request-Id", "matrix") // so that answers can be compared whole
	if c.cred.value != "" {
		req.Header.Set("Authorization", c.cred.value)
	}
	if c.cred.cookie != "" {
		req.Header.Set("Cookie", "foldwatch="+c.cred.cookie)
	}
	if c.origin != "" {
		req.Header.Set("Origin", c.origin)
	}
	w := httptest.NewRecorder()
	if c.cred.socket {
		r.run.ServeHTTP(w, req)
	} else {
		r.tcp.ServeHTTP(w, req)
	}
	return w
}

// check sends every cell and returns what was wrong, and how many there were.
// What gets to the handlers may answer what it likes, but never that the caller is
// unknown, or a failure.
func (r *rig) check(t *testing.T, only string) (wrong []string, cells, admitted int) {
	t.Helper()
	known, shapes := classes(), map[int]string{}
	for _, route := range api.Routes() {
		class, ok := known[route.ID]
		if !ok {
			wrong = append(wrong, route.ID+": say in classes who may call it")
			continue
		}
		if route.Stream || route.ID == "removeProject" || route.ID == "logout" || only != "" && route.ID != only {
			continue // streams and logout have tests of their own; the project is needed
		}
		hosts := []string{"127.0.0.1:7350", "[::1]:7350", "127.0.0.1:7351", "evil.example:7350", "localhost:7350"}
		for _, cred := range r.creds {
			if cred.socket {
				hosts = []string{"foldwatch"}
			}
			for _, host := range hosts {
				for _, origin := range []string{"", "null", "http://127.0.0.1:7350", "http://evil.example"} {
					for _, project := range []string{"app", "web", "none"} {
						if project != "app" && !strings.Contains(route.Path, "{slug}") {
							continue
						}
						for _, ct := range []string{"application/json", "text/plain"} {
							c := cell{route, cred, project, host, origin, ct}
							if odd := c.odd(hosts[0]); odd > 1 || odd == 1 && cred.value+cred.cookie != "" && !cred.valid {
								continue // what is refused anyway is asked for in one way
							}
							cells++
							w, want := r.send(c), c.want(class)
							if want == 0 {
								admitted++
							}
							if fault := faultOf(w, want, project, shapes); fault != "" {
								wrong = append(wrong, fmt.Sprintf("%s as %s (socket %v) of %s, Host %s, Origin %q, %s: %s", route.Pattern(), cred.name, cred.socket, project, host, origin, ct, fault))
							}
						}
					}
				}
			}
		}
	}
	return wrong, cells, admitted
}

// faultOf compares an answer with the refusal that must come, 0 being none. All
// refusals of one status with one code have the same members.
func faultOf(w *httptest.ResponseRecorder, want int, project string, shapes map[int]string) string {
	got := w.Code
	if want == 0 && project == "none" {
		want = http.StatusNotFound
	}
	switch {
	case got >= 500 && got != http.StatusServiceUnavailable:
		return fmt.Sprintf("failed with %d: %s", got, w.Body)
	case want == 0 && (got == http.StatusUnauthorized || got == http.StatusForbidden || got == http.StatusUnsupportedMediaType):
		return fmt.Sprintf("was refused with %d: %s", got, w.Body)
	case want == 0:
		return ""
	case want == http.StatusNotFound && (got == http.StatusUnprocessableEntity || got == http.StatusBadRequest):
		return "" // its body was looked at before its project
	case got != want:
		return fmt.Sprintf("answered %d, want %d: %.200s", got, want, w.Body)
	}
	var p map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p["code"] == nil || p["type"] == nil || p["status"] == nil || p["title"] == nil {
		return fmt.Sprintf("is no problem document: %s", w.Body)
	}
	if got == http.StatusUnauthorized {
		if w.Header().Get("WWW-Authenticate") == "" {
			return "401 without WWW-Authenticate"
		}
		if shape := w.Body.String(); shapes[got] == "" {
			shapes[got] = shape
		} else if shapes[got] != shape {
			return fmt.Sprintf("401 looks different: %s", shape)
		}
	}
	return ""
}

// TestWhoMayCallWhat asks for every route with every credential, by every way.
func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	wrong, cells, admitted := newRig(t).check(t, "")
	for i, w := range wrong {
		if i == 20 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
	if cells < 5000 || admitted < 500 {
		t.Errorf("%d cells, %d admitted: too few", cells, admitted)
	}
	t.Logf("ACCESS n=%d admitted=%d bad=%d secs=%.1f", cells, admitted, len(wrong), time.Since(begun).Seconds())
}

// TestWhoMayCallWhatFindsSlips changes the class of one route at a time, and
// expects the matrix to tell.
func TestWhoMayCallWhatFindsSlips(t *testing.T) {
	t.Parallel()
	for id, slip := range map[string]api.Access{
		"getMemory": api.Public, "addMemory": api.Read, "setAlgorithm": api.Write, "addProject": api.Admin, "search": api.Write, "health": api.Read, "links": "",
	} {
		r := newRig(t)
		r.server.Redeclare(id, slip)
		if wrong, cells, _ := r.check(t, id); len(wrong) == 0 || cells == 0 {
			t.Errorf("%s declared %q: %d cells, nothing found", id, slip, cells)
		}
	}
}

// TestWhoMayCallWhichTool calls every tool, in a project of the caller and in
// another, with every credential. A tool that is added is added to toolWrites.
func TestWhoMayCallWhichTool(t *testing.T) {
	t.Parallel()
	r, writes, cells := newRig(t), toolWrites(), 0
	web := httptest.NewServer(r.run)
	defer web.Close()
	for _, cred := range r.creds {
		if !cred.socket || cred.cookie != "" {
			continue
		}
		client := &http.Client{Transport: bearing{cred.value}}
		s, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(),
			&sdk.StreamableClientTransport{Endpoint: web.URL + "/mcp", HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true},
			&sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if (err == nil) != cred.valid {
			t.Errorf("%s: connected %v: %v", cred.name, err == nil, err)
		}
		if err != nil {
			continue
		}
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			write, ok := writes[tool.Name]
			if !ok {
				t.Errorf("%s: say in toolWrites whether it needs a caller who may write", tool.Name)
				continue
			}
			for _, project := range []string{"app", "web"} {
				cells++
				res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: argumentsOf(tool.Name, project)})
				if err != nil {
					t.Errorf("%s as %s: %v", tool.Name, cred.name, err)
					continue
				}
				text := res.Content[0].(*sdk.TextContent).Text
				if refused := strings.Contains(text, "needs a caller with scope write"); refused != (write && cred.rank < 2) {
					t.Errorf("%s as %s in %s: refused %v: %s", tool.Name, cred.name, project, refused, text)
				}
				if hidden := project == "web" && !cred.all; hidden && !res.IsError && tool.Name != "project_list" || hidden && strings.Contains(text, "/src/web") {
					t.Errorf("%s as %s reached another project: %s", tool.Name, cred.name, text)
				}
			}
		}
		_ = s.Close()
	}
	t.Logf("TOOLS n=%d", cells)
}

func argumentsOf(tool, project string) map[string]any {
	in := map[string]any{"project": project}
	switch tool {
	case "project_list":
		return nil
	case "project_get":
		return map[string]any{"slug": project}
	case "memory_add":
		in["content"] = "x"
	case "memory_search", "codebase_search":
		in["query"] = "x"
	case "memory_link_add":
		in["source_id"], in["target_id"] = "0123456789abcdef", "0123456789abcdef"
	case "files_upload":
		in["files"] = []any{map[string]any{"path": "a", "content": "b"}}
	case "memory_get", "memory_update", "memory_delete", "memory_context", "memory_link_list":
		in["id"] = "0123456789abcdef"
	}
	return in
}

// bearing sends a value of Authorization with every request.
type bearing struct{ value string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.value != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", b.value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
