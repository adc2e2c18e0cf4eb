package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Options of a [Client]. Name and URL must be set; zero values of the rest work.
type Options struct {
	Name string // as the user calls it
	URL  string // what paths are added to

	// KeyHeader is the header with the Key; in Authorization, "Bearer " comes before it.
	// Empty means Authorization.
	KeyHeader string
	Key       Key

	// Allowed returns why a project may not send anything to this provider, or nil. It is
	// called before each request to another machine. Nil allows nobody.
	Allowed func(project string) error

	// Forwards says that a program on this machine forwards requests to another machine,
	// so that the provider counts as remote.
	Forwards bool

	Daily  Budget
	Ledger Ledger // what was spent; nil keeps it in memory
	// Audit records a request that was made to another machine. An error ends the call:
	// what cannot be recorded is not sent again.
	Audit func(ctx context.Context, r Record) error

	// Timeout bounds one attempt. Zero means one minute; three on this machine, where the
	// first request may have to load a model.
	Timeout time.Duration
	// Attempts is how often a request is made at most. Zero means 4.
	Attempts int

	Transport http.RoundTripper // of tests; nil dials
	Jitter    func() float64    // in [0, 1); nil is random
	Now       func() time.Time  // the day of the budget, the time of a record; nil is the clock
}

// A Record is one request that left this machine, without its content.
type Record struct {
	At       time.Time
	Project  string
	Provider string
	Host     string
	Texts    int
	Bytes    int    // of the body
	Outcome  string // "200 OK", or why there was no answer
}

// A Call is one request.
type Call struct {
	Project string // on whose behalf
	Method  string // "" is POST
	Path    string // below the URL
	Body    any    // sent as JSON; nil sends none
	Texts   int    // how many texts are in Body
	Tokens  int    // and about how many tokens

	// MaxAnswer bounds the answer in bytes. Zero means 64 MiB.
	MaxAnswer int64
}

// A Client talks to one provider. It is safe for concurrent use.
type Client struct {
	opt     Options
	base    *url.URL
	local   bool // nothing leaves this machine
	http    *http.Client
	breaker breaker

	mu    sync.Mutex // guards spent, one spending at a time
	spent Spent
	read  bool // spent was read from the ledger
}

// New returns a client. It returns ErrInvalid if the URL is not one of http or
// https, holds a password, or would carry a key unencrypted to another machine.
func New(opt Options) (*Client, error) {
	base, err := url.Parse(opt.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("provider %s: the URL is not one of http or https: %w", opt.Name, fold.ErrInvalid)
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fold.WithHint(fmt.Errorf("provider %s: the URL holds a user, a query or a fragment: %w", opt.Name, fold.ErrInvalid),
			"name the variable that holds the key with key_env, or a file with key_file")
	}
	near := isLocal(base)
	c := &Client{opt: opt, base: base, local: near && !opt.Forwards}
	if !near && base.Scheme == "http" && opt.Key != "" {
		return nil, fmt.Errorf("provider %s: its key would go unencrypted to %s: %w", opt.Name, base.Hostname(), fold.ErrInvalid)
	}
	if c.opt.Timeout == 0 {
		c.opt.Timeout = time.Minute
		if c.local {
			c.opt.Timeout = 3 * time.Minute
		}
	}
	if c.opt.Attempts == 0 {
		c.opt.Attempts = 4
	}
	if c.opt.Jitter == nil {
		c.opt.Jitter = rand.Float64
	}
	if c.opt.Now == nil {
		c.opt.Now = time.Now
	}
	transport := opt.Transport
	if transport == nil {
		transport = dialler(near)
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: c.redirect}
	return c, nil
}

// Local reports whether the provider runs on this machine, so that nothing leaves it.
func (c *Client) Local() bool { return c.local }

// Reset forgets failures, so that the next request is made at once.
func (c *Client) Reset() { c.breaker.succeed() }

// Held reports whether requests are stopped because the provider failed too often, and
// until when.
func (c *Client) Held() (until time.Time, held bool) { return c.breaker.held(time.Now()) }

// Host returns where requests go, without port where it is the usual one.
func (c *Client) Host() string { return c.base.Host }

// Encrypted reports whether what is sent is.
func (c *Client) Encrypted() bool { return c.base.Scheme == "https" }

// IsLocal reports whether an address is on this machine: localhost or a loopback literal.
// Other names could mean another machine tomorrow.
func IsLocal(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLocal(u)
}

func isLocal(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// errRedirect says that the provider redirected the request.
var errRedirect = errors.New("it redirects to another host")

func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	if req.URL.Host != c.base.Host || req.URL.Scheme != c.base.Scheme || req.Method != via[0].Method {
		return errRedirect
	}
	if len(via) >= 3 {
		return errors.New("it redirects in circles")
	}
	return nil
}

