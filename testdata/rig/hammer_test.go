//go:build accept

package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
)

// slug is the project of all replicas.
const slug = "hammered"

// hammerOptions say how hard and how long; HAMMER="replicas=3 minutes=10 seed=7".
type hammerOptions struct {
	replicas int
	limit    time.Duration // of the users' work
	steps    int           // of each user, at most
	seed     uint64
	crashes  int  // of daemons
	sync     bool // replicas share their memories
	vanish   bool // users take fold/ away; what comes back takes more than a minute
}

func hammerFromEnv(t *testing.T) hammerOptions {
	t.Helper()
	o := hammerOptions{replicas: 2, limit: 5 * time.Minute, steps: 2000, seed: 1, crashes: 10, sync: true, vanish: true}
	for part := range strings.FieldsSeq(os.Getenv("HAMMER")) {
		key, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatalf("HAMMER: %q is not name=number", part)
		}
		switch key {
		case "replicas":
			o.replicas = n
		case "minutes":
			o.limit = time.Duration(n) * time.Minute
		case "seconds":
			o.limit = time.Duration(n) * time.Second
		case "steps":
			o.steps = n
		case "seed":
			o.seed = uint64(n)
		case "crashes":
			o.crashes = n
		case "sync":
			o.sync = n != 0
		case "vanish":
			o.vanish = n != 0
		default:
			t.Fatalf("HAMMER: there is no %q; there are replicas, minutes, seconds, steps, seed, crashes, sync, vanish", key)
		}
	}
	return o
}

// A replica is a clone with a user, and, but in the control run, a daemon.
type replica struct {
	*user
	n     int
	m     *machine
	proc  *exec.Cmd
	syncs bool
}

// A hammer is one run.
type hammer struct {
	t        *testing.T
	opt      hammerOptions
	origin   string
	replicas []*replica
	ledger   *accounts
	faults   []fault
	crashes  int
	plan     map[int][]int // round → replicas whose fold/ is taken away in it
	restAt   int           // round before which users finish what is open, and rest; 0 is never
}

// A fault is something that the hammer found, of a kind that the table counts.
type fault struct{ kind, text string }

// The kinds of faults.
const (
	lost     = "acknowledged words lost"
	undead   = "deleted memories that came back"
	otherway = "commands that ended otherwise"
	changed  = "refs, index, source not as without daemons"
	broken   = "git fsck, locks, operations left open"
	apart    = "replicas or remote that differ"
)

func (h *hammer) bad(kind, format string, args ...any) {
	h.faults = append(h.faults, fault{kind, fmt.Sprintf(format, args...)})
}

// newHammer makes a remote and its clones.
func newHammer(t *testing.T, opt hammerOptions, bin string) *hammer {
	t.Helper()
	h := &hammer{t: t, opt: opt, ledger: newAccounts(), plan: map[int][]int{}}
	top := t.TempDir()
	h.origin = filepath.Join(top, "origin.git")
	for n := range opt.replicas {
		m := newMachine(t)
		if bin != "" {
			m.bin = bin
		}
		r := &replica{n: n, m: m}
		r.user = &user{
			m: m, name: string(rune('a' + n)), dir: filepath.Join(top, string(rune('a'+n))),
			rnd: rand.New(rand.NewPCG(opt.seed, uint64(n))), editor: slowEditor(m, 200*time.Millisecond),
		}
		r.events = func(what string) { h.ledger.vanish(r, what) }
		if n == 0 {
			m.git(top, "init", "-q", "--bare", "-b", "main", h.origin)
			m.git(top, "clone", "-q", h.origin, r.dir)
			m.git(r.dir, "remote", "set-url", "origin", "../origin.git")
			m.write(filepath.Join(r.dir, "src", "shared.go"), "package src\n")
			m.write(filepath.Join(r.dir, ".gitattributes"), "fold/**/*.md merge=foldwatch\nfold/project.toml merge=foldwatch\n")
			r.git("add", "-A")
			r.git("commit", "-q", "-m", "Begin")
			r.git("push", "-q", "-u", "origin", "main")
		} else {
			m.git(top, "clone", "-q", h.origin, r.dir)
			m.git(r.dir, "remote", "set-url", "origin", "../origin.git") // its name stands in messages of merges
		}
		h.replicas = append(h.replicas, r)
	}
	return h
}

