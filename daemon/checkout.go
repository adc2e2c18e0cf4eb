package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/daemon/jobs"
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/sqlite"
	"github.com/foldwatch/foldwatch/meta/state"
)

// The types of jobs.
const (
	jobSweep  = "sweep"  // compare disk with the database: payload sweepWork
	jobSource = "source" // source files that changed: payload pathWork
	jobFold   = "fold"   // memory files that changed: payload pathWork
	jobTip    = "tip"    // the default branch moved, or what is described of the work tree: payload tipWork
	jobEmbed  = "embed"  // vectors of what changed

	// jobMeasure measures what the vectors of a model are worth.
	jobMeasure = "measure"

	// jobDescribe makes descriptions anew that older rules made.
	jobDescribe = "describe"
)

// Priorities of jobs; the larger goes first.
const (
	prioNow   = 100 // a save, an API write: somebody waits
	prioSoon  = 50
	prioLater = 10
)

type pathWork struct {
	Paths []string `json:"paths"`
}

// tipWork says why the tip is looked at.
type tipWork struct {
	Saved bool `json:"saved,omitempty"` // nothing moved but files of the work tree
}

type sweepWork struct {
	Full    bool `json:"full,omitempty"`
	History int  `json:"history,omitempty"`
}

// A checkout is one registered work tree: its loop, its stores, what status
// says of it.
type checkout struct {
	*parts
	log     *slog.Logger   // of its own: that of parts is shared
	rec     state.Checkout // as registered; Name and FileMemories as they are now: record
	project conf.Project   // to be written where there is none; "" slug otherwise

	batches chan watch.Batch
	wake    chan struct{} // of the job runner
	commits *committer
	sync    *syncing      // of its repository
	pauses  chan struct{} // a pause began or ended
	count   counts        // what was done for it

	mu         sync.Mutex         // guards the fields below
	changed    wire.ProjectUpdate // of rec since it was registered or read
	mode       string             // that was set since; "" if none was
	kept       *standing          // nil between turns
	stood      bool               // it was opened before, or registered by an earlier start
	st         *stores            // nil unless they are open to callers
	working    *stores            // of the jobs that run; nil when none can
	opened     chan struct{}      // closed when st or failed is set
	failed     error
	holds      int                 // calls that need the stores, or wait for them
	lastUse    time.Time           // when what the stores are open for changed
	jobsDue    time.Time           // when a job is due in stores that rest; zero if none is
	owed       []owedJob           // to be queued at the next opening
	paying     bool                // they are just being queued
	unswept    bool                // the sweep at the start of the turn is not queued
	sweepDue   bool                // at the next opening: nothing was seen to have changed
	counted    *wire.ProjectStatus // what was counted last in the stores; nil before
	countedOf  *meaning            // whose vectors then answered, without them
	countedAt  time.Time           // when that ended
	counts     int                 // how often it was counted, since start
	wanted     chan struct{}       // pokes keepCounts
	rested     bool                // the stores rest
	restedAt   time.Time           // since when
	state      string
	pace       pace
	retries    retries
	late       lateness                // of vectors
	asking     context.CancelCauseFunc // ends what a model is asked for now; nil if nothing is
	notices    map[string]string       // by subject
	searchJobs int                     // queued jobs that will change what search finds by words
	openJobs   int                     // queued jobs that wait or run
	pending    int                     // searchJobs, and what is not queued yet
	idle       chan struct{}           // closed when pending reaches 0
	watcher    *watch.Watcher          // nil before the stores are open
	paused     bool
	until      time.Time
	missed     bool               // changes came that are not queued
	wrote      map[string]bool    // paths this daemon wrote that are not queued yet
	queueing   bool               // some of them are just being queued
	cancel     context.CancelFunc // ends run
	reopen     context.CancelFunc // ends the turn
	// dropIndex says that the next turn begins with empty derived stores.
	dropIndex bool
	damage    error           // of the index, found in this turn
	asked     []chan struct{} // wait for a turn that begins from now on
	waiters   []chan struct{} // wait for this turn to be open, or to have failed

	users        atomic.Int64  // holds of opened stores
	unused       chan struct{} // pokes who waits for them to end
	rouse        chan struct{} // pokes keepStores
	claimed      atomic.Bool   // by run, which begins once
	began        chan struct{} // closed when run began
	relist       atomic.Bool   // what is indexed changed: watches follow a sweep that begins from now on
	ended        chan struct{} // closed when run returned
	writes, lost chan struct{} // poke the loop: wrote is not empty; a job failed for good
	known        chan struct{} // of mu: closed when counted is set, and then another
	counting     sync.Mutex    // held while jobs are counted, so that the latest count stays
}

