package selection

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// gitIgnored returns which of the files below dir git ignores by the .gitignore
// files there.
func gitIgnored(t *testing.T, dir string, files []string) map[string]bool {
	t.Helper()
	cmd := exec.Command("git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(files, "\x00"))
	out, err := cmd.Output()
	if ee, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || ee.ExitCode() != 1) {
		t.Fatalf("git check-ignore: %v", err)
	}
	ignored := map[string]bool{}
	for f := range strings.SplitSeq(string(out), "\x00") {
		ignored[f] = true
	}
	return ignored
}

// ignoresOf reads ignore files by the folder they stand in, "" for the root.
func ignoresOf(texts map[string]string) Rules {
	var folders []string
	for f := range texts {
		folders = append(folders, f)
	}
	sort.Slice(folders, func(i, j int) bool {
		return strings.Count(folders[i], "/") < strings.Count(folders[j], "/") || len(folders[i]) == 0 && len(folders[j]) > 0
	})
	g := &ignores{}
	for _, f := range folders {
		base := f
		if base != "" {
			base += "/"
		}
		g.files = append(g.files, patternFile{base, parseIgnore([]byte(texts[f]))})
	}
	return Rules{ignores: g}
}

// sameAsGit compares our reading of ignore files with git's of the same texts.
func sameAsGit(t *testing.T, dir string, files []string, texts map[string]string) {
	t.Helper()
	for folder, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, folder, ".gitignore"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(filepath.Join(dir, folder, ".gitignore"))
	}
	want, rules := gitIgnored(t, dir, files), ignoresOf(texts)
	for _, f := range files {
		if got := rules.ignored(f) != ""; got != want[f] {
			t.Errorf("%q with %q: ignored = %v, git says %v", f, texts, got, want[f])
		}
	}
}

func ignoreRepo(t *testing.T, files []string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestIgnoreFilesAreReadAsGitDoes(t *testing.T) {
	files := []string{
		"a.go", "b.go", "notes.md", "#hash", "!bang", "sp ace", "trail ", "br{a,b}", "a", "x[1].txt", "x1.txt", "back\\slash",
		"docs/a.md", "docs/b.txt", "docs/deep/a.md", "docs/deep/er/c.md", "src/gen/x.go", "src/gen/keep.go", "src/x.go",
		"out/o.bin", "out/in/o.bin", "foo", "dir/foo", "dir/foo2/x", "UP.TXT", "a1b", "aab", "abc/x/y/z/end", "abc/end", "q?",
	}
	dir := ignoreRepo(t, files)
	for _, text := range []string{
		"*.md\n", "/*.md\n", "docs/\n", "docs\n", "/docs\n", "docs/*.md\n", "docs/**\n", "**/a.md\n", "docs/**/a.md\n", "abc/**/end\n",
		"*\n!*.go\n", "*\n!*/\n!*.md\n", "out\n!out/in\n", "out/*\n!out/in\n", "src/gen/*\n!src/gen/keep.go\n", "src/gen/\n!src/gen/keep.go\n",
		"\\#hash\n", "#hash\n", "\\!bang\n", "!bang\n", "sp ace\n", "trail \n", "trail\\ \n", "trail\\  \n", "br{a,b}\n", "x[1].txt\n", "x\\[1].txt\n",
		"[a-c].go\n", "[!a].go\n", "[^a].go\n", "[]a].go\n", "a[[:digit:]]b\n", "a[[:alpha:]]b\n", "[a\n", "foo/\n", "foo\n", "dir/foo\n", "/foo\n", "**\n", "/**\n",
		"**/foo\n", "foo/**\n", "dir/**\n!dir/foo\n", "d*r/f**o\n", "up.txt\n", "*.TXT\n", "a\r\n", "\ufeffa\n", "?\n", "q\\?\n", "back\\\\slash\n", "a\\\n", "/\n", "//\n", "!\n", " \n", "*/\n", "*/*/a.md\n",
		"docs/deep\n!docs/deep/a.md\n", "docs/**/*.md\n!docs/deep/er/**\n", "a?b\n", "x[!0-9]*\n", "**/deep/**\n", "a/**/b\nabc/*/*/z\n",
	} {
		sameAsGit(t, dir, files, map[string]string{"": text})
	}
	sameAsGit(t, dir, files, map[string]string{"": "*.md\nout\n", "docs": "!a.md\n/b.txt\n", "docs/deep": "er/\n*.md\n", "out": "!in/\n"})
	sameAsGit(t, dir, files, map[string]string{"docs": "docs/a.md\n/deep/er/c.md\na.md\n", "src": "gen/x.go\n"})
}

// TestRandomIgnoreFiles compares many lines made of what patterns are made of.
func TestRandomIgnoreFiles(t *testing.T) {
	parts := []string{"a", "b", "ab", "*", "?", "**", "a*", "*b", "[ab]", "[!a]", "a.b", "*.b", `\*`}
	r := rand.New(rand.NewPCG(1, 2))
	var files []string
	for _, a := range []string{"a", "b", "ab", "c"} {
		for _, b := range []string{"a", "b", "a.b", "d"} {
			for _, c := range []string{"a", "b", "ab", "x.b"} {
				files = append(files, path.Join("r"+a, b+"d", c), path.Join(a, b, c, "f"), path.Join(a+"2", c))
			}
		}
	}
	dir := ignoreRepo(t, files)
	lines := func() string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			if r.IntN(3) == 0 {
				b.WriteByte('!')
			}
			if r.IntN(4) == 0 {
				b.WriteByte('/')
			}
			for i := range 1 + r.IntN(3) {
				if i > 0 {
					b.WriteByte('/')
				}
				b.WriteString(parts[r.IntN(len(parts))])
			}
			if r.IntN(4) == 0 {
				b.WriteByte('/')
			}
			b.WriteByte('\n')
		}
		return b.String()
	}
	for range 150 {
		sameAsGit(t, dir, files, map[string]string{"": lines(), "a": lines()})
		if t.Failed() {
			return
		}
	}
}

