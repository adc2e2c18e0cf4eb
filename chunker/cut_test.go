package chunker_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
	"github.com/google/go-cmp/cmp"
)

// paths holds one file name for each strategy and language.
var paths = func() []string {
	all := append([]string{"a.md", "a.html", "a.vue", "a.txt", "a.conf"}, chunker.SyntaxPaths()...)
	slices.Sort(all)
	return slices.Compact(all)
}()

// goFiles returns about n source files of the Go toolchain, evenly spread.
func goFiles(t testing.TB, n int) []string {
	t.Helper()
	var all []string
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no Go toolchain here: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(path) == ".go" {
			all = append(all, path)
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Skipf("no sources of the toolchain: %v", err)
	}
	var some []string
	for i := 0; i < len(all); i += max(1, len(all)/n) {
		some = append(some, all[i])
	}
	return some
}

func TestCutPartitionsToolchain(t *testing.T) {
	if ranPlain(t) {
		return
	}
	quick, tree := chunker.NewCutter(chunker.Options{}), chunker.NewCutter(chunker.Options{SlowGo: true, Deadline: time.Minute})
	defer quick.Close()
	defer tree.Close()
	for _, path := range goFiles(t, 300) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fast := quick.Cut(path, src)
		checkPartition(t, path, src, fast)
		if chunker.IsBinary(src) || len(src) == 0 {
			continue
		}
		for _, c := range fast.Chunks {
			if n := c.EndLine - c.StartLine + 1; n > 200 && c.NodeType != "lines" && n > 400 {
				t.Errorf("%s: %s %s has %d lines", path, c.NodeType, c.NodeName, n)
			}
		}
		if chunker.Engine() == "text" || fast.Strategy != "syntax" {
			continue
		}
		// Both parsers say the same: the definitions, their bounds where
		// nothing was split, imports, package and docs.
		slow := tree.Cut(path, src)
		checkPartition(t, path, src, slow)
		if slices.ContainsFunc(slow.Chunks, isPart(slow.Chunks)) {
			slow.Chunks, fast.Chunks = nil, nil
		}
		if diff := cmp.Diff(slow, fast); diff != "" && !strings.Contains(path, "testdata") {
			t.Errorf("%s: -tree-sitter +go/parser\n%s", path, diff)
		}
	}
}

// isPart returns whether a chunk is one of several parts of a long definition.
func isPart(chunks []fold.Chunk) func(fold.Chunk) bool {
	seen := map[string]int{}
	lines := 0
	for _, c := range chunks {
		if c.NodeName != "" {
			seen[c.NodeName]++
		}
		lines = c.EndLine
	}
	return func(c fold.Chunk) bool {
		return seen[c.NodeName] > 1 || c.EndLine-c.StartLine > 150 || lines > 1000 && c.NodeType == "lines"
	}
}

func TestCutPartitionsGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func class def { } ( ) [ ] ; : , . = => -> \" ' ` \"\"\" /* */ // # ## --- ``` ~~~ <div> </div> <script> <!-- --> template < > struct impl trait fn pub namespace export default const async @x \\ é 漢 \xff \x80 \r\n \t if else for try: return import from #include #define #ifdef #endif 0x1 1e9 'a ${ }")
	for i := range 400 {
		var b bytes.Buffer
		for range rng.IntN(600) {
			switch rng.IntN(8) {
			case 0:
				b.WriteByte('\n')
			case 1:
				b.WriteByte(' ')
			case 2:
				b.WriteByte(byte(1 + rng.IntN(255)))
			default:
				b.WriteString(words[rng.IntN(len(words))])
				if rng.IntN(2) == 0 {
					b.WriteByte(' ')
				}
			}
		}
		path := paths[i%len(paths)]
		opt := chunker.Options{MaxLines: 1 + rng.IntN(30), MinLines: 1 + rng.IntN(8), LineSize: 1 + rng.IntN(10)}
		r := chunker.Cut(path, b.Bytes(), opt)
		checkPartition(t, path, b.Bytes(), r)
		checkWords(t, path, r)
	}
}

