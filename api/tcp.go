package api

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	// maxConns is how many connections are served. The next extraConns are answered 503;
	// more than that wait to be accepted.
	maxConns   = 256
	extraConns = 64
)

// TCPOptions are the options of a listener for other programs and machines.
type TCPOptions struct {
	// Address is host:port, the host an address of this machine or localhost.
	Address string
	// CertFile and KeyFile are PEM files; "" is no TLS.
	CertFile, KeyFile string
	// AuthRequired must be true to let other machines connect, each with a token. A caller
	// on loopback always needs a token.
	AuthRequired bool
	// URL is the public URL of this address, "" if there is none.
	URL string
}

// A TCPListener is a listener for [Server.ServeTCP].
type TCPListener struct {
	net.Listener
	url          string
	tls          bool
	port         string
	loopbackOnly bool   // only this machine can connect
	allAddresses bool   // at every address of the machine
	publicHost   string // host of TCPOptions.URL with its port, "" if there is none
	publicURL    string // TCPOptions.URL
}

// ListenTCP listens at opt.Address. It returns ErrInvalid with a hint if that would let in
// more than the user decided, and ErrUnavailable if the address is in use or not there.
func ListenTCP(ctx context.Context, opt TCPOptions) (*TCPListener, error) {
	host, port, err := net.SplitHostPort(opt.Address)
	if err != nil {
		return nil, fold.WithHint(fmt.Errorf("listen %q is not host:port: %w", opt.Address, fold.ErrInvalid), `listen = "127.0.0.1:7350"`)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if host != "" && err != nil {
		return nil, fold.WithHint(fmt.Errorf("listen %q: the host is neither an address nor localhost: %w", opt.Address, fold.ErrInvalid), `listen = "127.0.0.1:7350"`)
	}
	l := &TCPListener{tls: opt.CertFile != "", loopbackOnly: host != "" && ip.IsLoopback(), allAddresses: host == "" || ip.IsUnspecified()}
	if !l.loopbackOnly && (!l.tls || !opt.AuthRequired) {
		return nil, fold.WithHint(fmt.Errorf("listen %q would let other machines connect, without %s: %w", opt.Address, missingFor(opt), fold.ErrInvalid),
			"set auth.tls_cert, auth.tls_key and auth.required = true, or listen on 127.0.0.1")
	}
	var config *tls.Config
	if l.tls {
		cert, err := tls.LoadX509KeyPair(opt.CertFile, opt.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("auth.tls_cert and auth.tls_key: %w: %w", err, fold.ErrInvalid)
		}
		config = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	}
	if opt.URL != "" {
		u, err := url.Parse(opt.URL)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("auth.url %q is no URL: %w", opt.URL, fold.ErrInvalid)
		}
		if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
			return nil, fold.WithHint(fmt.Errorf("auth.url %q would send cookies of sessions in the clear: %w", opt.URL, fold.ErrInvalid), "begin it with https://")
		}
		l.publicHost, l.publicURL = withPort(strings.ToLower(u.Host), u.Scheme == "https"), u.Scheme+"://"+strings.ToLower(u.Host)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w: %w", opt.Address, fold.ErrUnavailable, err)
	}
	_, l.port, _ = net.SplitHostPort(ln.Addr().String())
	l.Listener, l.url = newBoundedListener(ln), "http://"+ln.Addr().String()
	if l.tls {
		l.Listener, l.url = tls.NewListener(l.Listener, config), "https://"+ln.Addr().String()
	}
	return l, nil
}

// isLoopback reports whether a host of a URL is this machine, by whatever name.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// Nameless reports whether the listener is at all addresses of the machine and has no
// public URL, so that a browser cannot be redirected to it.
func (l *TCPListener) Nameless() bool { return l.allAddresses && l.publicURL == "" }

func missingFor(opt TCPOptions) string {
	var missing []string
	if opt.CertFile == "" {
		missing = append(missing, "TLS")
	}
	if !opt.AuthRequired {
		missing = append(missing, "auth.required")
	}
	return strings.Join(missing, " and ")
}

// URL is where the listener can be called.
func (l *TCPListener) URL() string { return l.url }

// Called returns the public URL of the listener, or else that of its address.
func (l *TCPListener) Called() string {
	if l.publicURL != "" {
		return l.publicURL
	}
	return l.url
}

// origin returns the origin of pages from host, which is a name of this listener.
func (l *TCPListener) origin(host string) string {
	host = strings.ToLower(host)
	if l.tls && !l.isPublicHost(host) || strings.HasPrefix(l.publicURL, "https://") && l.isPublicHost(host) {
		return "https://" + host
	}
	return "http://" + host
}

// isPublicHost reports whether host, in lower case, is that of TCPOptions.URL, which
// may be that of a proxy with another scheme than ours.
func (l *TCPListener) isPublicHost(host string) bool {
	return l.publicHost != "" && withPort(host, strings.HasPrefix(l.publicURL, "https://")) == l.publicHost
}

// acceptsHost reports whether the value of a Host header means this listener: a
// literal address with our port, or the name that the user gave. A page whose
// name was made to point here has that name as Host; no page has an address for
// one that it does not come from.
func (l *TCPListener) acceptsHost(host string) bool {
	host = strings.ToLower(host)
	if l.isPublicHost(host) {
		return true
	}
	at, err := netip.ParseAddrPort(withPort(host, l.tls))
	if err != nil || strconv.Itoa(int(at.Port())) != l.port || at.Addr().Zone() != "" {
		return false
	}
	return at.Addr().IsLoopback() || !l.loopbackOnly
}

// withPort adds the default port of the scheme to a host without a port.
func withPort(host string, secure bool) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if secure {
		return host + ":443"
	}
	return host + ":80"
}

// ServeTCP is [Server.Serve] for callers that must authenticate: REST, MCP and event
// streams need a token, and a Host header that names ln.
func (s *Server) ServeTCP(ctx context.Context, ln *TCPListener) error {
	return s.serveOn(ctx, ln, newGate(s, ln))
}

// Other returns the handler of requests that come by ln.
func (s *Server) Other(ln *TCPListener) http.Handler { return newGate(s, ln) }

// A bounded listener has at most maxConns+overConns connections. Those beyond
// maxConns know it.
type boundedListener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func() error
}

func newBoundedListener(ln net.Listener) *boundedListener {
	b := &boundedListener{Listener: ln, slots: make(chan struct{}, maxConns+extraConns), done: make(chan struct{})}
	b.close = sync.OnceValue(func() error {
		close(b.done)
		return ln.Close()
	})
	return b
}

// Accept waits for a slot, then for a connection.
func (b *boundedListener) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &boundedConn{Conn: c, overload: len(b.slots) > maxConns, release: sync.OnceFunc(func() { <-b.slots })}, nil
}

// Close also ends an Accept that waits for a slot.
func (b *boundedListener) Close() error { return b.close() }

type boundedConn struct {
	net.Conn
	overload bool
	release  func()
}

func (c *boundedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

type overloadKey struct{}

// withOverload tells requests whether their connection is one too many.
func withOverload(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if b, ok := c.(*boundedConn); ok && b.overload {
		return context.WithValue(ctx, overloadKey{}, true)
	}
	return ctx
}

// refuseOverload answers a request of a connection that is one too many.
func refuseOverload(w http.ResponseWriter, r *http.Request) bool {
	if over, _ := r.Context().Value(overloadKey{}).(bool); !over {
		return false
	}
	w.Header().Set("Connection", "close")
	writeProblem(w, refusal(http.StatusServiceUnavailable, "too many connections", "try again in a second"))
	return true
}
