package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/mcp"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	plainMedia = "application/json"
	// Both mean the same; a call that does not say it plainly is the SDK's.
	otherMedia = "application/json; charset=utf-8"
)

// send posts one message in the current revision.
func send(t testing.TB, server http.Handler, body []byte, media string, more http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", bytes.NewReader(body))
	var m struct {
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal(body, &m) // what is none gets the headers of none
	for name, value := range map[string]string{
		"Content-Type": media, "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": m.Method, "Mcp-Name": m.Params.Name,
	} {
		r.Header.Set(name, value)
	}
	maps.Copy(r.Header, more)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

func callOf(id, params, meta string) []byte {
	if meta == "" {
		meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
	}
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + params + `,"_meta":{` + meta + `}}}`)
}

// A pair is two servers that were asked the same: one may answer without the SDK.
type pair struct{ direct, sdk http.Handler }

func newPair(t testing.TB, caller func(context.Context) auth.Caller) (p pair, id string) {
	t.Helper()
	for _, server := range []*http.Handler{&p.direct, &p.sdk} {
		handlers := apitest.New("app")
		m, err := handlers.AddMemory(t.Context(), fold.LocalScope(), "app", wire.MemoryCreate{Content: "# <b>Bold</b> & \u2028 \"quoted\"\n\nText of one.", Title: "One"})
		if err != nil {
			t.Fatal(err)
		}
		id, *server = m.ID, mcp.Handler(handlers, mcp.Options{Version: "1.2.3", Caller: caller})
	}
	return p, id
}

// same fails the test unless a call is answered as the SDK answers it.
func (p pair) same(t *testing.T, body []byte, more http.Header) {
	t.Helper()
	want, got := send(t, p.sdk, body, otherMedia, more), send(t, p.direct, body, plainMedia, more)
	if got.Code != want.Code || got.Body.String() != want.Body.String() || fmt.Sprint(got.Header()) != fmt.Sprint(want.Header()) {
		t.Errorf("%.300q is answered\n%d %v %s, by the SDK\n%d %v %s", body, got.Code, got.Header(), got.Body, want.Code, want.Header(), want.Body)
	}
}

// TestDirectAnswersAreThoseOfTheSDK sends calls, right and wrong ones, so that they
// may be answered without the SDK, and so that they may not.
func TestDirectAnswersAreThoseOfTheSDK(t *testing.T) {
	list := `"name":"project_list","arguments":{}`
	version := `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	can := `"io.modelcontextprotocol/clientCapabilities":`
	for _, who := range []func(context.Context) auth.Caller{owner, func(context.Context) auth.Caller { return auth.Caller{} }} {
		servers, id := newPair(t, who)
		get := `"name":"memory_get","arguments":{"id":"` + id + `"}`
		for _, body := range [][]byte{
			callOf(`7`, list, ""), callOf(`"a-1 <&>"`, get, ""), callOf(`-3`, get, ""), callOf(`1.5`, get, ""), callOf(`1e3`, get, ""), callOf(`007`, get, ""),
			callOf(`"\u00e9"`, get, ""), callOf(`"é"`, get, ""), callOf(`null`, get, ""), callOf(`{}`, get, ""), callOf(`99999999999999999999`, get, ""),
			callOf(`1`, `"name":"project_list"`, ""), callOf(`1`, `"name":"memory.get","arguments":{"id":"`+id+`"}`, ""),
			callOf(`1`, `"name":"memory_get","arguments":{"id":"x"}`, ""), callOf(`1`, `"name":"memory_get","arguments":{"id":"x","id":"`+id+`"}`, ""),
			callOf(`1`, `"name":"memory_get","arguments":{"nothing":1}`, ""), callOf(`1`, `"name":"memory_get","arguments":null`, ""), callOf(`1`, `"name":"memory_get","arguments":[]`, ""),
			callOf(`1`, `"name":"memory_get","arguments":"{\"id\":\"`+id+`\"}"`, ""), callOf(`1`, `"name":"none","arguments":{}`, ""), callOf(`1`, `"name":7,"arguments":{}`, ""),
			callOf(`1`, `"name":"memory_get","name":"project_list","arguments":{}`, ""), callOf(`1`, `"Name":"project_list","arguments":{}`, ""), callOf(`1`, list+`,"extra":1`, ""),
			callOf(`1`, `"name":"memory_list","arguments":{"tags":`+strings.Repeat("[", 1200)+strings.Repeat("]", 1200)+`}`, ""),
			callOf(`1`, list, version), callOf(`1`, list, version+`,`+can+`{}`), callOf(`1`, list, version+`,`+can+`null`), callOf(`1`, list, version+`,`+can+`[]`),
			callOf(`1`, list, version+`,`+can+`{"roots":{},"elicitation":{}}`), callOf(`1`, list, version+`,`+can+`{"roots":7}`),
			callOf(`1`, list, version+`,`+can+`{},"io.modelcontextprotocol/clientInfo":7`), callOf(`1`, list, version+`,`+can+`{},"io.modelcontextprotocol/clientInfo":{"name":7}`),
			callOf(`1`, list, version+`,`+version+`,`+can+`{}`), callOf(`1`, list, `"io.modelcontextprotocol/protocolVersion":"2025-11-25",`+can+`{}`),
			callOf(`1`, list, `"io.modelcontextprotocol/protocolVersion":"2099-01-01",`+can+`{}`), callOf(`1`, list, version+`,`+can+`{},"progressToken":5`),
			append(callOf(`1`, list, ""), ' ', '\n'), append(callOf(`1`, list, ""), "{}"...), callOf(`1`, list, "")[1:], append([]byte("["), append(callOf(`1`, list, ""), ']')...),
			bytes.Replace(callOf(`1`, list, ""), []byte(`"2.0"`), []byte(`"1.0"`), 1), bytes.Replace(callOf(`1`, list, ""), []byte(`"id":1,`), nil, 1),
			bytes.ReplaceAll(callOf(`1`, list, ""), []byte(`:`), []byte(" :\t")), []byte(`{`), []byte(` `), []byte(`"a"`),
		} {
			servers.same(t, body, nil)
		}
		for name, value := range map[string]string{
			"Mcp-Method": "tools/list", "Mcp-Name": "memory_get", "Mcp-Protocol-Version": "2099-01-01", "Accept": "application/json",
			"Last-Event-ID": "1", "Mcp-Param-Id": "x", "X-Foldwatch-Client": "c",
		} {
			h := http.Header{}
			h.Set(name, value)
			servers.same(t, callOf(`1`, list, ""), h)
		}
	}
}

// TestACallCostsLittle bounds what an answer without the SDK allocates; with it, that
// is half a megabyte.
func TestACallCostsLittle(t *testing.T) {
	server := mcp.Handler(apitest.New("app"), mcp.Options{Version: "1.2.3", Caller: owner})
	body := callOf(`7`, `"name":"project_list","arguments":{}`, "")
	const calls, most = 20, 32 << 10
	var per []uint64
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			if w := send(t, server, body, plainMedia, nil); w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		runtime.ReadMemStats(&after)
		per = append(per, (after.TotalAlloc-before.TotalAlloc)/calls)
	}
	if least := slices.Min(per); least > most {
		t.Errorf("a call allocates %d bytes, at most %d are wanted", least, most)
	}
}

// FuzzDirect compares answers to calls that change nothing with those of the SDK.
func FuzzDirect(f *testing.F) {
	for _, name := range []string{"project_list", "project_get", "memory_get", "memory_list"} {
		f.Add(callOf(`1`, `"name":"`+name+`","arguments":{"limit":1}`, ""))
	}
	f.Add(callOf(`"x"`, `"name":"project_list","arguments":{"a":{"b":[1,"}",null]}}`, `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}`))
	servers, _ := newPair(f, owner)
	f.Fuzz(func(t *testing.T, body []byte) {
		var m struct{ Params struct{ Name string } }
		if json.Unmarshal(body, &m) != nil || !slices.Contains([]string{"project_list", "project_get", "memory_get", "memory_list"}, m.Params.Name) {
			return
		}
		servers.same(t, body, nil)
	})
}
