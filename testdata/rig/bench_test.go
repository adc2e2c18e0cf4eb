//go:build accept

package rig

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/vecindex"
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
// whatever they are. Nothing here fails because of a figure. Ours and the
// reference take turns, the first pair is thrown away, and the ratio is the
// median of the pairs' ratios.
func TestBench(t *testing.T) {
	b := &bench{T: t, m: newMachine(t)}
	b.c = b.m.goSource()
	b.cl, b.proc = b.m.serve()
	defer b.print()
	b.cold()
	b.again()
	b.memories()
	b.warmStart()
	b.saves("", 200)
	b.underSearch(func() { b.saves(", 8 clients search", 60) })
	b.search()
	b.vectorScan(10_000)
	b.vectorScan(100_000)
	b.idle()
}

// A bench is one run of the benchmark.
type bench struct {
	*testing.T
	m    *machine
	c    corpus
	cl   *client.Client
	proc *exec.Cmd
	rows []row
}

func (b *bench) add(rows ...row) { b.rows = append(b.rows, rows...) }

// cold is goal 1: a first index without memory files.
func (b *bench) cold() {
	before, stop, began := usageOf(b.proc.Process.Pid).cpu, peak(b.proc.Process.Pid), time.Now()
	b.m.run(b.c.dir, "add", ".", "--file-memories", "local")
	b.m.run(b.c.dir, "index", "--wait")
	st := b.m.quiet(b.cl, "gosrc")
	wall, cpu, most := time.Since(began), usageOf(b.proc.Process.Pid).cpu-before, stop()
	own := usageOf(os.Getpid()).cpu
	hashed := hashAll(b.T, b.c.dir)
	hash := usageOf(os.Getpid()).cpu - own
	own += hash
	parsed := parseAll(b.T, b.c.dir)
	parse := usageOf(os.Getpid()).cpu - own
	ours := fmt.Sprintf("%.1f cpu-s, %.1f s", cpu, wall.Seconds())
	b.add(
		row{"1", fmt.Sprintf("cold index, %d files, %.0f MB, %d chunks", b.c.files, mb(b.c.bytes), st.Chunks), ours, fmt.Sprintf("go/parser, %d files: %.1f cpu-s", parsed, parse), cpu / parse, "-"},
		row{"1", "the same", ours, fmt.Sprintf("read + SHA-256, %d files: %.2f cpu-s", hashed, hash), cpu / hash, "-"},
		zoekt(b.T, b.c, cpu),
		row{"1d", "peak memory of the cold index", fmt.Sprintf("%.0f MB", mb(most)), "promise 700 MB", mb(most) / 700, "<= 1"},
	)
	waitForVectors(b.T, b.cl)
}

// again is goal 2: a second look at everything, against git status.
func (b *bench) again() {
	before := b.counters()
	b.add(pairs("2", "re-index without changes", "git status", "<= 2", 5,
		func() time.Duration { return timed(func() { b.m.run(b.c.dir, "index", "--wait") }) },
		func() time.Duration { return timed(func() { b.m.git(b.c.dir, "status", "--porcelain") }) }))
	after := b.counters()
	b.add(row{"2", "files read, parses meanwhile", fmt.Sprintf("%d, %d", after["files_read"]-before["files_read"], after["parses"]-before["parses"]), "0, 0", 0, "0"})
}

