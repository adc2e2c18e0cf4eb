package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// In the current revision of MCP each tool call is independent. For each, the SDK makes a
// session and decodes the message four times with buffers of 32 KB: half a megabyte of
// garbage for an answer of two lines. So plain, valid tool calls are answered here. All
// other messages go to the SDK unchanged: invalid and unusual ones, and those of later
// revisions.

// directBytes is the longest call that is answered directly. Calls with whole files in
// them are rare, and left to the SDK.
const directBytes = 64 << 10

// directDepth bounds the nesting of such a call, far below the limit of the SDK.
const directDepth = 500

// direct answers a plain call of one of our tools, and reports whether it did. If not, it
// has written nothing, and r can still be read from the beginning.
func (s *Server) direct(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.Body == nil || r.ContentLength <= 0 || r.ContentLength > directBytes || !plainCall(r) {
		return false
	}
	body := make([]byte, r.ContentLength)
	n, err := io.ReadFull(r.Body, body)
	whole := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body[:n]), whole), whole}
	if err != nil {
		return false
	}
	c, ok := parseCall(body)
	if !ok || c.name != r.Header.Get("Mcp-Name") || c.version != statelessVersion {
		return false
	}
	t, ok := s.tools[c.name]
	if !ok {
		return false
	}
	// Credentials are not passed on, see ServeHTTP.
	header := r.Header.Clone()
	header.Del("Authorization")
	res := t.answer(r.Context(), s, &call{handlers: s.handlers, scope: s.opt.Caller(r.Context()).Scope, header: header}, c.arguments)
	res.Meta = sdk.Meta{sdk.MetaKeyServerInfo: s.about}
	out, err := json.Marshal(res)
	var b bytes.Buffer
	b.Grow(len(out) + len(c.id) + 100)
	b.WriteString("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":")
	b.Write(c.id)
	if err != nil { // the call was done: the SDK must not do it again
		s.opt.Log.ErrorContext(r.Context(), "Tool failed", "tool", c.name, "err", err)
		b.WriteString(",\"error\":{\"code\":-32603,\"message\":\"internal error\"}}\n\n")
	} else {
		b.WriteString(",\"result\":")
		b.Write(out[:len(out)-1])
		b.WriteString(",\"resultType\":\"complete\"}}\n\n")
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Type", "text/event-stream")
	h.Set("Connection", "keep-alive")
	_, _ = w.Write(b.Bytes()) // the client may be gone
	return true
}

// plainCall reports whether the headers of r are the usual ones of a tool call in the
// current revision.
func plainCall(r *http.Request) bool {
	h := r.Header
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": statelessVersion, "Mcp-Method": "tools/call", "Content-Type": "application/json",
	} {
		if v := h[name]; len(v) != 1 || v[0] != want {
			return false
		}
	}
	if len(h["Mcp-Name"]) != 1 || len(h["Mcp-Session-Id"])+len(h["Last-Event-Id"]) > 0 || len(h["Accept"]) != 1 {
		return false
	}
	if accept := h["Accept"][0]; accept != "application/json, text/event-stream" && accept != "application/json,text/event-stream" && accept != "*/*" {
		return false
	}
	// The SDK checks the host of requests over TCP, too.
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if _, tcp := addr.(*net.TCPAddr); !ok || !tcp {
		return true
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// A directCall is a parsed tool call.
type directCall struct {
	id        []byte // as JSON
	name      string
	version   string
	arguments json.RawMessage // an object; nil for none
}

// parseCall parses a plain tool call: each member is known, valid and there once. It
// returns false for other messages, which may still be valid.
func parseCall(b []byte) (c directCall, ok bool) {
	if !json.Valid(b) || bytes.Count(b, []byte("{"))+bytes.Count(b, []byte("[")) > directDepth {
		return c, false
	}
	var params, meta []byte
	all := members(b, map[string]func([]byte) bool{
		"jsonrpc": is(`"2.0"`),
		"method":  is(`"tools/call"`),
		"id":      func(v []byte) bool { c.id = v; return isID(v) },
		"params":  func(v []byte) bool { params = v; return true },
	}, 4) && members(params, map[string]func([]byte) bool{
		"name":      func(v []byte) bool { c.name, ok = plainText(v); return ok },
		"arguments": func(v []byte) bool { c.arguments = v; return v[0] == '{' },
		"_meta":     func(v []byte) bool { meta = v; return true },
	}, 2) && c.name != "" && members(meta, map[string]func([]byte) bool{
		sdk.MetaKeyProtocolVersion:    func(v []byte) bool { c.version, ok = plainText(v); return ok },
		sdk.MetaKeyClientInfo:         func(v []byte) bool { return members(v, clientInfo, 2) },
		sdk.MetaKeyClientCapabilities: func(v []byte) bool { return members(v, capabilities, 0) },
	}, 3)
	return c, all
}

// The usual members of what clients say about themselves.
var (
	clientInfo = map[string]func([]byte) bool{
		"name": isText, "version": isText, "title": isText, "websiteUrl": isText,
	}
	capabilities = map[string]func([]byte) bool{
		"roots": is(`{}`), "sampling": is(`{}`), "elicitation": is(`{}`),
	}
)

func is(want string) func([]byte) bool {
	return func(v []byte) bool { return string(v) == want }
}

func isText(v []byte) bool { return v[0] == '"' }

// plainText returns the value of a JSON string that is ASCII without escapes.
func plainText(v []byte) (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	v = v[1 : len(v)-1]
	for _, c := range v {
		if c < ' ' || c > '~' || c == '\\' {
			return "", false
		}
	}
	return string(v), true
}

// isID reports whether v is an id in canonical form, which the answer can repeat as it is.
func isID(v []byte) bool {
	if _, ok := plainText(v); ok {
		return true
	}
	digits := strings.Trim(string(v), "0123456789")
	return digits == "" && len(v) <= 15 && (v[0] != '0' || len(v) == 1)
}

// members calls the function of each member of a JSON object with its value. It returns
// false if a function does, if a name has none or comes twice, if there are fewer members
// than least, or if b is no object.
func members(b []byte, of map[string]func([]byte) bool, least int) bool {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	var seen []string
	for dec.More() {
		t, err := dec.Token()
		name, _ := t.(string)
		fn := of[name]
		if err != nil || fn == nil || slices.Contains(seen, name) {
			return false
		}
		seen = append(seen, name)
		var value json.RawMessage
		if dec.Decode(&value) != nil || !fn(value) {
			return false
		}
	}
	return len(seen) >= least
}
