//go:build accept

package rig

import (
	"context"
	"errors"
	"flag"
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
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// slug is the project of all replicas.
const slug = "hammered"

// hammerOptions say how hard and how long.
type hammerOptions struct {
	tracked  bool // fold/ is in the users' history, and they do with it what users do
	race     bool // tracked: agents write while git commands run, not only between them
	agents   int  // that write over REST, MCP and commands; beside them a person edits files
	replicas int
	limit    time.Duration // of the users' work
	steps    int           // of each user, at most
	seed     uint64
	crashes  int  // of daemons
	sync     bool // sidecar: replicas share their memories
	vanish   bool // sidecar: users take fold/ away; what comes back takes more than a minute
}

// hammerFromEnv reads HAMMER, such as "mode=tracked replicas=3 minutes=10 race=1".
func hammerFromEnv(t *testing.T) hammerOptions {
	t.Helper()
	var o hammerOptions
	f := flag.NewFlagSet("HAMMER", flag.ContinueOnError)
	mode := f.String("mode", "sidecar", "sidecar or tracked")
	minutes, seconds := f.Int("minutes", 5, ""), f.Int("seconds", 0, "instead of minutes")
	f.BoolVar(&o.race, "race", false, "")
	f.IntVar(&o.agents, "agents", 4, "")
	f.IntVar(&o.replicas, "replicas", 2, "")
	f.IntVar(&o.steps, "steps", 2000, "")
	f.Uint64Var(&o.seed, "seed", 1, "")
	f.IntVar(&o.crashes, "crashes", -1, "one in half a minute")
	f.BoolVar(&o.sync, "sync", true, "")
	f.BoolVar(&o.vanish, "vanish", true, "")
	var args []string
	for part := range strings.FieldsSeq(os.Getenv("HAMMER")) {
		args = append(args, "-"+part)
	}
	if err := f.Parse(args); err != nil || f.NArg() > 0 || *mode != "sidecar" && *mode != "tracked" {
		t.Fatalf("HAMMER: %v %v, mode %s", err, f.Args(), *mode)
	}
	if o.limit = time.Duration(*seconds) * time.Second; o.limit == 0 {
		o.limit = time.Duration(*minutes) * time.Minute
	}
	if o.crashes < 0 {
		o.crashes = max(2, int(o.limit/(30*time.Second)))
	}
	if o.tracked = *mode == "tracked"; o.tracked {
		o.sync, o.vanish = false, false
	}
	return o
}

// A replica is a clone with a user, and, but in the control run, a daemon.
type replica struct {
	*user
	n       int
	m       *machine
	proc    *exec.Cmd
	syncs   bool
	writers []*agent // the agents and the person who write here

	outside   snapshot          // as the user's last command left it
	fold      map[string]string // files under fold/, as last seen
	edits     [][]edit          // of fold/ before each command of the user
	restarted bool              // since the last command the daemon was: it replays its log
}

// A hammer is one run.
type hammer struct {
	t        *testing.T
	opt      hammerOptions
	origin   string
	replicas []*replica
	ledger   *ledger
	crashes  int
	plan     map[int][]int // round → replicas whose fold/ is taken away in it
	restAt   int           // round before which users finish what is open, and rest; 0 is never

	mu     sync.Mutex // guards what follows
	faults []fault
}

// A fault is something that the hammer found, of a kind that the table counts.
type fault struct{ kind, text string }

// The kinds of faults.
const (
	written  = "written by us outside fold/"
	unasked  = "fold/ changed when nobody wrote (tracked)"
	lost     = "acknowledged words lost"
	unlisted = "lost, and restore --lost does not tell"
	undead   = "deleted memories that came back"
	otherway = "commands that ended otherwise"
	changed  = "refs, index, source not as in the control"
	broken   = "git fsck, locks, operations left open"
	apart    = "replicas or remote that differ"
)

var kinds = []string{written, unasked, lost, unlisted, undead, otherway, changed, broken, apart}

func (h *hammer) bad(kind, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, fault{kind, fmt.Sprintf(format, args...)})
}

