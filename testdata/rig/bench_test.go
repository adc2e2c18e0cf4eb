//go:build accept

package rig

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// A row is one goal as it was measured: ours, the reference of the same run,
// and their ratio. Lower is better everywhere.
type row struct {
	goal, what      string
	ours, reference string
	ratio           float64
	base            string
}

// TestBench measures goals 1, 2, 4a, 5, 6 and 9 and prints them as a table,
// whatever they are. Nothing here fails because of a figure.
func TestBench(t *testing.T) {
	m := newMachine(t)
	c := m.goSource()
	var rows []row
	cl, proc := m.serve()
	ctx := t.Context()

	// Goal 1: cold index without memory files, CPU. References that can be had
	// without a network: reading and hashing; zoekt-index where it is installed.
	before := usageOf(proc.Process.Pid).cpu
	stop := peak(proc.Process.Pid)
	began := time.Now()
	m.run(c.dir, "add", ".", "--file-memories", "local")
	m.run(c.dir, "index", "--wait")
	m.quiet(cl, "gosrc")
	wall, cpu, most := time.Since(began), usageOf(proc.Process.Pid).cpu-before, stop()
	began = time.Now()
	hashed := hashAll(t, c.dir)
	hash := time.Since(began)
	rows = append(rows, row{
		"1", fmt.Sprintf("cold index, %d files, %.0f MB", c.files, mb(c.bytes)),
		fmt.Sprintf("%.1f cpu-s, %.1f s", cpu, wall.Seconds()), fmt.Sprintf("read+hash %d: %.2f s", hashed, hash.Seconds()), cpu / hash.Seconds(), "-",
	})
	rows = append(rows, zoekt(t, c, cpu))
	rows = append(rows, row{"1d", "peak memory of the cold index", fmt.Sprintf("%.0f MB", mb(most)), "promise 700 MB", mb(most) / 700, "<= 1"})

	// Goal 2: a second look at everything, against git status.
	var again, status spread
	for range 5 {
		began = time.Now()
		m.run(c.dir, "index", "--wait")
		again = append(again, time.Since(began))
		began = time.Now()
		m.git(c.dir, "status", "--porcelain")
		status = append(status, time.Since(began))
	}
	rows = append(rows, ratio("2", "re-index without changes", again.at(.5), "git status", status.at(.5), "<= 2"))

	// Goal 4a: warm start to the first correct search, against a sweep of stats.
	var warm, sweep spread
	for range 3 {
		m.stop()
		began = time.Now()
		cl, proc = m.serve()
		r, err := cl.Search(ctx, "gosrc", wire.SearchRequest{Query: "ServeHTTP", Limit: 1})
		if err != nil || len(r.Results) == 0 {
			t.Fatalf("first search: %v", err)
		}
		warm = append(warm, time.Since(began))
		m.quiet(cl, "gosrc")
		began = time.Now()
		statAll(t, c.dir)
		sweep = append(sweep, time.Since(began))
	}
	rows = append(rows, ratio("4a", "warm start to first search", warm.at(.5), "lstat sweep", sweep.at(.5), "<= 5"))

	// Goal 5: save to searchable. The debounce of a lone save is 30 ms.
	const debounce = 30 * time.Millisecond
	var saves spread
	files := strings.Fields(m.git(c.dir, "ls-files", "*.go"))
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 50 {
		path := files[rnd.IntN(len(files))]
		token := fmt.Sprintf("bq%dxv%d", i, rnd.IntN(1<<30))
		full := filepath.Join(c.dir, path)
		b, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, append(b, []byte("\n// "+token+"\n")...), 0o600); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if eventually(10*time.Second, 2*time.Millisecond, func() bool {
			r, err := cl.Search(ctx, "gosrc", wire.SearchRequest{Query: token, Limit: 1})
			return err == nil && len(r.Results) > 0
		}) {
			saves = append(saves, time.Since(began))
		}
	}
	rows = append(rows, ratio("5", fmt.Sprintf("save to searchable, p99 (%d of 50)", len(saves)), saves.at(.99), "debounce + 250 ms", debounce+250*time.Millisecond, "<= 1"))
	rows = append(rows, ratio("5", "save to searchable, p50", saves.at(.5), "debounce + 15 ms", debounce+15*time.Millisecond, "moonshot <= 1"))
	m.git(c.dir, "checkout", "-q", "--", ".")
	m.quiet(cl, "gosrc")

	// Goal 6: a search of both channels end to end, against an empty round trip.
	// The exact vector scan alone is benchmarked in vecindex.
	var search, ping spread
	for _, q := range queries(200) {
		began = time.Now()
		if _, err := cl.Search(ctx, "gosrc", wire.SearchRequest{Query: q}); err != nil {
			t.Fatal(err)
		}
		search = append(search, time.Since(began))
		began = time.Now()
		if err := cl.Ping(ctx); err != nil {
			t.Fatal(err)
		}
		ping = append(ping, time.Since(began))
	}
	rows = append(rows, ratio("6c", "search over the socket, p50", search.at(.5), "empty round trip", ping.at(.5), "-"))
	rows = append(rows, ratio("6c", "search over the socket, p99", search.at(.99), "its own p50", search.at(.5), "-"))
	rows = append(rows, vectorScan(t)...)

	// Goal 9: idle for a minute.
	idle := usageOf(proc.Process.Pid)
	<-time.After(time.Minute)
	after := usageOf(proc.Process.Pid)
	rows = append(rows, row{"9", "idle for 60 s, share of a core", fmt.Sprintf("%.3f %%", (after.cpu-idle.cpu)/60*100), "0.5 %", (after.cpu - idle.cpu) / 60 * 100 / 0.5, "<= 1"})
	rows = append(rows, row{"9b", "resident when idle", fmt.Sprintf("%.0f MB", mb(after.rss)), "-", 0, "-"})

	printRows(t, rows)
}

