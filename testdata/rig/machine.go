//go:build accept

package rig

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// A machine is a home of its own on which the built program runs.
type machine struct {
	t    *testing.T
	bin  string
	home string
	wrap []string // the program and arguments that the daemon is started through; nil for none
}

// newMachine returns a machine without a daemon. The program is FOLDWATCH_BIN:
// what is measured must be the release build, not a test binary.
func newMachine(t *testing.T) *machine {
	t.Helper()
	bin := os.Getenv("FOLDWATCH_BIN")
	if bin == "" {
		t.Fatal("FOLDWATCH_BIN is not set; run it by make")
	}
	m := &machine{t: t, bin: bin, home: t.TempDir()}
	config := "[user]\n\tname = Rig\n\temail = rig@example.invalid\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n[gc]\n\tauto = 0\n"
	m.write(filepath.Join(m.home, ".gitconfig"), config)
	t.Cleanup(m.stop)
	return m
}

func (m *machine) env() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "FOLDWATCH_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "GIT_")
	})
	return append(env, "HOME="+m.home, "FOLDWATCH_HOME="+filepath.Join(m.home, "fw"),
		"GIT_CONFIG_GLOBAL="+filepath.Join(m.home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1")
}

// command returns the program with args, in dir.
func (m *machine) command(dir string, args ...string) *exec.Cmd {
	c := exec.CommandContext(m.t.Context(), m.bin, args...)
	c.Dir, c.Env = dir, m.env()
	return c
}

// run runs the program, which must succeed.
func (m *machine) run(dir string, args ...string) {
	m.t.Helper()
	c := m.command(dir, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		m.t.Fatalf("foldwatch %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
}

// git runs git in dir, which must succeed.
func (m *machine) git(dir string, args ...string) string {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), "git", args...)
	c.Dir, c.Env = dir, m.env()
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// socket returns where the daemon listens.
func (m *machine) socket() string {
	b, err := os.ReadFile(filepath.Join(m.home, "fw", "state", "socket"))
	if err != nil {
		return filepath.Join(m.home, "fw", "foldwatch.sock")
	}
	return strings.TrimSpace(string(b))
}

// serve starts the daemon and returns a client of it and its process.
func (m *machine) serve() (*client.Client, *exec.Cmd) {
	m.t.Helper()
	c := m.command(m.home, "serve")
	if len(m.wrap) > 0 {
		args := append(append(slices.Clone(m.wrap[1:]), m.bin), "serve")
		c = exec.CommandContext(m.t.Context(), m.wrap[0], args...)
		c.Dir, c.Env = m.home, m.env()
	}
	log, err := os.OpenFile(filepath.Join(m.home, "serve.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		m.t.Fatal(err)
	}
	_ = log.Close()
	cl := m.answering(20 * time.Second)
	return cl, c
}

// answering waits for a daemon that answers.
func (m *machine) answering(limit time.Duration) *client.Client {
	m.t.Helper()
	var last error
	if !eventually(limit, 5*time.Millisecond, func() bool {
		cl := client.New(m.socket())
		last = cl.Ping(context.Background())
		return last == nil
	}) {
		log, _ := os.ReadFile(filepath.Join(m.home, "serve.log"))
		m.t.Fatalf("no daemon answers: %v\n%s", last, log)
	}
	return client.New(m.socket())
}

// stop ends the daemon, if one runs, and checks that it goes in five seconds.
func (m *machine) stop() {
	cl := client.New(m.socket())
	st, err := cl.Status(context.Background())
	if err != nil || st.PID == 0 {
		return
	}
	p, err := os.FindProcess(st.PID)
	if err != nil || p.Signal(os.Interrupt) != nil {
		return
	}
	began := time.Now()
	gone := eventually(15*time.Second, 10*time.Millisecond, func() bool {
		return !alive(st.PID) && client.New(m.socket()).Ping(context.Background()) != nil
	})
	if took := time.Since(began); !gone || took > 5*time.Second {
		m.t.Errorf("the daemon took %s to stop, promised 5 s (gone: %v)", took, gone)
	}
}

// alive reports whether a process runs; one that ended but was not waited for
// does not. Where it is not known the answer is no.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(f) > 0 && f[0] != "Z"
}

// eventually calls fn every so often until it is true, for at most limit.
func eventually(limit, every time.Duration, fn func() bool) bool {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !fn() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}

// quiet waits until the project has nothing left to do.
func (m *machine) quiet(cl *client.Client, slug string) wire.ProjectStatus {
	m.t.Helper()
	var st wire.ProjectStatus
	if !eventually(10*time.Minute, 50*time.Millisecond, func() bool {
		var err error
		if st, err = cl.ProjectStatus(context.Background(), slug); err != nil {
			m.t.Fatal(err)
		}
		return st.State == "ready" && st.Queued == 0
	}) {
		m.t.Fatalf("%s is not at rest: %+v", slug, st)
	}
	return st
}

// usage is what a daemon and its workers take.
type usage struct {
	rss int64   // bytes resident, together
	cpu float64 // seconds
}

// usageOf reads a process and its descendants from /proc. It is zero where
// there is none.
func usageOf(pid int) usage {
	var u usage
	if runtime.GOOS != "linux" {
		return u
	}
	own, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	pids := append([]int{pid}, descendants(pid)...)
	for _, p := range pids {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)); p != pid && (err != nil || bytes.Equal(line, own)) {
			continue // between fork and exec: it still shares our memory
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(f) < 22 {
			continue
		}
		num := func(i int) float64 { v, _ := strconv.ParseFloat(f[i], 64); return v }
		u.cpu += (num(11) + num(12)) / 100 // clock ticks, 100 a second
		if p == pid {
			u.cpu += (num(13) + num(14)) / 100 // children that ended
		}
		u.rss += int64(num(21)) * int64(os.Getpagesize())
	}
	return u
}

func descendants(pid int) []int {
	var all []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// peak samples the memory of a process and its descendants until stop is
// called, which returns the most that was seen.
func peak(pid int) (stop func() int64) {
	done, result := make(chan struct{}), make(chan int64)
	go func() {
		var most int64
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, usageOf(pid).rss)
			select {
			case <-tick.C:
			case <-done:
				result <- most
				return
			}
		}
	}()
	return func() int64 { close(done); return <-result }
}

