package chunker_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// broken says how the chunks of r do not partition src or say wrong things about
// their ranges; nil if they do. It costs the length of src.
func broken(src []byte, r chunker.Result) error {
	if r.Truncated {
		if n := len(r.Chunks); n > 0 && r.Chunks[n-1].EndByte < len(src) {
			src = src[:r.Chunks[n-1].EndByte]
		}
	}
	at, line := 0, 1 // line is that of the byte at
	for i, c := range r.Chunks {
		switch {
		case c.StartByte > at:
			return fmt.Errorf("chunk %d: gap of %d bytes before %d", i, c.StartByte-at, c.StartByte)
		case c.StartByte < at:
			return fmt.Errorf("chunk %d: overlap of %d bytes at %d", i, at-c.StartByte, c.StartByte)
		case c.EndByte <= c.StartByte:
			return fmt.Errorf("chunk %d: empty at %d", i, c.StartByte)
		case c.EndByte > len(src):
			return fmt.Errorf("chunk %d: ends at %d of %d bytes", i, c.EndByte, len(src))
		}
		text := src[c.StartByte:c.EndByte]
		last := line + bytes.Count(text[:len(text)-1], []byte{'\n'})
		if c.StartLine != line || c.EndLine != last {
			return fmt.Errorf("chunk %d: lines %d-%d, want %d-%d", i, c.StartLine, c.EndLine, line, last)
		}
		if want := fold.ChunkHash(text); c.Hash != want {
			return fmt.Errorf("chunk %d: hash %s, want %s", i, c.Hash, want)
		}
		if c.NodeType == "" || c.Language != r.Language {
			return fmt.Errorf("chunk %d: type %q, language %q in a file of %q", i, c.NodeType, c.Language, r.Language)
		}
		at, line = c.EndByte, last
		if text[len(text)-1] == '\n' {
			line++
		}
	}
	if at != len(src) {
		return fmt.Errorf("chunks end at %d of %d bytes", at, len(src))
	}
	if len(r.Chunks) > 10_000 && r.Strategy == "syntax" {
		return fmt.Errorf("%d chunks", len(r.Chunks))
	}
	return nil
}

// What broken is there to find, it finds.
func TestBrokenIsReported(t *testing.T) {
	src := []byte("package a\n\nfunc F() {\n\tg()\n}\n\nfunc G() {\n\tf()\n}\n\nfunc H() {\n}\n")
	if err := broken(src, chunker.Cut("a.go", src, chunker.Options{})); err != nil {
		t.Fatalf("a sound result: %v", err)
	}
	for name, spoil := range map[string]func(r *chunker.Result){
		"gap":            func(r *chunker.Result) { r.Chunks[1].StartByte++ },
		"overlap":        func(r *chunker.Result) { r.Chunks[1].StartByte-- },
		"lost chunk":     func(r *chunker.Result) { r.Chunks = slices.Delete(r.Chunks, 1, 2) },
		"twice":          func(r *chunker.Result) { r.Chunks = slices.Insert(r.Chunks, 1, r.Chunks[0]) },
		"swapped":        func(r *chunker.Result) { r.Chunks[0], r.Chunks[1] = r.Chunks[1], r.Chunks[0] },
		"lost tail":      func(r *chunker.Result) { r.Chunks = r.Chunks[:len(r.Chunks)-1] },
		"no chunk":       func(r *chunker.Result) { r.Chunks = nil },
		"past the end":   func(r *chunker.Result) { r.Chunks[len(r.Chunks)-1].EndByte++ },
		"empty chunk":    func(r *chunker.Result) { r.Chunks[0].EndByte = 0 },
		"start line":     func(r *chunker.Result) { r.Chunks[1].StartLine++ },
		"end line":       func(r *chunker.Result) { r.Chunks[1].EndLine-- },
		"other bytes":    func(r *chunker.Result) { r.Chunks[1].Hash = r.Chunks[0].Hash },
		"no type":        func(r *chunker.Result) { r.Chunks[1].NodeType = "" },
		"other language": func(r *chunker.Result) { r.Chunks[1].Language = "rust" },
	} {
		r := chunker.Cut("a.go", src, chunker.Options{})
		spoil(&r)
		if err := broken(src, r); err == nil {
			t.Errorf("%s: not reported", name)
		}
	}
}

