package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestAnAgentsDay is what an agent does with a project, by the SDK's client,
// which starts the program as its configuration says and speaks to it by pipes.
// The daemon is stopped in between, and nobody tells the client.
func TestAnAgentsDay(t *testing.T) {
	t.Parallel()
	s := newSeat(t)
	shim := s.command("foldwatch", "mcp")
	var said bytes.Buffer
	shim.Stderr = &said
	changed := make(chan string, 64)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			select {
			case changed <- r.Params.URI:
			default: // enough of them wait to be read
			}
		},
	}).Connect(t.Context(), &mcp.CommandTransport{Command: shim}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatalf("initialize: %v\n%s", err, said.Bytes())
	}
	prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "orient"})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := prompt.Messages[0].Content.(*mcp.TextContent); !ok || !strings.Contains(text.Text, "the project app") {
		t.Errorf("orient = %+v", prompt.Messages[0].Content)
	}
	// call returns the text of an error, and fills result otherwise.
	call := func(tool string, args map[string]any, result any) (refused string) {
		t.Helper()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		if res.IsError {
			if text, ok := res.Content[0].(*mcp.TextContent); ok {
				return text.Text
			}
		}
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, result); err != nil {
			t.Fatalf("%s: %v in %s", tool, err, b)
		}
		return ""
	}
	must := func(tool string, args map[string]any, result any) {
		t.Helper()
		if refused := call(tool, args, result); refused != "" {
			t.Fatalf("%s: %s", tool, refused)
		}
	}
	first := agentTour(t, must)
	var second, now wire.WriteReply
	must("memory_add", map[string]any{"content": "The lifetime is a constant of package app.", "type": "decision"}, &second)
	must("memory_link_add", map[string]any{"source_id": second.ID, "target_id": first.ID, "link_type": "depends_on"}, &wire.Link{})

	must("memory_update", map[string]any{"id": first.ID, "append": "Ada agreed.", "expected_hash": first.ContentHash}, &now)
	stale := call("memory_update", map[string]any{"id": first.ID, "content": "Sessions live an hour.", "expected_hash": first.ContentHash}, &now)
	for _, want := range []string{"Ada agreed.", "Sessions live an hour.", now.ContentHash} {
		if !strings.Contains(stale, want) {
			t.Errorf("a stale update lacks %q: %s", want, stale)
		}
	}

	uri := "fold://app/memory/" + first.ID
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"before the restart", "after the restart"} {
		for len(changed) > 0 { // what was told earlier says nothing of now
			<-changed
		}
		untilTold(t, when, uri, changed, func() { must("memory_update", map[string]any{"id": first.ID, "append": "Noted " + when + "."}, &now) })
		if when == "before the restart" {
			stopDaemon(t.Log, s.home)
		}
	}
	var got struct {
		Memory wire.Memory `json:"memory"`
	}
	must("memory_get", map[string]any{"id": first.ID}, &got)
	if !strings.Contains(got.Memory.Content, "Noted after the restart.") || len(got.Memory.Backlinks) != 1 || got.Memory.Backlinks[0].SourceID != second.ID {
		t.Errorf("memory_get = %+v", got.Memory)
	}
	// The end of its input ends the shim, with nothing said.
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if said.Len() > 0 {
		t.Errorf("stderr: %s", said.Bytes())
	}
}

// untilTold changes a resource until the client is told of it.
func untilTold(t *testing.T, when, uri string, changed <-chan string, change func()) {
	t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	change()
	for {
		select {
		case got := <-changed:
			if got == uri {
				return
			}
		case <-tick.C:
			change()
		case <-late:
			t.Fatalf("no update of %s arrives %s", uri, when)
		}
	}
}

// TestConformanceOfADayInTypeScript does the same by the other SDK, whose
// clients are most of those there are: testdata/day.ts.
func TestConformanceOfADayInTypeScript(t *testing.T) {
	_, path := findInspector(t)
	s := newSeat(t)
	s.env = append(s.env, "PATH="+path)
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join("testdata", "day.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "day.ts"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(filepath.Join("..", "..", "bin", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil { // Node looks beside the script
		t.Fatal(err)
	}
	cmd := s.command(filepath.Join(modules, ".bin", "node"), "--no-warnings", filepath.Join(dir, "day.ts"))
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for sc := bufio.NewScanner(out); sc.Scan(); {
		steps = append(steps, sc.Text())
		if sc.Text() == "stop the daemon" {
			stopDaemon(t.Log, s.home)
			if _, err := io.WriteString(in, "stopped\n"); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || len(steps) == 0 || steps[len(steps)-1] != "done" {
		t.Errorf("node: %v\n%s\n%s", err, fmt.Sprint(steps), said.Bytes())
	}
}
