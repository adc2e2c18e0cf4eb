package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// ShimOptions say where a shim was started. The zero value works.
type ShimOptions struct {
	// Project is the slug of --project or FOLDWATCH_PROJECT; "" leaves it to Dir.
	Project string
	// Dir is the working directory, by which the daemon finds the project.
	Dir string
	// Version is that of the program.
	Version string
	// Log gets what is no protocol: never standard output. Nil discards.
	Log *slog.Logger
}

// Shim carries MCP between a client on in and out, one message a line, and the
// daemon, to which dial connects; dial may start one. It blocks until in ends
// and what was asked is answered, or ctx ends, and returns nil in both cases.
// A read of in that blocks is not waited for: nothing can interrupt it.
//
// While dial fails, the shim answers by itself: tools/list lists the tools, and
// every tool answers that no daemon runs and what to do. When the daemon comes
// back, older clients are introduced to it again by replaying their initialize
// and their subscriptions.
func Shim(ctx context.Context, in io.Reader, out io.Writer, dial func(context.Context) (net.Conn, error), opt ShimOptions) error {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stand := newStandIn(opt)
	defer stand.close()
	s := &shim{
		out: out, opt: opt, client: rand.Text(), running: map[string]context.CancelFunc{}, subscribed: map[string][]byte{},
		http: &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				c, err := dial(ctx)
				if err == nil || ctx.Err() != nil {
					return c, err
				}
				return stand.dial(ctx, err)
			},
			DisableCompression: true,
		}},
	}
	defer s.http.CloseIdleConnections()

	// Requests may outlive in; streams end with it.
	streams, endStreams := context.WithCancel(ctx)
	defer endStreams()
	s.streams = streams

	lines := make(chan []byte)
	readErr := make(chan error, 1)
	go func() {
		defer close(lines)
		readErr <- readLines(ctx, in, lines)
	}()
	for {
		select {
		case b, ok := <-lines:
			if ok {
				s.handle(ctx, b)
				continue
			}
			endStreams()
			s.wg.Wait()
			s.end(ctx)
			return <-readErr
		case <-ctx.Done():
			s.wg.Wait()
			return nil
		}
	}
}

// messageLimit is how many bytes one message may have.
const messageLimit = 16 << 20

func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 0, 64<<10), messageLimit)
	for sc.Scan() {
		b := bytes.TrimSpace(sc.Bytes())
		if len(b) == 0 {
			continue
		}
		select {
		case lines <- bytes.Clone(b):
		case <-ctx.Done():
			return nil
		}
	}
	if err := sc.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read the client: %w", err)
	}
	return nil
}

// A shim is the state between one client and whatever daemon there is.
type shim struct {
	opt     ShimOptions
	client  string // names this shim to the daemon
	http    *http.Client
	streams context.Context
	wg      sync.WaitGroup
	differ  sync.Once // a daemon of another version is told once

	outMu sync.Mutex // one message is one write
	out   io.Writer

	mu         sync.Mutex // guards the fields below
	session    string     // Mcp-Session-Id; "" before initialize and for clients without sessions
	version    string     // negotiated by initialize
	initialize []byte     // the client's message, to be replayed
	told       bool       // the client has sent notifications/initialized
	subscribed map[string][]byte
	running    map[string]context.CancelFunc // by request id

	renewing sync.Mutex // held while a session is replaced
}

// A message is what the shim needs to know of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
	raw []byte
}

