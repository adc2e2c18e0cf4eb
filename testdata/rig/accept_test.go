//go:build accept

package rig

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// TestAcceptGoSource is the promise of the first release on a large project:
// the Go toolchain's own source, about 11,500 files.
func TestAcceptGoSource(t *testing.T) {
	m := newMachine(t)
	c := m.goSource()
	cl, proc := m.serve()
	ctx := t.Context()
	table := &figures{}
	defer table.print(t, fmt.Sprintf("accept, %d files of %.0f MB", c.files, mb(c.bytes)))

	// The first index: nothing fails, and memory is bounded.
	stop := peak(proc.Process.Pid)
	before := usageOf(proc.Process.Pid)
	began := time.Now()
	m.run(c.dir, "add", ".", "--file-memories", "fold")
	m.run(c.dir, "index", "--wait")
	st := m.quiet(cl, "gosrc")
	took, most := time.Since(began), stop()
	cpu := usageOf(proc.Process.Pid).cpu - before.cpu
	t.Logf("holds: indexed=%d skipped=%d failed=%d memories=%d chunks=%d vectors=%d links=%d", st.Files.Indexed, st.Files.Skipped, st.Files.Failed, st.Memories, st.Chunks, st.Vectors, st.Links)
	table.note("first index, wall", fmt.Sprintf("%.1f s", took.Seconds()), "-", "reported")
	table.note("first index, CPU of daemon and workers", fmt.Sprintf("%.1f s", cpu), "-", "reported")
	table.add(t, st.Files.Failed == 0, "first index, failed files", fmt.Sprint(st.Files.Failed), "0")
	table.add(t, st.Files.Indexed+st.Files.Skipped == c.files, "first index, indexed + skipped",
		fmt.Sprintf("%d + %d", st.Files.Indexed, st.Files.Skipped), fmt.Sprintf("= %d", c.files))
	problems, err := cl.Problems(ctx, "gosrc", wire.ProblemQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems.Items {
		if p.Reason == "" {
			t.Errorf("%s is %s without a reason", p.Path, p.State)
		}
	}
	if runtime.GOOS == "linux" {
		table.add(t, most <= 700<<20, "first index, peak of daemon and workers", fmt.Sprintf("%.0f MB", mb(most)), "<= 700 MB")
	}
	if n := countFiles(t, filepath.Join(c.dir, "fold")); n < st.Files.Indexed/2 {
		t.Errorf("fold/ holds %d memories for %d files, though --file-memories is fold", n, st.Files.Indexed)
	}
	if out := m.git(c.dir, "status", "--porcelain"); out != "" {
		t.Errorf("git status shows %.200s", out)
	}

	t.Run("save early", func(t *testing.T) {
		acceptSave(t, m, cl, c, table, "save while vectors are made", 60, watchOthers())
		table.note("vectors there at its end", fmt.Sprint(m.quiet(cl, "gosrc").Vectors), "-", "reported")
	})
	waitForVectors(t, cl)
	t.Run("again", func(t *testing.T) { acceptAgain(t, m, cl, c, table) })
	t.Run("search", func(t *testing.T) { acceptSearch(t, cl, table, watchOthers()) })
	t.Run("save", func(t *testing.T) {
		acceptSave(t, m, cl, c, table, "save to searchable", 200, watchOthers())
	})
	t.Run("rebuilt", func(t *testing.T) { acceptRebuilt(t, m, c, table) })
}

// waitForVectors waits until no vector is missing: none came for a second.
func waitForVectors(t *testing.T, cl *client.Client) {
	t.Helper()
	vectorsOf(t, cl, "gosrc")
}

// vectorsOf is waitForVectors for one project.
func vectorsOf(t *testing.T, cl *client.Client, slug string) {
	t.Helper()
	last, since := -1, time.Now()
	if !eventually(5*time.Minute, 100*time.Millisecond, func() bool {
		st, err := cl.ProjectStatus(t.Context(), slug)
		if err != nil {
			t.Fatal(err)
		}
		if st.Vectors != last {
			last, since = st.Vectors, time.Now()
		}
		return time.Since(since) > 2*time.Second
	}) {
		t.Errorf("vectors are still being made: %d", last)
	}
}

func countFiles(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && filepath.Ext(d.Name()) == ".md" {
			n++
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

// acceptAgain: the second index reads and parses nothing.
func acceptAgain(t *testing.T, m *machine, cl *client.Client, c corpus, table *figures) {
	before, err := cl.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	m.run(c.dir, "index", "--wait")
	m.quiet(cl, "gosrc")
	took := time.Since(began)
	after, err := cl.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"files_read", "parses"} {
		was, known := before.Counters[name]
		if !known {
			t.Errorf("status has no counter %s: %v", name, before.Counters)
		}
		n := after.Counters[name] - was
		table.add(t, n == 0, "second index, "+name, fmt.Sprint(n), "0")
	}
	table.note("second index, wall", fmt.Sprintf("%.2f s", took.Seconds()), "-", "reported")
}

// acceptSearch: two searches that must be right, and the times of 200.
func acceptSearch(t *testing.T, cl *client.Client, table *figures, look onlooker) {
	ctx := t.Context()
	r, err := cl.Search(ctx, "gosrc", wire.SearchRequest{Query: "decode json into struct", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	paths := pathsOf(r)
	place := slices.Index(paths, "encoding/json/decode.go") + 1
	table.add(t, place >= 1 && place <= 3, "place of encoding/json/decode.go", fmt.Sprint(place), "1 to 3")
	if place < 1 || place > 3 {
		t.Logf("decode json into struct: %q", paths)
	}
	r, err = cl.Search(ctx, "gosrc", wire.SearchRequest{Query: "ServeHTTP", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	named := false
	for _, res := range r.Results {
		for _, ch := range res.MatchedChunks {
			if strings.HasSuffix(ch.NodeName, "ServeHTTP") && ch.StartLine > 0 && ch.EndLine >= ch.StartLine {
				named = true
			}
		}
	}
	table.add(t, named, "ServeHTTP named with its lines", fmt.Sprint(named), "true")

	// One untimed pass warms caches; the reference is an empty round trip.
	qs := queries(200)
	for _, q := range qs[:20] {
		if _, err := cl.Search(ctx, "gosrc", wire.SearchRequest{Query: q}); err != nil {
			t.Fatal(err)
		}
	}
	var warm, ping spread
	for _, q := range qs {
		began := time.Now()
		if _, err := cl.Search(ctx, "gosrc", wire.SearchRequest{Query: q}); err != nil {
			t.Fatal(err)
		}
		warm = append(warm, time.Since(began))
		began = time.Now()
		if err := cl.Ping(ctx); err != nil {
			t.Fatal(err)
		}
		ping = append(ping, time.Since(began))
	}
	others := look.others()
	table.clock(t, "warm search p50 of 200", warm.at(.5), 30*time.Millisecond, others)
	table.clock(t, "warm search p99 of 200", warm.at(.99), 150*time.Millisecond, others)
	table.note("warm search p50 / empty round trip", fmt.Sprintf("%.0f x %.2f ms", float64(warm.at(.5))/float64(ping.at(.5)), ms(ping.at(.5))), "-", "reported")
}

func pathsOf(r wire.SearchReply) []string {
	var paths []string
	for _, res := range r.Results {
		paths = append(paths, res.Metadata.FilePath)
	}
	return paths
}

// acceptSave judges n saves.
func acceptSave(t *testing.T, m *machine, cl *client.Client, c corpus, table *figures, what string, n int, look onlooker) {
	t.Helper()
	times, lost := savesOf(t, m, cl, "gosrc", c, n)
	others := look.others()
	table.add(t, lost == 0, fmt.Sprintf("%s, lost of %d", what, n), fmt.Sprint(lost), "0")
	table.clock(t, what+" p50", times.at(.5), 100*time.Millisecond, others)
	table.clock(t, what+" p99", times.at(.99), 400*time.Millisecond, others)
}

// savesOf saves n files, one after the other, and measures from close(2) to the
// first search that finds the new word. The files are as before afterwards.
func savesOf(t *testing.T, m *machine, cl *client.Client, slug string, c corpus, n int) (times spread, lost int) {
	t.Helper()
	ctx := t.Context()
	files := strings.Fields(m.git(c.dir, "ls-files", "*.go"))
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	for range n {
		path := files[rnd.IntN(len(files))]
		token := newWord(rnd)
		f, err := os.OpenFile(filepath.Join(c.dir, path), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(f, "\n// %s says so.\n", token); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if !eventually(10*time.Second, 2*time.Millisecond, func() bool {
			r, err := cl.Search(ctx, slug, wire.SearchRequest{Query: token})
			return err == nil && slices.Contains(pathsOf(r), path)
		}) {
			lost++
			continue
		}
		times = append(times, time.Since(began))
		// Four saves within half a second are a storm to the watcher, by design,
		// and wait until it is quiet. No person saves that fast.
		<-time.After(150*time.Millisecond + time.Duration(rnd.IntN(100))*time.Millisecond)
	}
	m.git(c.dir, "checkout", "-q", "--", ".")
	m.quiet(cl, slug)
	return times, lost
}

// newWord returns a word that occurs nowhere: of letters, since digits would
// make it several.
func newWord(rnd *rand.Rand) string {
	const letters = "bcdfghjkmnpqvwxz"
	b := []byte("zq")
	for range 10 {
		b = append(b, letters[rnd.IntN(len(letters))])
	}
	return string(b)
}

// acceptRebuilt: without the index, the same answers.
func acceptRebuilt(t *testing.T, m *machine, c corpus, table *figures) {
	cl := m.answering(time.Second)
	waitForVectors(t, cl)
	qs := queries(200)
	before := topTen(t, cl, qs)
	was := m.quiet(cl, "gosrc")
	m.stop()
	if err := os.RemoveAll(filepath.Join(m.home, "fw", "state", "index")); err != nil {
		t.Fatal(err)
	}
	cl, _ = m.serve()
	m.run(c.dir, "index", "--wait")
	is := m.quiet(cl, "gosrc")
	waitForVectors(t, cl)
	if was.Memories != is.Memories || was.Chunks != is.Chunks || was.Links != is.Links || was.Files.Indexed != is.Files.Indexed {
		t.Errorf("rebuilt: %d memories, %d chunks, %d links, %d files; were %d, %d, %d, %d",
			is.Memories, is.Chunks, is.Links, is.Files.Indexed, was.Memories, was.Chunks, was.Links, was.Files.Indexed)
	}
	differ := 0
	for q, now := range topTen(t, cl, qs) {
		if !slices.Equal(now, before[q]) {
			differ++
			if differ <= 3 {
				t.Logf("%q after the rebuild: %v, was %v", q, now, before[q])
			}
		}
	}
	table.add(t, differ == 0, "rebuilt, other top 10 of 200 queries", fmt.Sprint(differ), "0")
}

func topTen(t *testing.T, cl *client.Client, qs []string) map[string][]string {
	t.Helper()
	top := map[string][]string{}
	for _, q := range qs {
		r, err := cl.Search(context.Background(), "gosrc", wire.SearchRequest{Query: q, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, res := range r.Results {
			ids = append(ids, res.ID)
		}
		top[q] = ids
	}
	return top
}

// TestAcceptNoNetwork: the feature tour makes no connection but to our socket.
func TestAcceptNoNetwork(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIP: strace is missing")
	}
	m := newMachine(t)
	c := m.someSource("encoding", 100)
	trace := filepath.Join(t.TempDir(), "trace")
	args := []string{"-f", "-qq", "-e", "trace=connect,sendto", "-o", trace, m.bin, "up", "--once"}
	cmd := exec.CommandContext(t.Context(), strace, args...)
	cmd.Dir, cmd.Env = c.dir, m.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") || strings.Contains(string(out), "PTRACE") {
			t.Skipf("SKIP: tracing is not allowed here: %s", out)
		}
		t.Fatalf("up under strace: %v\n%s", err, out)
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "AF_UNIX") {
			calls++
		}
		if strings.Contains(line, "AF_INET") {
			t.Errorf("a network connection: %s", line)
		}
	}
	if calls == 0 {
		t.Error("the trace holds no connect at all: it does not see the program")
	}
	t.Logf("no network: local connects=%d, others=0", calls)
}

// TestAcceptNothingLeftBehind: what up and remove --purge change in a checkout.
func TestAcceptNothingLeftBehind(t *testing.T) {
	m := newMachine(t)
	c := m.someSource("strconv", 60)
	before := treeOf(t, c.dir)
	m.run(c.dir, "up", "--once")
	changed := differ(before, treeOf(t, c.dir))
	for _, p := range changed {
		if !strings.HasPrefix(p, "fold/") && !strings.HasPrefix(p, ".git/foldwatch/") {
			t.Errorf("up changed %s", p)
		}
	}
	if len(changed) == 0 {
		t.Error("up made no file at all")
	}
	m.run(c.dir, "remove", "--purge", "--yes")
	for _, p := range differ(before, treeOf(t, c.dir)) {
		t.Errorf("remove --purge leaves %s behind, or changed it", p)
	}
}

// treeOf returns the content of every file below dir.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		tree[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func differ(a, b map[string]string) []string {
	var paths []string
	for p, text := range a {
		if now, ok := b[p]; !ok || now != text {
			paths = append(paths, p)
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}
