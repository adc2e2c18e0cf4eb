package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/vecindex/embedtest"
)

// TestMain makes the test binary act as foldwatch where a script, or foldwatch
// itself, runs it under that name: scripts run the whole program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"foldwatch": main})
}

// goRace is for programs under the race detector: each would sleep a second
// before it ends, so that goroutines still running can report.
const goRace = "GORACE=atexit_sleep_ms=20"

// TestScript runs testdata/script/*.txt. A script whose first line says
// "needs: daemon" starts a daemon of its own, under FOLDWATCH_HOME in its work
// folder, which is stopped when the script ends.
func TestScript(t *testing.T) {
	t.Parallel()
	files := runnable(t, filepath.Join("testdata", "script", "*.txt"))
	testscript.Run(t, testscript.Params{
		Files:     files,
		Setup:     setupScript,
		Cmds:      scriptCommands(),
		Condition: scriptCondition,
	})
}

// runnable returns the scripts that match glob. Where the program was built
// without its daemon, those that need it are reported as skipped, one by one.
func runnable(t *testing.T, glob string) []string {
	t.Helper()
	all, err := filepath.Glob(glob)
	if err != nil || len(all) == 0 {
		t.Fatalf("no scripts match %s: %v", glob, err)
	}
	wiring, err := os.ReadFile("serve.go")
	if err != nil {
		t.Fatal(err)
	}
	wired := !bytes.Contains(wiring, []byte("this build has no daemon"))
	var files []string
	for _, f := range all {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if first, _, _ := bytes.Cut(b, []byte("\n")); !wired && bytes.Contains(first, []byte("needs: daemon")) {
			t.Run(filepath.Base(f), func(t *testing.T) { t.Skip("SKIP: this build has no daemon") })
			continue
		}
		files = append(files, f)
	}
	return files
}

// setupScript gives a script a machine of its own: home, configuration, git
// identity, and no way to the user's.
func setupScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	gitConfig := "[user]\n\tname = Ada Dev\n\temail = ada@example.invalid\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitConfig), 0o600); err != nil {
		return err
	}
	env.Vars = append(
		env.Vars,
		"HOME="+home, "USERPROFILE="+home,
		"FOLDWATCH_HOME="+filepath.Join(home, "fw"),
		"GIT_CONFIG_GLOBAL="+filepath.Join(home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"NO_COLOR=1", "TZ=UTC", "LC_ALL=C.UTF-8", goRace,
	)
	env.Values[providersKey{}] = &map[string]*embedtest.Provider{}
	for _, machine := range []string{"fw", "fw2"} { // fw2 is for scripts that have two
		env.Defer(func() { stopDaemon(env.T().Log, filepath.Join(home, machine)) })
	}
	return nil
}

// stopDaemon ends the daemon whose files are below home, and waits for it.
func stopDaemon(log func(...any), home string) {
	c := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	c.Getenv = func(name string) string {
		if name == "FOLDWATCH_HOME" {
			return home
		}
		return ""
	}
	c.config.Environ = nil
	cl, err := c.daemon.Dialed(context.Background())
	if err != nil || cl == nil {
		return // none was started
	}
	st, err := cl.Status(context.Background())
	if err != nil || st.PID == 0 || st.PID == os.Getpid() {
		return
	}
	p, err := os.FindProcess(st.PID)
	if err != nil {
		return
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return
	}
	// Five seconds are its promise; the socket is the first thing to go.
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if p.Signal(syscall.Signal(0)) != nil {
			return
		}
		if time.Now().After(deadline) {
			log("the daemon did not stop within 10 s of SIGTERM")
			_ = p.Kill()
			return
		}
	}
}

func scriptCondition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Getuid() == 0, nil
	case "ptrace":
		return exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "true").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

func scriptCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"git":      scriptGit,
		"capture":  scriptCapture,
		"until":    scriptUntil,
		"exitcode": scriptExitCode,
		"plantkey": scriptPlantKey,
		"repeat":   scriptRepeat,
		"snapshot": scriptSnapshot,
		"jsonpath": scriptJSONPath,

		"providers": scriptProviders,
		"broken":    scriptBroken,
		"http":      scriptHTTP,
	}
}