func newCheckout(rec state.Checkout, p *parts) *checkout {
	co := &checkout{
		parts: p, rec: rec, batches: make(chan watch.Batch), wake: jobs.NewWake(),
		opened: make(chan struct{}), pauses: make(chan struct{}, 1), state: "starting", notices: map[string]string{},
		unswept: true, pending: 1, idle: make(chan struct{}), // the sweep at start
		unused: make(chan struct{}, 1), rouse: make(chan struct{}, 1), began: make(chan struct{}),
		ended: make(chan struct{}), writes: make(chan struct{}, 1), lost: make(chan struct{}, 1), wrote: map[string]bool{},
		wanted: make(chan struct{}, 1), known: make(chan struct{}),
		paused: rec.Paused, until: rec.PausedUntil,
	}
	co.log = p.log.With("project", rec.Slug)
	co.commits = newCommitter(co)
	co.sync = p.syncOf(rec.CommonDir)
	return co
}

// loop takes what the watcher reports and queues the work. What cannot be
// queued, because the disk is full for instance, is made up for by a sweep as
// soon as that can be.
func (co *checkout) loop(ctx context.Context) error {
	var retry, gathered <-chan time.Time
	failures := 0
	defer func() {
		if gathered != nil { // the loop of the next turn queues them
			jobs.Poke(co.writes)
		}
	}()
	for {
		var resume <-chan time.Time
		if until := co.pausedUntil(); !until.IsZero() && retry == nil {
			resume = time.After(time.Until(until))
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-co.pauses:
		case <-co.writes:
			switch {
			case gathered != nil: // with those before
			case co.desk.crowded():
				gathered = time.After(gatherWrites)
			default:
				err = co.queueWritten(ctx)
			}
		case <-gathered:
			gathered = nil
			err = co.queueWritten(ctx)
		case <-co.lost: // its attempts are used up, but the work is still to be done
			if err := co.gone(); err != nil {
				return err
			}
			co.miss()
			if retry == nil {
				retry = time.After(retryMost)
			}
		case <-co.retryDue():
			err = co.retryFailed(ctx)
		case <-resume:
			err = co.setPaused(ctx, false, time.Time{})
		case <-retry:
			retry = nil
			if err = co.makeUp(ctx); err == nil {
				failures = 0
			}
		case b := <-co.batches:
			if err := co.gone(); err != nil { // what went with it is not deleted one by one
				return err
			}
			if co.isPaused() {
				co.miss()
				continue
			}
			err = co.take(ctx, b)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.Is(err, sqlite.ErrDamaged):
			return err
		default:
			co.miss()
			co.log.WarnContext(ctx, "Changes not queued", "err", err)
			co.note("queue", fmt.Sprintf("changes are not indexed: %v; it is tried again by itself%s", err, hintAfter(err)))
			if retry == nil {
				failures++
				retry = time.After(retryAfter(failures, err))
			}
		}
	}
}

// gone returns an error if the checkout is certainly not there, or not the one that
// was opened.
func (co *checkout) gone() error {
	if _, err := os.Lstat(co.rec.Path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the checkout is missing: %w", err)
	}
	if k := co.keeps(); k != nil && !k.sidecar.store.Present() {
		return errReplaced
	}
	return nil
}

// errReplaced ends a turn, so that the checkout that stands there now is opened.
var errReplaced = errors.New("the checkout was removed and made anew")

// hintAfter is what to do about err, to be put behind it.
func hintAfter(err error) string {
	if hint := fold.Hint(err); hint != "" {
		return ": " + hint
	}
	return ""
}

// miss notes that changes came which are not queued.
func (co *checkout) miss() {
	co.mu.Lock()
	defer co.mu.Unlock()
	co.missed = true
}

// makeUp queues what could not be queued before.
func (co *checkout) makeUp(ctx context.Context) error {
	if err := co.queueWritten(ctx); err != nil {
		return err
	}
	if !co.isPaused() { // else the end of the pause does it
		if err := co.sweepMissed(ctx); err != nil {
			return err
		}
	}
	co.note("queue", "")
	return nil
}