// A corpus is a repository to index.
type corpus struct {
	dir   string
	files int
	bytes int64
}

// goSource commits the Go toolchain's own source into a scratch repository. It
// is wherever Go is, and is about 11,500 files.
func (m *machine) goSource() corpus { return m.copySource("", 1<<30) }

// someSource commits a part of it, of at most n files.
func (m *machine) someSource(below string, n int) corpus { return m.copySource(below, n) }

func (m *machine) copySource(below string, limit int) corpus {
	m.t.Helper()
	root, err := exec.CommandContext(m.t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		m.t.Fatalf("go env GOROOT: %v", err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src", below)
	c := corpus{dir: filepath.Join(m.t.TempDir(), "gosrc")}
	err = filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || c.files >= limit {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		to := filepath.Join(c.dir, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		c.files++
		return os.WriteFile(to, b, 0o600)
	})
	if err != nil {
		m.t.Fatal(err)
	}
	// All of it is to be measured, as the references do: what others wrote too.
	m.write(filepath.Join(c.dir, ".foldwatchignore"), "!vendor/\n!third_party/\n!go.sum\n!package-lock.json\n!*.min.js\n")
	return m.committed(c.dir, "Go source")
}

// mono commits n generated source files.
func (m *machine) mono(n int) corpus {
	m.t.Helper()
	dir := filepath.Join(m.t.TempDir(), "mono")
	if _, err := generateMono(dir, n); err != nil {
		m.t.Fatal(err)
	}
	return m.committed(dir, "generated")
}

// withMemories commits a part of the Go toolchain's source and puts n generated
// memories into its fold folder.
func (m *machine) withMemories(slug string, n int) corpus {
	m.t.Helper()
	c := m.someSource("net", 300)
	if _, err := generateFold(filepath.Join(c.dir, "fold"), slug, n); err != nil {
		m.t.Fatal(err)
	}
	return c
}

// committed makes a repository of what lies in dir.
func (m *machine) committed(dir, message string) corpus {
	m.t.Helper()
	c := corpus{dir: dir}
	eachFile(m.t, dir, func(p string) {
		info, err := os.Lstat(p)
		if err != nil {
			m.t.Fatal(err)
		}
		c.files++
		c.bytes += info.Size()
	})
	m.git(dir, "init", "-q")
	m.git(dir, "add", "-A")
	m.git(dir, "commit", "-q", "-m", message)
	return c
}

// A spread is a set of measured times.
type spread []time.Duration

// at returns the quantile q in [0, 1] of the times, the nearest above.
func (s spread) at(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func (s spread) String() string {
	return fmt.Sprintf("n=%d p50=%.1fms p99=%.1fms max=%.1fms", len(s), ms(s.at(.5)), ms(s.at(.99)), ms(s.at(1)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func mb(n int64) float64 { return float64(n) / (1 << 20) }

// load returns the load average of the last minute, 0 where it is not known.
func load() float64 {
	var l float64
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(b), &l)
	}
	return l
}

// noisy reports whether the machine is too busy for clocks to mean much: above
// 1.5 times its cores. Counts and ratios still hold.
func noisy() bool { return load() > 1.5*float64(runtime.NumCPU()) }

// queries returns n different queries, always the same: words of the corpus
// and what people ask about it.
func queries(n int) []string {
	what := []string{
		"decode json into struct", "ServeHTTP", "parse url query", "read file line by line", "mutex lock", "http client timeout",
		"base64 encoding", "sort slice", "regular expression match", "tls handshake", "zip archive reader", "garbage collector sweep",
		"goroutine scheduler", "string builder grow", "time zone offset", "random number source", "hash table bucket", "compress gzip writer",
		"template execute", "context cancel", "channel send block", "map iteration order", "interface type assertion", "big integer multiply",
		"elliptic curve point", "dns lookup host", "csv record quote", "image png decode", "escape analysis", "register allocation",
	}
	where := []string{"", " error", " test", " option", " unix", " example", " buffer"}
	var all []string
	for i := range n {
		all = append(all, what[i%len(what)]+where[i/len(what)%len(where)])
	}
	return all
}