func (b *bench) counters() map[string]int64 {
	st, err := b.cl.Status(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return st.Counters
}

// memories gives every file a memory file, for what follows.
func (b *bench) memories() {
	b.m.run(b.c.dir, "add", ".", "--file-memories", "fold")
	b.m.run(b.c.dir, "index", "--wait")
	b.m.quiet(b.cl, "gosrc")
	waitForVectors(b.T, b.cl)
}

// warmStart is goal 4a: from exec to the first correct search.
func (b *bench) warmStart() {
	n := countFiles(b.T, filepath.Join(b.c.dir, "fold"))
	b.add(pairs("4a", fmt.Sprintf("warm start to first search, %d memories", n), "walk + lstat of fold/", "<= 5", 5,
		func() time.Duration {
			b.m.stop()
			began := time.Now()
			b.cl, b.proc = b.m.serve()
			r, err := b.cl.Search(b.Context(), "gosrc", wire.SearchRequest{Query: "ServeHTTP", Limit: 1})
			if err != nil || len(r.Results) == 0 {
				b.Fatalf("first search: %v", err)
			}
			took := time.Since(began)
			b.m.quiet(b.cl, "gosrc")
			return took
		},
		func() time.Duration { return timed(func() { statAll(b.T, filepath.Join(b.c.dir, "fold")) }) }))
}

// saves is goal 5. The debounce of a lone save is 30 ms.
func (b *bench) saves(while string, n int) {
	const debounce = 30 * time.Millisecond
	times, lost := savesOf(b.T, b.m, b.cl, b.c, n)
	b.add(ratio("5", fmt.Sprintf("save to searchable, p99 of %d, %d lost%s", n, lost, while), times.at(.99), "debounce + 250 ms", debounce+250*time.Millisecond, "<= 1"),
		ratio("5", "save to searchable, p50"+while, times.at(.5), "debounce + 15 ms", debounce+15*time.Millisecond, "moonshot <= 1"))
}

// underSearch calls fn while 8 clients search.
func (b *bench) underSearch(fn func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	qs := queries(200)
	for w := range 8 {
		wg.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				_, _ = b.cl.Search(ctx, "gosrc", wire.SearchRequest{Query: qs[i%len(qs)]}) // the end cuts one off
			}
		})
	}
	fn()
	cancel()
	wg.Wait()
}

// search is goal 6c: both channels end to end, against an empty round trip.
func (b *bench) search() {
	var search, ping spread
	for range 5 {
		for _, q := range queries(200) {
			search = append(search, timed(func() {
				if _, err := b.cl.Search(b.Context(), "gosrc", wire.SearchRequest{Query: q}); err != nil {
					b.Fatal(err)
				}
			}))
			ping = append(ping, timed(func() {
				if err := b.cl.Ping(b.Context()); err != nil {
					b.Fatal(err)
				}
			}))
		}
	}
	b.add(ratio("6c", fmt.Sprintf("search over the socket, p50 of %d", len(search)), search.at(.5), "empty round trip", ping.at(.5), "-"),
		ratio("6c", "search over the socket, p99", search.at(.99), "its own p50", search.at(.5), "-"))
}

// vectorScan is goal 6: the index of package vecindex against a plain exact scan
// of the same vectors in float32, with the recall of the ten nearest.
func (b *bench) vectorScan(n int) {
	const dim, k, asked = 256, 10, 60
	all, qs := clustered(n, dim), clustered(n+asked, dim)[n:]
	x, err := vecindex.Open(b.TempDir(), "bench", dim)
	if err != nil {
		b.Fatal(err)
	}
	put := make([]vecindex.Vec, n)
	for i, v := range all {
		put[i] = vecindex.Vec{Key: fmt.Sprintf("c:%07d", i), Memory: "m", V: v}
	}
	if err := x.Apply(1, put, nil); err != nil {
		b.Fatal(err)
	}
	var ours, plain spread
	found := 0
	for _, q := range qs {
		var hits []vecindex.Hit
		ours = append(ours, timed(func() { hits = x.Search(q, k, nil) }))
		var want map[int]bool
		plain = append(plain, timed(func() { want = exactScan(all, q, k) }))
		for _, h := range hits {
			var i int
			if _, err := fmt.Sscanf(h.Key, "c:%d", &i); err == nil && want[i] {
				found++
			}
		}
	}
	recall := float64(found) / float64(k*len(qs))
	what := fmt.Sprintf("%d vectors of %d, recall@10 %.3f, ", n, dim, recall)
	b.add(ratio("6", what+"p50", ours.at(.5), "plain float32 scan", plain.at(.5), "-"),
		ratio("6", what+"p99", ours.at(.99), "plain float32 scan", plain.at(.99), "<= 3"))
}

// clustered returns n unit vectors around 200 centres, always the same.
func clustered(n, dim int) [][]float32 {
	r := rand.New(rand.NewPCG(11, 12))
	centres := make([][]float64, 200)
	for i := range centres {
		centres[i] = make([]float64, dim)
		for d := range centres[i] {
			centres[i][d] = r.NormFloat64()
		}
	}
	all := make([][]float32, n)
	for i := range all {
		c, v, square := centres[i%len(centres)], make([]float32, dim), 0.0
		for d := range v {
			f := c[d] + r.NormFloat64()
			v[d] = float32(f)
			square += f * f
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(square))
		}
		all[i] = v
	}
	return all
}

