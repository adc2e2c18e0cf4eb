package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
)

// The limits of threats.md 3.
const (
	headerLimit = 32 << 10         // bytes
	headerTime  = 10 * time.Second // to send them
	bodyLimit   = 1 << 20          // bytes
	uploadLimit = 10 << 20         // bytes, of file uploads and of MCP, which carries them too
	bodyTime    = 30 * time.Second // to send the body
	idleTime    = 2 * time.Minute
	stopTime    = 5 * time.Second // from the call to stop to the end of Serve

	// Requests and streams served at once; beyond that the answer is 503. A
	// connection that waits costs neither.
	maxRequests = 512
	maxStreams  = 256
)

// Options of a server. The zero value works.
type Options struct {
	// Version is sent as X-Foldwatch-Version with every answer.
	Version string
	// Log gets the causes of internal errors, which are not sent out. Nil discards.
	Log *slog.Logger
	// Origins lists the values of Origin that may call; none by default.
	Origins []string
	// Auth checks the credentials of requests. If it is nil, a request with any is
	// refused.
	Auth auth.Authenticator
	// Tokens makes and revokes tokens. Nil means that there are none.
	Tokens *auth.Tokens
	// Rates limit the requests of callers.
	Rates Rates
	// Logins lets people log in on other listeners than the socket. Nil lets nobody.
	Logins *auth.Logins
	// Notices returns what the owner should know. It is called for requests at the socket
	// with wire.NoticesHeader, and must be quick. Nil is none.
	Notices func(ctx context.Context) []string
	// Now is the wall clock by which idempotency keys expire. Nil means time.Now.
	Now func() time.Time
}

// A Server answers requests by calling its handlers. It is safe for concurrent use.
type Server struct {
	handlers Handlers
	mcp      http.Handler
	opt      Options
	mux      *http.ServeMux
	api      huma.API
	routes   map[string]Route // by pattern
	// documented are the statuses that each operation may answer with, by its ID.
	documented  map[string]map[int]bool
	idempotency *idempotencyCache
	rates       rateLimiters
	owner       *gate                  // of the socket
	document    func() ([]byte, error) // encoded once: some 200 KB
	stop        context.Context        // done when streams must end
	stopAll     context.CancelFunc
}

// NewServer returns a server that calls handlers. Requests to /mcp go to mcp; nil answers
// them 404.
func NewServer(handlers Handlers, mcp http.Handler, opt Options) *Server {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Server{
		handlers: handlers, mcp: mcp, opt: opt, mux: http.NewServeMux(), routes: map[string]Route{},
		documented: map[string]map[int]bool{}, idempotency: newIdempotencyCache(opt.Now), rates: newRateLimiters(opt.Rates),
	}
	s.document = sync.OnceValues(s.writeDocument)
	s.owner = newGate(s, nil)
	s.stop, s.stopAll = context.WithCancel(context.Background())
	s.api = humago.New(s.mux, s.config())
	describeShared(s.api.OpenAPI())
	for _, r := range Routes() {
		s.routes[r.Pattern()] = r
		s.documented[r.ID] = map[int]bool{}
		for _, a := range r.Answers() {
			s.documented[r.ID][a.Status] = true
		}
		r.add(s, s.api, r)
	}
	return s
}

// documentVersion is the version of the OpenAPI document, the same for every build. The
// version of the daemon is in a header of each answer.
const documentVersion = "1"

func (s *Server) config() huma.Config {
	c := huma.DefaultConfig("foldwatch", documentVersion)
	c.CreateHooks, c.DocsPath, c.SchemasPath, c.OpenAPIPath = nil, "", "", ""
	c.Info.Description = "The memory of the projects on this machine."
	c.Transformers = []huma.Transformer{func(ctx huma.Context, _ string, v any) (any, error) {
		switch v := v.(type) {
		case *huma.ErrorModel:
			p := fromHuma(v)
			p.Request = requestID(ctx.Context())
			return p, nil
		case *problemError:
			return v.Problem, nil
		}
		return nonNilLists(v), nil
	}}
	return c
}

// nonNilLists returns v with its nil slices made empty, so that a list without items
// is [] in JSON and never null.
func nonNilLists(v any) any {
	in := reflect.ValueOf(v)
	if in.Kind() != reflect.Struct {
		return v
	}
	out := reflect.New(in.Type()).Elem()
	out.Set(in)
	fillLists(out)
	return out.Interface()
}

func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, i := range listsOf(v.Type()) {
			fillLists(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				fillLists(v.Index(i))
			}
		}
	}
}

// listFields caches, by struct type, the fields that are lists or contain some: to find
// them takes longer than to fill them.
var listFields sync.Map

func listsOf(t reflect.Type) []int {
	if known, ok := listFields.Load(t); ok {
		return known.([]int)
	}
	fields := []int{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.IsExported() && (f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Struct && len(listsOf(f.Type)) > 0) {
			fields = append(fields, i)
		}
	}
	listFields.Store(t, fields)
	return fields
}

