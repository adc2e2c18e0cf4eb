package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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

// The archive of the source has the same bytes however its maker has set up git.
func TestSourceOfAnyMaker(t *testing.T) {
	repo, out := t.TempDir(), t.TempDir()
	git := func(args ...string) {
		t.Helper()
		tool(t, "git", append([]string{"git", "-C", repo, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	}
	git("init", "--quiet")
	if err := os.WriteFile(filepath.Join(repo, "tool"), []byte("#!/bin/sh\necho a\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	git("add", "tool")
	git("commit", "--quiet", "--message", "Begin")
	archive := func() string {
		t.Helper()
		r := release{tree: repo, out: out, version: "1.2.3"}
		if err := r.source(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, "foldwatch-1.2.3.tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	plain := archive()
	git("config", "tar.umask", "0077")
	git("config", "core.autocrlf", "true")
	if archive() != plain {
		t.Error("the archive is another one where git is set up otherwise")
	}
	if list := tool(t, "tar", "tar", "--list", "--verbose", "--gzip", "--file", filepath.Join(out, "foldwatch-1.2.3.tar.gz")); !strings.Contains(list, "-rwxr-xr-x") {
		t.Errorf("modes of the archive:\n%s", list)
	}
	git("-c", "core.autocrlf=false", "commit", "--quiet", "--allow-empty", "--message", "Go on")
	if archive() == plain {
		t.Error("another commit has the same archive: its time is not that of the commit")
	}
}

func TestDifferences(t *testing.T) {
	if d := differences("1  a\n2  b\n3  c\n", "1  a\n9  b\n4  d\n"); len(d) != 3 {
		t.Errorf("differences = %v, want b, c and d", d)
	}
	if d := differences("1  a\n", "1  a\n"); len(d) != 0 {
		t.Errorf("differences of the same = %v", d)
	}
}

// reachable says why the module proxy cannot be asked, or nothing.
func reachable(t *testing.T, proxy string) string {
	t.Helper()
	first, _, _ := strings.Cut(proxy, ",")
	first, _, _ = strings.Cut(first, "|")
	if !strings.HasPrefix(first, "http") {
		return "GOPROXY is " + proxy
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(first, "/")+"/golang.org/x/mod/@v/v0.20.0.info", nil)
	if err != nil {
		return err.Error()
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return first + " answers " + answer.Status
	}
	return ""
}

// TestGoInstall installs the module as `go install` has it from a proxy, from
// what git has alone, into a module cache of its own that is empty before, and
// without Node: a node or npm that is started tells on itself. The compiler's cache
// is the one that is there: what it is asked for are digests of what was downloaded.
func TestGoInstall(t *testing.T) {
	version, commit, _ := facts(t)
	version = "v" + strings.TrimSuffix(version, ".dirty")
	const path = "github.com/foldwatch/foldwatch"
	public := strings.TrimSpace(tool(t, "golang", "go", "env", "GOPROXY"))
	if why := reachable(t, public); why != "" {
		t.Skipf("SKIP: modules cannot be downloaded: %s", why)
	}
	proxy := t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	from := clone(t, commit)
	gomod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.CreateFromVCS(&archive, modfile.Version{Path: path, Version: version}, from, "HEAD", ""); err != nil {
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
	traps, home, bin := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"node", "npm", "npx", "yarn"} {
		script := "#!/bin/sh\necho " + name + " >>" + filepath.Join(traps, "started") + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(traps, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	modules := filepath.Join(home, "modules")
	cmd := exec.CommandContext(t.Context(), "go", "install", "-trimpath", path+"/cmd/foldwatch@"+version)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "PATH="+traps+":"+os.Getenv("PATH"), "HOME="+home, "GOENV=off", "GOPATH="+home, "GOBIN="+bin,
		"GOMODCACHE="+modules, "GOCACHE="+strings.TrimSpace(tool(t, "golang", "go", "env", "GOCACHE")),
		"GOFLAGS=-modcacherw", "GONOSUMDB="+path, "GOWORK=off", "GOPROXY=file://"+proxy+","+public)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	if started, err := os.ReadFile(filepath.Join(traps, "started")); err == nil {
		t.Errorf("it started %s", started)
	}
	program := filepath.Join(bin, "foldwatch")
	out := tool(t, "", program, "version")
	if !strings.Contains(out, "parsers: tree-sitter") || !strings.Contains(out, strings.TrimPrefix(version, "v")) {
		t.Errorf("foldwatch version: %s, want %s", out, version)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range info.Deps {
		escaped, err := modfile.EscapePath(d.Path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(modules, escaped+"@"+d.Version)); err != nil {
			t.Errorf("%s came from elsewhere than the cache that was made for it", d.Path)
		}
	}
}
