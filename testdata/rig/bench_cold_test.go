//go:build accept

package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
)

// coldPairs is how often goal 1 is measured: an operation of more than ten
// seconds.
const coldPairs = 3

// cold is goal 1: first indexes without memory files and without vectors,
// against zoekt-index with universal-ctags on the same tree. With it come wall
// time (1b), peak memory (1d) and what is kept on disk (11).
func (b *bench) cold(t *testing.T) {
	zoekt := zoektIndex(t)
	both := zoekt
	if zoekt.skip == "" {
		both = zoekt.withCtags(t)
	}
	var cpu, wall, rss, cpuRatio, wallRatio, rssRatio []float64
	var c corpus
	var disk int64
	chunks := 0
	for range coldPairs {
		one := b.coldOnce(t, nil)
		c, chunks, disk = one.corpus, one.chunks, one.disk
		cpu, wall, rss = append(cpu, one.cpu), append(wall, one.wall), append(rss, mb(one.rss))
		if both.skip == "" {
			r := both.index(t, c.dir, "-require_ctags")
			cpuRatio, rssRatio = append(cpuRatio, one.cpu/r.cpu), append(rssRatio, float64(one.rss)/float64(max(r.rss, 1)))
		}
		if zoekt.skip == "" {
			wallRatio = append(wallRatio, one.wall/zoekt.index(t, c.dir, "-disable_ctags").wall)
		}
	}
	what := fmt.Sprintf("cold index, %d files, %.0f MB, %d chunks", c.files, mb(c.bytes), chunks)
	versus := func(goal, what, ours string, ratios []float64, name, skip, base string) row {
		if skip != "" {
			return skipped(goal, what, ours, skip, base)
		}
		r := row{goal: goal, what: what, ours: ours, reference: name, ratio: median(ratios), base: base}
		r.base += fmt.Sprintf(" (%.2f to %.2f)", ratios[0], ratios[len(ratios)-1])
		return r
	}
	b.add(
		versus("1", what+", CPU", fmt.Sprintf("%.1f cpu-s", median(cpu)), cpuRatio, "zoekt-index + ctags", both.skip, "<= 3"),
		versus("1b", "the same, wall", fmt.Sprintf("%.1f s", median(wall)), wallRatio, "zoekt-index, no ctags", zoekt.skip, "<= 4"),
		versus("1d", "peak memory, daemon and workers", fmt.Sprintf("%.0f MB", median(rss)), rssRatio, "zoekt-index + ctags", both.skip, "<= 0.75"),
		share("1d", "the same, against the limit", median(rss), "limit", 350, "MB", "<= 1"),
		share("11", "derived state on disk, no vectors", mb(disk), "corpus", mb(c.bytes), "MB", "<= 1.5"),
	)
	b.oneCore(t, median(wall))
}

// A firstIndex is what one cold index took.
type firstIndex struct {
	corpus
	cost
	chunks int
	disk   int64
}

// coldOnce indexes the Go toolchain's source on a machine that knows nothing. Wrap,
// if not nil, is what the daemon is started through.
func (b *bench) coldOnce(t *testing.T, wrap []string) firstIndex {
	t.Helper()
	m := newMachine(t)
	m.wrap = wrap
	a := &arena{machine: m, slug: "gosrc", corpus: m.goSource()}
	a.cl, a.proc = a.serve()
	before, stop := a.cpu(), peak(a.proc.Process.Pid)
	took := firstIndex{corpus: a.corpus}
	took.wall = timed(func() { a.index("--file-memories", "local") }).Seconds()
	took.cpu, took.rss = a.cpu()-before, stop()
	st := a.quiet(a.cl, a.slug)
	took.chunks = st.Chunks
	a.rest()
	a.stop()
	state := filepath.Join(m.home, "fw", "state")
	took.disk = sizeOf(t, state)
	vectors, err := filepath.Glob(filepath.Join(state, "index", "*", "vectors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		took.disk -= sizeOf(t, v)
	}
	return took
}

// oneCore is the rest of goal 1b: what the second core is good for.
func (b *bench) oneCore(t *testing.T, wall float64) {
	const what = "cold index, one core against two, wall"
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		b.add(skipped("1b", what, "-", "taskset is missing", ">= 1.8"))
		return
	}
	one := b.coldOnce(t, []string{taskset, "-c", "0"})
	r := share("1b", what, one.wall, "two cores", wall, "s", "scaling >= 1.8")
	b.add(r)
}

