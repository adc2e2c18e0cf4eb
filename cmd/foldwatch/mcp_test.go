package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// coreTools are the tools every agent is offered.
func coreTools() []string {
	return []string{
		"codebase_index", "codebase_search", "files_upload", "memory_add", "memory_context", "memory_delete", "memory_get",
		"memory_link_add", "memory_link_list", "memory_list", "memory_search", "memory_update", "project_get", "project_list",
	}
}

// A seat is a checkout on a machine of its own, with a daemon that ends with
// the test: where an agent is started.
type seat struct {
	t    *testing.T
	dir  string // the checkout
	home string // FOLDWATCH_HOME
	env  []string
}

func newSeat(t *testing.T) *seat {
	t.Helper()
	top := t.TempDir()
	home := filepath.Join(top, "home")
	s := &seat{t: t, dir: filepath.Join(top, "app"), home: filepath.Join(home, "fw"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" + os.TempDir(),
		"FOLDWATCH_HOME=" + filepath.Join(home, "fw"), "GIT_CONFIG_GLOBAL=" + filepath.Join(home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada Dev", "GIT_AUTHOR_EMAIL=ada@example.invalid", "GIT_COMMITTER_NAME=Ada Dev", "GIT_COMMITTER_EMAIL=ada@example.invalid",
		"NO_COLOR=1", "LC_ALL=C.UTF-8", goRace,
	}}
	for _, d := range []string{home, s.dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	source := "package app\n\n// Login checks a password.\nfunc Login(name, password string) bool { return false }\n"
	if err := os.WriteFile(filepath.Join(s.dir, "login.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run("git", "init", "-q", "-b", "main")
	s.run("git", "add", "-A")
	s.run("git", "commit", "-q", "-m", "Begin")
	t.Cleanup(func() { stopDaemon(t.Log, s.home) })
	s.run("foldwatch", "up", "-d")
	return s
}

func (s *seat) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// run returns what the command prints.
func (s *seat) run(name string, args ...string) []byte {
	s.t.Helper()
	cmd := s.command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out
}

// agentTour is what both clients do with the tools: add, search, get, context.
// call gives the structured result of one tool. It returns what was added.
func agentTour(t *testing.T, call func(tool string, args map[string]any, result any)) wire.WriteReply {
	t.Helper()
	var added wire.WriteReply
	call("memory_add", map[string]any{"content": "Sessions live 7 days: the quokka team asked for it.", "title": "Session lifetime", "type": "decision"}, &added)
	if !added.Durable || added.ID == "" {
		t.Fatalf("memory_add = %+v", added)
	}
	// What is durable is searchable a moment later.
	var found wire.SearchReply
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		call("memory_search", map[string]any{"query": "quokka sessions"}, &found)
		if len(found.Results) > 0 && found.Results[0].ID == added.ID {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("memory_search = %+v, want %s first", found.Results, added.ID)
		}
	}
	var got struct {
		Memory wire.Memory `json:"memory"`
	}
	call("memory_get", map[string]any{"id": added.ID}, &got)
	if got.Memory.ID != added.ID || !strings.Contains(got.Memory.Content, "Sessions live 7 days") || got.Memory.ContentHash != added.ContentHash {
		t.Errorf("memory_get = %+v", got.Memory)
	}
	var around struct {
		Memory wire.MemoryItem `json:"memory"`
	}
	call("memory_context", map[string]any{"id": added.ID}, &around)
	if around.Memory.ID != added.ID {
		t.Errorf("memory_context = %+v", around.Memory)
	}
	return added
}

// TestConformanceForTheInspector reads the tools and uses them by a client that is not ours.
func TestConformanceForTheInspector(t *testing.T) {
	inspector, path := findInspector(t)
	s := newSeat(t)
	s.env = append(s.env, "PATH="+path)
	// It gives servers few of its variables.
	base := []string{"--cli", "foldwatch", "mcp"}
	for _, kv := range s.env {
		if strings.HasPrefix(kv, "FOLDWATCH_") || strings.HasPrefix(kv, "GIT_") || kv == goRace {
			base = append(base, "-e", kv)
		}
	}
	// Strict says on stderr what some client cannot read of a schema.
	for door, reach := range map[string][]string{
		"stdio": base, "HTTP": {"--cli", "http://" + s.forwardTCP() + "/mcp", "--transport", "http"},
	} {
		var said bytes.Buffer
		cmd := s.command(inspector, append(slices.Clone(reach), "--method", "tools/list", "--strict")...)
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil || said.Len() > 0 {
			t.Errorf("%s: tools/list: %v\n%s", door, err, said.Bytes())
		}
		var list struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(out, &list); err != nil {
			t.Fatalf("%s: tools/list: %v in %s", door, err, out)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if slices.Sort(names); !slices.Equal(names, coreTools()) {
			t.Errorf("%s: tools = %q, want %q", door, names, coreTools())
		}
	}
	agentTour(t, func(tool string, args map[string]any, result any) {
		t.Helper()
		line := append(slices.Clone(base), "--method", "tools/call", "--tool-name", tool)
		for name, v := range args {
			line = append(line, "--tool-arg", fmt.Sprintf("%s=%v", name, v))
		}
		out := s.run(inspector, line...)
		var reply struct {
			IsError           bool            `json:"isError"`
			StructuredContent json.RawMessage `json:"structuredContent"`
		}
		if err := json.Unmarshal(out, &reply); err != nil || reply.IsError {
			t.Fatalf("%s: %v: %s", tool, err, out)
		}
		if err := json.Unmarshal(reply.StructuredContent, result); err != nil {
			t.Fatalf("%s: %v in %s", tool, err, out)
		}
	})
}

// findInspector returns the MCP inspector's command, and the search path with
// the Node it runs on. The test is skipped where tools/npm has not put both, or
// where nobody asked for it.
func findInspector(t *testing.T) (command, path string) {
	t.Helper()
	if os.Getenv("FOLDWATCH_CONFORMANCE") == "" {
		t.Skip("SKIP: make conformance runs this")
	}
	bin, err := filepath.Abs(filepath.Join("..", "..", "bin", "npm", "node_modules", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	command = filepath.Join(bin, "mcp-inspector")
	if _, err := os.Stat(command); err != nil {
		t.Skipf("SKIP: the MCP inspector is not installed (tools/npm does it): %v", err)
	}
	if _, err := os.Stat(filepath.Join(bin, "node")); err != nil {
		t.Skipf("SKIP: the MCP inspector has no Node of its own version (tools/npm installs it): %v", err)
	}
	return command, bin + string(os.PathListSeparator) + os.Getenv("PATH")
}