// sweepMissed queues a sweep if changes were missed.
func (co *checkout) sweepMissed(ctx context.Context) error {
	co.mu.Lock()
	missed := co.missed
	co.missed = false
	co.mu.Unlock()
	if !missed {
		return nil
	}
	if err := co.later(ctx, jobSweep, prioSoon, sweepWork{}, jobSweep); err != nil {
		co.miss()
		return err
	}
	return nil
}

// take queues the work of one batch.
func (co *checkout) take(ctx context.Context, b watch.Batch) error {
	if len(b.Paths) <= saveMost {
		defer co.desk.save()()
	}
	if dirs := co.polledSource(b); dirs != nil {
		return co.later(ctx, jobSource, prioSoon, pathWork{dirs}, "poll")
	}
	rules := slices.ContainsFunc(b.Paths, selection.DecidesFiles)
	// A folder that is moved away tells of none of its files.
	foldGone := slices.Contains(b.Paths, co.rec.FoldDir) && !co.foldThere()
	if b.Reconcile || rules || foldGone {
		if rules {
			co.relist.Store(true)
		}
		if b.Reason == "sweep" && co.putsOffSweep() {
			return nil
		}
		if err := co.later(ctx, jobSweep, prioSoon, sweepWork{}, jobSweep); err != nil || b.Reconcile {
			return err
		}
	}
	var source, memories []string
	for _, p := range b.Paths {
		if strings.HasPrefix(p, ".git/") {
			continue // told of for what it says of other files
		}
		if rel, ok := co.belowFold(p); ok {
			memories = append(memories, rel)
		} else if p != co.rec.FoldDir {
			source = append(source, p)
		}
	}
	if len(memories) > 0 {
		if k := co.keeps(); k != nil {
			co.commits.addSeen(k, memories)
		}
		if _, err := co.enqueue(ctx, jobFold, prioNow, pathWork{memories}, ""); err != nil {
			return err
		}
	}
	if len(source) > 0 {
		if _, err := co.enqueue(ctx, jobSource, prioNow, pathWork{source}, ""); err != nil {
			return err
		}
	}
	if b.Git {
		return co.later(ctx, jobTip, prioSoon, tipWork{}, jobTip)
	}
	return nil
}

// foldThere reports whether the folder of memories is there.
func (co *checkout) foldThere() bool {
	k := co.keeps()
	if k == nil {
		return true // not known
	}
	_, err := os.Lstat(k.foldPath)
	return !errors.Is(err, fs.ErrNotExist)
}

// sweepAtLeast is how often a checkout is swept whose stores rest, although
// nothing was seen to have changed in it.
const sweepAtLeast = 6 * time.Hour

// putsOffSweep reports whether a sweep that only makes sure can wait until the
// stores are opened for something else.
func (co *checkout) putsOffSweep() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.st != nil || !co.rested || co.now().Sub(co.restedAt) > sweepAtLeast {
		return false
	}
	co.sweepDue = true
	return true
}

// polledSource returns the folders of source that b is to have compared, "." for
// all; nil if it is about something else too.
func (co *checkout) polledSource(b watch.Batch) []string {
	if b.Reason != "polling" || len(b.Dirs) == 0 || len(b.Paths) > 0 || b.Git {
		return nil
	}
	dirs := make([]string, len(b.Dirs))
	for i, d := range b.Dirs {
		if _, ok := co.belowFold(d); ok || d == co.rec.FoldDir {
			return nil // memories are compared by a sweep
		}
		dirs[i] = path.Clean(d)
	}
	return dirs
}

// written is told of every path below fold/ that this daemon wrote. It is
// called in the middle of a write, also while the stores are being closed: so
// it only notes what there is to do, and waits for nothing.
func (co *checkout) written(paths []string) {
	co.commits.add(paths)
	co.mu.Lock()
	for _, p := range paths {
		co.wrote[p] = true
	}
	co.recount() // who waits for pending changes waits for these
	co.mu.Unlock()
	jobs.Poke(co.writes)
}

// queueWritten queues what was written since the last time.
func (co *checkout) queueWritten(ctx context.Context) error {
	co.mu.Lock()
	paths := slices.Sorted(maps.Keys(co.wrote))
	co.wrote, co.queueing = map[string]bool{}, true
	co.mu.Unlock()
	var err error
	if len(paths) > 0 {
		_, err = co.enqueue(ctx, jobFold, prioNow, pathWork{paths}, "")
	}
	co.mu.Lock()
	defer co.mu.Unlock()
	co.queueing = false
	if err != nil {
		for _, p := range paths {
			co.wrote[p] = true
		}
	}
	co.recount()
	return err
}

