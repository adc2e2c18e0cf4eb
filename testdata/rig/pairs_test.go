//go:build accept

package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

// comparedPairs is how often the two programs take turns.
const comparedPairs = 5

// TestPairs holds the program against an older build of it, FOLDWATCH_OLD, in the
// operations of goals 1 to 9 (GOALS names some): both do the same on the same
// machine in turn, and the table shows the median of the pairs' ratios and their
// range. No figure fails the test.
func TestPairs(t *testing.T) {
	older := os.Getenv("FOLDWATCH_OLD")
	if older == "" {
		t.Skip("FOLDWATCH_OLD names no older build")
	}
	b := &bench{}
	defer b.print(t)
	c := &comparison{bench: b, bins: [2]string{older, os.Getenv("FOLDWATCH_BIN")}}
	for _, g := range []struct {
		name    string
		measure func(*testing.T)
	}{
		{"1", c.cold},
		{"2", c.onSource}, // also 3, 6 and 7
		{"4", c.starts},
		{"5", c.saves}, // also 8
		{"9", c.idle},
	} {
		if b.wanted(g.name) {
			t.Run("goal "+g.name, g.measure)
		}
	}
}

// A comparison is two builds of the program, the older one first.
type comparison struct {
	*bench

	bins [2]string
}

// arenas starts a daemon of each build, in a home of its own.
func (c *comparison) arenas(t *testing.T, slug string, fill func(m *machine) corpus) (both [2]*arena) {
	t.Helper()
	for i, bin := range c.bins {
		t.Setenv("FOLDWATCH_BIN", bin)
		both[i] = c.arena(t, slug, fill)
	}
	return both
}

// compare lets the two builds take turns at one operation, each of them first as
// often as the other. One turn returns its figures, and each becomes a row; the turn
// before the first pair warms the caches and is not counted.
func (c *comparison) compare(goal string, whats []string, unit string, turn func(which int) []float64) {
	figures := make([][2][]float64, len(whats))
	for i := range comparedPairs + 1 {
		for k := range 2 {
			which := (i + k) % 2
			for w, f := range turn(which) {
				if i > 0 {
					figures[w][which] = append(figures[w][which], f)
				}
			}
		}
	}
	for w, what := range whats {
		c.add(versus(goal, what, unit, figures[w][0], figures[w][1]))
	}
}

// versus is a row about the figures of an older and a newer build, in pairs.
func versus(goal, what, unit string, older, newer []float64) row {
	ratios := make([]float64, len(newer))
	for i := range newer {
		ratios[i] = newer[i] / max(older[i], 1e-9)
	}
	slices.Sort(ratios)
	r := share(goal, what, median(newer), "older build", median(older), unit, "<= 1.05")
	r.ours, r.reference = fmt.Sprintf("%.3f %s", median(newer), unit), fmt.Sprintf("older build %.3f %s", median(older), unit)
	r.ratio = median(ratios)
	r.base += fmt.Sprintf(" (%.2f to %.2f)", ratios[0], ratios[len(ratios)-1])
	return r
}

// cold is goal 1: first indexes of the Go toolchain's source.
func (c *comparison) cold(t *testing.T) {
	var cpu, wall, rss, disk [2][]float64
	for i := range comparedPairs {
		for k := range 2 {
			which := (i + k) % 2
			t.Run(fmt.Sprintf("%d %s", i, [2]string{"older", "newer"}[which]), func(t *testing.T) { // its files go with it
				t.Setenv("FOLDWATCH_BIN", c.bins[which])
				one := c.coldOnce(t, nil)
				cpu[which], wall[which] = append(cpu[which], one.cpu), append(wall[which], one.wall)
				rss[which], disk[which] = append(rss[which], mb(one.rss)), append(disk[which], mb(one.disk))
			})
		}
	}
	c.add(
		versus("1", "cold index of Go's source, CPU", "cpu-s", cpu[0], cpu[1]), versus("1b", "the same, wall", "s", wall[0], wall[1]),
		versus("1d", "the same, peak memory", "MB", rss[0], rss[1]), versus("1e", "the same, on disk without vectors", "MB", disk[0], disk[1]),
	)
}

// onSource is goals 2, 3, 6 and 7, in the Go toolchain's source: an index that finds
// nothing, a switch between branches, searches by one client and by eight.
func (c *comparison) onSource(t *testing.T) {
	both := c.arenas(t, "gosrc", func(m *machine) corpus { return m.goSource() })
	var trunk string
	for _, a := range both {
		trunk = strings.TrimSpace(a.git(a.dir, "branch", "--show-current"))
		a.git(a.dir, "checkout", "-q", "-b", "other")
		for i, f := range strings.Fields(a.git(a.dir, "ls-files", "*.go")) {
			if i%20 == 0 {
				appendTo(t, filepath.Join(a.dir, f), "\n// Of the other branch.\n")
			}
		}
		a.git(a.dir, "commit", "-q", "-a", "-m", "other")
		a.index("--file-memories", "local")
		a.rest()
	}
	c.compare("2", []string{"index without changes, CPU of the daemon in 10"}, "cpu-s", func(which int) []float64 {
		a := both[which]
		before := a.cpu()
		for range 10 {
			a.run(a.dir, "index", "--wait")
		}
		return []float64{a.cpu() - before}
	})
	c.compare("2", []string{"index without changes, wall of 10"}, "s", func(which int) []float64 {
		a := both[which]
		return []float64{timed(func() {
			for range 10 {
				a.run(a.dir, "index", "--wait")
			}
		}).Seconds()}
	})
	c.compare("3", []string{"switch to a branch and back, 5 % of the files, CPU"}, "cpu-s", func(which int) []float64 {
		a := both[which]
		before := a.still()
		for _, branch := range []string{trunk, "other"} {
			a.git(a.dir, "checkout", "-q", branch)
			a.still()
		}
		return []float64{a.cpu() - before}
	})
	qs := queries(200)
	c.compare("6", []string{"search over the socket, p50 of 200", "the same, p99"}, "ms", func(which int) []float64 {
		var times spread
		for _, q := range qs {
			took, _ := both[which].searched(t, wire.SearchRequest{Query: q})
			times = append(times, took)
		}
		return []float64{ms(times.at(.5)), ms(times.at(.99))}
	})
	c.compare("7", []string{"time for a search by 8 clients, mean", "the same, p99"}, "ms", func(which int) []float64 {
		perSecond, times := both[which].rate(t, 8, 4*time.Second)
		return []float64{1000 / perSecond, ms(times.at(.99))}
	})
	for _, a := range both {
		a.stop()
	}
}