// serve starts the daemons and registers the clones.
func (h *hammer) serve() {
	for _, r := range h.replicas {
		cl, proc := r.m.serve()
		r.proc = proc
		r.m.run(r.dir, "add", ".", "--slug", slug)
		r.m.quiet(cl, slug)
		if r.syncs = h.opt.sync; r.syncs {
			r.m.run(r.dir, "sync", "on", "--remote", h.origin)
		}
	}
}

// converge lets the replicas sync, in at most three rounds, until they and the
// remote hold the same bytes.
func (h *hammer) converge() {
	var differ string
	for range 3 {
		for _, r := range h.replicas {
			if out, err := r.sync(h.t.Context()); err != nil {
				h.bad(apart, "replica %d at rest cannot sync: %s", r.n, out)
				return
			}
			r.m.quiet(client.New(r.m.socket()), slug)
		}
		if differ = h.differ(); differ == "" {
			return
		}
	}
	h.bad(apart, "after three rounds of sync: %s", differ)
}

// differ returns what two replicas, or one and the remote, hold differently.
func (h *hammer) differ() string {
	tree := func(r *replica, repo, ref string) string {
		out, code := r.quietly("--git-dir="+repo, "rev-parse", "--verify", ref+"^{tree}")
		if code != 0 {
			return "no " + ref
		}
		return strings.TrimSpace(out)
	}
	first := h.replicas[0]
	want := tree(first, h.origin, "refs/heads/foldwatch")
	files := treeOf(h.t, filepath.Join(first.dir, "fold"))
	for _, r := range h.replicas {
		if got := tree(r, r.sidecar(), "refs/heads/foldwatch"); got != want {
			return fmt.Sprintf("replica %d has tree %s, the remote %s", r.n, got, want)
		}
		have := treeOf(h.t, filepath.Join(r.dir, "fold"))
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if have[path] != files[path] {
				return fmt.Sprintf("%s differs between replicas 0 and %d", path, r.n)
			}
		}
		if len(have) != len(files) {
			return fmt.Sprintf("replica 0 has %d files, replica %d %d", len(files), r.n, len(have))
		}
	}
	return ""
}

// crash kills a daemon where it stands, and starts it again.
func (h *hammer) crash(r *replica) {
	h.crashes++
	if err := r.proc.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	_ = r.proc.Wait() // killed, as we asked
	_, r.proc = r.m.serve()
}

// work lets the users do n rounds of steps, side by side, of which one at a time
// may meet what others pushed. It returns how many rounds there were time for. A
// control run takes fold/ away in the rounds in which h.plan says that the other
// did, and its users finish what is open where those of the other did.
func (h *hammer) work(n int, limit time.Duration) (rounds int) {
	chaos := rand.New(rand.NewPCG(h.opt.seed, 1<<32))
	start := time.Now()
	rested := limit < 3*time.Minute // there is no time for a rest
	for ; rounds < n && (limit == 0 || time.Since(start) < limit); rounds++ {
		if done := time.Since(start).Seconds() / limit.Seconds(); limit > 0 {
			h.disturb(chaos, rounds, done)
			if !rested && done > .55 && len(h.plan) > 0 {
				rested, h.restAt = true, rounds
			}
		}
		if rounds > 0 && rounds == h.restAt {
			h.finish()
			if limit > 0 {
				h.rest()
			}
		}
		var wg sync.WaitGroup
		for _, r := range h.replicas {
			remote := rounds%4 == 3 && rounds/4%len(h.replicas) == r.n
			vanish := slices.Contains(h.plan[rounds], r.n)
			wg.Go(func() { r.step(remote, vanish) })
		}
		wg.Wait()
	}
	h.finish()
	return rounds
}

// finish has users end what they left open: nothing comes back during a rebase or a
// bisect, which may have taken it away.
func (h *hammer) finish() {
	for _, r := range h.replicas {
		r.finish()
	}
}

// takenAway are the parts of a run after which users take fold/ away: the second
// time the first is not made good yet.
var takenAway = []float64{.35, .45, .9}