// belowFold returns p relative to the fold folder, if it lies there. The
// watcher reports paths of a fold folder outside the checkout under its name
// too.
func (co *checkout) belowFold(p string) (string, bool) {
	return strings.CutPrefix(p, co.rec.FoldDir+"/")
}

// enqueue adds a job and wakes the runner. Stores that rest are opened for it: who
// does not want to wait for that calls later, and who holds them enqueueIn.
func (co *checkout) enqueue(ctx context.Context, kind string, prio int, payload any, dedupe string) (string, error) {
	if st, ok := ctx.Value(runsIn{}).(*stores); ok { // from a job of this checkout
		return co.enqueueIn(ctx, st, kind, prio, payload, dedupe)
	}
	h, err := co.holdOpen(ctx)
	if err != nil {
		return "", err
	}
	defer h.letGo()
	return co.enqueueIn(ctx, h.stores, kind, prio, payload, dedupe)
}

// enqueueIn is enqueue into stores that the caller holds, or runs a job of.
func (co *checkout) enqueueIn(ctx context.Context, st *stores, kind string, prio int, payload any, dedupe string) (string, error) {
	b, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	if co.faults != nil {
		if err := co.faults("enqueue"); err != nil {
			return "", fmt.Errorf("queue %s: %w", kind, err)
		}
	}
	id, err := st.index.Enqueue(ctx, index.NewJob{Type: kind, Project: co.rec.Slug, Priority: prio, Payload: b, DedupeKey: dedupe})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", kind, err)
	}
	co.countPending(ctx, st)
	jobs.Poke(co.wake)
	return id, nil
}

// countPending keeps how many jobs will still change what search finds by words.
func (co *checkout) countPending(ctx context.Context, st *stores) {
	co.counting.Lock()
	defer co.counting.Unlock()
	n, err := st.index.OpenJobs(ctx, behind[:]...)
	all := n
	if err == nil && n == 0 {
		all, err = st.index.OpenJobs(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			co.log.WarnContext(ctx, "Queue not counted", "err", err)
		}
		return
	}
	co.mu.Lock()
	defer co.mu.Unlock()
	co.searchJobs, co.openJobs, co.lastUse = n, all, time.Now()
	co.recount()
	co.tellUse()
}

// jobChanged is told of each job that began, went on or ended.
func (co *checkout) jobChanged(id string) {
	ctx := context.Background()
	co.mu.Lock()
	st := co.working // not closed before its jobs have ended
	co.mu.Unlock()
	if st == nil {
		return
	}
	co.countPending(ctx, st)
	j, err := st.index.Job(ctx, id)
	if err != nil {
		return
	}
	data := map[string]any{"job_id": j.ID, "job_type": j.Type}
	if j.Error != "" {
		data["error"] = j.Error
	}
	switch j.Status {
	case index.JobCompleted, index.JobFailed, index.JobCancelled:
		co.bus.publish("job:"+string(j.Status), co.rec.Slug, data)
	}
	if j.Status == index.JobFailed {
		jobs.Poke(co.lost)
	}
	switch j.Status {
	case index.JobCompleted, index.JobFailed, index.JobCancelled, index.JobRetry:
		co.mu.Lock()
		co.count.took(j, time.Now())
		co.mu.Unlock()
	}
	switch j.Status {
	case index.JobFailed, index.JobRetry:
		co.note("job "+j.Type, fmt.Sprintf("the last %s failed: %s", j.Type, j.Error))
	case index.JobCompleted:
		co.note("job "+j.Type, "")
	}
}

// settled waits until every change that was known at the call is searchable.
func (co *checkout) settled(ctx context.Context) error {
	co.mu.Lock()
	idle := co.idle
	co.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for pending changes: %w", fold.ErrUnavailable)
	}
}

func (co *checkout) busy() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.pending > 0
}

// record returns what is registered, with what was changed since.
func (co *checkout) record() state.Checkout {
	co.mu.Lock()
	defer co.mu.Unlock()
	rec := co.rec
	if co.changed.Name != nil {
		rec.Name = *co.changed.Name
	}
	if co.changed.FileMemories != nil {
		rec.FileMemories = *co.changed.FileMemories
	}
	if co.mode != "" {
		rec.CommitTo = co.mode
	}
	return rec
}