// exactScan returns the rows of the k largest products with q.
func exactScan(all [][]float32, q []float32, k int) map[int]bool {
	type hit struct {
		row   int
		score float32
	}
	best := make([]hit, 0, k+1)
	for row, v := range all {
		var a, b, c, d float32
		for i := 0; i+3 < len(v); i += 4 {
			a += v[i] * q[i]
			b += v[i+1] * q[i+1]
			c += v[i+2] * q[i+2]
			d += v[i+3] * q[i+3]
		}
		score := a + b + c + d
		if len(best) == k && score <= best[k-1].score {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, score, func(h hit, s float32) int { return cmp.Compare(s, h.score) })
		best = slices.Insert(best, at, hit{row, score})
		best = best[:min(len(best), k)]
	}
	rows := make(map[int]bool, k)
	for _, h := range best {
		rows[h.row] = true
	}
	return rows
}

// idle is goal 9: a minute without a client, and one with five agents' shims.
func (b *bench) idle() {
	b.m.quiet(b.cl, "gosrc")
	<-time.After(5 * time.Second) // what the last search left to write
	look := func(what string) {
		pid := b.proc.Process.Pid
		was, reads := usageOf(pid), readCalls(pid)
		<-time.After(time.Minute)
		is := usageOf(pid)
		share := (is.cpu - was.cpu) / 60 * 100
		b.add(row{"9", "idle for 60 s, " + what + ", share of a core", fmt.Sprintf("%.3f %%", share), "0.5 %", share / 0.5, "<= 1"},
			row{"9", "idle for 60 s, " + what + ", read calls", fmt.Sprint(readCalls(pid) - reads), "-", 0, "-"},
			row{"9b", "resident when idle, " + what, fmt.Sprintf("%.0f MB", mb(is.rss)), "-", 0, "-"})
	}
	look("no client")
	for range 5 {
		shim := b.m.command(b.c.dir, "mcp")
		in, err := shim.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := shim.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			_ = in.Close()
			_ = shim.Wait() // it ends with its input
		}()
	}
	<-time.After(2 * time.Second)
	look("5 MCP clients")
}

// readCalls returns how many read calls a process has made; 0 where that is not
// known.
func readCalls(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var n int64
		if _, err := fmt.Sscanf(line, "syscr: %d", &n); err == nil {
			return n
		}
	}
	return 0
}

func timed(fn func()) time.Duration {
	began := time.Now()
	fn()
	return time.Since(began)
}

// pairs runs ours and the reference n+1 times in turn and drops the first pair.
func pairs(goal, what, name, base string, n int, ours, reference func() time.Duration) row {
	var a, b spread
	var ratios []float64
	for i := range n + 1 {
		x, y := ours(), reference()
		if i > 0 && y > 0 {
			a, b, ratios = append(a, x), append(b, y), append(ratios, float64(x)/float64(y))
		}
	}
	slices.Sort(ratios)
	r := ratio(goal, what, a.at(.5), name, b.at(.5), base)
	if len(ratios) > 0 {
		r.ratio = ratios[len(ratios)/2]
		r.base += fmt.Sprintf(" (%.2f to %.2f)", ratios[0], ratios[len(ratios)-1])
	}
	return r
}

func ratio(goal, what string, ours time.Duration, name string, reference time.Duration, base string) row {
	r := row{goal: goal, what: what, ours: fmt.Sprintf("%.1f ms", ms(ours)), reference: fmt.Sprintf("%s %.1f ms", name, ms(reference)), base: base}
	if reference > 0 {
		r.ratio = float64(ours) / float64(reference)
	}
	return r
}

func (b *bench) print() {
	b.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s/%s, %d cores, load %.1f", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	if noisy() {
		out.WriteString(", NOISY: only counts and CPU ratios hold")
	}
	fmt.Fprintf(&out, "\n%-4s %-62s %-22s %-40s %8s  %s\n", "goal", "what", "foldwatch", "reference", "ratio", "base")
	for _, r := range b.rows {
		fmt.Fprintf(&out, "%-4s %-62s %-22s %-40s %8.2f  %s\n", r.goal, r.what, r.ours, r.reference, r.ratio, r.base)
	}
	b.Log(out.String())
}

// parseAll parses every Go file with the standard library, as a reference that
// is there wherever Go is.
func parseAll(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(p) == ".go" {
			n++
			_, _ = parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution) // broken ones are part of it
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
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
	if _, err := exec.LookPath("universal-ctags"); err != nil {
		r.reference += ", no ctags"
	}
	return r
}
