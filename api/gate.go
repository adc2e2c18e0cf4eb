package api

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
)

// A gate checks every request of one listener before its route is reached: REST, MCP,
// event streams and documents alike. It is an http.Handler, safe for concurrent use.
type gate struct {
	s *Server
	// ln is the listener of the requests. Nil is the socket, whose peers were checked to
	// be the owner.
	ln *TCPListener

	// Semaphores of what is served at once. Each listener has its own, so that others
	// cannot use up those of the owner.
	requests chan struct{}
	streams  chan struct{}
}

func newGate(s *Server, ln *TCPListener) *gate {
	return &gate{s: s, ln: ln, requests: make(chan struct{}, maxRequests), streams: make(chan struct{}, maxStreams)}
}

// Owner returns the handler of the socket, where requests without credentials come from
// the owner of the daemon. Use it only behind a listener that has checked this.
func (s *Server) Owner() http.Handler { return s.owner }

// ServeHTTP checks the origin, the caller and the rate of a request, then answers it.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := g.s
	r = withRequestID(w, r)
	var (
		route Route
		who   auth.Caller
		tell  func(Route, auth.Caller)
	)
	w, tell = s.logAnswer(w, r)
	defer func() { tell(route, who) }()
	w.Header().Set("X-Foldwatch-Version", s.opt.Version)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if refuseOverload(w, r) || g.ln != nil && !s.rates.allowPeer(w, r) || !g.comesRight(w, r) {
		return
	}
	h, pattern := s.mux.Handler(r)
	var ok bool
	route, ok = s.routes[strings.Replace(pattern, "HEAD ", "GET ", 1)]
	if !ok {
		s.notFound(w, r, h)
		return
	}
	var err error
	who, err = g.caller(r)
	if err == nil && who.ID == "" && route.Access != Public {
		err = auth.ErrNobody()
	}
	if err != nil {
		s.challenge(w, r)
		writeProblem(w, s.problemOf(r.Context(), route.ID, err, false).Problem)
		return
	}
	if !s.rates.allowCaller(w, who) {
		return
	}
	if !route.Access.Allows(who.Scope) {
		writeProblem(w, refusal(http.StatusForbidden, "this needs a caller with scope "+string(route.Access), ""))
		return
	}
	if _, asked := r.Header[wire.NoticesHeader]; asked && g.ln == nil && len(r.Header["Authorization"]) == 0 && s.opt.Notices != nil {
		w.Header().Set(wire.NoticesHeader, wire.EncodeNotices(s.opt.Notices(r.Context())))
	}
	if who.Browser && route.Method != http.MethodGet && !g.isOwnPage(r) {
		writeProblem(w, refusal(http.StatusForbidden, "a browser's session changes things from pages of this server only",
			"send the header Origin with the address of this server, or use a token"))
		return
	}
	// In the current revision of MCP clients listen by a POST that stays open.
	stream := route.Stream || r.Header.Get("Mcp-Method") == "subscriptions/listen"
	slots := g.requests
	if stream {
		slots = g.streams
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	default:
		writeProblem(w, refusal(http.StatusServiceUnavailable, "too many requests at once", "try again in a second"))
		return
	}
	ctx, end := who.Lasting(auth.WithCaller(r.Context(), who), s.opt.Now())
	defer end()
	if stream {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.stop, cancel)()
	}
	s.serve(w, r.WithContext(ctx), route)
}

// comesRight refuses what no caller of ours sends, whoever it is. Host comes
// first: a page whose name was made to point here has an Origin that looks like
// its own, or none.
func (g *gate) comesRight(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case g.ln != nil && !g.ln.acceptsHost(r.Host):
		writeProblem(w, refusal(http.StatusForbidden, "requests to another host are refused", "use the address that foldwatch status names"))
	case !g.originAllowed(r):
		writeProblem(w, refusal(http.StatusForbidden, "requests from web pages are refused", ""))
	case tokenInURL(r.URL):
		g.s.challenge(w, r)
		writeProblem(w, refusal(http.StatusUnauthorized, "a token in a URL is refused: URLs are logged and shared",
			"revoke that token, and send another one as: Authorization: Bearer fwt_…"))
	case r.URL.Path != path.Clean("/"+r.URL.Path):
		// net/http would redirect, and an empty or dotted name would reach
		// another route than the caller meant.
		writeProblem(w, refusal(http.StatusNotFound, "the path has empty or dotted parts", ""))
	default:
		return true
	}
	return false
}

// originAllowed reports whether the request is from no web page, from a page of an
// allowed origin, or from our own page in a browser that is logged in.
func (g *gate) originAllowed(r *http.Request) bool {
	origins, sent := r.Header["Origin"]
	return !sent || len(origins) == 1 && (slices.Contains(g.s.opt.Origins, origins[0]) || g.isOwnPage(r))
}

// isOwnPage reports whether r comes of a page of this very address and port, in a
// browser of somebody who is logged in. Cookies alone show no such thing: pages
// of other ports of this machine send them too.
func (g *gate) isOwnPage(r *http.Request) bool {
	if g.ln == nil || len(r.Header["Authorization"]) > 0 {
		return false
	}
	origins := r.Header["Origin"]
	if len(origins) != 1 || !strings.EqualFold(origins[0], g.ln.origin(r.Host)) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	_, known := g.s.opt.Logins.Session(r)
	return known
}

// caller returns the caller by the credentials of r; without any the owner at the socket,
// and elsewhere the user whose browser is logged in, or nobody.
func (g *gate) caller(r *http.Request) (auth.Caller, error) {
	local := g.ln == nil
	for _, a := range []auth.Authenticator{g.s.opt.Logins, g.s.opt.Auth} {
		if a == nil {
			continue
		}
		who, known, err := a.Authenticate(r)
		if err != nil {
			return auth.Caller{}, err
		}
		if known {
			who.Scope.Local = local
			return who, nil
		}
	}
	switch {
	case len(r.Header["Authorization"]) > 0: // of an unknown kind
		return auth.Caller{}, auth.ErrNobody()
	case local:
		return auth.Owner(), nil
	}
	who, _ := g.s.opt.Logins.Session(r)
	return who, nil
}

// challenge says how to authenticate, and for MCP where to get an access token
// (RFC 9728).
func (s *Server) challenge(w http.ResponseWriter, r *http.Request) {
	how := "Bearer"
	if _, ok := s.metadata(); ok && r.URL.Path == "/mcp" {
		how += ` resource_metadata="` + s.opt.Logins.URL() + resourcePath + `/mcp"`
	}
	w.Header().Set("WWW-Authenticate", how)
}

// tokenInURL reports whether u contains a token, or a part of one.
func tokenInURL(u *url.URL) bool {
	query, err := url.QueryUnescape(u.RawQuery)
	return auth.InText(u.Path) || auth.InText(u.RawQuery) || err == nil && auth.InText(query) || u.Query().Has("access_token")
}