// chunkerAlone is goal 1c: the chunker in one process against tree-sitter's own
// library in C on the same files, read before the clock starts.
func (b *bench) chunkerAlone(t *testing.T) {
	c := treeSitter(t)
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []struct {
		what, lang, ext, dir string
		slow                 bool
	}{
		{"chunker, Go", "go", ".go", filepath.Join(strings.TrimSpace(string(goroot)), "src"), false},
		{"chunker, Go, go/parser off", "go", ".go", filepath.Join(strings.TrimSpace(string(goroot)), "src"), true},
		{"chunker, C", "c", ".h", "/usr/include", false},
		{"chunker, Python", "python", ".py", "/usr/lib/python3", false},
	} {
		if c.skip != "" {
			b.add(skipped("1c", set.what, "-", c.skip, "<= 1.25"))
			continue
		}
		paths, texts, size := sources(t, set.dir, set.ext)
		if len(paths) < 100 {
			b.add(skipped("1c", set.what, "-", set.dir+" has too few files", "<= 1.25"))
			continue
		}
		list := set.lang + "\t" + strings.Join(paths, "\n"+set.lang+"\t") + "\n"
		var ours, theirs, ratios []float64
		for i := range 4 {
			x := cutAll(paths, texts, chunker.Options{SlowGo: set.slow, Deadline: time.Minute})
			y := c.parse(t, list)
			if i > 0 {
				ours, theirs, ratios = append(ours, mb(size)/x), append(theirs, mb(size)/y), append(ratios, x/y)
			}
		}
		b.add(row{
			goal: "1c", what: fmt.Sprintf("%s, %d files, %.0f MB", set.what, len(paths), mb(size)), ours: fmt.Sprintf("%.1f MB/cpu-s", median(ours)),
			reference: fmt.Sprintf("tree-sitter in C %.1f MB/cpu-s", median(theirs)), ratio: median(ratios), base: "<= 1.25",
		})
	}
}

// sources reads the files with an ending below dir, of at most 1 MiB each and 40
// MB together.
func sources(t *testing.T, dir, ext string) (paths []string, texts [][]byte, size int64) {
	t.Helper()
	if !exists(dir) {
		return nil, nil, 0
	}
	eachFile(t, dir, func(p string) {
		if filepath.Ext(p) != ext || size > 40<<20 {
			return
		}
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 && len(b) <= 1<<20 && !chunker.IsBinary(b) {
			paths, texts, size = append(paths, p), append(texts, b), size+int64(len(b))
		}
	})
	return paths, texts, size
}

// cutAll returns the CPU seconds of cutting all files, one after another.
func cutAll(paths []string, texts [][]byte, opt chunker.Options) float64 {
	c := chunker.NewCutter(opt)
	defer c.Close()
	before := ownCPU()
	for i, p := range paths {
		c.Cut(p, texts[i])
	}
	return ownCPU() - before
}

// memoryOfMono is the growth of goal 1d: the same limit at 100,000 files.
func (b *bench) memoryOfMono(t *testing.T) {
	a := b.arena(t, "mono", func(m *machine) corpus { return m.mono(100_000) })
	stop, before := peak(a.proc.Process.Pid), a.cpu()
	wall := timed(func() { a.index("--file-memories", "local") })
	cpu := a.cpu() - before
	b.add(share("1d", fmt.Sprintf("peak memory, mono, %d files (%.0f s, %.0f cpu-s)", a.files, wall.Seconds(), cpu), mb(stop()), "limit", 350, "MB", "<= 1"))
}