// The original looped for ever at a definition of 201 lines and gave the tail of
// a file of 40 lines twice.
func TestCutOfEveryLength(t *testing.T) {
	c := chunker.NewCutter(chunker.Options{})
	defer c.Close()
	for _, path := range paths {
		for _, n := range []int{0, 1, 5, 40, 49, 50, 51, 62, 63, 199, 200, 201, 202, 401} {
			for _, end := range []string{"", "\n"} {
				src := []byte(strings.TrimSuffix(strings.Repeat("x = f(1)\n", n), "\n"))
				if n > 0 {
					src = append(src, end...)
				}
				checkPartition(t, fmt.Sprint(path, " ", n), src, c.Cut(path, src))
			}
		}
	}
}

func TestCutSplitsLongDefinitions(t *testing.T) {
	line := "\tif err := step(1, 2); err != nil {\n\t\treturn err\n\t}\n"
	for _, tc := range []struct{ path, head, line, tail, name string }{
		{"a.go", "package a\n\nfunc Long() error {\n", line, "\treturn nil\n}\n", "Long"},
		{"a.js", "function long() {\n", "  if (step(1)) {\n    return 2;\n  }\n", "}\n", "long"},
		{"a.py", "def long():\n", "    if step(1):\n        return (\n            2)\n", "    return 1\n", "long"},
		{"a.rs", "fn long() {\n", "    if step(1) {\n        return;\n    }\n", "}\n", "long"},
		{"a.c", "int lng(void)\n{\n", "\tif (step(1)) {\n\t\treturn 2;\n\t}\n", "}\n", "lng"},
		{"A.java", "class A {\n  void lng() {\n", "    if (step(1)) {\n      return;\n    }\n", "  }\n}\n", "A.lng"},
		{"a.sh", "long() {\n", "  if step 1; then\n    return 2\n  fi\n", "}\n", "long"},
		{"a.rb", "class A\n  def long\n", "    if step(1)\n      return 2\n    end\n", "  end\nend\n", "A.long"},
		{"a.php", "<?php\nclass A {\n  function long() {\n", "    if (step(1)) {\n      return 2;\n    }\n", "  }\n}\n", "A::long"},
		{"A.cs", "class A {\n  int Long() {\n", "    if (Step(1)) {\n      return 2;\n    }\n", "  }\n}\n", "A.Long"},
		{"A.scala", "object A {\n  def long(): Int = {\n", "    if (step(1)) {\n      return 2\n    }\n", "    1\n  }\n}\n", "A.long"},
		{"b.scala", "object A:\n  def long(): Int =\n", "    if step(1) then\n      send(2)\n    else wait(1)\n", "    1\n", "A.long"},
		{"a.lua", "function A:long()\n", "  if step(1) then\n    send(2)\n  end\n", "end\n", "A:long"},
		{"a.zig", "const A = struct {\n  fn long() u8 {\n", "    if (step(1)) {\n      return 2;\n    }\n", "    return 1;\n  }\n};\n", "A.long"},
		{"A.kt", "class A {\n  fun long(): Int {\n", "    if (step(1)) {\n      return 2\n    }\n", "    return 1\n  }\n}\n", "A.long"},
	} {
		for _, n := range []int{64, 65, 66, 67, 68, 300} { // 3 lines each: around 200
			src := []byte(tc.head + strings.Repeat(tc.line, n) + tc.tail)
			for _, slow := range []bool{false, true} {
				r := chunker.Cut(tc.path, src, chunker.Options{SlowGo: slow})
				checkPartition(t, tc.path, src, r)
				if r.Strategy != "syntax" {
					continue // built without parsers
				}
				parts := 0
				for _, c := range r.Chunks {
					if c.NodeName != tc.name {
						continue
					}
					if c.EndLine-c.StartLine+1 > 201 {
						t.Errorf("%s with %d statements: part of lines %d-%d", tc.path, n, c.StartLine, c.EndLine)
					}
					first := strings.Split(tc.line, "\n")[0] + "\n"
					if parts++; parts > 1 && !bytes.HasPrefix(src[c.StartByte:], []byte(first)) && c.EndByte < len(src)-40 {
						t.Errorf("%s: a part begins with %.40q, want a statement", tc.path, src[c.StartByte:])
					}
				}
				if want := n*3/200 + 1; parts < want-1 || parts > want+2 {
					t.Errorf("%s with %d statements: %d parts, want about %d", tc.path, n, parts, want)
				}
			}
		}
	}
}