// serve runs one request of a route within its limits.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route Route) {
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				panic(v)
			}
			writeProblem(w, s.problemOf(r.Context(), route.ID, panicError{v}, false).Problem)
		}
	}()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		r.Body, r.ContentLength = http.NoBody, 0 // a body has no meaning here
	}
	body := r.Body != nil && r.ContentLength != 0
	if body || len(r.Header["Content-Type"]) > 0 && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(ct) != "application/json" {
			writeProblem(w, refusal(http.StatusUnsupportedMediaType, "the body must be application/json", "add the header: Content-Type: application/json"))
			return
		}
	}
	if body {
		r.Body = withBodyTimeout(http.NewResponseController(w), http.MaxBytesReader(w, r.Body, route.limit()))
		if err := readWhole(r); err != nil {
			writeProblem(w, unreadable(err, route.limit()))
			return
		}
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" && r.Method == http.MethodPost && route.In != nil && !route.Secret {
		s.idempotency.serve(w, r, route, key, s.mux)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// withBodyTimeout limits how long a body may take to arrive. The deadline is removed when
// the body was read, since it would end the request. Writers of tests have no deadlines.
func withBodyTimeout(out *http.ResponseController, body io.ReadCloser) io.ReadCloser {
	return &timeoutBody{ReadCloser: body, out: out}
}

type timeoutBody struct {
	io.ReadCloser
	out   *http.ResponseController
	begun bool
}

func (b *timeoutBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		_ = b.out.SetReadDeadline(time.Now().Add(bodyTime))
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.out.SetReadDeadline(time.Time{})
	}
	return n, err
}

type panicError struct{ v any }

func (e panicError) Error() string {
	if err, ok := e.v.(error); ok {
		return "panic: " + err.Error()
	}
	if text, ok := e.v.(string); ok {
		return "panic: " + text
	}
	return "panic"
}

// notFound answers a request that has no route: 405 if another method has one, 404
// otherwise.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request, h http.Handler) {
	probe := &statusProbe{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		writeProblem(w, refusal(probe.status, r.Method+" is not possible here", "use "+allow))
		return
	}
	writeProblem(w, refusal(http.StatusNotFound, "there is no such route", "GET /openapi.json lists them"))
}

// statusProbe notes the status and headers of an answer.
type statusProbe struct {
	header http.Header
	status int
}

func (p *statusProbe) Header() http.Header         { return p.header }
func (p *statusProbe) Write(b []byte) (int, error) { return len(b), nil }
func (p *statusProbe) WriteHeader(status int)      { p.status = status }

// Serve answers on ln, which lets only the owner connect, until ctx ends. It then ends
// streams, waits up to 5 seconds for answers in flight, closes ln, and returns nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.serveOn(ctx, ln, s.owner)
}

// serveOn is Serve for any handler; mostly a gate.
func (s *Server) serveOn(ctx context.Context, ln net.Listener, h http.Handler) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	hs := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerLimit - 4096, // net/http adds 4096 to it
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withOverload,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(ln) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.stopAll()
	grace, done := context.WithTimeout(base, stopTime-time.Second)
	defer done()
	err := hs.Shutdown(grace)
	if err != nil {
		cancel() // requests that still run are cancelled
		err = hs.Close()
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

func (s *Server) live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(wire.Health{Status: "ok", Version: s.opt.Version})
	})
}

func (s *Server) gone() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, refusal(http.StatusGone, "the SSE transport of MCP is retired", "use POST /mcp (streamable HTTP)"))
	})
}

func (s *Server) mcpHandler() http.Handler {
	if s.mcp == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			writeProblem(w, refusal(http.StatusNotFound, "MCP is not served here", ""))
		})
	}
	return s.mcp
}

// OpenAPI returns the description of the API, OpenAPI 3.1 as indented JSON that
// ends in a line feed. It is the same for every server.
func (s *Server) OpenAPI() ([]byte, error) { return s.document() }

func (s *Server) writeDocument() ([]byte, error) {
	b, err := json.MarshalIndent(s.api.OpenAPI(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return append(b, '\n'), nil
}

func (s *Server) openapi() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := s.OpenAPI()
		if err != nil {
			writeProblem(w, s.problemOf(r.Context(), "openapi", err, false).Problem)
			return
		}
		w.Header().Set("Content-Type", documentType)
		_, _ = w.Write(b)
	})
}

const documentType = "application/vnd.oai.openapi+json;version=3.1"

// readWhole reads the body of r within its limits and replaces it by a copy in memory,
// so that errors of reading are answered in one place.
func readWhole(r *http.Request) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return nil
}

// unreadable is the problem of a body that could not be read.
func unreadable(err error, limit int64) wire.Problem {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refusal(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit), "send less at once")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return refusal(http.StatusRequestTimeout, "the body did not arrive within "+bodyTime.String(), "")
	}
	return refusal(http.StatusBadRequest, "the body cannot be read", "")
}