func (m message) isCall() bool { return m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null" }

// sessionless reports whether the message belongs to the current revision, in
// which every request says its version itself.
func (m message) sessionless() bool { return m.Params.Meta.Version >= statelessVersion }

// handle passes one message on. Calls run beside each other; everything whose
// order matters is done when handle returns.
func (s *shim) handle(ctx context.Context, b []byte) {
	m := message{raw: b}
	if err := json.Unmarshal(b, &m); err != nil && b[0] != '[' { // a batch is passed on unread
		if !json.Valid(b) {
			s.write(errorAnswer(nil, -32700, "this is no JSON"))
			return
		}
		s.write(errorAnswer(nil, -32600, "this is no JSON-RPC message: "+err.Error()))
		return
	}
	m.raw = b
	switch {
	case m.Method == "initialize":
		s.mu.Lock()
		s.session, s.version, s.told, s.initialize = "", "", false, b
		s.subscribed = map[string][]byte{}
		s.mu.Unlock()
		s.do(ctx, m)
	case m.Method == "notifications/initialized":
		s.mu.Lock()
		s.told = true
		s.mu.Unlock()
		s.do(ctx, m)
		s.listen()
	case m.Method == "notifications/cancelled":
		s.mu.Lock()
		cancel, sessions := s.running[string(m.Params.RequestID)], s.initialize != nil
		s.mu.Unlock()
		if sessions {
			s.do(ctx, m)
		} else if cancel != nil {
			cancel() // closing the request is how the current revision cancels
		}
	case m.isCall() || b[0] == '[':
		base := ctx
		if m.Method == "subscriptions/listen" {
			base = s.streams
		}
		run, cancel := context.WithCancel(base)
		key := string(m.ID)
		s.mu.Lock()
		s.running[key] = cancel
		switch m.Method {
		case "resources/subscribe":
			s.subscribed[m.Params.URI] = b
		case "resources/unsubscribe":
			delete(s.subscribed, m.Params.URI)
		}
		s.mu.Unlock()
		s.wg.Go(func() {
			defer func() {
				s.mu.Lock()
				delete(s.running, key)
				s.mu.Unlock()
				cancel()
			}()
			s.do(run, m)
		})
	default: // notifications, and answers to what the daemon asked
		s.do(ctx, m)
	}
}

// do sends a message and writes what comes back. A session that the daemon does
// not know, because it is not the one that gave it, is replaced once.
func (s *shim) do(ctx context.Context, m message) {
	for try := 1; ; try++ {
		s.mu.Lock()
		session := s.session
		s.mu.Unlock()
		res, err := s.post(ctx, m, session)
		if err != nil {
			s.fail(ctx, m, err)
			return
		}
		if res.StatusCode == http.StatusNotFound && session != "" && try == 1 {
			drop(res)
			if err := s.renew(ctx, session); err != nil {
				s.fail(ctx, m, err)
				return
			}
			continue
		}
		if m.Method == "initialize" {
			s.mu.Lock()
			s.session = res.Header.Get("Mcp-Session-Id")
			s.mu.Unlock()
		}
		s.forward(ctx, m, res)
		return
	}
}

func (s *shim) post(ctx context.Context, m message, session string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://foldwatch.localhost/mcp", bytes.NewReader(m.raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	s.headers(req, session)
	if v := m.Params.Meta.Version; v != "" {
		req.Header.Set("Mcp-Protocol-Version", v)
	} else if m.Method == "initialize" {
		req.Header.Del("Mcp-Protocol-Version")
	}
	if m.sessionless() {
		req.Header.Del("Mcp-Session-Id")
		req.Header.Set("Mcp-Method", m.Method)
		switch m.Method {
		case "tools/call", "prompts/get":
			req.Header.Set("Mcp-Name", m.Params.Name)
		case "resources/read":
			req.Header.Set("Mcp-Name", m.Params.URI)
		}
	}
	res, err := s.http.Do(req)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err == nil {
		if v := res.Header.Get("X-Foldwatch-Version"); v != "" && s.opt.Version != "" && v != s.opt.Version {
			s.differ.Do(func() {
				s.opt.Log.WarnContext(ctx, "The daemon has another version; restart it with: foldwatch service restart", "daemon", v, "own", s.opt.Version)
			})
		}
	}
	return res, err
}

func (s *shim) headers(req *http.Request, session string) {
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(headerClient, s.client)
	if s.opt.Project != "" {
		req.Header.Set(headerProject, s.opt.Project)
	}
	if s.opt.Dir != "" {
		req.Header.Set(headerPath, url.PathEscape(s.opt.Dir))
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "" {
		req.Header.Set("Mcp-Protocol-Version", s.version)
	}
}

// renew introduces the client again to a daemon that does not know old.
func (s *shim) renew(ctx context.Context, old string) error {
	s.renewing.Lock()
	defer s.renewing.Unlock()
	s.mu.Lock()
	hello, told, now := s.initialize, s.told, s.session
	again := [][]byte{}
	for _, b := range s.subscribed {
		again = append(again, b)
	}
	s.mu.Unlock()
	if now != old {
		return nil // another call has done it
	}
	res, err := s.post(ctx, message{Method: "initialize", raw: hello}, "")
	if err != nil {
		return err
	}
	session := res.Header.Get("Mcp-Session-Id")
	drop(res)
	if res.StatusCode != http.StatusOK || session == "" {
		return fmt.Errorf("the daemon refused to start a session: %s", res.Status)
	}
	if told {
		again = append([][]byte{[]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}, again...)
	}
	for _, b := range again {
		res, err := s.post(ctx, message{raw: b}, session)
		if err != nil {
			return err
		}
		drop(res)
	}
	s.mu.Lock()
	s.session = session
	s.mu.Unlock()
	if told {
		s.listen()
	}
	return nil
}

// listen follows what the daemon says of its own accord, until the session or
// in ends. Clients of the current revision ask for that by subscriptions/listen.
func (s *shim) listen() {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session == "" {
		return
	}
	s.wg.Go(func() {
		req, err := http.NewRequestWithContext(s.streams, http.MethodGet, "http://foldwatch.localhost/mcp", nil)
		if err != nil {
			return
		}
		s.headers(req, session)
		req.Header.Set("Accept", "text/event-stream")
		res, err := s.http.Do(req)
		if err != nil {
			return // the next call finds out what became of the daemon
		}
		defer drop(res)
		if res.StatusCode == http.StatusOK {
			_ = events(res.Body, s.write)
		}
	})
}

// end tells the daemon that the session is over.
func (s *shim) end(ctx context.Context) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session == "" {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://foldwatch.localhost/mcp", nil)
	if err != nil {
		return
	}
	s.headers(req, session)
	if res, err := s.http.Do(req); err == nil {
		drop(res)
	}
}