func TestCutKeepsTokensWhole(t *testing.T) {
	long := strings.Repeat("text in a literal\n", 500)
	for path, src := range map[string]string{
		"a.go": "package a\n\nvar s = `" + long + "`\n\nfunc F() {\n\tg(`" + long + "`)\n}\n",
		"a.py": "S = \"\"\"" + long + "\"\"\"\n\ndef f():\n    g('''" + long + "''')\n",
		"a.js": "const s = `" + long + "`;\n\nfunction f() {\n  g(`" + long + "`);\n}\n",
		"a.c":  "/* " + long + " */\nint f(void)\n{\n\treturn 1;\n}\n",

		"a.sh":    "f() {\n  cat <<TEXT\n$1\n" + long + "$2\n" + long + "TEXT\n}\n",
		"a.rb":    "def f\n  g(<<~TEXT)\n#{x}\n" + long + "#{y}\n" + long + "  TEXT\nend\n",
		"a.php":   "<?php\nfunction f() {\n  g(<<<TEXT\n$a\n" + long + "{$b}\n" + long + "TEXT);\n  g('" + long + "');\n}\n",
		"a.cs":    "class A {\n  string S = @\"" + long + "\";\n  string T = $@\"{1}\n" + long + "\";\n}\n",
		"a.scala": "object A {\n  val s = s\"\"\"${x}\n" + long + "\"\"\"\n}\n",
		"a.lua":   "local s = [[" + long + "]]\nfunction f()\n  g([[" + long + "]])\nend\n",
		"a.kt":    "val s = \"\"\"${x}\n" + long + "\"\"\"\nfun f() {\n  g(\"\"\"" + long + "\"\"\")\n}\n",
	} {
		for _, slow := range []bool{false, true} {
			r := chunker.Cut(path, []byte(src), chunker.Options{SlowGo: slow})
			checkPartition(t, path, []byte(src), r)
			for _, c := range r.Chunks {
				if r.Strategy == "syntax" && strings.HasPrefix(src[c.StartByte:], "text in a literal") {
					t.Errorf("%s: line %d begins a chunk within a literal", path, c.StartLine)
				}
			}
		}
	}
}

