package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A call is one use of a tool.
type call struct {
	handlers Handlers
	scope    fold.Scope
	header   http.Header          // of the request; nil outside of HTTP
	request  *sdk.CallToolRequest // nil for one that was answered without the SDK, which asks for no progress
}

// A result is what a tool returns: text for the model and the same as data.
type result struct {
	text string
	data any
}

// A tool is one entry of tools/list and what it does.
type tool struct {
	sdk.Tool
	access auth.Access // who may call it
	run    func(ctx context.Context, c *call, raw json.RawMessage) (result, error)
}

// How a tool acts on the world. The zero value is no declaration: a tool without
// one is not served.
type effect int

const (
	reads    effect = iota + 1 // changes nothing
	adds                       // only adds; twice is once
	destroys                   // changes or removes; twice is once
	repeats                    // changes; twice is twice
)

// access returns who may call a tool with that effect.
func (e effect) access() auth.Access {
	switch e {
	case reads:
		return auth.Read
	case adds, destroys, repeats:
		return auth.Write
	}
	return ""
}

func (e effect) annotations(title string) *sdk.ToolAnnotations {
	destructive, open := e == destroys || e == repeats, false
	return &sdk.ToolAnnotations{
		Title: title, ReadOnlyHint: e == reads, DestructiveHint: &destructive,
		IdempotentHint: e != repeats, OpenWorldHint: &open,
	}
}

// define makes a tool whose parameters are the fields of In and whose result
// has the fields of Out.
func define[In, Out any](name, title string, e effect, description string, run func(ctx context.Context, c *call, in In) (Out, string, error)) tool {
	return tool{
		Tool: sdk.Tool{
			Name: name, Title: title, Description: description, Annotations: e.annotations(title),
			InputSchema: inputSchema(reflect.TypeFor[In]()), OutputSchema: outputSchema(reflect.TypeFor[Out]()),
		},
		access: e.access(),
		run: func(ctx context.Context, c *call, raw json.RawMessage) (result, error) {
			var in In
			if err := coerce(raw, &in, name); err != nil {
				return result{}, err
			}
			out, text, err := run(ctx, c, in)
			return result{text: text, data: out}, err
		},
	}
}

func (t tool) addTo(s *Server) {
	if !t.access.Known() {
		panic("mcp: tool " + t.Name + " does not say who may call it")
	}
	s.mcp.AddTool(&t.Tool, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := &call{handlers: s.handlers, request: req}
		if req.Extra != nil {
			c.header = req.Extra.Header
		}
		c.scope = s.scope(req.Extra)
		return t.answer(ctx, s, c, req.Params.Arguments), nil
	})
	s.tools[t.Name] = t
}

// answer checks the caller, and runs the tool.
func (t tool) answer(ctx context.Context, s *Server, c *call, raw json.RawMessage) *sdk.CallToolResult {
	if !t.access.Allows(c.scope) {
		return s.refuse(ctx, t.Name, fmt.Errorf("%s needs a caller with scope %s: %w", t.Name, t.access, fold.ErrForbidden))
	}
	if err := s.unreachable(); err != nil {
		return s.refuse(ctx, t.Name, err)
	}
	res, err := t.safely(ctx, c, raw)
	if err != nil {
		return s.refuse(ctx, t.Name, err)
	}
	out := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: res.text}}, StructuredContent: res.data}
	if notices := s.notices(ctx, c); notices != "" {
		out.Content = append(out.Content, &sdk.TextContent{Text: notices})
	}
	return out
}

// safely runs the tool and turns a panic into an error of the call; the SDK would let it
// end the daemon.
func (t tool) safely(ctx context.Context, c *call, raw json.RawMessage) (res result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return t.run(ctx, c, raw)
}

// notices returns what the user should know, for the first result of a session: what is
// paused, left out, or waits.
func (s *Server) notices(ctx context.Context, c *call) string {
	id := c.header.Get("Mcp-Session-Id")
	if id == "" {
		id = c.header.Get(headerClient)
	}
	if !s.seenSessions.first(id) {
		return ""
	}
	st, err := s.handlers.Status(ctx, c.scope)
	if err != nil {
		return ""
	}
	lines := st.Notices
	for _, p := range st.Projects {
		if p.State == "paused" || p.State == "read-only" || p.State == "missing" || p.State == "failed" {
			line := "Project " + p.Slug + " is " + p.State
			if p.Reason != "" {
				line += ": " + p.Reason
			}
			if p.Hint != "" {
				line += "; " + p.Hint
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "Tell the user about foldwatch: " + clip(plain(strings.Join(lines, " · ")), 600)
}

// refuse returns the result for an error: what went wrong and what the model can do.
func (s *Server) refuse(ctx context.Context, tool string, err error) *sdk.CallToolResult {
	p := wire.NewProblem(err)
	k := wire.KindOf(err)
	text := plain(p.Detail)
	if p.Code == "internal" {
		s.opt.Log.ErrorContext(ctx, "Tool failed", "tool", tool, "err", err)
		text = tool + ": something unexpected failed inside foldwatch; its log has the cause. Try again, or tell the user."
		k.Tell = ""
	}
	text = sentence(text)
	if p.Hint != "" {
		text += " " + sentence(plain(p.Hint))
	}
	if k.Tell != "" && (p.Hint == "" || k.Code != "no_daemon") { // there the hint is the better advice
		text += " " + k.Tell
	}
	if c, ok := errors.AsType[*fold.ConflictError](err); ok {
		text += conflictText(c)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

func conflictText(c *fold.ConflictError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nYou had read %s; content_hash is now %s.\nStored now:\n", orUnknown(c.Want), c.Have)
	b.WriteString(frame(memoryLabel{ID: string(c.ID)}, clip(string(c.Current), conflictRunes)))
	if c.Yours != nil {
		b.WriteString("\nYours, not stored:\n")
		b.WriteString(frame(memoryLabel{ID: string(c.ID)}, clip(string(c.Yours), conflictRunes)))
	}
	return b.String()
}

// conflictRunes is how much of each side of a conflict is shown: both and the
// sentences stay below 2 K tokens.
const conflictRunes = 3000

func orUnknown(hash string) string {
	if hash == "" {
		return "no version"
	}
	return hash
}

func sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "."
}

// project returns the slug that a call is about: its argument, the one the shim was started
// with, or that of the checkout the shim was started in.
func (c *call) project(ctx context.Context, arg string) (string, error) {
	if arg != "" {
		return arg, nil
	}
	return defaultProject(ctx, c.handlers, c.scope, c.header)
}