// A specimen is a file that is fed to the chunker.
type specimen struct {
	path string
	src  []byte
}

// samples are the sample files of all languages.
func samples(t testing.TB) []specimen {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	var out []specimen
	for _, path := range files {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			continue // a directory
		}
		out = append(out, specimen{filepath.ToSlash(path), src})
	}
	langs := map[string]bool{}
	for _, s := range out {
		langs[chunker.Language(s.path, s.src)] = true
	}
	for _, path := range chunker.SyntaxPaths() {
		if lang := chunker.Language(path, nil); !langs[lang] {
			t.Fatalf("no sample of %s", lang)
		}
	}
	return out
}

// mutate returns what may become of a file: cut off, torn, doubled, garbled.
// The same i gives the same file.
func mutate(all []specimen, i int) specimen {
	rng := rand.New(rand.NewPCG(20_260, uint64(i)))
	s := all[i%len(all)]
	out := bytes.Clone(s.src)
	limit := 4 << 10 // so that 10,000 of them are cut in a minute
	if i%8 == 0 {
		limit = 32 << 10 // beyond where binary files and long lines are told
	}
	for range 1 + rng.IntN(3) {
		out = mutations[rng.IntN(len(mutations))](rng, out, all)
		out = out[:min(len(out), limit)]
	}
	return specimen{fmt.Sprintf("%d/%s", i, s.path), out}
}

// mutations are what may happen to a file. None keeps what it is given.
var mutations = []func(rng *rand.Rand, b []byte, all []specimen) []byte{
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { return b[:rng.IntN(len(b)+1)] }, // still being written
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { return b[rng.IntN(len(b)+1):] },
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // bytes that went wrong
		for range min(len(b), 1+rng.IntN(30)) {
			b[rng.IntN(len(b))] ^= byte(1 << rng.IntN(8))
		}
		return b
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // a span doubled
		from, to := cutOut(rng, b)
		return slices.Insert(b, from, bytes.Clone(b[from:to])...)
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // a span lost
		from, to := cutOut(rng, b)
		return slices.Delete(b, from, to)
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // brackets and quotes
		const marks = "()[]{}<>\"'`/*#-=:;\\\n"
		storm := make([]byte, 1+rng.IntN(2000))
		for i := range storm {
			storm[i] = marks[rng.IntN(len(marks))]
		}
		return slices.Insert(b, rng.IntN(len(b)+1), storm...)
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // no UTF-8
		bad := [...]string{"\xff\xfe", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe6\xbc", "\ufeff", "\u202e", "\u2028"}
		for range 1 + rng.IntN(8) {
			b = slices.Insert(b, rng.IntN(len(b)+1), []byte(bad[rng.IntN(len(bad))])...)
		}
		return b
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // NUL, also where IsBinary does not look
		if rng.IntN(4) == 0 {
			for len(b) > 0 && len(b) < 9<<10 {
				b = append(b, b...)
			}
		}
		at := min(len(b), 8<<10)
		return slices.Insert(b, at+rng.IntN(len(b)-at+1), 0)
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // a long line, now and then too long
		at := rng.IntN(len(b) + 1)
		return slices.Insert(b, at, bytes.Repeat([]byte("x, "), 1+rng.IntN(7000))...)
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // other line ends
		return bytes.ReplaceAll(b, []byte("\n"), []byte([]string{"\r\n", "\r", "\n\n", "\t"}[rng.IntN(4)]))
	},
	func(rng *rand.Rand, b []byte, _ []specimen) []byte { // a growing file
		for range 1 + rng.IntN(4) {
			b = append(b, b[:rng.IntN(len(b)+1)]...)
		}
		return b
	},
	func(rng *rand.Rand, b []byte, all []specimen) []byte { // a merge that mixed two files
		other := all[rng.IntN(len(all))].src
		from, to := cutOut(rng, other)
		return slices.Insert(b, rng.IntN(len(b)+1), other[from:to]...)
	},
}

