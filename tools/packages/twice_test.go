package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	modfile "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// tree is the checkout that this module is in.
func tree(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// clone returns a clone of the checkout in another folder, at that commit. What
// is not committed would be missing there.
func clone(t *testing.T, commit string) string {
	t.Helper()
	if out := tool(t, "git", "git", "-C", tree(t), "status", "--porcelain", "--untracked-files=no"); out != "" {
		t.Skipf("SKIP: there are changes that are not committed:\n%s", out)
	}
	dir := filepath.Join(t.TempDir(), "another", "folder")
	tool(t, "git", "git", "clone", "--quiet", tree(t), dir)
	tool(t, "git", "git", "-C", dir, "checkout", "--quiet", "--detach", commit)
	return dir
}

// facts are what the release was made of, by the words of the formula.
func facts(t *testing.T) (version, commit, epoch string) {
	t.Helper()
	text, err := os.ReadFile(made(t, "homebrew/foldwatch.rb")[0])
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)/download/v([^/]+)/.*main\.setCommit=([0-9a-f]+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("the formula names no version and commit:\n%s", text)
	}
	version, commit = string(found[1]), string(found[2])
	if epoch = os.Getenv("SOURCE_DATE_EPOCH"); epoch == "" {
		epoch = strings.TrimSpace(tool(t, "git", "git", "-C", tree(t), "log", "-1", "--format=%ct", commit))
	}
	return version, commit, epoch
}

// differences are the files of SHA256SUMS that are not the same in both.
func differences(a, b string) []string {
	sums := map[string]string{}
	for line := range strings.Lines(a) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	var differ []string
	for line := range strings.Lines(b) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if sums[name] != sum {
			differ = append(differ, name)
		}
		delete(sums, name)
	}
	for name := range sums {
		differ = append(differ, name)
	}
	return differ
}

// TestTwice makes everything again, from a clone in another folder: all bytes
// are equal. The compiler's cache is the same, unless GOCACHE says otherwise.
func TestTwice(t *testing.T) {
	version, commit, epoch := facts(t)
	out := filepath.Join(t.TempDir(), "dist")
	if err := run(t.Context(), []string{
		"-tree", clone(t, commit), "-out", out, "-version", version, "-commit", commit, "-epoch", epoch, "-only", os.Getenv("ONLY"),
	}); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(made(t, "SHA256SUMS")[0])
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if d := differences(string(first), string(second)); len(d) > 0 {
		t.Errorf("made twice these differ: %s", strings.Join(d, ", "))
	}
	t.Logf("%d files are equal", bytes.Count(second, []byte("\n")))
}

func TestDifferences(t *testing.T) {
	if d := differences("1  a\n2  b\n3  c\n", "1  a\n9  b\n4  d\n"); len(d) != 3 {
		t.Errorf("differences = %v, want b, c and d", d)
	}
	if d := differences("1  a\n", "1  a\n"); len(d) != 0 {
		t.Errorf("differences of the same = %v", d)
	}
}

// TestGoInstall installs the module as `go install` has it from a proxy, from
// what git has alone, and without Node: a node or npm that is started tells on
// itself.
func TestGoInstall(t *testing.T) {
	version, commit, _ := facts(t)
	version = "v" + strings.TrimSuffix(version, ".dirty")
	const path = "github.com/foldwatch/foldwatch"
	proxy := filepath.Join(t.TempDir(), "proxy")
	at := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(tree(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.CreateFromVCS(&archive, modfile.Version{Path: path, Version: version}, clone(t, commit), "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		version + ".mod": gomod, version + ".zip": archive.Bytes(), "list": []byte(version + "\n"),
		version + ".info": fmt.Appendf(nil, `{"Version":%q}`, version),
	} {
		if err := os.WriteFile(filepath.Join(at, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	traps, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"node", "npm", "npx", "yarn"} {
		script := "#!/bin/sh\necho " + name + " >>" + filepath.Join(traps, "started") + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(traps, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cache := strings.TrimSpace(tool(t, "golang", "go", "env", "GOMODCACHE"))
	t.Cleanup(func() { // it is not ours to leave there
		for _, dir := range []string{filepath.Join(cache, path+"@"+version), filepath.Join(cache, "cache/download", path)} {
			_ = filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
				if err == nil && info.IsDir() {
					err = os.Chmod(p, 0o755)
				}
				return err
			})
			_ = os.RemoveAll(dir)
		}
	})
	cmd := exec.CommandContext(t.Context(), "go", "install", "-trimpath", path+"/cmd/foldwatch@"+version)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "PATH="+traps+":"+os.Getenv("PATH"), "GOFLAGS=", "GOSUMDB=off", "GOWORK=off",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache/download")+","+strings.TrimSpace(tool(t, "golang", "go", "env", "GOPROXY")))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	if started, err := os.ReadFile(filepath.Join(traps, "started")); err == nil {
		t.Errorf("it started %s", started)
	}
	out := tool(t, "", filepath.Join(bin, "foldwatch"), "version")
	if !strings.Contains(out, "parsers: tree-sitter") || !strings.Contains(out, strings.TrimPrefix(version, "v")) {
		t.Errorf("foldwatch version: %s, want %s", out, version)
	}
}