// disturb kills a daemon, or has folders vanish in this round, when enough of the
// run is over.
func (h *hammer) disturb(chaos *rand.Rand, round int, done float64) {
	if h.crashes < h.opt.crashes && done > (float64(h.crashes)+.5)/float64(h.opt.crashes) {
		h.crash(h.replicas[chaos.IntN(len(h.replicas))])
	}
	if h.opt.vanish && len(h.plan) < len(takenAway) && done > takenAway[len(h.plan)] {
		first := chaos.IntN(len(h.replicas))
		for i := range h.replicas {
			if i == first || chaos.IntN(2) == 0 {
				h.plan[round] = append(h.plan[round], i)
			}
		}
	}
}

// rest waits, while agents go on, until what vanished is back: that takes a minute
// without a command of the users, and what the machine takes for it.
func (h *hammer) rest() {
	limit := 90*time.Second + h.slack()
	if !eventually(limit, 100*time.Millisecond, func() bool {
		return !slices.ContainsFunc(h.replicas, func(r *replica) bool { return !r.guardedSince().IsZero() })
	}) {
		h.bad(lost, "memories that vanished are not back after %.0f s of rest: %s", limit.Seconds(), h.stand())
	}
}

// slack is what a wait may take longer on a machine that is slow just now: twenty
// times as long as it takes to make a hundred files durable.
func (h *hammer) slack() time.Duration {
	dir := h.t.TempDir()
	start := time.Now()
	for i := range 100 {
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			h.t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			h.t.Fatal(err)
		}
	}
	return 20 * time.Since(start)
}

// stand is what the daemons say of themselves.
func (h *hammer) stand() string {
	var b strings.Builder
	for _, r := range h.replicas {
		st, err := client.New(r.m.socket()).ProjectStatus(context.Background(), slug)
		if err != nil {
			fmt.Fprintf(&b, "\n\treplica %d: %v", r.n, err)
			continue
		}
		fmt.Fprintf(&b, "\n\treplica %d: %s, %d queued, %q", r.n, st.State, st.Queued, st.Notices)
	}
	return b.String()
}

// run is one whole run with daemons: work, rest, and what there is to check
// without a control. It returns how many rounds there were.
func (h *hammer) run() (rounds int) {
	h.serve()
	ctx, stop := context.WithCancel(h.t.Context())
	var agents sync.WaitGroup
	for _, r := range h.replicas {
		agents.Go(func() { r.agent(ctx, h.ledger, rand.New(rand.NewPCG(h.opt.seed, uint64(100+r.n)))) })
	}
	rounds = h.work(h.opt.steps, h.opt.limit)
	stop()
	agents.Wait()
	h.settle()
	if h.opt.sync {
		h.converge()
	}
	h.told()
	h.faults = append(h.faults, h.ledger.check(h.replicas)...)
	for _, r := range h.replicas {
		r.m.stop()
	}
	h.fsck()
	return rounds
}

// settle waits until every daemon has taken in and committed everything. After
// fold/ was taken away that is when git has been quiet for a minute.
func (h *hammer) settle() {
	limit := time.Minute + h.slack()
	if h.opt.vanish {
		limit += 90 * time.Second
	}
	if !eventually(limit, 500*time.Millisecond, func() bool {
		for _, r := range h.replicas {
			st, err := client.New(r.m.socket()).ProjectStatus(context.Background(), slug)
			if err != nil || st.State != "ready" || st.Queued > 0 || !r.guardedSince().IsZero() {
				return false // another replica may have what is not back here
			}
		}
		return len(h.ledger.check(h.replicas)) == 0
	}) {
		h.t.Logf("it does not settle: %s", h.stand())
	}
}

// told logs what the daemons said that a person should know.
func (h *hammer) told() {
	for _, r := range h.replicas {
		b, err := os.ReadFile(filepath.Join(r.m.home, "serve.log"))
		if err != nil {
			h.t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.Contains(line, "emories vanished") || strings.Contains(line, "vanished memories") || strings.Contains(line, "edited meanwhile and stays") {
				h.t.Logf("daemon %d: %s", r.n, strings.TrimSpace(line))
			}
		}
	}
}

