// Package agents connects coding agents to foldwatch: it writes our entry into
// their own configuration, or prints it, and takes it out again without a trace.
package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Client is a program that speaks MCP.
type Client struct {
	ID   string // what the command line calls it
	Name string

	file  func(Options) string // its user file; nil if that is unknown: Print alone says what goes in
	marks []func(Options) string
	keys  []string // path of our entry in a JSON file; nil for TOML
	make  func(command string, args []string) any
}

// Known reports whether it is known where the client keeps its configuration, so
// that Install can write it.
func (c Client) Known() bool { return c.file != nil }

// Present reports whether the client seems to be used here: its file is there, or
// the folder that the client makes when it is installed.
func (c Client) Present(o Options) bool {
	if c.file == nil {
		return false
	}
	marks := []string{c.file(o)}
	if len(c.marks) == 0 {
		marks = append(marks, filepath.Dir(marks[0]))
	}
	for _, m := range c.marks {
		marks = append(marks, m(o))
	}
	return slices.ContainsFunc(marks, func(m string) bool {
		_, err := os.Stat(m)
		return err == nil
	})
}

// Options say whose configuration is meant and how foldwatch is called. Home
// and Command must be set.
type Options struct {
	// Home is the user's home directory.
	Home string
	// Command is the absolute path of the program, Args what it is called with.
	// No Args mean "mcp".
	Command string
	Args    []string
	// Env looks up environment variables (APPDATA, XDG_CONFIG_HOME, CODEX_HOME).
	// Nil means none are set.
	Env func(string) string
	// GOOS names the system. "" means the one this runs on.
	GOOS string
}

func (o Options) env(name string) string {
	if o.Env == nil {
		return ""
	}
	return o.Env(name)
}

func (o Options) args() []string {
	if o.Args == nil {
		return []string{"mcp"}
	}
	return o.Args
}

func (o Options) system() string {
	if o.GOOS == "" {
		return runtime.GOOS
	}
	return o.GOOS
}

// config returns where programs keep their configuration: <cfg> of surfaces.md 5.
func (o Options) config() string {
	switch o.system() {
	case "windows":
		if dir := o.env("APPDATA"); dir != "" {
			return dir
		}
		return filepath.Join(o.Home, "AppData", "Roaming")
	case "darwin":
		return filepath.Join(o.Home, "Library", "Application Support")
	}
	if dir := o.env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(o.Home, ".config")
}

func inHome(parts ...string) func(Options) string {
	return func(o Options) string { return filepath.Join(append([]string{o.Home}, parts...)...) }
}

func inConfig(parts ...string) func(Options) string {
	return func(o Options) string { return filepath.Join(append([]string{o.config()}, parts...)...) }
}

