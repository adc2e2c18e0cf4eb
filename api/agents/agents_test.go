package agents_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/agents"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func options(t *testing.T) (agents.Options, string) {
	home := t.TempDir()
	return agents.Options{Home: home, Command: "/usr/local/bin/foldwatch", Args: []string{"mcp"}, GOOS: "linux"}, filepath.Join(home, ".claude.json")
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

func TestInstallCheckRemoveLeavesNoTrace(t *testing.T) {
	for name, before := range map[string]string{
		"empty object":       "{}",
		"object and newline": "{}\n",
		"no servers":         "{\n  \"numStartups\": 3,\n  \"tips\": {\"a\": 1}\n}\n",
		"empty servers":      "{\"mcpServers\": {}}",
		"other server":       "{\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\", \"args\": []}\n\t},\n\t\"z\": 1e3\n}",
		"one line":           `{"a":1,"mcpServers":{"x":{"command":"y"}},"b":[1, 2]}`,
		"crlf":               "{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"x\": {}\r\n  }\r\n}\r\n",
		"comments":           "{\n  // mine\n  \"a\": 1, /* b */\n}\n",
		"unicode":            "{\"ключ\": \"\\u00e9 é 🙂\", \"mcpServers\": {\"x\": {}}}",
	} {
		t.Run(name, func(t *testing.T) {
			o, path := options(t)
			if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
				t.Fatal(err)
			}
			cycle(t, o)
			got := files(t, o.Home)
			if len(got) != 1 || got[".claude.json"] != before {
				t.Errorf("left behind: %q", got)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode = %v, %v", info.Mode(), err)
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		o, _ := options(t)
		cycle(t, o)
		if got := files(t, o.Home); len(got) != 0 {
			t.Errorf("left behind: %q", got)
		}
	})
}

// cycle installs twice, checks, and removes twice.
func cycle(t *testing.T, o agents.Options) {
	t.Helper()
	check := func(want agents.State) {
		t.Helper()
		if got, err := agents.Check("claude-code", o); err != nil || got != want {
			t.Fatalf("Check = %q, %v, want %q", got, err, want)
		}
	}
	check(agents.Absent)
	for _, changed := range []bool{true, false} {
		if res, err := agents.Install("claude-code", o); err != nil || res.Changed != changed {
			t.Fatalf("Install = %+v, %v", res, err)
		}
		check(agents.Installed)
	}
	text := files(t, o.Home)[".claude.json"]
	if !strings.Contains(text, "/usr/local/bin/foldwatch") {
		t.Fatalf("installed: %s", text)
	}
	other := o
	other.Command = "/opt/foldwatch"
	if got, err := agents.Check("claude-code", other); err != nil || got != agents.Different {
		t.Fatalf("Check with another command = %q, %v", got, err)
	}
	for _, changed := range []bool{true, false} {
		if res, err := agents.Remove("claude-code", o); err != nil || res.Changed != changed {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
		check(agents.Absent)
	}
}

func TestChangesOfTheClientSurvive(t *testing.T) {
	o, path := options(t)
	if err := os.WriteFile(path, []byte(`{"n": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := agents.Install("claude-code", o)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(res.Backup); err != nil || string(b) != `{"n": 1}` {
		t.Errorf("backup = %q, %v", b, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), `"n": 1`, `"n": 2`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if res, err = agents.Remove("claude-code", o); err != nil || res.Backup == "" {
		t.Fatalf("Remove = %+v, %v", res, err)
	}
	if got := files(t, o.Home)[".claude.json"]; got != `{"n": 2}` {
		t.Errorf("file = %q", got)
	}
}

// TestProgramOfAnEntry: that of ours, whatever stands around it.
func TestProgramOfAnEntry(t *testing.T) {
	for _, client := range []string{"claude-code", "codex", "opencode"} {
		o, _ := options(t)
		o.Command = `/opt/it's "mine"/foldwatch`
		if got := agents.Program(client, o); got != "" {
			t.Errorf("%s, without a file: %q", client, got)
		}
		if _, err := agents.Install(client, o); err != nil {
			t.Fatal(err)
		}
		if got := agents.Program(client, o); got != o.Command {
			t.Errorf("%s: %q, want %q", client, got, o.Command)
		}
	}
	for text, want := range map[string]string{
		`{"mcpServers": {"x": {"command": "/a/foldwatch"}, "foldwatch": {"command": "/b/foldwatch"}}}`:  "/b/foldwatch",
		`{"mcpServers": {"foldwatch": {"command": "/b/foldwatch"}, "foldwatch2": {"command": "/a/x"}}}`: "/b/foldwatch",
		`{"mcpServers": {"foldwatch": {"url": "http://x"}, "x": {"command": "/a/x"}}}`:                  "",
		`{"mcpServers": {"x": {"command": "/a/x"}}}`:                                                    "",
		`{"mcpServers": `: "",
	} {
		o, path := options(t)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := agents.Program("claude-code", o); got != want {
			t.Errorf("Program of %s = %q, want %q", text, got, want)
		}
	}
}

func TestUnparsableFileIsRefused(t *testing.T) {
	for _, bad := range []string{"{", "not json", "[]", `{"mcpServers": 3}`} {
		o, path := options(t)
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := agents.Install("claude-code", o)
		if !errors.Is(err, fold.ErrInvalid) || fold.Hint(err) == "" {
			t.Errorf("Install into %q: %v", bad, err)
		}
		if got := files(t, o.Home); len(got) != 1 || got[".claude.json"] != bad {
			t.Errorf("Install into %q left %q", bad, got)
		}
	}
}

func TestLinkedFileStaysALink(t *testing.T) {
	o, path := options(t)
	real := filepath.Join(t.TempDir(), "claude.json")
	if err := os.WriteFile(real, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Skip(err)
	}
	if _, err := agents.Install("claude-code", o); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if _, err := agents.Remove("claude-code", o); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(real); err != nil || string(b) != "{}" {
		t.Errorf("file = %q, %v", b, err)
	}
}

func TestEveryClientIsPrinted(t *testing.T) {
	o, _ := options(t)
	codex := filepath.Join(t.TempDir(), "codex")
	o.Env = func(name string) string { return map[string]string{"CODEX_HOME": codex}[name] }
	where := map[string]string{
		"claude-code": ".claude.json", "claude-desktop": ".config/Claude/claude_desktop_config.json", "cursor": ".cursor/mcp.json",
		"vscode": ".config/Code/User/mcp.json", "windsurf": ".codeium/windsurf/mcp_config.json", "zed": ".config/zed/settings.json",
		"codex": filepath.Join(codex, "config.toml"), "gemini": ".gemini/settings.json", "opencode": ".config/opencode/opencode.json", "kimi": ".kimi/mcp.json",
		"copilot": ".copilot/mcp-config.json", "junie": ".junie/mcp/mcp.json",
		"cline":   ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
		"generic": "",
	}
	inside := map[string]string{
		"vscode": `"type": "stdio"`, "zed": `"source": "custom"`, "codex": "[mcp_servers.foldwatch]\ncommand = \"/usr/local/bin/foldwatch\"\nargs = [\"mcp\"]\n",
		"opencode": `"enabled": true`, "copilot": `"*"`, "generic": `"mcpServers"`,
	}
	for _, c := range agents.List() {
		path, snippet, err := agents.Print(c.ID, o)
		want, ok := where[c.ID]
		if want != "" && !filepath.IsAbs(want) {
			want = filepath.Join(o.Home, want)
		}
		if err != nil || !ok || path != want {
			t.Errorf("Print(%s) = %s, %v, want %s", c.ID, path, err, want)
		}
		if !strings.Contains(snippet, "/usr/local/bin/foldwatch") || !strings.Contains(snippet, inside[c.ID]) {
			t.Errorf("Print(%s) = %s", c.ID, snippet)
		}
		delete(where, c.ID)
		if _, err := agents.Install(c.ID, o); !c.Known() && !errors.Is(err, fold.ErrNotFound) {
			t.Errorf("Install(%s): %v", c.ID, err)
		}
	}
	if len(where) > 0 {
		t.Errorf("not listed: %v", where)
	}
	if _, _, err := agents.Print("nope", o); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("Print(nope): %v", err)
	}
	mac, win := o, o
	mac.GOOS, win.GOOS = "darwin", "windows"
	win.Env = func(string) string { return filepath.Join(o.Home, "Roaming") }
	if p, _, _ := agents.Print("vscode", mac); p != filepath.Join(o.Home, "Library", "Application Support", "Code", "User", "mcp.json") {
		t.Errorf("macOS: %s", p)
	}
	if p, _, _ := agents.Print("vscode", win); p != filepath.Join(o.Home, "Roaming", "Code", "User", "mcp.json") {
		t.Errorf("Windows: %s", p)
	}
}
