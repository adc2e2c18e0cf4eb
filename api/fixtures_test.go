//nolint:staticcheck // the suite also asks for what the protocol retires: sampling, roots, logging
package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The conformance suite looks for tools, resources and prompts of fixed names,
// each with a fixed behaviour. They stand here, in tests, and are mounted on
// the server that agents get.

// A picture of one pixel, a sound of one sample, and what is said of each fixture.
const (
	onePixel  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	oneSample = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
	fixture   = "A fixture of the conformance suite."
)

func bytesOf(b64 string) []byte {
	b, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		panic(err) // a constant of this file
	}
	return b
}

func said(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func embedded(uri string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource content."}}
}

// mountFixtures adds all that the suite asks for.
func mountFixtures(s *sdk.Server) {
	for _, add := range []func(*sdk.Server){mountContents, mountTalks, mountQuestions, mountRounds, mountResources, mountPrompts} {
		add(s)
	}
}

// toolFixture adds a tool without parameters, unless properties has some: name
// to JSON type, all required.
func toolFixture(s *sdk.Server, name string, properties map[string]string, run sdk.ToolHandler) {
	schema := map[string]any{"type": "object"}
	if len(properties) > 0 {
		props, required := map[string]any{}, []string{}
		for p, typ := range properties {
			props[p] = map[string]any{"type": typ}
			required = append(required, p)
		}
		schema["properties"], schema["required"] = props, required
	}
	s.AddTool(&sdk.Tool{Name: name, Description: fixture, InputSchema: schema}, run)
}

// mountContents adds what answers at once, with every kind of content.
func mountContents(s *sdk.Server) {
	image := &sdk.ImageContent{Data: bytesOf(onePixel), MIMEType: "image/png"}
	audio := &sdk.AudioContent{Data: bytesOf(oneSample), MIMEType: "audio/wav"}
	text := &sdk.TextContent{Text: "Multiple content types test:"}
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":            {&sdk.TextContent{Text: "This is a simple text response for testing."}},
		"test_image_content":          {image},
		"test_audio_content":          {audio},
		"test_embedded_resource":      {embedded("test://embedded-resource")},
		"test_multiple_content_types": {text, image, embedded("test://mixed-content-resource")},
	} {
		toolFixture(s, name, nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: content}, nil
		})
	}
	toolFixture(s, "test_error_handling", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := said("This tool intentionally returns an error for testing")
		res.IsError = true
		return res, nil
	})
	s.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", Description: fixture, InputSchema: json.RawMessage(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]}, "then": {"required": ["phone"]}, "else": {"required": ["email"]},
		"additionalProperties": false}`)},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return said("called with %s", req.Params.Arguments), nil
		})
	s.AddTool(&sdk.Tool{Name: "test_x_mcp_header", Description: fixture, InputSchema: json.RawMessage(`{
		"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`)},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return said("called with %s", req.Params.Arguments), nil
		})
}

// mountTalks adds what says something before it answers.
func mountTalks(s *sdk.Server) {
	log := func(ctx context.Context, req *sdk.CallToolRequest, text string) {
		_ = req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: text})
	}
	toolFixture(s, "test_tool_with_logging", nil, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			log(ctx, req, text)
		}
		return said("logged"), nil
	})
	toolFixture(s, "test_logging_tool", nil, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		log(ctx, req, "nobody asked for a level")
		return said("logged"), nil
	})
	toolFixture(s, "test_tool_with_progress", nil, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			if token != nil {
				_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100})
			}
		}
		return said("done"), nil
	})
	toolFixture(s, "test_reconnection", nil, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		return said("the client came back for this"), nil
	})
	toolFixture(s, "test_streaming_elicitation", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return said("only this"), nil
	})
	toolFixture(s, "test_missing_capability", nil, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
			return said("sampling is there"), nil
		}
		data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "this needs sampling", Data: data}
	})
	toolFixture(s, "test_trigger_tool_change", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		toolFixture(s, "test_come_and_gone", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return said("here"), nil })
		s.RemoveTools("test_come_and_gone")
		return said("changed"), nil
	})
	toolFixture(s, "test_trigger_prompt_change", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.AddPrompt(&sdk.Prompt{Name: "test_come_and_gone", Description: fixture}, textPrompt("here"))
		s.RemovePrompts("test_come_and_gone")
		return said("changed"), nil
	})
}

// properties is the schema of a form.
func properties(p map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": p}
}