func ratio(goal, what string, ours time.Duration, name string, reference time.Duration, base string) row {
	r := row{goal: goal, what: what, ours: fmt.Sprintf("%.1f ms", ms(ours)), reference: fmt.Sprintf("%s %.1f ms", name, ms(reference)), base: base}
	if reference > 0 {
		r.ratio = float64(ours) / float64(reference)
	}
	return r
}

func printRows(t *testing.T, rows []row) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s/%s, %d cores, load %.1f", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	if noisy() {
		b.WriteString(", NOISY: only counts and CPU ratios hold")
	}
	fmt.Fprintf(&b, "\n%-4s %-40s %-22s %-32s %8s  %s\n", "goal", "what", "foldwatch", "reference", "ratio", "base")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-4s %-40s %-22s %-32s %8.2f  %s\n", r.goal, r.what, r.ours, r.reference, r.ratio, r.base)
	}
	t.Log(b.String())
}

// hashAll reads and hashes every file of the corpus, as the least that an
// indexer must do.
func hashAll(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	for rel, text := range treeOf(t, dir) {
		if !strings.HasPrefix(rel, ".git/") {
			_ = sha256.Sum256([]byte(text))
			n++
		}
	}
	return n
}

// statAll looks at every file without reading it.
func statAll(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil {
			_, err = d.Info()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// zoekt measures the reference of goal 1 where it is installed.
func zoekt(t *testing.T, c corpus, ours float64) row {
	t.Helper()
	r := row{goal: "1", what: "cold index against zoekt-index, CPU", ours: fmt.Sprintf("%.1f cpu-s", ours), base: "<= 3"}
	path, err := exec.LookPath("zoekt-index")
	if err != nil {
		r.reference = "SKIP: zoekt-index is missing"
		return r
	}
	cmd := exec.CommandContext(t.Context(), path, "-index", t.TempDir(), c.dir)
	if err := cmd.Run(); err != nil {
		r.reference = "SKIP: zoekt-index: " + err.Error()
		return r
	}
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	r.reference, r.ratio = fmt.Sprintf("zoekt-index %.1f cpu-s", cpu), ours/cpu
	return r
}

// vectorScan runs the benchmarks of package vecindex, which compare its search
// with a plain exact scan of the same vectors.
func vectorScan(t *testing.T) []row {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-mod=readonly", "-run", "^$", "-bench", "Search|Scan", "-benchtime", "200x", "./vecindex")
	cmd.Dir = filepath.Join("..", "..")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return []row{{goal: "6", what: "vector search", ours: "SKIP: " + err.Error(), base: "<= 3"}}
	}
	var rows []row
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		if len(f) >= 4 && strings.HasPrefix(f[0], "Benchmark") && f[3] == "ns/op" {
			var ns float64
			if _, err := fmt.Sscan(f[2], &ns); err == nil {
				rows = append(rows, row{goal: "6", what: strings.TrimPrefix(f[0], "Benchmark"), ours: fmt.Sprintf("%.3f ms", ns/1e6), base: "-"})
			}
		}
	}
	if len(rows) == 0 {
		rows = append(rows, row{goal: "6", what: "vector search", ours: "SKIP: vecindex has no benchmark", base: "<= 3"})
	}
	return rows
}