// git ARGS... runs git.
func scriptGit(ts *testscript.TestScript, neg bool, args []string) {
	if err := ts.Exec("git", args...); (err != nil) != neg {
		ts.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
}

// capture NAME REGEXP sets NAME to the first group that REGEXP finds in stdout.
func scriptCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	m := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("stdout has no %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// until REGEXP COMMAND... runs COMMAND again and again, for at most a minute, until
// its stdout matches. It is for what happens by itself: a save that becomes
// searchable, a commit of the daemon.
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND...")
	}
	re := regexp.MustCompile("(?m)" + args[0])
	deadline := time.Now().Add(time.Minute) // other tests may need the machine
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...)
		if re.MatchString(ts.ReadFile("stdout")) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("after a minute, stdout of %s: matches %s = %v (last error: %v)", strings.Join(args[1:], " "), args[0], neg, err)
		}
		<-tick.C
	}
}

// exitcode N COMMAND... checks the exit code, which `! exec` does not tell.
func scriptExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// plantkey FILE writes a text with a private key in it. The key is made here
// and now, so that none lies in the repository.
func scriptPlantKey(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: plantkey FILE")
	}
	raw := make([]byte, 600)
	_, _ = rand.Read(raw) // never fails
	body := base64.StdEncoding.EncodeToString(raw)
	var pem strings.Builder
	pem.WriteString("How the deploy key looks:\n\n-----BEGIN RSA " + "PRIVATE KEY-----\n")
	for len(body) > 64 {
		pem.WriteString(body[:64] + "\n")
		body = body[64:]
	}
	pem.WriteString(body + "\n-----END RSA " + "PRIVATE KEY-----\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(pem.String()), 0o600))
}

// repeat FILE N TEXT writes TEXT, with the escapes of a Go string, N times.
func scriptRepeat(ts *testscript.TestScript, _ bool, args []string) {
	var n int
	if len(args) != 3 {
		ts.Fatalf("usage: repeat FILE N TEXT")
	}
	if _, err := fmt.Sscan(args[1], &n); err != nil {
		ts.Fatalf("repeat: %v", err)
	}
	text, err := strconv.Unquote(`"` + args[2] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte(text), n), 0o600))
}

// snapshot FILE DIR writes path and content hash of every file below DIR to
// FILE, so that `cmp` can tell whether anything changed. fold/ and foldwatch's
// own folder in .git are left out: they are ours to change.
func scriptSnapshot(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: snapshot FILE DIR")
	}
	var out strings.Builder
	root := ts.MkAbs(args[1])
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (rel == "fold" || rel == ".git/foldwatch") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s %x\n", rel, sha256.Sum256(b))
		}
		return nil
	})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o600))
}

// jsonpath PATH VALUE checks one value of the JSON on stdout: keys and indices
// joined by dots. With !, the value must differ or not be there.
func scriptJSONPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: jsonpath PATH VALUE")
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	for key := range strings.SplitSeq(args[0], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(at) {
				v = nil
				continue
			}
			v = at[i]
		default:
			v = nil
		}
	}
	if got := fmt.Sprint(v); (got == args[1]) == neg {
		ts.Fatalf("%s = %s, want %s (negated: %v)", args[0], got, args[1], neg)
	}
}

// scriptHTTP: http STATUS METHOD URL [HEADER: VALUE]... sends a request, over the
// socket where the URL begins with its path, and compares the status. What was
// answered is in the file reply. What looks like the header Body is what is sent.
func scriptHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http STATUS METHOD URL [HEADER: VALUE]...")
	}
	url, transport := args[2], &http.Transport{DisableKeepAlives: true}
	if socket, path, ok := strings.Cut(url, ".sock/"); ok {
		url = "http://foldwatch/" + path
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return sock.Dial(ctx, socket+".sock") }
	}
	r, err := http.NewRequest(args[1], url, http.NoBody)
	ts.Check(err)
	for _, h := range args[3:] {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Body" {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(value)), int64(len(value))
			continue
		}
		r.Header.Add(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	res, err := transport.RoundTrip(r.WithContext(ctx))
	ts.Check(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("reply"), b, 0o600))
	if got := strconv.Itoa(res.StatusCode); got != args[0] {
		ts.Fatalf("%s %s = %s, want %s: %s", args[1], args[2], got, args[0], b)
	}
}