// mountQuestions adds what asks the client while it runs, as the revisions with
// sessions do.
func mountQuestions(s *sdk.Server) {
	toolFixture(s, "test_sampling", map[string]string{"prompt": "string"}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
			return nil, err
		}
		r, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{
			Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: in.Prompt}}}, MaxTokens: 100,
		})
		if err != nil {
			return nil, err
		}
		text, ok := r.Content.(*sdk.TextContent)
		if !ok {
			return nil, fmt.Errorf("the answer is %T", r.Content)
		}
		return said("LLM response: %s", text.Text), nil
	})
	ask := func(name, message string, in map[string]string, schema func(message string) map[string]any) {
		toolFixture(s, name, in, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var args struct{ Message string }
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			if args.Message == "" {
				args.Message = message
			}
			r, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: args.Message, RequestedSchema: schema(args.Message)})
			if err != nil {
				return nil, err
			}
			return said("User response: action=%s, content=%v", r.Action, r.Content), nil
		})
	}
	ask("test_elicitation", "", map[string]string{"message": "string"}, func(string) map[string]any {
		f := properties(map[string]any{"username": map[string]any{"type": "string"}, "email": map[string]any{"type": "string"}})
		f["required"] = []string{"username", "email"}
		return f
	})
	ask("test_elicitation_sep1034_defaults", "Defaults of every type", nil, func(string) map[string]any {
		return properties(map[string]any{
			"name":     map[string]any{"type": "string", "default": "John Doe"},
			"age":      map[string]any{"type": "integer", "default": 30},
			"score":    map[string]any{"type": "number", "default": 95.5},
			"status":   map[string]any{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
			"verified": map[string]any{"type": "boolean", "default": true},
		})
	})
	ask("test_elicitation_sep1330_enums", "Choices of every form", nil, func(string) map[string]any {
		plain := []string{"option1", "option2", "option3"}
		titled := []map[string]any{{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}}
		return properties(map[string]any{
			"untitledSingle": map[string]any{"type": "string", "enum": plain},
			"titledSingle":   map[string]any{"type": "string", "oneOf": titled},
			"legacyEnum":     map[string]any{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
			"untitledMulti":  map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": plain}},
			"titledMulti":    map[string]any{"type": "array", "items": map[string]any{"anyOf": titled}},
		})
	})
}

func form(message, property, typ string) *sdk.ElicitParams {
	f := properties(map[string]any{property: map[string]any{"type": typ}})
	f["required"] = []string{property}
	return &sdk.ElicitParams{Message: message, RequestedSchema: f}
}

func sample(text string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}, MaxTokens: 100}
}

// accepted returns a property of a form that the user sent; "" if there is none.
func accepted(in sdk.InputResponseMap, key, property string) string {
	if r, ok := in[key].(*sdk.ElicitResult); ok && r.Action == "accept" && r.Content[property] != nil {
		return fmt.Sprint(r.Content[property])
	}
	return ""
}

// sampled returns what a model answered; "" if none was asked.
func sampled(in sdk.InputResponseMap, key string) string {
	if r, ok := in[key].(*sdk.CreateMessageWithToolsResult); ok {
		for _, c := range r.Content {
			if t, ok := c.(*sdk.TextContent); ok {
				return t.Text
			}
		}
	}
	return ""
}

func rootsOf(in sdk.InputResponseMap, key string) *sdk.ListRootsResult {
	r, _ := in[key].(*sdk.ListRootsResult)
	return r
}

// A seal makes states that only it could have made.
type seal []byte

func (k seal) close(state string) string {
	m := hmac.New(sha256.New, k)
	m.Write([]byte(state))
	return state + "." + hex.EncodeToString(m.Sum(nil))
}

func (k seal) open(sealed string) (string, error) {
	state, _, _ := strings.Cut(sealed, ".")
	if !hmac.Equal([]byte(k.close(state)), []byte(sealed)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state is not one that was given"}
	}
	return state, nil
}