func TestVendoredAndGeneratedFilesAreLeftOut(t *testing.T) {
	attributes := func(text string) *ignores {
		g := &ignores{}
		v, gen := parseAttributes([]byte(text))
		g.vendored, g.generated = []patternFile{{"", v}}, []patternFile{{"", gen}}
		return g
	}
	own := ignoresOf(map[string]string{"": "!vendor/\n!go.sum\n/vendor/other/\n"})
	for _, tc := range []struct {
		name  string
		rules Rules
		path  string
		want  bool // eligible
	}{
		{"own code", Rules{}, "src/vendors/a.go", true},
		{"vendored", Rules{}, "vendor/x/a.go", false},
		{"vendored, deep", Rules{}, "src/third_party/x/a.c", false},
		{"packages", Rules{}, "web/node_modules/x/index.js", false},
		{"a file of that name", Rules{}, "cmd/vendor", true},
		{"source called dist", Rules{}, "src/cmd/dist/main.go", true},
		{"minified", Rules{}, "web/jquery.min.js", false},
		{"a map", Rules{}, "web/app.js.map", false},
		{"not minified", Rules{}, "web/admin.js", true},
		{"lock", Rules{}, "go.sum", false},
		{"lock, deep", Rules{}, "web/package-lock.json", false},
		{"taken back by an ignore file", own, "vendor/x/a.go", true},
		{"not all of it", own, "vendor/other/a.go", false},
		{"a file taken back", own, "go.sum", true},
		{"included by name", Rules{Include: []string{"**/*", "vendor/ours/**"}}, "vendor/ours/a.go", true},
		{"another vendored one", Rules{Include: []string{"**/*", "vendor/ours/**"}}, "vendor/x/a.go", false},
		{"a lock included", Rules{Include: []string{"**/*", "go.sum"}}, "go.sum", true},
		{"packages are never", Rules{Include: []string{"**/*", "node_modules/**"}}, "node_modules/x/index.js", false},
		{"marked as vendored", Rules{ignores: attributes("lib/** linguist-vendored\n")}, "lib/x/a.js", false},
		{"marked as own", Rules{ignores: attributes("vendor/** -linguist-vendored\n")}, "vendor/x/a.go", true},
		{"marked as generated", Rules{ignores: attributes("*.pb.go linguist-generated=true\n")}, "api/x.pb.go", false},
		{"not marked", Rules{ignores: attributes("*.pb.go text\n*.pb.go linguist-generated=false\n")}, "api/x.pb.go", true},
	} {
		if got := tc.rules.Eligible(tc.path, "fold"); got != tc.want {
			t.Errorf("%s: Eligible(%q) = %v, want %v", tc.name, tc.path, got, tc.want)
		}
	}
	for _, tc := range []struct {
		rules Rules
		dir   string
		want  bool
	}{
		{Rules{}, "vendor", true},
		{Rules{}, "a/vendor/b", true},
		{Rules{}, "src", false},
		{own, "vendor", false},
		{own, "vendor/other/x", true},
		{Rules{Include: []string{"vendor/ours/**"}}, "vendor", false},
		{Rules{ignores: attributes("vendor/** -linguist-vendored\n")}, "vendor/x", false},
	} {
		if got := tc.rules.PrunesDir(tc.dir); got != tc.want {
			t.Errorf("PrunesDir(%q) = %v, want %v", tc.dir, got, tc.want)
		}
	}
}

// TestIgnoreFilesAreBounded: what a foreign file says costs no more than that.
func TestIgnoreFilesAreBounded(t *testing.T) {
	var b bytes.Buffer
	for i := range 100 {
		fmt.Fprintf(&b, "%s%d\n", strings.Repeat("**/a*", 20), i)
		fmt.Fprintf(&b, "%s\n", strings.Repeat("x", 400))
	}
	if got := parseIgnore(b.Bytes()); len(got) != 0 {
		t.Errorf("%d patterns that are too costly were taken", len(got))
	}
}

func BenchmarkEligible(b *testing.B) {
	rules := ignoresOf(map[string]string{"": "*.log\n/out/\ndocs/**/draft.md\n!important.log\n"})
	paths := make([]string, 10_000)
	for i := range paths {
		paths[i] = fmt.Sprintf("pkg/module%d/internal/part%d/file%d.go", i%50, i%200, i)
	}
	for name, r := range map[string]Rules{"no ignore file": {}, "four patterns": rules} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, p := range paths {
					if !r.Eligible(p, "fold") {
						b.Fatal(p)
					}
				}
			}
		})
	}
}
