//go:build accept

package rig

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// In branch mode the daemon commits onto the branch the user works on, when git
// rests. The users of this hammer work at the speed of people on a clock that runs
// faster: what they think and pause, and what the daemon waits for, is shortened by
// the same factor. What a command of git takes is not, so that it is as if git were
// slower by it: it meets the daemon and the agents far more often than people's would.

// hasty builds the program with the times it has git rest for divided by pace.
func (m *machine) hasty(pace time.Duration) string {
	m.t.Helper()
	return m.altered(hastened(pace))
}

func hastened(pace time.Duration) map[string][]string {
	by := fmt.Sprintf(" / %d", pace)
	gate, look := []string{}, []string{}
	for _, s := range []string{"branchQuiet = 10 * time.Second", "amendQuiet  = 10 * time.Minute", "branchLook  = 5 * time.Second"} {
		gate = append(gate, s, s+by)
	}
	for _, s := range []string{"const branchRetry = 30 * time.Second", "if at := time.Now().Add(time.Second", "b.due = now.Add(min(max(res.Wait.After, time.Second"} {
		look = append(look, s, s+by)
	}
	return map[string][]string{"gitops/branchgate.go": gate, "daemon/branch.go": look}
}

// human has the user of a replica work as people do.
func (h *hammer) human(r *replica) {
	h.ledger.journal = true
	r.human = true
	rnd := rand.New(rand.NewPCG(h.opt.seed, uint64(1000+r.n)))
	r.think = func() {
		if r.proc != nil { // in the control nobody waits
			time.Sleep((5*time.Second + time.Duration(rnd.Int64N(int64(15*time.Second)))) / r.pace)
		}
	}
	r.pause = func() {
		if r.proc != nil {
			time.Sleep(12 * time.Minute / r.pace)
		}
	}
	r.after = func() {
		out, _ := r.quietly("ls-files", "-s", "--", ".", ":!fold")
		r.each = append(r.each, out)
		// No user stages memories, so that nobody may find them staged.
		if out, _ := r.quietly("diff", "--cached", "--name-status", "--", "fold"); out != "" {
			h.ledger.mu.Lock()
			defer h.ledger.mu.Unlock()
			h.bad(changed, "replica %d, step %d: staged under fold/: %s", r.n, r.steps, out)
		}
	}
	r.m.git(r.dir, "config", "merge.foldwatch.driver", r.m.bin+" merge-driver %O %A %B %P")
}

// inTheWay is what git says where the daemon, or what it wrote, kept a command from
// its end.
var inTheWay = regexp.MustCompile(`(?m)^\s+fold/|\.lock'|cannot lock|index file`)

// disturbed are the steps with a command that failed over a memory or a lock, or,
// up to the first of them, that ended otherwise than without a daemon: after it two
// runs have different work trees, and different conflicts of their own.
func (h *hammer) disturbed(control *hammer, r *replica) (steps map[int]string) {
	steps = map[int]string{}
	group := func(r *replica) map[int][]string {
		m := map[int][]string{}
		for _, d := range r.done {
			m[d.step] = append(m[d.step], fmt.Sprintf("%s ended with %d", d.what, d.code))
		}
		return m
	}
	got, want := group(r), group(control.replicas[r.n])
	first := r.steps + 1
	for step := 1; step < first; step++ {
		if !slices.Equal(got[step], want[step]) {
			first = step
			steps[step] = fmt.Sprintf("%q, without a daemon %q", got[step], want[step])
		}
	}
	for _, d := range r.done {
		if d.code != 0 && inTheWay.MatchString(d.says) && (steps[d.step] == "" || d.step == first) {
			steps[d.step] = d.what + ": " + d.says
		}
	}
	return steps
}

var took = regexp.MustCompile(`Committed onto the branch.* took=([0-9.a-zµ]+)`)

// locked returns for how long git's index was locked, by commit onto the branch.
func (h *hammer) locked() (all spread) {
	for _, r := range h.replicas {
		b, err := os.ReadFile(filepath.Join(r.m.home, "serve.log"))
		if err != nil {
			h.t.Fatal(err)
		}
		for _, m := range took.FindAllStringSubmatch(string(b), -1) {
			if d, err := time.ParseDuration(m[1]); err == nil {
				all = append(all, d)
			}
		}
	}
	return all
}

// compareBranch holds a run in branch mode against the control.
func (h *hammer) compareBranch(control *hammer) {
	all := 0
	for i, r := range h.replicas {
		all += len(r.done)
		steps := h.disturbed(control, r)
		h.astray += len(steps)
		first := r.steps + 1
		for _, step := range slices.Sorted(maps.Keys(steps)) {
			first = min(first, step)
			h.t.Logf("disturbed: replica %d, step %d: %s", i, step, steps[step])
		}
		// From a command on that ended otherwise, two runs have different work trees.
		for step := range min(first-1, len(r.each), len(control.replicas[i].each)) {
			if r.each[step] != control.replicas[i].each[step] {
				h.bad(changed, "replica %d, step %d: the index outside fold/ differs from the run without a daemon:\n%s\n-- without\n%s", i, step+1, r.each[step], control.replicas[i].each[step])
				break
			}
		}
		if len(steps) == 0 {
			got, want := r.state(), control.replicas[i].state()
			for name := range want {
				if strings.HasPrefix(name, "src/") && got[name] != want[name] {
					h.bad(changed, "replica %d: %s differs from the run without a daemon", i, name)
				}
			}
		}
		h.onlyMemories(r)
	}
	if h.astray*1000 > all {
		h.bad(otherway, "%d of %d", h.astray, all)
	}
}

// onlyMemories checks that our commits touch nothing but fold/.
func (h *hammer) onlyMemories(r *replica) {
	list, code := r.quietly("log", "--all", "--reflog", "--no-merges", "--grep=^Foldwatch-Commit: v1", "--name-only", "--format=", "--", ".", ":!fold")
	if code != 0 || list != "" {
		h.bad(changed, "replica %d: commits of the daemon hold %s", r.n, list)
	}
}
