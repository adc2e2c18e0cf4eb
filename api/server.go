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
	// Log gets what must not leave the machine. Nil discards.
	Log *slog.Logger
	// Origins lists the values of Origin that may call; none by default.
	Origins []string
	// Auth knows the credentials that requests may carry. Nil knows none: a
	// request that carries any is refused.
	Auth auth.Authenticator
	// Tokens makes and revokes tokens. Nil means that none are kept here.
	Tokens *auth.Tokens
	// Rates are how much callers may ask for in a second.
	Rates Rates
	// Logins lets people in by other listeners than the socket. Nil lets nobody.
	Logins *auth.Logins
	// Notices are what the owner should know, for who asks by wire.NoticesHeader at
	// the socket. It must be quick. Nil is none.
	Notices func(ctx context.Context) []string
	// Now is the wall clock by which idempotency keys expire. Nil means time.Now.
	Now func() time.Time
}

// A Server answers requests by calling the doors. It is safe for concurrent
// use.
type Server struct {
	doors  Doors
	mcp    http.Handler
	opt    Options
	mux    *http.ServeMux
	api    huma.API
	routes map[string]Route // by pattern
	// documented are the statuses that each operation may answer with, by its ID.
	documented map[string]map[int]bool
	once       *idempotent
	rates      limiter
	owner      *gate                  // of the socket
	document   func() ([]byte, error) // written once: it has some 200 KB
	stop       context.Context        // done when streams shall end
	stopAll    context.CancelFunc
}

// NewServer returns a server of doors. Requests to /mcp go to mcp; nil answers
// them 404.
func NewServer(doors Doors, mcp http.Handler, opt Options) *Server {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Server{
		doors: doors, mcp: mcp, opt: opt, mux: http.NewServeMux(), routes: map[string]Route{},
		documented: map[string]map[int]bool{}, once: newIdempotent(opt.Now), rates: newLimiter(opt.Rates),
	}
	s.document = sync.OnceValues(s.writeDocument)
	s.owner = newGate(s, nil)
	s.stop, s.stopAll = context.WithCancel(context.Background())
	s.api = humago.New(s.mux, s.config())
	describe(s.api.OpenAPI())
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

// documentVersion is that of the description of the API, which is the same for
// every build: a client is told the daemon's own with each answer.
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
		case *problem:
			return v.Problem, nil
		}
		return lists(v), nil
	}}
	return c
}

// lists returns v with its nil slices made empty, so that a list without items
// is [] in JSON and never null.
func lists(v any) any {
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

// listFields are the fields of structs that are lists or may have some, by type: to ask
// for them took longer than to fill them.
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
			writeProblem(w, s.tell(r.Context(), route.ID, panicError{v}, false).Problem)
		}
	}()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		r.Body, r.ContentLength = http.NoBody, 0 // it would mean nothing
	}
	body := r.Body != nil && r.ContentLength != 0
	if body || len(r.Header["Content-Type"]) > 0 && r.Method != http.MethodGet && r.Method != http.MethodHead {
		if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(ct) != "application/json" {
			writeProblem(w, refusal(http.StatusUnsupportedMediaType, "the body must be application/json", "add the header: Content-Type: application/json"))
			return
		}
	}
	if body {
		r.Body = timed(http.NewResponseController(w), http.MaxBytesReader(w, r.Body, route.limit()))
		if err := readWhole(r); err != nil {
			writeProblem(w, unreadable(err, route.limit()))
			return
		}
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" && r.Method == http.MethodPost && route.In != nil && !route.Secret {
		s.once.serve(w, r, route, key, s.mux)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// timed limits how long a body may take to arrive, and how long only that: a
// deadline that stays would end the request that it belongs to. Writers that
// know no deadlines (tests) have none.
func timed(out *http.ResponseController, body io.ReadCloser) io.ReadCloser {
	return &timedBody{ReadCloser: body, out: out}
}

type timedBody struct {
	io.ReadCloser
	out   *http.ResponseController
	begun bool
}

func (b *timedBody) Read(p []byte) (int, error) {
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

// unrouted answers what no route is for: 405 where another method would do,
// 404 elsewhere.
func (s *Server) unrouted(w http.ResponseWriter, r *http.Request, h http.Handler) {
	probe := &probe{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		writeProblem(w, refusal(probe.status, r.Method+" is not possible here", "use "+allow))
		return
	}
	writeProblem(w, refusal(http.StatusNotFound, "there is no such route", "GET /openapi.json lists them"))
}

// probe notes how a handler would answer.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }
func (p *probe) WriteHeader(status int)      { p.status = status }

// Serve answers on ln, whose peers are checked to be the owner, until ctx ends,
// then lets answers in flight finish for at most 5 seconds, ends streams, and
// closes ln. It returns nil after such a stop.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.serveOn(ctx, ln, s.owner)
}

// serveOn is Serve for any handler, a gate mostly.
func (s *Server) serveOn(ctx context.Context, ln net.Listener, h http.Handler) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	hs := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerLimit - 4096, // net/http adds 4096 to it
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       noteOver,
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
		cancel() // what still runs is told so, and cut off
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
			writeProblem(w, s.tell(r.Context(), "openapi", err, false).Problem)
			return
		}
		w.Header().Set("Content-Type", documentType)
		_, _ = w.Write(b)
	})
}

const documentType = "application/vnd.oai.openapi+json;version=3.1"

// readWhole reads the body of r within the limits that were set on it, and
// leaves it to be read again. That it cannot be read is then told in one way,
// whoever wants it.
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
