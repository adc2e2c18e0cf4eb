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
	// maxConns is how many connections are served; those beyond are told to come
	// back, as long as there are few of them, and then wait to be accepted.
	maxConns  = 256
	overConns = 64
)

// TCPOptions say where other programs and machines may connect.
type TCPOptions struct {
	// Address is host:port, the host an address of this machine or localhost.
	Address string
	// CertFile and KeyFile are PEM files; "" is no TLS.
	CertFile, KeyFile string
	// AuthRequired is the user's word that other machines may ask, each with a
	// token. A caller on loopback needs one whatever it says.
	AuthRequired bool
	// URL is how others call this address, "" if they use the address itself.
	URL string
}

// A TCPListener is where [Server.ServeTCP] answers.
type TCPListener struct {
	net.Listener
	url      string
	tls      bool
	port     string
	loops    bool   // only this machine can connect
	anywhere bool   // at every address of the machine
	named    string // host of TCPOptions.URL with its port, "" if there is none
	given    string // TCPOptions.URL
}

// ListenTCP listens at opt.Address. It returns ErrInvalid, with what to set,
// where that would let in more than the user decided, and ErrUnavailable where
// the address cannot be had now.
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
	l := &TCPListener{tls: opt.CertFile != "", loops: host != "" && ip.IsLoopback(), anywhere: host == "" || ip.IsUnspecified()}
	if !l.loops && (!l.tls || !opt.AuthRequired) {
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
		if u.Scheme != "https" && (u.Scheme != "http" || !loopbackName(u.Hostname())) {
			return nil, fold.WithHint(fmt.Errorf("auth.url %q would send cookies of sessions in the clear: %w", opt.URL, fold.ErrInvalid), "begin it with https://")
		}
		l.named, l.given = withPort(strings.ToLower(u.Host), u.Scheme == "https"), u.Scheme+"://"+strings.ToLower(u.Host)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w: %w", opt.Address, fold.ErrUnavailable, err)
	}
	_, l.port, _ = net.SplitHostPort(ln.Addr().String())
	l.Listener, l.url = newBounded(ln), "http://"+ln.Addr().String()
	if l.tls {
		l.Listener, l.url = tls.NewListener(l.Listener, config), "https://"+ln.Addr().String()
	}
	return l, nil
}

// loopbackName reports whether a host of a URL is this machine, by whatever name.
func loopbackName(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// Nameless reports whether the listener takes every address of the machine and none
// was said that it is called by: a browser cannot be sent back to it.
func (l *TCPListener) Nameless() bool { return l.anywhere && l.given == "" }

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

// Called is how browsers call the listener: as the user says, else by its
// address, which must be one.
func (l *TCPListener) Called() string {
	if l.given != "" {
		return l.given
	}
	return l.url
}

// origin returns the origin of pages that host, which names this listener, has.
func (l *TCPListener) origin(host string) string {
	host = strings.ToLower(host)
	if l.tls && !l.called(host) || strings.HasPrefix(l.given, "https://") && l.called(host) {
		return "https://" + host
	}
	return "http://" + host
}

// called reports whether host, in lower case, is that of TCPOptions.URL, which
// may be that of a proxy with another scheme than ours.
func (l *TCPListener) called(host string) bool {
	return l.named != "" && withPort(host, strings.HasPrefix(l.given, "https://")) == l.named
}

// names reports whether the value of a Host header means this listener: a
// literal address with our port, or the name that the user gave. A page whose
// name was made to point here has that name as Host; no page has an address for
// one that it does not come from.
func (l *TCPListener) names(host string) bool {
	host = strings.ToLower(host)
	if l.called(host) {
		return true
	}
	at, err := netip.ParseAddrPort(withPort(host, l.tls))
	if err != nil || strconv.Itoa(int(at.Port())) != l.port || at.Addr().Zone() != "" {
		return false
	}
	return at.Addr().IsLoopback() || !l.loops
}

// withPort adds to host the port that clients leave out.
func withPort(host string, secure bool) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if secure {
		return host + ":443"
	}
	return host + ":80"
}

// ServeTCP is [Server.Serve] for callers who must say who they are: REST, MCP
// and event streams alike need a token, and a Host that names ln.
func (s *Server) ServeTCP(ctx context.Context, ln *TCPListener) error {
	return s.serveOn(ctx, ln, newGate(s, ln))
}

// Other returns the handler of requests that come by ln.
func (s *Server) Other(ln *TCPListener) http.Handler { return newGate(s, ln) }

// A bounded listener has at most maxConns+overConns connections. Those beyond
// maxConns know it.
type bounded struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func() error
}

func newBounded(ln net.Listener) *bounded {
	b := &bounded{Listener: ln, slots: make(chan struct{}, maxConns+overConns), done: make(chan struct{})}
	b.close = sync.OnceValue(func() error {
		close(b.done)
		return ln.Close()
	})
	return b
}

// Accept waits for a connection, and until there is room for it.
func (b *bounded) Accept() (net.Conn, error) {
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
	return &boundedConn{Conn: c, over: len(b.slots) > maxConns, leave: sync.OnceFunc(func() { <-b.slots })}, nil
}

// Close ends Accept too where that waits for room.
func (b *bounded) Close() error { return b.close() }

type boundedConn struct {
	net.Conn
	over  bool
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

type overKey struct{}

// noteOver tells requests whether their connection is one too many.
func noteOver(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if b, ok := c.(*boundedConn); ok && b.over {
		return context.WithValue(ctx, overKey{}, true)
	}
	return ctx
}

// isOver answers a request of a connection that is one too many.
func isOver(w http.ResponseWriter, r *http.Request) bool {
	if over, _ := r.Context().Value(overKey{}).(bool); !over {
		return false
	}
	w.Header().Set("Connection", "close")
	writeProblem(w, refusal(http.StatusServiceUnavailable, "too many connections", "try again in a second"))
	return true
}
