package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
)

// write sends one message to the client.
func (s *shim) write(b []byte) {
	var one bytes.Buffer
	if err := json.Compact(&one, b); err != nil { // a line feed within would end the message
		s.opt.Log.Warn("Message left out", "err", err)
		return
	}
	one.WriteByte('\n')
	s.outMu.Lock()
	defer s.outMu.Unlock()
	_, _ = s.out.Write(one.Bytes()) // the client left: in ends too
}

// forward writes what the daemon answered to a message, as it arrives, and
// makes sure that a call is answered.
func (s *shim) forward(ctx context.Context, m message, res *http.Response) {
	defer drop(res)
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	answered := !m.isCall()
	pass := func(b []byte) {
		var a struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result struct {
				Version string `json:"protocolVersion"`
			} `json:"result"`
		}
		if err := json.Unmarshal(b, &a); err == nil && a.Method == "" && bytes.Equal(a.ID, m.ID) {
			answered = true
			if m.Method == "initialize" {
				s.mu.Lock()
				s.version = a.Result.Version
				s.mu.Unlock()
			}
		}
		s.write(b)
	}
	switch {
	case media == "text/event-stream" && res.StatusCode == http.StatusOK:
		if err := events(res.Body, pass); err != nil && !answered {
			s.fail(ctx, m, err)
			return
		}
	case media == "application/json":
		b, err := io.ReadAll(io.LimitReader(res.Body, messageLimit))
		if err == nil && isRPC(b) {
			pass(b)
		}
	case res.StatusCode >= 300:
		s.fail(ctx, m, refused(res))
		return
	}
	if !answered {
		s.fail(ctx, m, errors.New("the daemon ended its answer early"))
	}
}

// isRPC reports whether b is a JSON-RPC message that belongs to somebody: an
// error without an id answers nothing that the client sent.
func isRPC(b []byte) bool {
	var a struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		return json.Valid(b)
	}
	return json.Unmarshal(b, &a) == nil && a.Version == "2.0" && len(a.ID) > 0 && string(a.ID) != "null"
}

// refused reads the reason of an HTTP refusal.
func refused(res *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return err
	}
	var p wire.Problem
	if json.Unmarshal(b, &p) == nil && p.Code != "" {
		return p.Err()
	}
	return fmt.Errorf("the daemon answered %s: %s", res.Status, clip(line(string(b)), 200))
}

// fail answers a call that could not be done. What the client cancelled and
// what is no call needs no answer.
func (s *shim) fail(ctx context.Context, m message, err error) {
	if !m.isCall() || ctx.Err() != nil {
		return
	}
	s.opt.Log.DebugContext(ctx, "Call not answered", "method", m.Method, "err", err)
	text := "the connection to foldwatch broke: " + err.Error()
	if m.Method != "tools/call" {
		s.write(errorAnswer(m.ID, -32603, text))
		return
	}
	text += ". The call may have been done nevertheless; look with memory_get or memory_search, then try again."
	result := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "isError": true}
	if m.sessionless() {
		result["resultType"] = "complete"
	}
	s.write(answer(m.ID, "result", result))
}

func errorAnswer(id json.RawMessage, code int, text string) []byte {
	return answer(id, "error", map[string]any{"code": code, "message": text})
}

func answer(id json.RawMessage, key string, value any) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, key: value})
	if err != nil {
		panic(err) // maps of strings and numbers marshal
	}
	return b
}

// events calls fn with the data of every server-sent event until r ends.
func events(r io.Reader, fn func([]byte)) error {
	br := bufio.NewReader(r)
	var data []byte
	for {
		text, err := br.ReadString('\n')
		text = strings.TrimRight(text, "\r\n")
		if d, ok := strings.CutPrefix(text, "data:"); ok {
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, strings.TrimPrefix(d, " ")...)
		}
		if text == "" && len(data) > 0 {
			fn(data)
			data = nil
		}
		if len(data) > 4*messageLimit {
			return errors.New("an event of the daemon is too large")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// drop reads what little may be left of an answer, so that its connection can
// be used again, and closes it.
func drop(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	_ = res.Body.Close()
}
