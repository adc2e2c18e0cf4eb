//go:build accept

package rig

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adrg/frontmatter"
)

// zoektModule is the version that is built where no zoekt-index is installed.
const zoektModule = "github.com/sourcegraph/zoekt/cmd/zoekt-index@v0.0.0-20260807124253-c4d8f3537f7a"

// A finished program took this much.
type cost struct {
	cpu, wall float64 // seconds
	rss       int64   // bytes, at most
}

// A reference is a program that foldwatch is measured against.
type reference struct {
	path string
	env  []string
	skip string // why it cannot be had; "" if it can
}

// zoektIndex finds zoekt-index or builds it, once for a run.
func zoektIndex(t *testing.T) reference {
	t.Helper()
	if path, err := exec.LookPath("zoekt-index"); err == nil {
		return reference{path: path}
	}
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "install", zoektModule)
	build.Dir, build.Env = dir, append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		return reference{skip: "zoekt-index is missing and does not build: " + lastLine(out)}
	}
	return reference{path: filepath.Join(dir, "zoekt-index")}
}

// withCtags has zoekt-index ask universal-ctags for symbols.
func (r reference) withCtags(t *testing.T) reference {
	t.Helper()
	for _, name := range []string{"universal-ctags", "ctags-universal", "ctags"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(t.Context(), path, "--version").Output()
		if err != nil || !bytes.HasPrefix(out, []byte("Universal Ctags")) {
			continue
		}
		if strings.HasPrefix(filepath.Base(path), "universal-ctags") {
			return r
		}
		dir := t.TempDir() // zoekt takes no other name
		if err := os.Symlink(path, filepath.Join(dir, "universal-ctags")); err != nil {
			t.Fatal(err)
		}
		r.env = append(r.env, "PATH="+dir+":"+os.Getenv("PATH"), "CTAGS_COMMAND="+filepath.Join(dir, "universal-ctags"))
		return r
	}
	return reference{skip: "universal-ctags is missing"}
}

// index runs zoekt-index on dir.
func (r reference) index(t *testing.T, dir string, args ...string) cost {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.path, append(args, "-index", t.TempDir(), dir)...)
	cmd.Env = append(os.Environ(), r.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var c cost
	c.wall = timed(func() {
		if err := cmd.Run(); err != nil {
			t.Fatalf("zoekt-index: %v: %s", err, lastLine(out.Bytes()))
		}
	}).Seconds()
	c.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	c.rss = maxRSS(cmd.ProcessState)
	return c
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

// treeSitter is the C program of reference/parse.c, or why it cannot be had.
func treeSitter(t *testing.T) reference {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		return reference{skip: "no C compiler"}
	}
	out := filepath.Join(t.TempDir(), "parse")
	args := []string{"-O2", "-o", out, filepath.Join("reference", "parse.c")}
	lib := moduleDir(t, "github.com/tree-sitter/go-tree-sitter")
	args = append(args, "-I"+filepath.Join(lib, "include"), "-I"+filepath.Join(lib, "src"), filepath.Join(lib, "src", "lib.c"))
	for _, lang := range []string{"go", "c", "python"} {
		src := filepath.Join(moduleDir(t, "github.com/tree-sitter/tree-sitter-"+lang), "src")
		args = append(args, "-I"+src, filepath.Join(src, "parser.c"))
		if scanner := filepath.Join(src, "scanner.c"); exists(scanner) {
			args = append(args, scanner)
		}
	}
	if msg, err := exec.CommandContext(t.Context(), cc, args...).CombinedOutput(); err != nil {
		return reference{skip: "tree-sitter in C does not build: " + lastLine(msg)}
	}
	return reference{path: out}
}

// parse returns the CPU seconds tree-sitter takes for files, a line each.
func (r reference) parse(t *testing.T, files string) (seconds float64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.path)
	cmd.Stdin = strings.NewReader(files)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("reference parser: %v", err)
	}
	var n int64
	if _, err := fmt.Sscan(string(out), &n, &seconds); err != nil {
		t.Fatalf("reference parser printed %q", out)
	}
	return seconds
}

func moduleDir(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", path, err)
	}
	return strings.TrimSpace(string(out))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// eachFile calls fn with every regular file below dir but those of git.
func eachFile(t *testing.T, dir string, fn func(path string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			fn(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// statAll looks at every file without reading it.
func statAll(t *testing.T, dir string) {
	t.Helper()
	eachFile(t, dir, func(p string) {
		if _, err := os.Lstat(p); err != nil {
			t.Fatal(err)
		}
	})
}

// parseAll reads every memory below dir and hashes and parses it, by a library
// and one after another: the least that a rebuild has to do.
func parseAll(t *testing.T, dir string) {
	t.Helper()
	eachFile(t, dir, func(p string) {
		if filepath.Ext(p) != ".md" {
			return
		}
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		_ = sha256.Sum256(b)
		var front struct {
			ID       string   `yaml:"id"`
			Title    string   `yaml:"title"`
			Type     string   `yaml:"memory_type"`
			Source   string   `yaml:"source"`
			Author   string   `yaml:"author"`
			Tags     []string `yaml:"tags"`
			Keywords []string `yaml:"keywords"`
			Context  string   `yaml:"context"`
			Related  []string `yaml:"related_to"`
		}
		if _, err := frontmatter.Parse(bytes.NewReader(b), &front); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
	})
}

// readAll reads files below dir.
func readAll(t *testing.T, dir string, files []string) {
	t.Helper()
	for _, f := range files {
		if _, err := os.ReadFile(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
}

// sizeOf adds the files below dir up, in bytes.
func sizeOf(t *testing.T, dir string) int64 {
	t.Helper()
	var n int64
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// gitCost runs git in dir and returns what it printed and its CPU seconds.
func gitCost(t *testing.T, dir string, args ...string) (out string, cpu float64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(b), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}
