package mcp_test

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/mcp"
)

// FuzzBody posts bytes as a client of either generation would. Whatever they
// are, the answer is HTTP of the 200s or 400s, and what claims to be JSON-RPC
// is: no panic, no 500, nothing of the inside told.
func FuzzBody(f *testing.F) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"memory_add","arguments":{"content":"x","tags":"a, b","links":"[{\"target\":\"y\"}]"},` + meta + `}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_update","arguments":"{\"id\":\"0123456789abcdef\",\"replace\":\"{\"}",` + meta + `}}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"fold://app/memory/..%2f",` + meta + `}}`,
		`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"recall","arguments":{"query":"\u0000\ud800"},` + meta + `}}`,
		`{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"x"},"argument":{"name":"id","value":"0"},` + meta + `}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
		`{"jsonrpc":"2.0","id":null,"method":""}`, `{"jsonrpc":"1.0"}`, `null`, `[]`, strings.Repeat("[", 10000), "\xff\xfe",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	server := mcp.Handler(apitest.New("app"), mcp.Options{Version: "1.2.3", Caller: owner})
	f.Fuzz(func(t *testing.T, body []byte, current bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if current {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			var m struct {
				Method string
				Params struct{ Name, URI string }
			}
			if json.Unmarshal(body, &m) == nil {
				if m.Method == "subscriptions/listen" {
					t.Skip("it listens until it is told to stop")
				}
				r.Header.Set("Mcp-Method", m.Method)
				r.Header.Set("Mcp-Name", m.Params.Name+m.Params.URI)
			}
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if id := w.Header().Get("Mcp-Session-Id"); id != "" { // begun; it would be kept for hours
			end := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/mcp", nil)
			end.Header.Set("Mcp-Session-Id", id)
			server.ServeHTTP(httptest.NewRecorder(), end)
		}
		if w.Code >= 500 || w.Code < 200 || w.Code >= 300 && w.Code < 400 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		switch media, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type")); media {
		case "application/json":
			isMessage(t, w.Body.Bytes())
		case "text/event-stream":
			for line := range strings.Lines(w.Body.String()) {
				if data, ok := strings.CutPrefix(line, "data:"); ok && strings.TrimSpace(data) != "" {
					isMessage(t, []byte(data))
				}
			}
		}
		if strings.Contains(w.Body.String(), "goroutine ") || strings.Contains(w.Body.String(), "panic:") {
			t.Errorf("the inside is told: %s", w.Body)
		}
	})
}

// isMessage fails the test unless b is one JSON-RPC answer or notification.
func isMessage(t *testing.T, b []byte) {
	t.Helper()
	var m struct {
		Version string          `json:"jsonrpc"`
		Method  string          `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Version != "2.0" || m.Method == "" && (m.Result == nil) == (m.Error == nil) {
		t.Errorf("no JSON-RPC: %v: %.300s", err, b)
	}
}
