package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/mcp"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestClientReachesEveryDoor calls every generated method over a real socket.
func TestClientReachesEveryDoor(t *testing.T) {
	handlers := apitest.New("app", "web")
	c := client.New(serve(t, handlers, nil))
	ctx := t.Context()
	a, err := c.AddMemory(ctx, "app", wire.MemoryCreate{Content: "# A\n\ntext", Tags: []string{"x", "y"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.AddMemory(ctx, "app", wire.MemoryCreate{Content: "# B", Links: []wire.NewLink{{Target: a.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	link, err := c.AddLink(ctx, "app", a.ID, wire.LinkCreate{TargetID: b.ID, Type: "depends_on"})
	if err != nil {
		t.Fatal(err)
	}
	job, err := c.Reindex(ctx, "app", wire.Reindex{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.CreateToken(ctx, wire.TokenCreate{Name: "ci", Scope: "read", Projects: []string{"app"}})
	if err != nil || token.Secret == "" {
		t.Fatalf("CreateToken = %+v, %v", token, err)
	}
	propose := func() string { return handlers.Propose("app", a.ID, b.ID) }
	args := map[string][]any{
		"Proposals": {"app", wire.ProposalQuery{State: "all", Limit: 3}}, "Proposal": {"app", propose()}, "AcceptProposal": {"app", propose()}, "RejectProposal": {"app", propose()},
		"AddAuthProvider": {wire.AuthProviderCreate{ID: "corp", Issuer: "https://id.example.com", ClientID: "fold"}}, "AuthProviders": {}, "RemoveAuthProvider": {"corp"},
		"AssignRole": {"ada", wire.UserAssign{Role: "viewer", Projects: []string{"app"}}}, "Users": {}, "RemoveUser": {"bob"}, "Me": {},
		"CreateToken": {wire.TokenCreate{Name: "ci", Scope: "read"}}, "Tokens": {}, "RevokeToken": {token.ID},
		"AddProject":    {wire.ProjectCreate{Path: "/src/new"}},
		"ProjectOfPath": {"/src/web/src"}, "Projects": {}, "SearchAll": {wire.SearchRequest{Query: "A"}},
		"RemoveProject": {"web", wire.ProjectRemove{}}, "Status": {}, "Health": {}, "Jobs": {"app", 5}, "Job": {job.JobID},
		"ListMemories": {"app", wire.ListQuery{Tags: []string{"x", "y"}, Limit: 3}}, "AddMemory": {"app", wire.MemoryCreate{Content: "c"}},
		"GetMemory": {"app", a.ID}, "UpdateMemory": {"app", a.ID, wire.MemoryUpdate{Append: "!"}}, "DeleteMemory": {"app", b.ID, ""},
		"MemorySource": {"app", a.ID, 2, 3}, "Adopt": {"app", wire.Adopt{All: true}}, "RemoveMissing": {"app", wire.RemoveMissing{IDs: []string{"z"}}},
		"Links": {"app", a.ID}, "AddLink": {"app", a.ID, wire.LinkCreate{TargetID: b.ID}}, "RemoveLink": {"app", link.ID},
		"Upload": {"app", wire.FilesUpload{Files: []wire.UploadFile{{Path: "n.md", Content: "n"}}}},
		"Search": {"app", wire.SearchRequest{Query: "A"}}, "Context": {"app", a.ID, wire.ContextRequest{Depth: 2}}, "TaskContext": {"app", wire.TaskContextRequest{Task: "t"}},
		"Reindex": {"app", wire.Reindex{}}, "Log": {"app", a.ID, 3}, "Diff": {"app", "HEAD"}, "Restore": {"app", wire.Restore{ID: a.ID}}, "Lost": {"app"}, "ForgetLost": {"app"}, "Undo": {"app", wire.Undo{Rev: "HEAD"}}, "Prime": {"app", wire.PrimeQuery{}}, "ReportEvent": {"app", "s", wire.SessionEvent{Type: "x"}}, "SessionEvents": {"app", "s"}, "Decay": {"app", wire.DecayRequest{}},
		"Project": {"app"}, "UpdateProject": {"app", wire.ProjectUpdate{}}, "ProjectStatus": {"app"}, "ProjectStats": {"app"}, "Drift": {"app"}, "Problems": {"app", wire.ProblemQuery{Limit: 3}}, "ReloadModels": {}, "Audit": {wire.AuditQuery{Project: "app", Limit: 3}},
		"Repositories": {"app"}, "AddRepository": {"app", wire.RepositoryCreate{}}, "Sync": {"app", "00112233445566aa", wire.SyncRequest{}}, "RemoveRepository": {"app", "00112233445566aa"},
		"Algorithm": {"app"}, "SetAlgorithm": {"app", wire.Algorithm{StrengthWeight: 0.1, DecayHalfLifeDays: 3}}, "Pause": {"app", wire.Pause{For: "1h"}}, "Resume": {"app"},
	}
	last := []string{"DeleteMemory", "RemoveRepository"}
	order := slices.DeleteFunc(methodsOf(c), func(m string) bool { return slices.Contains(last, m) })
	for _, name := range append(order, last...) {
		if _, ok := args[name]; !ok {
			t.Errorf("%s is not called here", name)
			continue
		}
		in := []reflect.Value{reflect.ValueOf(ctx)}
		for _, x := range args[name] {
			in = append(in, reflect.ValueOf(x))
		}
		out := reflect.ValueOf(c).MethodByName(name).Call(in)
		if err := out[len(out)-1]; !err.IsNil() {
			t.Errorf("%s: %v", name, err)
		} else if len(out) == 2 && out[0].IsZero() {
			t.Errorf("%s returned nothing", name)
		}
	}
	if page, err := c.ListMemories(ctx, "app", wire.ListQuery{Tags: []string{"x", "y"}}); err != nil || page.Total != 1 {
		t.Errorf("list by tags = %+v, %v", page, err)
	}
	if src, err := c.MemorySource(ctx, "app", a.ID, 2, 3); err != nil || src.Content != "line 2\nline 3\n" {
		t.Errorf("source = %+v, %v", src, err)
	}
	if _, err := c.Project(ctx, "web"); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("removed project: %v", err)
	}
}

// methodsOf lists the generated methods, those of the handlers.
func methodsOf(c *client.Client) []string {
	var out []string
	byHand := []string{"Close", "DaemonVersion", "Events", "Metrics", "Mismatch", "Notices", "OpenAPI", "Ping", "Socket"}
	typ := reflect.TypeOf(c)
	for method := range typ.Methods() {
		if name := method.Name; !slices.Contains(byHand, name) {
			out = append(out, name)
		}
	}
	return out
}

func TestEventsAreFollowedAndResumed(t *testing.T) {
	handlers := apitest.New("app")
	c := client.New(serve(t, handlers, nil))
	enough := errors.New("enough")
	follow := func(after uint64, connected func(), n int) []uint64 {
		var ids []uint64
		err := c.Events(t.Context(), after, connected, func(e wire.Event) error {
			if ids = append(ids, e.ID); len(ids) == n {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) {
			t.Fatalf("Events: %v", err)
		}
		return ids
	}
	live := follow(0, func() {
		for range 3 {
			handlers.Emit("memory:changed", "app", map[string]any{"id": "x"})
		}
	}, 2)
	if !slices.Equal(live, []uint64{1, 2}) {
		t.Errorf("live events = %v", live)
	}
	if missed := follow(2, nil, 1); !slices.Equal(missed, []uint64{3}) {
		t.Errorf("after 2 = %v", missed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Events(ctx, 0, cancel, nil); err != nil {
		t.Errorf("Events after cancel: %v", err)
	}
}

// slow handlers let a test hold a request.
type slow struct {
	*apitest.Fake
	begun, gate chan struct{}
}

func (d slow) Status(ctx context.Context, sc fold.Scope) (wire.Status, error) {
	d.begun <- struct{}{}
	<-d.gate
	return d.Fake.Status(ctx, sc)
}

func TestStopLetsAnswersFinishAndEndsStreams(t *testing.T) {
	path := sock.Path(filepath.Join(t.TempDir(), "r", "s"))
	ln, err := sock.Listen(path, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	handlers := slow{apitest.New("app"), make(chan struct{}), make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.NewServer(handlers, nil, api.Options{}).Serve(ctx, ln) }()
	c := client.New(path)
	var wg sync.WaitGroup
	following := make(chan struct{})
	wg.Go(func() {
		if err := c.Events(t.Context(), 0, func() { close(following) }, nil); err != nil {
			t.Errorf("Events: %v", err)
		}
	})
	<-following
	wg.Go(func() {
		if st, err := c.Status(t.Context()); err != nil || st.PID != 1 {
			t.Errorf("answer in flight: %+v, %v", st, err)
		}
	})
	<-handlers.begun
	begun := time.Now()
	cancel()
	close(handlers.gate)
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("stop took %s", took)
	}
	wg.Wait()
	if err := c.Ping(t.Context()); !errors.Is(err, client.ErrNoDaemon) {
		t.Errorf("after the stop: %v", err)
	}
}

// request sends bytes to a socket and returns the status line.
func request(t *testing.T, path, text string) string {
	t.Helper()
	conn, err := sock.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, text) }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.Status
}

func TestLimits(t *testing.T) {
	t.Parallel()
	path := serve(t, apitest.New("app"), nil)
	header := func(size int) string {
		return "GET /health HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("x", size) + "\r\nConnection: close\r\n\r\n"
	}
	if got := request(t, path, header(30<<10)); !strings.HasPrefix(got, "200") {
		t.Errorf("header of 30 KiB: %s", got)
	}
	if got := request(t, path, header(100<<10)); !strings.HasPrefix(got, "431") {
		t.Errorf("header of 100 KiB: %s", got)
	}
	c := client.New(path)
	big := strings.Repeat("x", 2<<20)
	if _, err := c.Upload(t.Context(), "app", wire.FilesUpload{Files: []wire.UploadFile{{Path: "a", Content: big}}}); err != nil {
		t.Errorf("upload of 2 MiB: %v", err)
	}
	if _, err := c.AddMemory(t.Context(), "app", wire.MemoryCreate{Content: big}); err == nil || wire.KindOf(err).Status == 200 {
		t.Error("memory of 2 MiB was taken")
	}
}

func TestManyIdleConnectionsDoNotKeepOthersOut(t *testing.T) {
	path := serve(t, apitest.New("app"), nil)
	var conns []net.Conn
	for i := range 300 {
		conn, err := sock.Dial(t.Context(), path)
		if err != nil {
			t.Skipf("this system gives only %d connections: %v", i, err)
		}
		conns = append(conns, conn)
	}
	c := client.New(path)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 4 {
				if _, err := c.Status(t.Context()); err != nil {
					t.Errorf("Status: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, conn := range conns {
		_ = conn.Close()
	}
}

func TestTooManyAtOnceAreToldToComeBack(t *testing.T) {
	handlers := slow{apitest.New("app"), make(chan struct{}), make(chan struct{})}
	s := api.NewServer(handlers, nil, api.Options{})
	var wg sync.WaitGroup
	for range 512 {
		wg.Go(func() { ask(s, "GET", "/status", "") })
	}
	for range 512 {
		<-handlers.begun
	}
	if w := ask(s, "GET", "/health", ""); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("one too many = %d", w.Code)
	}
	close(handlers.gate)
	wg.Wait()
	if w := ask(s, "GET", "/health", ""); w.Code != 200 {
		t.Errorf("afterwards = %d", w.Code)
	}
}

// deadlines notes the read deadlines that are set on it.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func TestBodyHasADeadlineAndNothingElse(t *testing.T) {
	s := api.NewServer(apitest.New("app"), nil, api.Options{})
	for _, key := range []string{"", "k"} {
		w := httptest.NewRecorder()
		d := &deadlines{ResponseWriter: w}
		r := httptest.NewRequest("POST", "/api/projects/app/memories", strings.NewReader(`{"content":"x"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		before := time.Now()
		s.Owner().ServeHTTP(d, r)
		timed := slices.ContainsFunc(d.set, func(at time.Time) bool { return at.After(before) })
		if !timed || !d.set[len(d.set)-1].IsZero() || w.Code >= 300 {
			t.Errorf("key %q: deadlines %v, status %d", key, d.set, w.Code)
		}
	}
}

// TestShimThroughTheWholeServer runs every revision from stdio to the handlers,
// and stops the server while the client listens.
func TestShimThroughTheWholeServer(t *testing.T) {
	t.Parallel()
	for _, rev := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		t.Run(rev, func(t *testing.T) {
			handlers := apitest.New("app", "web")
			path := serve(t, handlers, mcp.Handler(handlers, mcp.Options{Version: "1.2.3"}))
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				err := mcp.Shim(context.Background(), inR, outW, func(ctx context.Context) (net.Conn, error) { return sock.Dial(ctx, path) }, mcp.ShimOptions{Dir: "/src/web"})
				_ = outW.Close()
				ended <- err
			}()
			s, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, nil).
				Connect(t.Context(), &sdk.IOTransport{Reader: outR, Writer: inW}, &sdk.ClientSessionOptions{ProtocolVersion: rev})
			if err != nil {
				t.Fatal(err)
			}
			res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_add", Arguments: map[string]any{"content": "hello"}})
			if err != nil || res.IsError {
				t.Fatalf("memory_add: %+v, %v", res, err)
			}
			list, err := handlers.ListMemories(t.Context(), fold.LocalScope(), "web", wire.ListQuery{})
			if err != nil || list.Total != 1 {
				t.Errorf("web has %d memories, %v", list.Total, err)
			}
			if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "fold://web/index"}); err != nil {
				t.Errorf("Subscribe: %v", err)
			}
			_ = s.Close()
			_ = inW.Close()
			if err := <-ended; err != nil {
				t.Errorf("Shim: %v", err)
			}
		})
	}
}

func TestIdempotencyStoreIsBounded(t *testing.T) {
	s := api.NewServer(apitest.New("app"), nil, api.Options{})
	first := ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", "k0").Body.String()
	for i := range 1100 {
		ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", fmt.Sprintf("k%d", i+1))
	}
	if again := ask(s, "POST", "/api/projects/app/reindex", "{}", "Idempotency-Key", "k0").Body.String(); again == first {
		t.Error("the oldest of 1101 keys is still remembered")
	}
}

// TestTextIsNeverAPage: what answers with the text of a memory is no page to a
// browser, whatever the text is (F48).
func TestTextIsNeverAPage(t *testing.T) {
	t.Parallel()
	s := api.NewServer(apitest.New("app"), nil, api.Options{})
	body, err := json.Marshal(map[string]string{"content": "<!doctype html><script>alert(1)</script>", "title": "<img src=x onerror=alert(1)>"})
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ ID string }
	if err := json.Unmarshal(ask(s, "POST", "/api/projects/app/memories", string(body)).Body.Bytes(), &made); err != nil || made.ID == "" {
		t.Fatal(made, err)
	}
	for _, tc := range []struct{ method, path, body string }{
		{"GET", "/api/projects/app/memories", ""},
		{"GET", "/api/projects/app/memories/" + made.ID, ""},
		{"POST", "/api/projects/app/search", `{"query":"doctype"}`},
		{"POST", "/api/projects/app/context/" + made.ID, `{}`},
		{"GET", "/api/projects/app/memories/<script>", ""},
		{"GET", "/<script>", ""},
	} {
		w := ask(s, tc.method, tc.path, tc.body)
		kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		if kind != "application/json" && kind != "application/problem+json" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %d as %q, %v: %s", tc.method, tc.path, w.Code, kind, w.Header(), w.Body)
		}
	}
}
