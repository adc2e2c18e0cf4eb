package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// toolchain is the name of the Go toolchain's own source among the corpora.
const toolchain = "go"

// maxFile is the most bytes of a file that is read; larger ones are tables and
// parsers that a program wrote.
const maxFile = 256 << 10

// A corpus is a body of source at a pinned version.
type corpus struct {
	Name    string // module path, or toolchain
	Version string
	Dir     string // where it lies
}

// moduleNames are the modules that are counted beside the toolchain. The
// grammars hold samples of their languages; the others are written by people
// who have nothing to do with each other, about things as different as SQL,
// HTTP, git, terminals and C.
func moduleNames() []string {
	return []string{
		"github.com/blevesearch/bleve/v2",
		"github.com/danielgtaylor/huma/v2",
		"github.com/go-git/go-git/v5",
		"github.com/klauspost/compress",
		"github.com/spf13/cobra",
		"github.com/tetratelabs/wazero",
		"github.com/tree-sitter-grammars/tree-sitter-hcl",
		"github.com/tree-sitter-grammars/tree-sitter-kotlin",
		"github.com/tree-sitter-grammars/tree-sitter-lua",
		"github.com/tree-sitter/go-tree-sitter",
		"github.com/tree-sitter/tree-sitter-bash",
		"github.com/tree-sitter/tree-sitter-c-sharp",
		"github.com/tree-sitter/tree-sitter-cpp",
		"github.com/tree-sitter/tree-sitter-java",
		"github.com/tree-sitter/tree-sitter-javascript",
		"github.com/tree-sitter/tree-sitter-php",
		"github.com/tree-sitter/tree-sitter-python",
		"github.com/tree-sitter/tree-sitter-ruby",
		"github.com/tree-sitter/tree-sitter-rust",
		"github.com/tree-sitter/tree-sitter-scala",
		"github.com/tree-sitter/tree-sitter-typescript",
		"golang.org/x/text",
		"golang.org/x/tools",
		"modernc.org/libc",
		"modernc.org/sqlite",
	}
}

// product is the module that the table is for. Its go.mod pins the versions of the
// modules that are counted, which this module need not have.
const product = "github.com/foldwatch/foldwatch"

// locate asks the go command where the corpora lie, from within this module. All
// modules must have been downloaded.
func locate(ctx context.Context) ([]corpus, error) {
	goroot, err := command(ctx, "go", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	dir, err := command(ctx, "go", "list", "-m", "-f", "{{.Dir}}", product)
	if err != nil {
		return nil, err
	}
	version, root, _ := strings.Cut(strings.TrimSpace(goroot), "\n")
	out := []corpus{{Name: toolchain, Version: strings.TrimPrefix(version, "go"), Dir: filepath.Join(root, "src")}}
	listed, err := command(ctx, "go", append([]string{"list", "-C", strings.TrimSpace(dir), "-mod=readonly", "-m", "-json=Path,Version,Dir"}, moduleNames()...)...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(listed)); ; {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if m.Dir == "" {
			return nil, fmt.Errorf("module %s@%s is not on this machine; run go mod download", m.Path, m.Version)
		}
		out = append(out, corpus{Name: m.Path, Version: m.Version, Dir: m.Dir})
	}
	if len(out) != len(moduleNames())+1 {
		return nil, fmt.Errorf("go list: %d of %d modules", len(out)-1, len(moduleNames()))
	}
	slices.SortFunc(out[1:], func(a, b corpus) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// isGrammar reports whether a corpus is a tree-sitter grammar. All of them hold much
// the same, but for their samples.
func (c corpus) isGrammar() bool { return strings.HasPrefix(path.Base(c.Name), "tree-sitter-") }

// each calls f with the language and the text of every file that is counted, in
// the order of their paths.
func (c corpus) each(ctx context.Context, f func(language string, text []byte)) error {
	return filepath.WalkDir(c.Dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.Dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && c.skips(rel) {
				return fs.SkipDir
			}
			return nil
		}
		language := c.language(rel)
		if language == "" || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxFile {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if c.isGrammar() && strings.HasSuffix(rel, ".txt") {
			text = samples(text)
		}
		if len(text) > 0 && !isGenerated(text) && utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
			f(language, text)
		}
		return nil
	})
}

// skips reports whether a folder is not counted: copies of other projects, test
// data, and what is the same in every grammar.
func (c corpus) skips(dir string) bool {
	base := path.Base(dir)
	switch base {
	case "vendor", "testdata", "node_modules":
		return true
	case "bindings", "src":
		return c.isGrammar()
	}
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// language returns which language a file is in, "" if it is not counted.
func (c corpus) language(p string) string {
	base, dir := path.Base(p), path.Dir(p)
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if c.isGrammar() {
		// At the top are the grammar itself and the settings of its build.
		if dir == "." && ext != "md" {
			return ""
		}
		if ext == "txt" && strings.HasSuffix(dir, "corpus") {
			ext, _, _ = strings.Cut(strings.TrimPrefix(path.Base(c.Name), "tree-sitter-"), "/")
		}
	}
	switch ext {
	case "go", "rust", "java", "python", "ruby", "php", "scala", "kotlin", "lua", "zig", "css", "html", "hcl", "toml", "bash":
		return ext
	case "c", "h", "cc", "cpp", "hpp":
		return "c"
	case "cs", "c-sharp":
		return "c-sharp"
	case "js", "mjs", "cjs", "jsx", "javascript", "ts", "tsx", "typescript":
		return "javascript"
	case "py":
		return "python"
	case "rs":
		return "rust"
	case "rb":
		return "ruby"
	case "kt":
		return "kotlin"
	case "tf":
		return "hcl"
	case "sh":
		return "bash"
	case "yml", "yaml":
		return "yaml"
	case "md":
		return "markdown"
	}
	if base == "Makefile" || ext == "mk" {
		return "make"
	}
	return ""
}

// samples returns the code of the test file of a grammar: titles between lines
// of =, code, a line of -, the tree that the parser must make of it.
func samples(text []byte) []byte {
	var out []byte
	inTitle, inCode := false, false
	for line := range bytes.Lines(text) {
		switch {
		case bytes.HasPrefix(line, []byte("===")):
			inCode = inTitle // the second such line ends the title
			inTitle = !inTitle
		case bytes.HasPrefix(line, []byte("---")) && !inTitle:
			inCode = false
		case inCode:
			out = append(out, line...)
		}
	}
	return out
}

var generated = regexp.MustCompile(`(?i)code generated|do not edit|@generated|automatically generated|auto-generated|generated by|machine generated`)

// isGenerated reports whether the first lines of a file say that a program
// wrote it.
func isGenerated(text []byte) bool { return generated.Match(text[:min(len(text), 1024)]) }