// newHammer makes a remote and its clones.
func newHammer(t *testing.T, opt hammerOptions, bin string) *hammer {
	t.Helper()
	h := &hammer{t: t, opt: opt, ledger: newLedger(opt.tracked), plan: map[int][]int{}}
	top := t.TempDir()
	h.origin = filepath.Join(top, "origin.git")
	for n := range opt.replicas {
		m := newMachine(t)
		if bin != "" {
			m.bin = bin
		}
		r := &replica{n: n, m: m, user: &user{
			m: m, name: string(rune('a' + n)), dir: filepath.Join(top, string(rune('a'+n))), tracked: opt.tracked,
			rnd: rand.New(rand.NewPCG(opt.seed, uint64(n))), editor: slowEditor(m, 200*time.Millisecond),
			before: func() {}, after: func(string) {}, saved: func(string) {},
		}}
		if n == 0 {
			m.git(top, "init", "-q", "--bare", "-b", "main", h.origin)
		}
		m.git(top, "clone", "-q", h.origin, r.dir)
		m.git(r.dir, "remote", "set-url", "origin", "../origin.git") // its name stands in messages of merges
		if n == 0 {
			h.begin(r)
		}
		if opt.tracked && n%2 == 0 { // the others merge memories line by line
			m.git(r.dir, "config", "merge.foldwatch.driver", m.bin+" merge-driver %O %A %B %P")
		}
		h.replicas = append(h.replicas, r)
	}
	return h
}

// begin makes the first commits, and pushes them.
func (h *hammer) begin(r *replica) {
	commit := func(message string) {
		for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", message}} {
			if out, code := r.exec(r.env(), args...); code != 0 {
				h.t.Fatalf("git %v: %s", args, out)
			}
		}
	}
	r.m.write(filepath.Join(r.dir, "src", "shared.go"), "package src\n")
	commit("Begin")
	if h.opt.tracked {
		r.m.git(r.dir, "branch", "-q", "code")
		r.m.git(r.dir, "push", "-q", "origin", "code")
		at := time.Unix(began, 0).UTC()
		r.m.write(filepath.Join(r.dir, "fold", ".gitattributes"), "*.md merge=foldwatch\nproject.toml merge=foldwatch\n")
		r.m.write(filepath.Join(r.dir, "fold", conf.ProjectFile), string(conf.EncodeProject(conf.Project{ID: "proj_000000000000000000000001", Slug: slug, Name: slug, CreatedAt: at})))
		for _, title := range []string{"Hot", "Hotter"} {
			m := fold.Memory{ID: fold.SlugID(slug, title), Title: title, Type: "general", Source: fold.SourceAgent, CreatedAt: at, UpdatedAt: at, Body: "- one item\n"}
			r.m.write(memoryFile(r.dir, string(m.ID)), string(fold.Encode(&m, nil)))
			h.ledger.fate[string(m.ID)] = fateHand
			h.ledger.hot = append(h.ledger.hot, string(m.ID))
		}
		commit("Remember")
	}
	r.m.git(r.dir, "push", "-q", "-u", "origin", "main")
}

// serve starts the daemons and registers the clones. From here on, what is outside
// fold/ is watched.
func (h *hammer) serve() {
	for _, r := range h.replicas {
		r.outside, r.fold = r.snapshot(), r.foldFiles()
		cl, proc := r.m.serve()
		r.proc = proc
		r.m.run(r.dir, "add", ".", "--slug", slug)
		r.m.quiet(cl, slug)
		if r.syncs = h.opt.sync; r.syncs {
			r.m.run(r.dir, "sync", "on", "--remote", h.origin)
		}
		r.before = func() { h.beforeCommand(r) }
		r.after = func(what string) { h.afterCommand(r, what) }
		r.saved = func(path string) { r.outside.add(r.dir, path) }
		r.writers = append(r.writers, newEditor(r, h.ledger, h.opt.seed))
	}
	for n := range h.opt.agents {
		r := h.replicas[n%len(h.replicas)]
		r.writers = append(r.writers, newAgent(r, h.ledger, h.opt.seed, n))
	}
}

// thinkEvery is how many commands of a user are followed by a pause in which the
// daemon settles and commits what was written (git.md G4).
const thinkEvery = 25

