//go:build accept

package rig

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
)

// A row is one goal as it was measured: ours, the reference of the same run,
// and their ratio. Lower is better everywhere.
type row struct {
	goal, what      string
	ours, reference string
	ratio           float64
	base            string
}

// TestBench measures the goals of the performance notes, or those that GOALS
// names, and prints them as a table, whatever they are: no figure fails the
// test. Ours and the reference take turns, the first pair is thrown away where
// a warm cache matters, and the ratio is the median of the pairs' ratios.
func TestBench(t *testing.T) {
	b := &bench{}
	defer b.print(t)
	if slices.Contains(strings.Fields(os.Getenv("GOALS")), "6b") { // minutes, and gigabytes: only where it is named
		t.Run("goal 6b", b.millionVectors)
	}
	for _, g := range []struct {
		name    string
		measure func(*bench, *testing.T)
	}{
		{"1", (*bench).cold}, // also 1b, 1d and 11
		{"1c", (*bench).chunkerAlone},
		{"1d", (*bench).memoryOfMono},
		{"2", (*bench).again},
		{"3", (*bench).branchSwitch},
		{"4a", (*bench).warmStart},
		{"4b", (*bench).rebuild},
		{"5", (*bench).saves},
		{"6", (*bench).vectorGoals}, // also 10
		{"6c", (*bench).search},     // also 7
		{"8", (*bench).commit},
		{"8h", (*bench).history},
		{"9", (*bench).idle}, // also 9b
		{"15", (*bench).storm},
		{"16", (*bench).saveLoop},
		{"7", (*bench).search},       // the same run as 6c
		{"10", (*bench).vectorGoals}, // the same run as 6
	} {
		if g.name == "10" && b.wanted("6") || g.name == "7" && b.wanted("6c") {
			continue
		}
		if b.wanted(g.name) {
			t.Run("goal "+g.name, func(t *testing.T) { g.measure(b, t) })
		}
	}
}

// A bench is one run of the benchmark.
type bench struct{ rows []row }

func (b *bench) add(rows ...row) { b.rows = append(b.rows, rows...) }

// wanted reports whether GOALS, names with blanks between them, holds goal.
func (b *bench) wanted(goal string) bool {
	goals := strings.Fields(os.Getenv("GOALS"))
	return len(goals) == 0 || slices.Contains(goals, goal)
}

// An arena is a machine with a daemon and one project on it.
type arena struct {
	*machine
	corpus
	slug string
	cl   *client.Client
	proc *exec.Cmd
}

// arena starts a daemon in a home of its own.
func (b *bench) arena(t *testing.T, slug string, fill func(m *machine) corpus) *arena {
	t.Helper()
	a := &arena{machine: newMachine(t), slug: slug}
	a.corpus = fill(a.machine)
	a.cl, a.proc = a.serve()
	return a
}

// index registers the corpus and waits until its words are searchable.
func (a *arena) index(args ...string) {
	a.run(a.dir, append([]string{"add", ".", "--slug", a.slug}, args...)...)
	a.run(a.dir, "index", "--wait")
}

// rest waits until nothing is left to do, vectors neither.
func (a *arena) rest() {
	a.quiet(a.cl, a.slug)
	vectorsOf(a.t, a.cl, a.slug)
}

func (a *arena) counters() map[string]int64 {
	a.t.Helper()
	st, err := a.cl.Status(context.Background())
	if err != nil {
		a.t.Fatal(err)
	}
	return st.Counters
}

// cpu returns the CPU seconds of the daemon and what it started.
func (a *arena) cpu() float64 { return usageOf(a.proc.Process.Pid).cpu }

// since returns how far the counters named went on since was.
func (a *arena) since(was map[string]int64, names ...string) string {
	is := a.counters()
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprint(is[n] - was[n])
	}
	return strings.Join(out, ", ")
}

func timed(fn func()) time.Duration {
	began := time.Now()
	fn()
	return time.Since(began)
}

// pairs runs ours and the reference n+1 times in turn and drops the first pair. It
// returns also our own median.
func pairs(goal, what, name, base string, n int, ours, reference func() time.Duration) (_ row, median time.Duration) {
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
	return r, a.at(.5)
}

func ratio(goal, what string, ours time.Duration, name string, reference time.Duration, base string) row {
	r := row{goal: goal, what: what, ours: fmt.Sprintf("%.1f ms", ms(ours)), reference: fmt.Sprintf("%s %.1f ms", name, ms(reference)), base: base}
	if reference > 0 {
		r.ratio = float64(ours) / float64(reference)
	}
	return r
}

// share is a row about two figures of one unit.
func share(goal, what string, ours float64, name string, reference float64, unit, base string) row {
	r := row{goal: goal, what: what, ours: fmt.Sprintf("%.1f %s", ours, unit), reference: fmt.Sprintf("%s %.1f %s", name, reference, unit), base: base}
	if reference > 0 {
		r.ratio = ours / reference
	}
	return r
}

// count is a row about something counted, which has to be want.
func count(goal, what, got, want string) row {
	return row{goal: goal, what: what, ours: got, reference: want, ratio: math.NaN(), base: "counts"}
}

// skipped is a row for what has no reference here.
func skipped(goal, what, ours, why, base string) row {
	return row{goal: goal, what: what, ours: ours, reference: "SKIP: " + why, ratio: math.NaN(), base: base}
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func (b *bench) print(t *testing.T) {
	t.Helper()
	slices.SortStableFunc(b.rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(leading(x.goal), leading(y.goal)), strings.Compare(x.goal, y.goal))
	})
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s/%s, %d cores, load %.1f", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	if noisy() {
		out.WriteString(", NOISY: only counts and CPU ratios hold")
	}
	fmt.Fprintf(&out, "\n%-4s %-66s %-24s %-44s %8s  %s\n", "goal", "what", "foldwatch", "reference", "ratio", "base")
	for _, r := range b.rows {
		ratio := fmt.Sprintf("%8.2f", r.ratio)
		if math.IsNaN(r.ratio) {
			ratio = "       -"
		}
		fmt.Fprintf(&out, "%-4s %-66s %-24s %-44s %s  %s\n", r.goal, r.what, r.ours, r.reference, ratio, r.base)
	}
	t.Log(out.String())
}

// leading returns the number that a goal's name begins with.
func leading(goal string) int {
	n := 0
	_, _ = fmt.Sscanf(goal, "%d", &n)
	return n
}