// change notes an update of what is registered and returns the outcome.
func (co *checkout) change(in wire.ProjectUpdate) state.Checkout {
	co.mu.Lock()
	if in.Name != nil {
		co.changed.Name = in.Name
	}
	if in.FileMemories != nil {
		co.changed.FileMemories = in.FileMemories
	}
	co.mu.Unlock()
	return co.record()
}

// stores returns the opened stores to a job: they stay open until it has ended.
func (co *checkout) stores(context.Context) (*stores, error) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if co.working == nil {
		return nil, fmt.Errorf("project %s is stopping: %w", co.rec.Slug, fold.ErrUnavailable)
	}
	return co.working, nil
}

// keeps returns what of the checkout is open, or nil.
func (co *checkout) keeps() *standing {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.kept
}

func (co *checkout) watch(ctx context.Context, k *standing) error {
	opt := watch.Options{Root: k.layout.WorkTree, Log: co.log, Prune: co.prune, Dirs: k.in.Dirs, Ignored: k.in.Unwatched, Git: gitDirs(k), Files: co.files}
	if k.layout.WorkTree == "" { // bare: only the memories are there to watch
		opt.Root, opt.Dirs = k.layout.StateDir(), func(context.Context) ([]string, error) { return nil, nil }
		opt.Ignored = nil
	}
	opt.Extra = []watch.Tree{{Dir: k.foldPath, Prefix: co.rec.FoldDir}}
	w := watch.New(opt)
	co.mu.Lock()
	co.watcher = w
	co.mu.Unlock()
	return w.Run(ctx, co.batches)
}

// prune keeps the watcher out of folders that nothing is indexed from, without
// asking git.
func (co *checkout) prune(dir string) bool {
	switch filepath.Base(dir) {
	case ".git", ".obsidian", ".trash":
		return true
	}
	k := co.keeps()
	return k != nil && k.in.Rules().PrunesDir(dir)
}

// files is how many source files the checkout has, for the pace of polling.
func (co *checkout) files() int {
	if k := co.keeps(); k != nil {
		return k.in.Listed()
	}
	return 0
}

// followRules has the watches follow what is indexed, after a sweep before which
// that changed.
func (co *checkout) followRules() {
	co.mu.Lock()
	w := co.watcher
	co.mu.Unlock()
	if w != nil {
		w.Relist()
	}
}

func gitDirs(k *standing) []string {
	dirs := []string{k.layout.GitDir}
	if k.layout.CommonDir != k.layout.GitDir {
		dirs = append(dirs, k.layout.CommonDir)
	}
	return dirs
}

// pausedUntil returns when a pause ends by itself; zero if there is none, or if
// it lasts until the user ends it.
func (co *checkout) pausedUntil() time.Time {
	co.mu.Lock()
	defer co.mu.Unlock()
	if !co.paused {
		return time.Time{}
	}
	return co.until
}

func (co *checkout) isPaused() bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.paused
}

// setPaused stops or resumes watching and committing, and remembers it.
func (co *checkout) setPaused(ctx context.Context, paused bool, until time.Time) error {
	if err := co.parts.state.SetPaused(ctx, co.rec.Key, paused, until); err != nil {
		return err
	}
	co.mu.Lock()
	co.paused, co.until = paused, until
	k := co.kept
	co.mu.Unlock()
	if k != nil {
		k.sidecar.hold(co, !co.commits.wanted())
	}
	co.sync.hold()
	select {
	case co.pauses <- struct{}{}:
	default:
	}
	if paused { // whoever asked for it finds the history at rest
		return co.commits.rest(ctx)
	}
	co.commits.nudge()
	return co.sweepMissed(ctx)
}

// note sets what status tells about one subject; "" takes it back.
func (co *checkout) note(subject, text string) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if text == "" {
		delete(co.notices, subject)
		return
	}
	co.notices[subject] = text
}

// noticeOf returns what is noted about subject, "" if nothing is.
func (co *checkout) noticeOf(subject string) string {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.notices[subject]
}

// noticed reports whether there is a notice on the subject.
func (co *checkout) noticed(subject string) bool {
	co.mu.Lock()
	defer co.mu.Unlock()
	return co.notices[subject] != ""
}

func (co *checkout) setState(state string) {
	co.mu.Lock()
	defer co.mu.Unlock()
	if state != co.state {
		co.bus.publish("indexing:"+state, co.rec.Slug, nil)
	}
	co.state = state
}