// Do makes the request until it succeeds, fails for good, or Options.Attempts is reached,
// and decodes the answer into out. It returns an *Error for a failed answer or none;
// ErrForbidden if the project may not use the provider; ErrUnavailable if the budget of
// the day is spent or the provider has failed too often.
func (c *Client) Do(ctx context.Context, call Call, out any) error {
	var body []byte
	if call.Body != nil {
		var err error
		if body, err = json.Marshal(call.Body); err != nil {
			return fmt.Errorf("provider %s: %w", c.opt.Name, err)
		}
	}
	for attempt := 1; ; attempt++ {
		if err := c.permit(ctx, call); err != nil {
			return err
		}
		err := c.once(ctx, call, body, out)
		var pe *Error
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("provider %s: %w", c.opt.Name, ctx.Err())
		case !errors.As(err, &pe):
			return err
		}
		wait := c.backoff(attempt)
		if pe.After > 0 {
			// A bit later than the header says, so that not all clients come back at
			// once.
			wait = pe.After + time.Duration(c.opt.Jitter()*float64(min(pe.After/4, mostLater)))
		}
		if !pe.Again || attempt == c.opt.Attempts || pe.After > maxWait {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("provider %s: %w", c.opt.Name, ctx.Err())
		}
	}
}

// The wait between two attempts doubles from firstWait, with a random half of it dropped
// so that clients do not come back at once. A Retry-After of more than maxWait is left to
// the caller.
const (
	firstWait = 500 * time.Millisecond
	maxWait   = time.Minute
	mostLater = 5 * time.Second // than a Retry-After
)

func (c *Client) backoff(attempt int) time.Duration {
	d := min(firstWait<<(attempt-1), maxWait)
	return d/2 + time.Duration(c.opt.Jitter()*float64(d/2))
}

// permit checks consent, breaker and budget of a request.
func (c *Client) permit(ctx context.Context, call Call) error {
	if !c.local {
		if c.opt.Allowed == nil {
			return fmt.Errorf("provider %s: %w", c.opt.Name, fold.ErrForbidden)
		}
		if err := c.opt.Allowed(call.Project); err != nil {
			return err
		}
	}
	if until, ok := c.breaker.enter(time.Now()); !ok {
		return fmt.Errorf("provider %s has failed too often and is asked again in %s: %w",
			c.opt.Name, time.Until(until).Round(time.Second), fold.ErrUnavailable)
	}
	if c.local {
		return nil
	}
	if err := c.spend(ctx, call); err != nil {
		c.breaker.cancel()
		return err
	}
	return nil
}

// once makes one attempt and reports its outcome to the breaker and the audit.
func (c *Client) once(ctx context.Context, call Call, body []byte, out any) error {
	outcome, err := c.send(ctx, call, body, out)
	var pe *Error
	switch {
	case ctx.Err() != nil:
		c.breaker.cancel() // the caller gave up: no sign of the provider's state
	case errors.As(err, &pe) && pe.Again:
		c.breaker.fail(time.Now(), pe.After)
	default:
		c.breaker.succeed()
	}
	if c.local || c.opt.Audit == nil {
		return err
	}
	rec := Record{
		At: c.opt.Now().UTC(), Project: call.Project, Provider: c.opt.Name, Host: c.base.Hostname(),
		Texts: call.Texts, Bytes: len(body), Outcome: outcome,
	}
	if aerr := c.opt.Audit(context.WithoutCancel(ctx), rec); aerr != nil {
		return fmt.Errorf("provider %s: what was sent could not be recorded: %w", c.opt.Name, aerr)
	}
	return err
}

func (c *Client) send(ctx context.Context, call Call, body []byte, out any) (outcome string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	method := call.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.base.String(), "/")+call.Path, bytes.NewReader(body))
	if err != nil {
		return "not sent", fmt.Errorf("provider %s: %w", c.opt.Name, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "foldwatch")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.sign(req)
	resp, err := c.http.Do(req)
	if err != nil {
		e := c.failure(err)
		return e.Reason, e
	}
	defer resp.Body.Close()
	most := call.MaxAnswer
	if most == 0 {
		most = 64 << 20
	}
	if resp.StatusCode != http.StatusOK {
		return resp.Status, c.refusal(resp)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "" && kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return resp.Status, c.bad(fmt.Sprintf("answered %.60q instead of JSON: its URL may be another page's", kind))
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		e := c.failure(err)
		return e.Reason, e
	case int64(len(b)) > most:
		return resp.Status, c.bad(fmt.Sprintf("answered more than %d bytes", most))
	}
	if err := json.Unmarshal(b, out); err != nil {
		return resp.Status, c.bad("answered what is not the JSON it should be")
	}
	return resp.Status, nil
}

func (c *Client) sign(req *http.Request) {
	switch {
	case c.opt.Key == "":
	case c.opt.KeyHeader == "" || c.opt.KeyHeader == "Authorization":
		req.Header.Set("Authorization", "Bearer "+string(c.opt.Key))
	default:
		req.Header.Set(c.opt.KeyHeader, string(c.opt.Key))
	}
}

// dialler returns a transport that, for a provider on this machine, connects to nothing
// else, whatever the name resolves to.
func dialler(local bool) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 4
	t.ResponseHeaderTimeout = 0 // Options.Timeout bounds all of it
	if !local {
		return t
	}
	t.Proxy = nil
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			return nil, errors.Join(fmt.Errorf("%s is not this machine", addr), conn.Close())
		}
		return conn, nil
	}
	return t
}
