// Package client calls the daemon over its socket: one method per operation of
// the API, with the bodies of package wire, and errors that errors.Is knows.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// ErrNoDaemon says that nothing listens on the socket.
var ErrNoDaemon = wire.ErrNoDaemon

// base is the URL of requests; the host is never looked up.
const base = "http://foldwatch.localhost"

// replyLimit is how many bytes of one answer are read: a context of 100
// memories of 1 MiB stays far below in practice.
const replyLimit = 128 << 20

// A Client calls one daemon. It is safe for concurrent use. Its methods return
// errors that wrap the kinds of package fold, with hints, a
// [*fold.ConflictError] for a conflict, and ErrNoDaemon.
type Client struct {
	socket string
	http   *http.Client

	mu          sync.Mutex // guards the fields below
	daemon      string     // version of the daemon; "" before the first answer
	notices     []string
	withNotices bool // the daemon sends notices with its answers
}

// New returns a client of the daemon at the socket. It does not connect yet.
func New(socket string) *Client {
	c := &Client{socket: socket}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := sock.Dial(ctx, socket)
				if errors.Is(err, sock.ErrNobody) {
					err = fmt.Errorf("%w: %w", ErrNoDaemon, err)
				}
				return conn, err
			},
			DisableCompression: true,
			MaxIdleConns:       4,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Socket returns the path of the socket that the client calls.
func (c *Client) Socket() string { return c.socket }

// Close closes idle connections. The client may be used again.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// DaemonVersion returns the version in the last answer of the daemon, "" before the first.
func (c *Client) DaemonVersion() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.daemon
}

// Notices returns the notices that came with the answer to the last Ping, and whether the
// daemon sends any with its answers: an older one has them only in its status.
func (c *Client) Notices() (notices []string, sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notices, c.withNotices
}

// Ping returns nil if a daemon answers.
func (c *Client) Ping(ctx context.Context) error {
	res, err := c.send(ctx, http.MethodGet, "/health/live", nil, http.Header{wire.NoticesHeader: {"ask"}})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if values, sent := res.Header[wire.NoticesHeader]; sent {
		c.mu.Lock()
		c.notices, c.withNotices = wire.DecodeNotices(values[0]), true
		c.mu.Unlock()
	}
	return problemOf(res)
}

// Metrics returns the daemon's metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) { return c.get(ctx, "/metrics") }

// OpenAPI returns the description of the API as JSON.
func (c *Client) OpenAPI(ctx context.Context) ([]byte, error) { return c.get(ctx, "/openapi.json") }

func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	res, err := c.send(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if err := problemOf(res); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(res.Body, replyLimit))
}

// call does one operation: in is its body, nil for none; out is filled from the
// answer, nil where it has none.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	res, err := c.send(ctx, method, path, body, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := problemOf(res); err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	// Read to the end, so that the connection can be used for the next call.
	var reply bytes.Buffer
	if n := res.ContentLength; n > 0 && n < replyLimit {
		reply.Grow(int(n) + bytes.MinRead)
	}
	_, err = reply.ReadFrom(io.LimitReader(res.Body, replyLimit))
	if err == nil {
		err = json.Unmarshal(reply.Bytes(), out)
	}
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, r)
	if err != nil {
		return nil, err
	}
	if header != nil {
		req.Header = header
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		// With a key net/http may repeat a request if the daemon closed its idle connection;
		// the daemon does it once.
		req.Header.Set("Idempotency-Key", rand.Text())
	}
	res, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL, which helps nobody
		}
		if ctx.Err() != nil {
			err = ctx.Err() // also where the daemon saw it first, and the connection ended before net/http looked
		}
		if errors.Is(err, ErrNoDaemon) {
			return nil, fold.WithHint(err, "start it: foldwatch serve")
		}
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	c.mu.Lock()
	if v := res.Header.Get("X-Foldwatch-Version"); v != "" {
		c.daemon = v
	}
	c.mu.Unlock()
	return res, nil
}

// problemOf returns the error of an answer, nil if it is a success.
func problemOf(res *http.Response) error {
	if res.StatusCode < 300 {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return fmt.Errorf("read the problem: %w", err)
	}
	var p wire.Problem
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(b, &p) == nil && p.Code != "" {
		return p.Err()
	}
	return fmt.Errorf("the daemon answered %s: %.200q", res.Status, b)
}

// listOf returns a list as the value of a query parameter.
func listOf(items []string) string { return strings.Join(items, ",") }

func setString(q url.Values, name, v string) {
	if v != "" {
		q.Set(name, v)
	}
}

func setInt(q url.Values, name string, v int) {
	if v != 0 {
		q.Set(name, strconv.Itoa(v))
	}
}

func setBool(q url.Values, name string, v bool) {
	if v {
		q.Set(name, "true")
	}
}