// The entries of clients. Fields are written in this order.
type (
	plainEntry struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	typedEntry struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	toolsEntry struct {
		typedEntry
		Tools []string `json:"tools"`
	}
	sourceEntry struct {
		Source  string   `json:"source"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	argvEntry struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}
)

func plain(command string, args []string) any { return plainEntry{command, args} }

// List returns the clients in the order of surfaces.md 5.
func List() []Client {
	servers := []string{"mcpServers", "foldwatch"}
	return []Client{
		{ID: "claude-code", Name: "Claude Code", file: inHome(".claude.json"), marks: []func(Options) string{inHome(".claude")}, keys: servers, make: plain},
		{ID: "claude-desktop", Name: "Claude Desktop", file: inConfig("Claude", "claude_desktop_config.json"), keys: servers, make: plain},
		{ID: "cursor", Name: "Cursor", file: inHome(".cursor", "mcp.json"), keys: servers, make: plain},
		{ID: "vscode", Name: "VS Code", file: inConfig("Code", "User", "mcp.json"), keys: []string{"servers", "foldwatch"}, make: func(c string, a []string) any {
			return typedEntry{"stdio", c, a}
		}},
		{ID: "windsurf", Name: "Windsurf", file: inHome(".codeium", "windsurf", "mcp_config.json"), keys: servers, make: plain},
		{ID: "zed", Name: "Zed", file: zedFile, keys: []string{"context_servers", "foldwatch"}, make: func(c string, a []string) any {
			return sourceEntry{"custom", c, a}
		}},
		{ID: "codex", Name: "Codex", file: codexFile, make: plain},
		{ID: "gemini", Name: "Gemini CLI", file: inHome(".gemini", "settings.json"), keys: servers, make: plain},
		{ID: "opencode", Name: "OpenCode", file: openCodeFile, keys: []string{"mcp", "foldwatch"}, make: func(c string, a []string) any {
			return argvEntry{"local", append([]string{c}, a...), true}
		}},
		{ID: "kimi", Name: "Kimi", file: inHome(".kimi", "mcp.json"), keys: servers, make: plain},
		{ID: "copilot", Name: "Copilot CLI", file: inHome(".copilot", "mcp-config.json"), keys: servers, make: func(c string, a []string) any {
			return toolsEntry{typedEntry{"local", c, a}, []string{"*"}}
		}},
		{ID: "junie", Name: "JetBrains Junie", file: inHome(".junie", "mcp", "mcp.json"), marks: []func(Options) string{inHome(".junie")}, keys: servers, make: plain},
		{ID: "cline", Name: "Cline", file: inConfig("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json"), marks: []func(Options) string{inConfig("Code", "User", "globalStorage", "saoudrizwan.claude-dev")}, keys: servers, make: plain},
		{ID: "generic", Name: "any other client", keys: servers, make: plain},
	}
}

func codexFile(o Options) string {
	if dir := o.env("CODEX_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "config.toml")
	}
	return filepath.Join(o.Home, ".codex", "config.toml")
}

// zedFile is below ~/.config also on macOS, and in a folder with a capital on
// Windows.
func zedFile(o Options) string {
	if o.system() == "windows" {
		return filepath.Join(o.config(), "Zed", "settings.json")
	}
	return filepath.Join(o.home(), "zed", "settings.json")
}

// home returns where programs from the Unix world keep their configuration, on
// each system.
func (o Options) home() string {
	if dir := o.env("XDG_CONFIG_HOME"); o.system() == "linux" && filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(o.Home, ".config")
}

// openCodeFile prefers the file that is there.
func openCodeFile(o Options) string {
	base := filepath.Join(o.home(), "opencode", "opencode.json")
	if _, err := os.Stat(base); err != nil {
		if _, err := os.Stat(base + "c"); err == nil {
			return base + "c"
		}
	}
	return base
}

// Find returns the client called id. It returns ErrNotFound, with the ids there
// are, if there is none.
func Find(id string) (Client, error) {
	ids := []string{}
	for _, c := range List() {
		if c.ID == id {
			return c, nil
		}
		ids = append(ids, c.ID)
	}
	return Client{}, fold.WithHint(fmt.Errorf("client %q: %w", id, fold.ErrNotFound), "one of: "+strings.Join(ids, ", "))
}

// File returns the path of the client's user file; "" if it is not known.
func (c Client) File(o Options) string {
	if c.file == nil {
		return ""
	}
	return c.file(o)
}

// Print returns the path of the client's file and what goes into it, ready to
// paste. The path is "" for a client whose file is not known.
func Print(id string, o Options) (path, snippet string, err error) {
	c, err := Find(id)
	if err != nil {
		return "", "", err
	}
	if err := o.check(); err != nil {
		return "", "", err
	}
	entry := c.make(o.Command, o.args())
	if c.keys == nil {
		return c.File(o), tomlBlock(o.Command, o.args()), nil
	}
	value := entry
	for _, key := range slices.Backward(c.keys) {
		value = map[string]any{key: value}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return "", "", err
	}
	return c.File(o), b.String(), nil
}

func tomlBlock(command string, args []string) string {
	quoted := make([]string, 0, len(args))
	for _, a := range args {
		quoted = append(quoted, tomlString(a))
	}
	return "[mcp_servers.foldwatch]\ncommand = " + tomlString(command) + "\nargs = [" + strings.Join(quoted, ", ") + "]\n"
}

// tomlString writes a basic string: that of JSON without HTML escapes is one.
func tomlString(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // strings marshal
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (o Options) check() error {
	if o.Home == "" || o.Command == "" {
		return fmt.Errorf("setup needs the home directory and the command: %w", fold.ErrInvalid)
	}
	return nil
}
