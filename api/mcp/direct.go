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

// In the current revision of MCP every call of a tool stands by itself. For each the
// SDK makes a session, connects it, and decodes the message four times with a decoder
// that begins with 32 KB: half a megabyte of garbage for an answer of two lines. A
// call that says just what such a call has to say is answered here without all that.
// Whatever else comes is the SDK's, as it came: what is wrong, what is rare, and what
// a later revision may mean.

// directBytes is how long a call is that is answered directly: those with whole files
// in them are rare, and the SDK reads them as they come.
const directBytes = 64 << 10

// directDepth bounds the brackets of such a call: far less than the SDK takes.
const directDepth = 500

// direct answers a call of one of our tools, and reports whether it did. If not, it
// has written nothing, and r is as it was.
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
	// What the request says about its sender stays in front, see ServeHTTP.
	header := r.Header.Clone()
	header.Del("Authorization")
	res := t.answer(r.Context(), s, &call{doors: s.doors, scope: s.opt.Caller(r.Context()).Scope, header: header}, c.arguments)
	res.Meta = sdk.Meta{sdk.MetaKeyServerInfo: s.about}
	out, err := json.Marshal(res)
	var b bytes.Buffer
	b.Grow(len(out) + len(c.id) + 100)
	b.WriteString("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":")
	b.Write(c.id)
	if err != nil { // nothing is done twice for that
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
	_, _ = w.Write(b.Bytes()) // who asked may be gone
	return true
}

// plainCall reports whether the headers of r are those of a call of a tool in the
// current revision, as clients send them, and of nothing else.
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
	// By TCP the SDK looks at the host, too.
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

// A directCall is a call of a tool as it was sent; parts of it are parts of the
// message.
type directCall struct {
	id        []byte // as JSON
	name      string
	version   string
	arguments json.RawMessage // an object; nil for none
}

// parseCall reads a message that is a call of a tool, each of its parts there once and
// as it has to be. It reports false for any other: that may be one, too.
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

// What clients say of themselves; those that say more are the SDK's.
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

// plainText returns what a string says that has nothing escaped and is ASCII.
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

// isID reports whether v is an id that is written in one way only.
func isID(v []byte) bool {
	if _, ok := plainText(v); ok {
		return true
	}
	digits := strings.Trim(string(v), "0123456789")
	return digits == "" && len(v) <= 15 && (v[0] != '0' || len(v) == 1)
}

// members calls the function of each member of an object, which is valid JSON, with
// its value. It reports false if one of them does, if there are fewer than least, if a
// name has no function, comes twice, or is not written plainly, and if b is no object.
func members(b []byte, of map[string]func([]byte) bool, least int) bool {
	at := space(b, 0)
	if at == len(b) || b[at] != '{' {
		return false
	}
	var seen []string
	for at = space(b, at+1); b[at] != '}'; {
		end := valueEnd(b, at)
		name, ok := plainText(b[at:end])
		fn := of[name]
		if !ok || fn == nil {
			return false
		}
		if slices.Contains(seen, name) {
			return false
		}
		seen = append(seen, name)
		at = space(b, space(b, end)+1) // behind the colon
		end = valueEnd(b, at)
		if !fn(b[at:end]) {
			return false
		}
		if at = space(b, end); b[at] == ',' {
			at = space(b, at+1)
		}
	}
	return len(seen) >= least
}

// space returns where the white space ends that begins at b[at].
func space(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r') {
		at++
	}
	return at
}

// valueEnd returns where the value ends that begins at b[at]. B is valid JSON.
func valueEnd(b []byte, at int) int {
	depth := 0
	for ; at < len(b); at++ {
		switch b[at] {
		case '"':
			for at++; b[at] != '"'; at++ {
				if b[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // behind a number or a word
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}