// starts is goal 4: a start beside 10,000 memories, and all that is derived from them
// made again.
func (c *comparison) starts(t *testing.T) {
	both := c.arenas(t, "notes", func(m *machine) corpus { return m.withMemories("notes", 10_000) })
	for _, a := range both {
		a.index()
		a.rest()
	}
	c.compare("4a", []string{"warm start to the first search, 10,000 memories"}, "ms", func(which int) []float64 {
		a := both[which]
		a.stop()
		took := timed(func() {
			a.cl, a.proc = a.serve()
			r, err := a.cl.Search(t.Context(), a.slug, wire.SearchRequest{Query: "ServeHTTP", Limit: 1})
			if err != nil || len(r.Results) == 0 {
				t.Fatalf("first search: %v", err)
			}
		})
		a.quiet(a.cl, a.slug)
		return []float64{ms(took)}
	})
	c.compare("4b", []string{"rebuild of 10,000 memories until found by words, CPU"}, "cpu-s", func(which int) []float64 {
		a := both[which]
		a.stop()
		if err := os.RemoveAll(filepath.Join(a.home, "fw", "state", "index")); err != nil {
			t.Fatal(err)
		}
		a.cl, a.proc = a.serve()
		a.run(a.dir, "index", "--wait")
		a.quiet(a.cl, a.slug)
		return []float64{a.cpu()}
	})
	for _, a := range both {
		a.stop()
	}
}

// saves is goals 5 and 8: from a save to its being found, and memories written one by
// one, until they are acknowledged and until all that follows is done.
func (c *comparison) saves(t *testing.T) {
	both := c.arenas(t, "notes", func(m *machine) corpus { return m.withMemories("notes", 1000) })
	for _, a := range both {
		a.index()
		a.rest()
	}
	round := 0
	c.compare("5", []string{"save to searchable beyond the debounce, p50 of 40", "the same, p95"}, "ms", func(which int) []float64 {
		round++
		times, lost := savesOf(t, both[which].machine, both[which].cl, both[which].slug, both[which].corpus, 40+round%2)
		if lost > 0 {
			t.Errorf("%d saves were not found", lost)
		}
		return []float64{ms(times.at(.5) - lone), ms(times.at(.95) - lone)}
	})
	written := 0
	c.compare("8", []string{"durable write of a memory, p50 of 100"}, "ms", func(which int) []float64 {
		return []float64{ms(c.written(t, both[which], &written).at(.5))}
	})
	c.compare("8", []string{"100 memories written and committed, CPU"}, "cpu-s", func(which int) []float64 {
		before := both[which].still()
		c.written(t, both[which], &written)
		return []float64{both[which].still() - before}
	})
	for _, a := range both {
		a.stop()
	}
}

// written adds 100 memories, each of its own text, and returns how long each took.
func (c *comparison) written(t *testing.T, a *arena, n *int) (times spread) {
	t.Helper()
	for range 100 {
		*n++
		in := wire.MemoryCreate{Title: fmt.Sprintf("Single %d", *n), Type: "decision", Content: fmt.Sprintf("Written alone, as number %d.\n", *n)}
		times = append(times, timed(func() {
			if _, err := a.cl.AddMemory(t.Context(), a.slug, in); err != nil {
				t.Fatal(err)
			}
		}))
	}
	return times
}

// idle is goal 9: both with 10 checkouts, at the same time, since neither does a
// thing; a pair is half a minute.
func (c *comparison) idle(t *testing.T) {
	both := c.arenas(t, "mono", func(m *machine) corpus { return m.mono(10_000) })
	for _, a := range both {
		for i := range 10 {
			dir := filepath.Join(t.TempDir(), fmt.Sprintf("small%02d", i))
			if _, err := generateMono(dir, 50); err != nil {
				t.Fatal(err)
			}
			a.committed(dir, "generated")
			a.run(dir, "add", ".")
			a.run(dir, "index", "--wait")
		}
		a.index("--file-memories", "local")
		a.rest()
	}
	<-time.After(15 * time.Second) // what is done once and late: commits, mirrors, memory given back
	var cpu, rss [2][]float64
	for range comparedPairs {
		was := [2]usage{usageOf(both[0].proc.Process.Pid), usageOf(both[1].proc.Process.Pid)}
		<-time.After(30 * time.Second)
		for which, a := range both {
			is := usageOf(a.proc.Process.Pid)
			cpu[which], rss[which] = append(cpu[which], 1000*(is.cpu-was[which].cpu)/30), append(rss[which], mb(is.rss))
		}
	}
	c.add(versus("9", "idle, 10 checkouts and one of 10,000 files, CPU a second", "ms", cpu[0], cpu[1]), versus("9b", "the same, resident", "MB", rss[0], rss[1]))
	for _, a := range both {
		a.stop()
	}
}