// mountRounds adds what answers with a question, and goes on when it is called
// again with the answer, as the revision without sessions does.
func mountRounds(s *sdk.Server) {
	key := seal(rand.Text())
	round := func(name string, run func(in sdk.InputResponseMap, state string, req *sdk.CallToolRequest) (*sdk.CallToolResult, error)) {
		toolFixture(s, "test_input_required_result_"+name, nil, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			state := ""
			if sealed := req.Params.RequestState; sealed != "" {
				var err error
				if state, err = key.open(sealed); err != nil {
					return nil, err
				}
			}
			return run(req.Params.InputResponses, state, req)
		})
	}
	type request = *sdk.CallToolRequest
	asking := func(state string, q sdk.InputRequestMap) *sdk.CallToolResult {
		res := &sdk.CallToolResult{InputRequests: q}
		if state != "" {
			res.RequestState = key.close(state)
		}
		return res
	}
	round("elicitation", func(in sdk.InputResponseMap, _ string, _ request) (*sdk.CallToolResult, error) {
		if name := accepted(in, "user_name", "name"); name != "" {
			return said("Hello, %s!", name), nil
		}
		return asking("", sdk.InputRequestMap{"user_name": form("What is your name?", "name", "string")}), nil
	})
	round("sampling", func(in sdk.InputResponseMap, _ string, _ request) (*sdk.CallToolResult, error) {
		if text := sampled(in, "capital_question"); text != "" {
			return said("The model says: %s", text), nil
		}
		return asking("", sdk.InputRequestMap{"capital_question": sample("What is the capital of France?")}), nil
	})
	round("list_roots", func(in sdk.InputResponseMap, _ string, _ request) (*sdk.CallToolResult, error) {
		if r := rootsOf(in, "client_roots"); r != nil {
			return said("%d roots", len(r.Roots)), nil
		}
		return asking("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}), nil
	})
	for _, name := range []string{"request_state", "tampered_state"} {
		round(name, func(in sdk.InputResponseMap, state string, _ request) (*sdk.CallToolResult, error) {
			if state != "" && accepted(in, "confirm", "ok") != "" {
				return said("state-ok"), nil
			}
			return asking("asked", sdk.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")}), nil
		})
	}
	round("multiple_inputs", func(in sdk.InputResponseMap, _ string, _ request) (*sdk.CallToolResult, error) {
		name, greeting, roots := accepted(in, "user_name", "name"), sampled(in, "greeting"), rootsOf(in, "client_roots")
		if name != "" && greeting != "" && roots != nil {
			return said("%s %s (%d roots)", greeting, name, len(roots.Roots)), nil
		}
		return asking("asked", sdk.InputRequestMap{
			"user_name": form("What is your name?", "name", "string"), "greeting": sample("Generate a greeting"),
			"client_roots": &sdk.ListRootsParams{},
		}), nil
	})
	round("multi_round", func(in sdk.InputResponseMap, state string, _ request) (*sdk.CallToolResult, error) {
		name, begun := strings.CutPrefix(state, "name:")
		switch {
		case begun && accepted(in, "step2", "color") != "":
			return said("%s likes %s", name, accepted(in, "step2", "color")), nil
		case state == "begun" && accepted(in, "step1", "name") != "":
			return asking("name:"+accepted(in, "step1", "name"), sdk.InputRequestMap{"step2": form("What is your favorite color?", "color", "string")}), nil
		}
		return asking("begun", sdk.InputRequestMap{"step1": form("What is your name?", "name", "string")}), nil
	})
	round("capabilities", func(in sdk.InputResponseMap, _ string, req request) (*sdk.CallToolResult, error) {
		can, q := req.ClientCapabilities(), sdk.InputRequestMap{}
		if can != nil && can.Elicitation != nil {
			q["user_name"] = form("What is your name?", "name", "string")
		}
		if can != nil && can.Sampling != nil {
			q["greeting"] = sample("Generate a greeting")
		}
		if len(in) > 0 || len(q) == 0 {
			return said("nothing more to ask"), nil
		}
		return asking("", q), nil
	})
}

func mountResources(s *sdk.Server) {
	for uri, c := range map[string]*sdk.ResourceContents{
		"test://static-text":      {MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		"test://static-binary":    {MIMEType: "image/png", Blob: bytesOf(onePixel)},
		"test://watched-resource": {MIMEType: "text/plain", Text: "Watched resource content"},
	} {
		c.URI = uri
		s.AddResource(&sdk.Resource{URI: uri, Name: strings.TrimPrefix(uri, "test://"), MIMEType: c.MIMEType}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
		})
	}
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			if err != nil {
				return nil, err
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(text)}}}, nil
		})
}

func textPrompt(text string) sdk.PromptHandler {
	return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return prompting(&sdk.TextContent{Text: text}), nil
	}
}

func prompting(contents ...sdk.Content) *sdk.GetPromptResult {
	res := &sdk.GetPromptResult{}
	for _, c := range contents {
		res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
	}
	return res
}

func mountPrompts(s *sdk.Server) {
	required := func(names ...string) (out []*sdk.PromptArgument) {
		for _, n := range names {
			out = append(out, &sdk.PromptArgument{Name: n, Description: fixture, Required: true})
		}
		return out
	}
	s.AddPrompt(&sdk.Prompt{Name: "test_simple_prompt", Description: fixture}, textPrompt("This is a simple prompt for testing."))
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_arguments", Description: fixture, Arguments: required("arg1", "arg2")}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		a := req.Params.Arguments
		return prompting(&sdk.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}), nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_embedded_resource", Description: fixture, Arguments: required("resourceUri")}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		uri := req.Params.Arguments["resourceUri"]
		if uri == "" {
			return nil, errors.New("resourceUri is missing")
		}
		return prompting(embedded(uri), &sdk.TextContent{Text: "Please process the embedded resource above."}), nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_image", Description: fixture}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return prompting(&sdk.ImageContent{Data: bytesOf(onePixel), MIMEType: "image/png"}, &sdk.TextContent{Text: "Please analyze the image above."}), nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: fixture}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if about := accepted(req.Params.InputResponses, "user_context", "context"); about != "" {
			return prompting(&sdk.TextContent{Text: "Context: " + about}), nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": form("Please provide context", "context", "string")}}, nil
	})
}