func TestCutBounds(t *testing.T) {
	if ranPlain(t) {
		return
	}
	rng := rand.New(rand.NewPCG(3, 4))
	random := make([]byte, 64<<10)
	for i := range random {
		random[i] = byte(1 + rng.IntN(255))
	}
	parens := strings.Repeat(strings.Repeat("(", 100)+"\n", 2000) // 200,000
	long := time.Duration(fulltest.Pick(100, 1000)) * time.Millisecond
	for _, tc := range []struct {
		name     string
		src      []byte
		paths    []string
		deadline time.Duration
	}{
		{"200,000 nested parens", []byte(parens + strings.ReplaceAll(parens, "(", ")")), []string{"a.go", "a.py", "a.js", "a.txt", "a.md"}, long},
		{"200,000 nested parens on one line", []byte(strings.ReplaceAll(parens, "\n", "")), paths, long},
		{"20,000 nested parens on lines", []byte(strings.Repeat("(\n", 20_000) + strings.Repeat(")\n", 20_000)), paths, 20 * time.Millisecond},
		{"30,000 nested braces", []byte("package a\nfunc f() " + strings.Repeat("{\n", 30_000)), []string{"a.go", "a.js", "a.c", "a.java", "a.rs"}, 10 * time.Second},
		{"open tags", bytes.Repeat([]byte("<a \"\n"), 10_000), paths, 20 * time.Millisecond},
		{"open scripts", bytes.Repeat([]byte("<script>\n"), 10_000), paths, 20 * time.Millisecond},
		{"open comments", bytes.Repeat([]byte("/* <!-- \"\"\" ` \n"), 4_000), paths, 20 * time.Millisecond},
		{"headings", bytes.Repeat([]byte("# a\n"), 12_000), paths, 20 * time.Millisecond},
		{"empty lines", bytes.Repeat([]byte("\n"), 60_000), paths, 20 * time.Millisecond},
		{"random bytes", random, paths, 20 * time.Millisecond},
		{"random lines", bytes.ReplaceAll(random, []byte("a"), []byte("\n")), paths, 20 * time.Millisecond},
		{"one line of 50 MB", bytes.Repeat([]byte("x=1;"), 50<<18), []string{"a.go", "a.js", "a.md", "a.conf"}, time.Second},
		{"one byte", []byte("x"), paths, time.Second},
	} {
		for _, path := range tc.paths {
			began := time.Now()
			r := chunker.Cut(path, tc.src, chunker.Options{Deadline: tc.deadline})
			checkBounds(t, tc.name+" in "+path, tc.src, r)
			if len(r.Chunks) > 10_000 {
				t.Errorf("%s in %s: %d chunks", tc.name, path, len(r.Chunks))
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%s in %s took %v", tc.name, path, took)
			}
		}
	}
}

// checkBounds is checkPartition without the costly counting of lines.
func checkBounds(t *testing.T, name string, src []byte, r chunker.Result) {
	t.Helper()
	at, line := 0, 1
	for _, c := range r.Chunks {
		if c.StartByte != at || c.EndByte <= at || c.StartLine < line-1 || c.EndLine < c.StartLine {
			t.Fatalf("%s: chunk [%d, %d), lines %d-%d after byte %d", name, c.StartByte, c.EndByte, c.StartLine, c.EndLine, at)
		}
		if c.EndByte-c.StartByte > max(100<<10, len(src)/2) && !strings.Contains(name, "comment") { // one comment is one token
			t.Fatalf("%s: chunk of %d bytes by %s", name, c.EndByte-c.StartByte, r.Strategy)
		}
		at, line = c.EndByte, c.EndLine
	}
	if want := min(len(src), 1<<20); at > want || at < want-4<<10 || r.Truncated != (len(src) > 1<<20) {
		t.Fatalf("%s: chunks end at %d, truncated %v, want about %d", name, at, r.Truncated, want)
	}
}

func TestLanguage(t *testing.T) {
	for _, tc := range []struct{ path, head, want string }{
		{"x/y.go", "", "go"},
		{`x\Y.PY`, "", "python"},
		{"a.h", "int f(void);", "c"},
		{"a.h", "#pragma once\nnamespace a {}", "cpp"},
		{"a.h", "#ifdef __cplusplus\nextern \"C\" {\n#endif\nstruct a;\n", "c"},
		{"Makefile", "", "make"},
		{"README", "", "text"},
		{"README.md", "", "markdown"},
		{"run", "#!/usr/bin/env python3\n", "python"},
		{"run", "#!/bin/bash -e\n", "shell"},
		{"run", "#!/usr/bin/env -S node --no-warnings", "javascript"},
		{"run", "hello", ""},
		{"a.unknown", "", ""},
		{"", "", ""},
	} {
		if got := chunker.Language(tc.path, []byte(tc.head)); got != tc.want {
			t.Errorf("Language(%q, %q) = %q, want %q", tc.path, tc.head, got, tc.want)
		}
	}
}