// beforeCommand is what happens between two commands of a user: the daemon does its
// work, and where agents take turns with the user they write. What is outside fold/ must
// be as the last command left it.
func (h *hammer) beforeCommand(r *replica) {
	if (len(r.done)+1)%thinkEvery == 0 {
		<-time.After(1500 * time.Millisecond)
	}
	if h.opt.tracked {
		if !h.opt.race {
			h.turn(r)
		}
		deleted := h.ledger.deletedOn(r)
		files := r.foldFiles()
		for _, f := range h.ledger.back(r, deleted, files) {
			h.bad(f.kind, "%s", f.text)
		}
		r.edits = append(r.edits, editsBetween(r.fold, files))
		r.fold = files
	}
	h.untouched(r)
}

// untouched finds what is outside fold/ of a replica as the user left it, or tells.
func (h *hammer) untouched(r *replica) {
	now := r.snapshot()
	if found := r.outside.differences(now); len(found) > 0 {
		h.bad(written, "replica %d, step %d, after %s: %s", r.n, r.steps, r.last(), strings.Join(found, ", "))
	}
	r.outside = now // told once
}

// turn lets some of those who write do one thing each, side by side.
func (h *hammer) turn(r *replica) {
	if found := editsBetween(r.fold, r.foldFiles()); len(found) > 0 && !r.restarted {
		h.bad(unasked, "replica %d, step %d, after %s: %v", r.n, r.steps, r.last(), found)
	}
	r.restarted = false
	var wg sync.WaitGroup
	for _, a := range r.writers {
		if a.rnd.IntN(3) == 0 {
			wg.Go(func() { a.act(h.t.Context()) })
		}
	}
	wg.Wait()
}

// afterCommand notes what a command of the user left.
func (h *hammer) afterCommand(r *replica, what string) {
	r.outside = r.snapshot()
	if h.opt.tracked {
		files := r.foldFiles()
		h.ledger.userChanged(r, what, r.fold, files, h.opt.race)
		r.fold = files
	} else if what == "rm -rf fold" || strings.HasPrefix(what, "git clean") {
		h.ledger.vanish(r, what)
	}
}

// last is the last command of the user.
func (r *replica) last() string {
	if len(r.done) == 0 {
		return "nothing yet"
	}
	return r.done[len(r.done)-1].what
}

