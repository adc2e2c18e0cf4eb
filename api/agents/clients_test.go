package agents_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/agents"
)

// on returns options for a machine of the given system with a home of its own.
func on(t *testing.T, system string) agents.Options {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{}
	if system == "windows" {
		env["APPDATA"] = filepath.Join(home, "AppData", "Roaming")
	}
	return agents.Options{Home: home, Command: filepath.Join(home, "bin", "foldwatch"), GOOS: system, Env: func(name string) string { return env[name] }}
}

// tree returns every file below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A config makes configurations as people have them: servers of others, comments
// where the format has them, odd layouts, line ends of either kind. One in eight is
// broken.
type config struct{ r *rand.Rand }

func (c config) pick(of ...string) string { return of[c.r.IntN(len(of))] }

func (c config) json(keys string) (text string, broken bool) {
	nl := c.pick("\n", "\n", "\r\n")
	ind := c.pick("  ", "    ", "\t", "")
	var members []string
	for i := range c.r.IntN(4) {
		members = append(members, fmt.Sprintf("%q: %s", fmt.Sprintf("key%d", i), c.pick("1", "true", `"a, b } // no comment"`, "[1, 2]", `{"mcpServers": {}}`, "null", "1e3")))
	}
	if c.r.IntN(3) > 0 {
		var servers []string
		for i := range c.r.IntN(3) {
			servers = append(servers, fmt.Sprintf(`"other%d": {"command": "x", "args": ["-a"]}`, i))
		}
		members = append(members, fmt.Sprintf("%q: {%s}", keys, strings.Join(servers, c.pick(", ", ","+nl+ind+ind))))
	}
	c.r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var b strings.Builder
	b.WriteString(c.pick("", "", "\xef\xbb\xbf", "// mine"+nl) + "{")
	for i, m := range members {
		b.WriteString(nl + ind + c.pick("", "", "/* here */ ") + m)
		if i < len(members)-1 || c.r.IntN(6) == 0 {
			b.WriteString(",")
		}
		b.WriteString(c.pick("", "", " // to do"))
	}
	b.WriteString(c.pick(nl, nl, nl+nl) + "}" + c.pick("", nl, nl+nl))
	text = b.String()
	if c.r.IntN(8) == 0 {
		switch c.r.IntN(4) {
		case 0:
			return strings.TrimRight(text, " }\r\n"), true
		case 1:
			return "[" + text + "]", true
		case 2:
			return fmt.Sprintf("{%q: 3}", keys), true
		}
		return "<<<<<<< ours" + nl + text, true
	}
	return text, false
}

func (c config) toml() (text string, broken bool) {
	nl := c.pick("\n", "\n", "\r\n")
	var b strings.Builder
	for i := range c.r.IntN(4) {
		fmt.Fprintf(&b, "key%d = %s%s%s", i, c.pick("1", `"a # b"`, "[1, 2]", "true"), c.pick("", " # why"), nl)
	}
	for i := range c.r.IntN(3) {
		fmt.Fprintf(&b, "%s[%s]%scommand = \"x\"%s", nl, c.pick(fmt.Sprintf("mcp_servers.other%d", i), fmt.Sprintf("table%d", i)), nl, nl)
	}
	text = b.String()
	if c.r.IntN(2) == 0 {
		text = strings.TrimSuffix(text, nl)
	}
	if c.r.IntN(8) == 0 {
		return text + nl + c.pick("key = ", "[mcp_servers.foldwatch]"+nl+"command = \"mine\"", "# BEGIN foldwatch v1"), true
	}
	return text, false
}