func TestAssign(t *testing.T) {
	src := []byte("# A\nx\n# A\nx\n# A\ny\n")
	chunks := chunker.Cut("a.md", src, chunker.Options{}).Chunks
	got := chunker.Assign("0123456789abcdef", chunks)
	seen := map[string]bool{}
	for _, c := range got {
		if c.MemoryID != "0123456789abcdef" || len(c.ID) != 16 || seen[c.ID] {
			t.Errorf("Assign: chunk %+v", c)
		}
		seen[c.ID] = true
	}
	// A section put before them leaves their ids as they are.
	more := append([]byte("# B\nz\n"), src...)
	again := chunker.Assign("0123456789abcdef", chunker.Cut("a.md", more, chunker.Options{}).Chunks)
	for i, c := range got {
		if again[i+1].ID != c.ID {
			t.Errorf("Assign: id of chunk %d changed by a section before it", i)
		}
	}
	if chunks[0].ID != "" {
		t.Error("Assign wrote into its argument")
	}
}

func TestResultEncodes(t *testing.T) {
	for _, path := range []string{"testdata/go/sample.go", "testdata/python/sample.py", "testdata/markdown/sample.md"} {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := chunker.Cut(path, src, chunker.Options{})
		b := want.Encode()
		got, err := chunker.DecodeResult(b)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("DecodeResult(Encode): %v, -want +got\n%s", err, diff)
		}
		for i := range b {
			if _, err := chunker.DecodeResult(b[:i]); err == nil {
				t.Errorf("DecodeResult of the first %d of %d bytes = nil error", i, len(b))
			}
		}
	}
}

func TestWithOverlap(t *testing.T) {
	src := []byte(strings.Repeat("a line\n", 120))
	chunks := chunker.Cut("a.conf", src, chunker.Options{}).Chunks
	if len(chunks) < 2 {
		t.Fatalf("%d chunks, want several", len(chunks))
	}
	for i, c := range chunks {
		want := len("a line\n") * 10
		if i == 0 {
			want = 0
		}
		if got := len(chunker.WithOverlap(src, chunks, i, 10)) - (c.EndByte - c.StartByte); got != want {
			t.Errorf("WithOverlap of chunk %d adds %d bytes, want %d", i, got, want)
		}
	}
}

// FuzzCut cuts anything as any language, first each sample as its own.
func FuzzCut(f *testing.F) {
	samples, err := filepath.Glob("testdata/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range samples {
		b, err := os.ReadFile(s)
		if err != nil || strings.HasSuffix(s, ".golden") {
			continue
		}
		lang := chunker.Language(s, b)
		for i, p := range paths {
			if chunker.Language(p, b) == lang {
				f.Add(uint8(i), b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		path := paths[int(which)%len(paths)]
		opt := chunker.Options{MaxLines: 8, LineSize: 4, MinLines: 3, Deadline: 200 * time.Millisecond, SlowGo: which >= 128}
		r := chunker.Cut(path, src, opt)
		checkPartition(t, path, src, r)
		checkWords(t, path, r)
		got, err := chunker.DecodeResult(r.Encode())
		if diff := cmp.Diff(r, got); err != nil || diff != "" {
			t.Errorf("DecodeResult(Encode): %v, -want +got\n%s", err, diff)
		}
	})
}

// checkWords reports names, docs and imports that are not fit to be shown.
func checkWords(t *testing.T, path string, r chunker.Result) {
	t.Helper()
	check := func(what, s string, limit int) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, '\n') || strings.TrimSpace(s) != s || len(s) > limit {
			t.Errorf("%s: %s %q", path, what, s)
		}
	}
	for _, c := range r.Chunks {
		check("name", c.NodeName, 512)
		check("parent", c.Parent, 512)
		check("doc", c.Doc, 256)
	}
	for _, s := range r.Imports {
		check("import", s, 512)
	}
	check("package", r.Package, 512)
	check("file doc", r.Doc, 256)
}

func FuzzDecodeResult(f *testing.F) {
	f.Add(chunker.Cut("a.md", []byte("# A\nx\n"), chunker.Options{}).Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := chunker.DecodeResult(b); err == nil {
			if again, err := chunker.DecodeResult(r.Encode()); err != nil || !cmp.Equal(r, again) {
				t.Errorf("DecodeResult(Encode): %v", err)
			}
		}
	})
}