func (h *hammer) fsck() {
	for _, r := range h.replicas {
		for _, o := range open {
			if r.has(o.name) {
				h.bad(broken, "replica %d cannot finish what it began: %s", r.n, o.name)
			}
		}
		for _, dir := range []string{filepath.Join(r.dir, ".git"), r.sidecar(), h.origin} {
			out, code := r.quietly("--git-dir="+dir, "fsck", "--no-dangling", "--no-progress")
			out = strings.ReplaceAll(out, "notice: HEAD points to an unborn branch (foldwatch)\n", "")
			if code != 0 || out != "" {
				h.bad(broken, "git fsck of %s: %s", dir, out)
			}
		}
		for _, lock := range r.locks() {
			h.bad(broken, "a lock is left: %s", lock)
		}
	}
}

// compare holds a run with daemons against the control.
func (h *hammer) compare(control *hammer) {
	for i, r := range h.replicas {
		c := control.replicas[i]
		for k := range min(len(r.done), len(c.done)) {
			got, want := r.done[k], c.done[k]
			if got.what == want.what && strings.HasPrefix(got.what, "git clean") {
				continue // who writes a memory while its folder is removed keeps git from removing it
			}
			if got.what != want.what || got.code != want.code {
				h.bad(otherway, "replica %d, step %d: %s ended with %d, without a daemon %s with %d: %s", i, got.step, got.what, got.code, want.what, want.code, got.says)
				break
			}
		}
		if len(r.done) != len(c.done) {
			h.bad(otherway, "replica %d ran %d commands, without a daemon %d", i, len(r.done), len(c.done))
		}
		got, want := r.state(), c.state()
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				h.bad(changed, "replica %d: %s differs from the run without a daemon:\n%s\n-- without\n%s", i, name, got[name], want[name])
			}
		}
	}
}

func (h *hammer) failures() (failed, all int) {
	for _, r := range h.replicas {
		for _, d := range r.done {
			all++
			if d.code != 0 {
				failed++
			}
		}
	}
	return failed, all
}

// hammered makes a run with daemons and one without, and returns the first.
func hammered(t *testing.T, opt hammerOptions, bin string) *hammer {
	t.Helper()
	h := newHammer(t, opt, bin)
	rounds := h.run()
	control := newHammer(t, opt, bin)
	control.plan, control.restAt = h.plan, h.restAt
	control.work(rounds, 0)
	h.compare(control)
	h.table(control, rounds)
	return h
}

// table prints what there was and what was found.
func (h *hammer) table(control *hammer, rounds int) {
	h.t.Helper()
	var f figures
	failed, all := h.failures()
	without, _ := control.failures()
	f.note("rounds of the users, crashes of daemons", fmt.Sprintf("%d, %d", rounds, h.crashes), "", "")
	f.note("commands of users", fmt.Sprintf("%d, %d failed", all, failed), fmt.Sprintf("without daemons %d", without), "")
	for _, kind := range slices.Sorted(maps.Keys(h.ledger.ops)) {
		f.note("memories, "+kind, strconv.Itoa(h.ledger.ops[kind]), "", "")
	}
	for _, why := range slices.Sorted(maps.Keys(h.ledger.refused)) {
		f.note("refused, "+why, strconv.Itoa(h.ledger.refused[why]), "", "")
	}
	f.note("words acknowledged", strconv.Itoa(len(h.ledger.words)), "", "")
	count := map[string]int{}
	for _, found := range h.faults {
		count[found.kind]++
	}
	for _, kind := range []string{lost, undead, otherway, changed, broken, apart} {
		verdict := "ok"
		if count[kind] > 0 {
			verdict = "MISS"
		}
		f.note(kind, strconv.Itoa(count[kind]), "0", verdict)
	}
	f.print(h.t, fmt.Sprintf("hammer, %d replicas, %s, seed %d", h.opt.replicas, h.opt.limit, h.opt.seed))
}

// TestHammer: users and agents at work, daemons killed; nothing that was
// acknowledged is lost, and to the users it is as if there were no daemon
// (git.md I1 to I9).
func TestHammer(t *testing.T) {
	start := time.Now()
	h := hammered(t, hammerFromEnv(t), "")
	for _, f := range h.faults {
		t.Errorf("%s: %s", f.kind, f.text)
	}
	_, n := h.failures()
	t.Logf("hammer n=%d bad=%d secs=%.0f", n, len(h.faults), time.Since(start).Seconds())
}
