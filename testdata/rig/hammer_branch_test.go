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
	gate, look, rest := []string{}, []string{}, []string{}
	for _, s := range []string{"branchQuiet = 10 * time.Second", "amendQuiet  = 10 * time.Minute", "branchLook  = 5 * time.Second"} {
		gate = append(gate, s, s+by)
	}
	for _, s := range []string{"switchQuiet = 2 * time.Minute", "stashHolds = 30 * time.Minute"} {
		rest = append(rest, s, s+by)
	}
	for _, s := range []string{"const branchRetry = 30 * time.Second", "\tputOffLook = 2 * time.Second", "if at := time.Now().Add(time.Second", "b.due = now.Add(min(max(res.Wait.After, time.Second"} {
		look = append(look, s, s+by)
	}
	return map[string][]string{"gitops/branchgate.go": gate, "daemon/branch.go": look, "gitops/unrest.go": rest}
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
	r.room = r.makeRoom
	byHand := rand.New(rand.NewPCG(h.opt.seed, uint64(2000+r.n)))
	r.after = func() {
		defer func() {
			if r.proc != nil && byHand.IntN(6) == 0 {
				r.byHand(h.ledger, h.ledger.pick(byHand, r.dir, fateHand, fateContested))
			}
		}()
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

// inTheWay are the memories that git says kept a command from its end, locked the
// locks.
var (
	inTheWay = regexp.MustCompile(`(?m)^\s+(fold/\S+)$`)
	locked   = regexp.MustCompile(`\.lock'|cannot lock|index file`)
)

// makeRoom puts aside what kept a command from its end, as a person does who reads
// what git says: their own work stays where it is.
func (r *replica) makeRoom(says string) bool {
	found := inTheWay.FindAllStringSubmatch(says, -1)
	for _, m := range found {
		if _, code := r.quietly("checkout", "-q", "--", m[1]); code != 0 { // not git's
			_ = os.Remove(filepath.Join(r.dir, m[1]))
		}
	}
	if len(found) > 0 {
		r.events("git checkout of memories in the way")
		return true
	}
	if strings.Contains(says, "error: cannot rebase: You have unstaged changes") {
		r.mendRebase()
		return true
	}
	if locked.MatchString(says) {
		time.Sleep(time.Second / r.pace)
		return true
	}
	return false
}

// mendRebase takes away what git leaves of a rebase that found a file changed after it
// had stashed: as git then says itself, no command of its own ends that.
func (r *replica) mendRebase() {
	dir := filepath.Join(r.dir, ".git", "rebase-merge")
	kept, err := os.ReadFile(filepath.Join(dir, "autostash"))
	_ = os.RemoveAll(dir)
	r.quietly("checkout", "-q", "--", "fold")
	if err == nil {
		r.quietly("stash", "apply", "-q", strings.TrimSpace(string(kept)))
	}
	r.events("git checkout of memories in the way")
}

// disturbed returns the commands that met a memory or a lock in their way, or ended
// otherwise than without a daemon, by step. Where a step had other commands, all of
// them count that have no equal.
func (h *hammer) disturbed(control *hammer, r *replica) (found map[int][]string) {
	found = map[int][]string{}
	group := func(r *replica) map[int][]did {
		m := map[int][]did{}
		for _, d := range r.done {
			m[d.step] = append(m[d.step], d)
		}
		return m
	}
	got, want := group(r), group(control.replicas[r.n])
	for step := 1; step <= r.steps; step++ {
		g, w := got[step], want[step]
		for k := range max(len(g), len(w)) {
			switch {
			case k >= len(g):
				found[step] = append(found[step], fmt.Sprintf("not done is %s", w[k].what))
			case g[k].met != "":
				found[step] = append(found[step], fmt.Sprintf("%s at %.2f s: %s%s", g[k].what, g[k].at.Sub(h.ledger.start).Seconds(), g[k].met, h.ledger.told(g[k].met)))
			case k >= len(w):
				found[step] = append(found[step], fmt.Sprintf("only with a daemon: %s ended with %d: %s", g[k].what, g[k].code, g[k].says))
			case g[k].what != w[k].what || g[k].code != w[k].code:
				found[step] = append(found[step], fmt.Sprintf("%s ended with %d, without a daemon %s with %d: %s-- without: %s", g[k].what, g[k].code, w[k].what, w[k].code, g[k].says, w[k].says))
			}
		}
	}
	return found
}

// told returns what was done to the memories that a text of git names.
func (l *accounts) told(says string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out strings.Builder
	for _, m := range inTheWay.FindAllStringSubmatch(says, -1) {
		id := strings.TrimSuffix(filepath.Base(m[1]), ".md")
		fmt.Fprintf(&out, "\t%s: %s\n", id, strings.Join(l.trail[id], ", "))
	}
	return out.String()
}

var took = regexp.MustCompile(`Committed onto the branch.* took=([0-9.a-zµ]+)`)

// heldFor returns for how long git's index was locked, by commit onto the branch.
func (h *hammer) heldFor() (all spread) {
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
		found := h.disturbed(control, r)
		for _, step := range slices.Sorted(maps.Keys(found)) {
			h.astray += len(found[step])
			for _, text := range found[step] {
				h.t.Logf("disturbed: replica %d, step %d: %s", i, step, text)
			}
		}
		for step := range min(len(r.each), len(control.replicas[i].each)) {
			if r.each[step] != control.replicas[i].each[step] {
				h.bad(changed, "replica %d, step %d: the index outside fold/ differs from the run without a daemon:\n%s\n-- without\n%s", i, step+1, r.each[step], control.replicas[i].each[step])
				break
			}
		}
		got, want := r.state(), control.replicas[i].state()
		for name := range want {
			if strings.HasPrefix(name, "src/") && got[name] != want[name] {
				h.bad(changed, "replica %d: %s differs from the run without a daemon", i, name)
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