// cutOut returns the bounds of a span of b.
func cutOut(rng *rand.Rand, b []byte) (from, to int) {
	from, to = rng.IntN(len(b)+1), rng.IntN(len(b)+1)
	return min(from, to), max(from, to)
}

// A campaign feeds files to a pool and notes what goes wrong.
type campaign struct {
	pool *chunker.Pool
	mark func(done int) // called after each file, with one held at a time; may be nil

	mu         sync.Mutex // guards the fields below
	done       int
	strategies map[string]int
	faults     []string
}

// run cuts n files in workers at once. One that is not told apart from text, not
// whole, or not cut at all is a fault, as is one on which a worker ended.
func (c *campaign) run(ctx context.Context, workers, n int, file func(i int) specimen) {
	c.strategies = map[string]int{}
	var wg sync.WaitGroup
	next := make(chan int)
	for range workers {
		wg.Go(func() {
			for i := range next {
				s := file(i)
				r, err := c.pool.Cut(ctx, s.path, s.src)
				if err == nil {
					err = broken(s.src, r)
				}
				if err == nil && strings.Contains(r.Strategy, "crashed") {
					err = fmt.Errorf("cut as %s", r.Strategy)
				}
				c.mu.Lock()
				c.done++
				c.strategies[r.Strategy]++
				if err != nil {
					c.faults = append(c.faults, fmt.Sprintf("%s (%d bytes): %v", s.path, len(s.src), err))
				}
				if c.mark != nil {
					c.mark(c.done)
				}
				c.mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	if s := c.pool.Stats(); s.Crashes+s.Timeouts > 0 {
		c.faults = append(c.faults, fmt.Sprintf("%d workers crashed, %d hung", s.Crashes, s.Timeouts))
	}
}

// TestPoolOutlivesMutants cuts 1,000 mutated and truncated files of all
// languages, 10,000 in full, in worker processes: none ends a worker or comes back in pieces, and
// neither the workers nor this process, which stands for the daemon, grow.
func TestPoolOutlivesMutants(t *testing.T) {
	const most = 50 << 20
	files := fulltest.Pick(1_000, 10_000)
	warm := files / 5
	all := samples(t)
	p := newPool(t, chunker.PoolOptions{Command: plainWorker(t), Workers: 2}, chunker.Options{Deadline: 500 * time.Millisecond})
	var ours, theirs [2]int64 // bytes resident after warming up, and at most after that
	c := campaign{pool: p}
	c.mark = func(done int) {
		if done < warm || done%(warm/8) > 0 {
			return
		}
		if done == warm {
			debug.FreeOSMemory()
			ours[0] = residentOf(os.Getpid())
			theirs[0] = slices.Max(append(childrenResident(), 0))
		}
		ours[1] = max(ours[1], residentOf(os.Getpid()))
		theirs[1] = max(theirs[1], slices.Max(append(childrenResident(), 0)))
	}
	c.run(t.Context(), 2, files, func(i int) specimen { return mutate(all, i) })
	for i, fault := range c.faults {
		if i < 10 {
			t.Error(fault)
		}
	}
	s := p.Stats()
	t.Logf("%d files as %v by %d samples; %+v; resident after %d files and at most then: ours %d and %d MB, a worker %d and %d MB",
		c.done, c.strategies, len(all), s, warm, ours[0]>>20, ours[1]>>20, theirs[0]>>20, theirs[1]>>20)
	if len(c.faults) > 0 {
		t.Errorf("%d faults in all", len(c.faults))
	}
	if c.done != files || c.strategies["syntax"] < files/2 {
		t.Errorf("%d files, %d of them cut by syntax: too few to tell", c.done, c.strategies["syntax"])
	}
	if s.Restarts > 0 {
		t.Errorf("Stats() = %+v: workers were replaced", s)
	}
	if r, err := p.Cut(t.Context(), "a.go", []byte(sample)); err != nil || r.Strategy != "syntax" {
		t.Errorf("after all that, Cut: %v by %q", err, r.Strategy)
	}
	if ours[0] == 0 {
		t.Skip("how much memory a process has is not known on this system")
	}
	if theirs[0] == 0 {
		t.Error("no worker was seen")
	}
	if grown := ours[1] - ours[0]; grown > most {
		t.Errorf("this process grew by %d MB", grown>>20)
	}
	if grown := theirs[1] - theirs[0]; grown > most {
		t.Errorf("a worker grew by %d MB", grown>>20)
	}
}

// A campaign reports the worker that crashes, the one that hangs, and the one
// that answers with something else than the file.
func TestCampaignReports(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"please crash":   "parser crashed",
		"please hang":    "1 hung",
		"please skip":    "parser crashed", // a gap in the answer
		"please repeat":  "parser crashed", // an overlap
		"please pretend": "chunk 0: ",      // both, so that they cancel out
	} {
		p := newPool(t, chunker.PoolOptions{Deadline: time.Second}, chunker.Options{})
		c := campaign{pool: p}
		c.run(t.Context(), 1, 3, func(i int) specimen {
			src := sample
			if i == 1 {
				src += "// " + how + "\n"
			}
			return specimen{fmt.Sprintf("%d.go", i), []byte(src)}
		})
		if got := strings.Join(c.faults, "; "); !strings.Contains(got, want) || strings.Contains(got, "0.go") || strings.Contains(got, "2.go") {
			t.Errorf("%s: faults %q, want one that says %q of 1.go alone", how, got, want)
		}
	}
}

// TestPoolBounds is F52: in no language do 100,000 nested brackets or a line of
// 50 MB cost more than the caps.
func TestPoolBounds(t *testing.T) {
	p := newPool(t, chunker.PoolOptions{Command: plainWorker(t), Workers: 2, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}, chunker.Options{Deadline: time.Duration(fulltest.Pick(40, 300)) * time.Millisecond})
	const deep = 100_000 // what these cost is bounded by the deadline
	open, end := "([{", ")]}"
	var b bytes.Buffer
	for i := range 2 * deep { // round, square and curly ones in one another
		if i < deep {
			b.WriteByte(open[i%3])
		} else {
			b.WriteByte(end[(2*deep-1-i)%3])
		}
		if i%200 == 199 {
			b.WriteByte('\n')
		}
	}
	var files []specimen
	for _, path := range paths {
		files = append(files, specimen{path, b.Bytes()}, specimen{path, bytes.Repeat([]byte("{\n"), deep/3)})
	}
	files = append(files, specimen{"a.html", bytes.Repeat([]byte("<b>\n"), deep)}, specimen{"a.yaml", bytes.Repeat([]byte("- "), deep/20)}, specimen{"a.yaml", bytes.Repeat([]byte("- "), 260)})
	long := bytes.Repeat([]byte("x=1;"), 50<<18) // 50 MB on one line
	for _, path := range []string{"a.js", "a.json", "a.css", "a.txt"} {
		files = append(files, specimen{path, long})
	}
	steps := func(n int) []byte { // blocks in blocks
		var b bytes.Buffer
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
		return b.Bytes()
	}
	for _, path := range paths {
		files = append(files, specimen{path, steps(600)})
	}
	c := campaign{pool: p}
	c.run(t.Context(), 2, len(files), func(i int) specimen { return files[i] })
	for i, fault := range c.faults {
		if i < 20 {
			t.Error(fault)
		}
	}
	t.Logf("%d files as %v; %+v", len(files), c.strategies, p.Stats())
	if c.done != len(files) {
		t.Errorf("%d of %d files were cut", c.done, len(files))
	}
	runtime.GC()
	if r := cut(t, p, "a.go", sample); r.Strategy != "syntax" {
		t.Errorf("after all that, Strategy = %q", r.Strategy)
	}
}
