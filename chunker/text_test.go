package chunker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
)

// What has no table is known by its name all the same, and cut by lines where
// that parts least: at most 50 and a quarter, after a blank line or a closed
// brace, with 10 lines of what came before as context.
func TestCutOfLanguagesWithoutTable(t *testing.T) {
	braces := func(i int) string {
		return fmt.Sprintf("func part%d(x: Int) {\n%s}\n\n", i, strings.Repeat("    step(x)\n", 12))
	}
	blocks := func(i int) string {
		return fmt.Sprintf("def part%d(x) do\n%s\n  y = 2\n%send\n\n", i, strings.Repeat("  step x\n", 6), strings.Repeat("  step y\n", 5))
	}
	plain := func(i int) string {
		return fmt.Sprintf("SELECT a%d\n%sWHERE x = 1;\n\n", i, strings.Repeat("  , b\n", 11))
	}
	for path, tc := range map[string]struct {
		lang string
		part func(i int) string
	}{
		"A.swift": {"swift", braces}, "a.dart": {"dart", braces}, "a.proto": {"proto", braces}, "a.graphql": {"graphql", braces}, "a.r": {"r", braces},
		"a.ps1": {"powershell", braces}, "a.pl": {"perl", braces}, "a.scss": {"scss", braces}, "a.groovy": {"groovy", braces}, "build.gradle": {"groovy", braces},
		"a.sol": {"solidity", braces}, "a.m": {"objectivec", braces}, "a.fs": {"fsharp", blocks}, "a.nix": {"nix", braces},
		"a.ex": {"elixir", blocks}, "a.hs": {"haskell", blocks}, "a.jl": {"julia", blocks}, "a.erl": {"erlang", blocks}, "a.ml": {"ocaml", blocks}, "a.clj": {"clojure", blocks},
		"a.nim": {"nim", blocks}, "a.vim": {"vim", blocks}, "a.sql": {"sql", plain}, "Dockerfile": {"dockerfile", plain}, "Dockerfile.dev": {"dockerfile", plain},
		"CMakeLists.txt": {"cmake", plain}, "a.cmake": {"cmake", plain}, "a.ini": {"ini", plain}, ".editorconfig": {"ini", plain}, "a.properties": {"properties", plain},
		"a.xml": {"xml", plain}, "App.csproj": {"xml", plain}, "a.bat": {"batch", plain}, "a.v": {"verilog", plain}, "a.vhd": {"vhdl", plain}, "a.conf": {"", plain},
	} {
		var b strings.Builder
		for i := range 20 {
			b.WriteString(tc.part(i))
		}
		src := []byte(b.String())
		r := chunker.Cut(path, src, chunker.Options{})
		if err := broken(src, r); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if r.Language != tc.lang || r.Strategy != "lines" {
			t.Errorf("%s: %s cut by %s, want %s by lines", path, r.Language, r.Strategy, tc.lang)
		}
		head, _, _ := strings.Cut(tc.part(0), "0")
		for i, c := range r.Chunks {
			if n := c.EndLine - c.StartLine + 1; n > 62 || n < 12 {
				t.Errorf("%s: lines %d-%d are one chunk", path, c.StartLine, c.EndLine)
			}
			if !strings.HasPrefix(string(src[c.StartByte:]), head) {
				t.Errorf("%s: a chunk begins with %.20q, want the start of a part", path, src[c.StartByte:])
			}
			if i == 0 {
				continue
			}
			with := chunker.WithOverlap(src, r.Chunks, i, 10)
			if got := strings.Count(string(with), "\n") - (c.EndLine - c.StartLine + 1); got != 10 {
				t.Errorf("%s: %d lines of context, want 10", path, got)
			}
		}
	}
}

// Data beyond what is worth a tree is cut by lines.
func TestCutOfMuchData(t *testing.T) {
	for path, line := range map[string]string{"a.json": "  {\"id\": 1, \"name\": \"n\"},\n", "a.yaml": "- {id: 1, name: n}\n"} {
		for _, tc := range []struct {
			size     int
			strategy string
		}{{200 << 10, "syntax"}, {300 << 10, "lines"}} {
			src := []byte("[\n" + strings.Repeat(line, tc.size/len(line)) + "]\n")
			if path == "a.yaml" {
				src = src[2 : len(src)-2]
			}
			r := chunker.Cut(path, src, chunker.Options{})
			if err := broken(src, r); err != nil {
				t.Errorf("%s of %d bytes: %v", path, len(src), err)
			}
			if chunker.Engine() == "text" {
				tc.strategy = "lines"
			}
			if r.Strategy != tc.strategy {
				t.Errorf("%s of %d bytes: cut by %s, want %s", path, len(src), r.Strategy, tc.strategy)
			}
		}
	}
}