// replay has a control make the edits of fold/ that were made beside another run's
// commands.
func (h *hammer) replay(other *hammer) {
	for i, r := range h.replicas {
		r.control, r.commits = true, other.replicas[i].commits
		edits := other.replicas[i].edits
		r.before = func() {
			if n := len(r.done); n < len(edits) {
				r.apply(edits[n])
			}
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

// sync asks the daemon for one, and returns what the program said.
func (r *replica) sync(ctx context.Context) (string, error) {
	c := r.m.command(r.dir, "sync")
	bound := exec.CommandContext(ctx, c.Path, c.Args[1:]...)
	bound.Dir, bound.Env = c.Dir, c.Env
	out, err := bound.CombinedOutput()
	return string(out), err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
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
	r.restarted = true
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
		if st, err := r.status(); err != nil {
			fmt.Fprintf(&b, "\n\treplica %d: %v", r.n, err)
		} else {
			fmt.Fprintf(&b, "\n\treplica %d: %s, %d queued, %q", r.n, st.State, st.Queued, st.Notices)
		}
	}
	return b.String()
}

func (r *replica) status() (wire.ProjectStatus, error) {
	return client.New(r.m.socket()).ProjectStatus(context.Background(), slug)
}

// run is one whole run with daemons: work, rest, and what there is to check
// without a control. It returns how many rounds there were.
func (h *hammer) run() (rounds int) {
	h.serve()
	ctx, stop := context.WithCancel(h.t.Context())
	var writers sync.WaitGroup
	for _, r := range h.replicas {
		for _, a := range r.writers {
			if !h.opt.tracked || h.opt.race { // else they take turns with the user
				writers.Go(func() { a.work(ctx) })
			}
		}
	}
	rounds = h.work(h.opt.steps, h.opt.limit)
	stop()
	writers.Wait()
	h.settle()
	if h.opt.sync {
		h.converge()
	}
	h.told()
	h.faults = append(h.faults, h.ledger.check(h.replicas)...)
	for _, r := range h.replicas {
		if h.opt.tracked {
			h.faults = append(h.faults, h.ledger.unlisted(r)...)
		}
		r.m.stop()
		h.untouched(r)
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
			st, err := r.status()
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
		// What lies beside a memory for a moment, while it is written, is nobody's to commit.
		if temps, _ := r.quietly("log", "--all", "--format=", "--name-only", "--", ":(glob)**/.fw-*"); temps != "" {
			h.bad(broken, "replica %d committed temporary files of ours: %s", r.n, temps)
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
			if !h.opt.tracked && got.what == want.what && strings.HasPrefix(got.what, "git clean") {
				continue // who writes a memory while its folder is removed keeps git from removing it
			}
			if got.what != want.what || got.code != want.code {
				h.bad(otherway, "replica %d, step %d: %s ended with %d, in the control %s with %d: %s-- control: %s", i, got.step, got.what, got.code, want.what, want.code, got.says, want.says)
				break
			}
		}
		if len(r.done) != len(c.done) {
			h.bad(otherway, "replica %d ran %d commands, in the control %d", i, len(r.done), len(c.done))
		}
		got, want := r.state(), c.state()
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				h.bad(changed, "replica %d: %s differs from the control:\n%s\n-- control\n%s", i, name, got[name], want[name])
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
	control.replay(h)
	control.work(rounds, 0)
	if !opt.race { // else edits do not fall between the same commands
		h.compare(control)
	}
	h.table(control, rounds)
	return h
}

// table prints what there was and what was found.
func (h *hammer) table(control *hammer, rounds int) {
	h.t.Helper()
	var f figures
	failed, all := h.failures()
	without, _ := control.failures()
	f.note("rounds, daemons killed", fmt.Sprintf("%d, %d", rounds, h.crashes), "", "")
	f.note("commands of users", fmt.Sprintf("%d, %d failed", all, failed), fmt.Sprintf("control %d", without), "")
	for _, kind := range slices.Sorted(maps.Keys(h.ledger.ops)) {
		f.note("memories, "+kind, strconv.Itoa(h.ledger.ops[kind]), "", "")
	}
	for _, why := range slices.Sorted(maps.Keys(h.ledger.refused)) {
		f.note("refused, "+why, strconv.Itoa(h.ledger.refused[why]), "", "")
	}
	var made, refused int
	for _, r := range h.replicas {
		for _, c := range r.commits {
			if c.refused != "" {
				h.t.Logf("foldwatch commit: %s", c.refused)
				refused++
			} else if len(c.paths) > 0 {
				made++
			}
		}
	}
	if h.opt.tracked {
		f.note("commits by foldwatch commit", fmt.Sprintf("%d, %d refused", made, refused), "", "")
	}
	f.note("words acknowledged", strconv.Itoa(len(h.ledger.words)), "", "")
	count := map[string]int{}
	for _, found := range h.faults {
		count[found.kind]++
	}
	for _, kind := range kinds {
		verdict := "ok"
		if count[kind] > 0 {
			verdict = "MISS"
		}
		if h.opt.race && (kind == otherway || kind == changed || kind == unasked) {
			verdict = "not compared"
		}
		f.note(kind, strconv.Itoa(count[kind]), "0", verdict)
	}
	mode := "sidecar"
	if h.opt.tracked {
		mode = "tracked"
	}
	if h.opt.race {
		mode += ", agents race with git"
	}
	f.print(h.t, fmt.Sprintf("hammer %s, %d replicas, %d agents, %s, seed %d", mode, h.opt.replicas, h.opt.agents, h.opt.limit, h.opt.seed))
}

// TestHammer: users and agents at work, daemons killed; nothing that was
// acknowledged is lost, nothing outside fold/ is written, and to the users it is as if
// a plain program made the same edits (git.md I1 to I9).
func TestHammer(t *testing.T) {
	start := time.Now()
	h := hammered(t, hammerFromEnv(t), "")
	for _, f := range h.faults {
		t.Errorf("%s: %s", f.kind, f.text)
	}
	_, n := h.failures()
	t.Logf("hammer n=%d bad=%d secs=%.0f", n, len(h.faults), time.Since(start).Seconds())
}