// TestEveryClientOnEverySystem installs, checks and removes in generated
// configurations of every client by the path rules of three systems: what was
// there is there again, byte for byte, and what cannot be parsed is not touched.
func TestEveryClientOnEverySystem(t *testing.T) {
	t.Parallel()
	configs, refused := 0, 0
	for i, c := range agents.List() {
		if !c.Known() {
			continue
		}
		for j, system := range []string{"linux", "darwin", "windows"} {
			c, gen := c, config{rand.New(rand.NewPCG(uint64(i), uint64(j)))}
			for n := range 8 {
				o := on(t, system)
				path := c.File(o)
				if !strings.HasPrefix(path, o.Home) {
					t.Fatalf("%s on %s: %s", c.ID, system, path)
				}
				key := "mcpServers"
				switch c.ID {
				case "vscode":
					key = "servers"
				case "zed":
					key = "context_servers"
				case "opencode":
					key = "mcp"
				}
				text, broken := gen.json(key)
				if strings.HasSuffix(path, ".toml") {
					text, broken = gen.toml()
				}
				if n > 0 { // the first has no file, and no folder
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				before := tree(t, o.Home)
				configs++
				if _, err := agents.Install(c.ID, o); n > 0 && broken {
					refused++
					if after := tree(t, o.Home); err == nil || fmt.Sprint(after) != fmt.Sprint(before) {
						t.Errorf("%s on %s: a broken file was taken, %v:\n%s", c.ID, system, err, text)
					}
					continue
				} else if err != nil {
					t.Fatalf("%s on %s: %v:\n%s", c.ID, system, err, text)
				}
				if st, err := agents.Check(c.ID, o); err != nil || st != agents.Installed || !c.Present(o) {
					t.Errorf("%s on %s: Check = %s, %v", c.ID, system, st, err)
				}
				if n%2 == 1 && text != "" { // somebody threw the copy away
					if err := os.Remove(path + ".before-foldwatch"); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := agents.Remove(c.ID, o); err != nil {
					t.Fatal(err)
				}
				if after := tree(t, o.Home); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("%s on %s: not as it was:\n%q\nbefore:\n%q", c.ID, system, after, before)
				}
			}
		}
	}
	if configs < 200 || refused < 20 {
		t.Errorf("%d configurations, %d of them broken: too few", configs, refused)
	}
}

func TestPresent(t *testing.T) {
	t.Parallel()
	o := on(t, "linux")
	for _, c := range agents.List() {
		if c.Present(o) {
			t.Errorf("%s is present in an empty home", c.ID)
		}
	}
	for _, dir := range []string{".cursor", ".claude", ".junie"} {
		if err := os.Mkdir(filepath.Join(o.Home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, c := range agents.List() {
		if c.Present(o) {
			got = append(got, c.ID)
		}
	}
	if want := "claude-code cursor junie"; strings.Join(got, " ") != want {
		t.Errorf("present: %v, want %s", got, want)
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	if n := strings.Count(agents.InstructionText, "\n") + 2; n > 25 {
		t.Errorf("the text and its fence are %d lines, at most 25", n)
	}
	for id, want := range map[string]string{
		"": "AGENTS.md", "codex": "AGENTS.md", "claude-code": "CLAUDE.md", "gemini": "GEMINI.md", "cursor": filepath.Join(".cursor", "rules", "foldwatch.mdc"),
	} {
		in := agents.InstructionOf(id)
		if in.File != want {
			t.Errorf("InstructionOf(%q) = %s, want %s", id, in.File, want)
		}
		for _, text := range []string{"", "# Mine\n", "# Mine, without an end", "# Mine\r\n\r\nText\r\n"} {
			root := t.TempDir()
			if text != "" {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, in.File)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, in.File), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, root)
			for _, changed := range []bool{true, false} {
				if res, err := agents.WriteInstruction(root, in); err != nil || res.Changed != changed {
					t.Fatalf("WriteInstruction = %+v, %v", res, err)
				}
				if st, err := agents.CheckInstruction(root, in); err != nil || st != agents.Installed {
					t.Fatalf("CheckInstruction = %s, %v", st, err)
				}
			}
			if _, err := agents.RemoveInstruction(root, in); err != nil {
				t.Fatal(err)
			}
			if after := tree(t, root); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s: not as it was: %q, before %q", in.File, after, before)
			}
		}
	}
}
