package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/gitops"
)

// Where a registration says that commits go: onto the branch, beside it, or onto it
// if it holds fold/.
const (
	toBranch  = "branch"
	toSidecar = "sidecar"
	toEither  = "auto"
)

// branchRetry is after what time a commit onto the branch that failed is tried
// again, and one that left files to a later look.
const branchRetry = 30 * time.Second

// A branchLook is when the committer next looks whether what the journal has may
// be committed onto the checkout's branch (git.md, Branch mode).
type branchLook struct {
	due      time.Time   // zero if nothing is to be committed
	wait     gitops.Wait // why it was not, at the last look
	since    time.Time   // for how long something waits; zero if nothing does
	describe bool        // descriptions wait for the same window (B8)
	name     string      // of the branch, once known
	unsigned string      // why our commits are not signed, where the user's are
	remote   gitops.Wait // why the branch and the remote's are not in step
	yours    bool        // the user ends that, with git
	pull     time.Time   // when to look whether that may be mended; zero if it need not be
}

// isOnto reports whether commits go onto the branch.
func (k *standing) isOnto() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.onto
}

// wantBranch asks for a look soon: the journal has something new.
func (c *committer) wantBranch(k *standing) {
	if !k.isOnto() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := time.Now().Add(time.Second); c.branch.due.IsZero() || c.branch.due.After(at) && !c.branch.wait.Waits() {
		c.branch.due = at
	}
}

// branchDue is when to look; zero if there is nothing to look for.
func (c *committer) branchDue(k *standing) time.Time {
	if !k.isOnto() {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.branch.due
	if at.IsZero() || !c.branch.pull.IsZero() && c.branch.pull.Before(at) {
		at = c.branch.pull
	}
	return at
}

// ontoBranch commits onto the branch what may be committed now, and has
// descriptions made that waited for such a time.
func (c *committer) ontoBranch(ctx context.Context, k *standing) {
	c.busy <- struct{}{}
	defer func() { <-c.busy }()
	if !c.wanted() {
		return
	}
	res, err := k.sidecar.store.CommitBranch(ctx)
	if err == nil && !res.Wait.Waits() && res.Oid == "" {
		res.Wait, err = c.describeNow(ctx, k, res.Wait)
	}
	now := time.Now()
	c.mu.Lock()
	b := &c.branch
	b.wait, b.due = res.Wait, time.Time{}
	if res.Branch != "" {
		b.name = res.Branch
	}
	if res.Oid != "" {
		b.unsigned = res.Unsigned
	}
	switch {
	case err != nil:
		b.wait = gitops.Wait{Reason: err.Error(), After: branchRetry}
		b.due = now.Add(branchRetry)
	case res.Wait.Waits() && (res.Pending || b.describe):
		b.due = now.Add(min(max(res.Wait.After, time.Second), branchRetry))
	case res.Pending, b.describe:
		b.due = now.Add(branchRetry)
	default:
		b.wait = gitops.Wait{}
	}
	if res.Oid != "" && (b.describe || res.More) {
		b.due = now.Add(time.Second)
	}
	pull := c.pullNow(res.Wait, now)
	switch {
	case b.due.IsZero() || res.Oid != "":
		b.since = time.Time{}
	case b.since.IsZero():
		b.since = now
	}
	c.mu.Unlock()
	if err != nil {
		c.warn(ctx, "memories not committed onto the branch", err)
		return
	}
	if pull {
		c.co.sync.Told()
	}
	if res.Oid != "" {
		c.co.sync.changed()
		c.co.noteDriver(k)
		c.co.count.commits.Add(1)
		c.co.log.InfoContext(ctx, "Committed onto the branch", "branch", res.Branch, "rev", res.Oid, "count", res.Count, "took", res.Held)
		c.co.bus.publish("memory:published", c.co.rec.Slug, map[string]any{"rev": res.Oid, "branch": res.Branch, "count": res.Count})
	}
}

// pullNow reports whether a sync that had to leave the branch alone may be made now.
// The caller holds mu; w is why nothing may be committed onto it.
func (c *committer) pullNow(w gitops.Wait, now time.Time) bool {
	b := &c.branch
	switch {
	case b.pull.IsZero() || now.Before(b.pull):
		return false
	case w.Waits():
		b.pull = now.Add(max(w.After, branchRetry))
		return false
	}
	b.pull = time.Time{}
	return true
}

// describeNow queues the descriptions that waited, if nothing is in their way.
func (c *committer) describeNow(ctx context.Context, k *standing, w gitops.Wait) (gitops.Wait, error) {
	c.mu.Lock()
	owed := c.branch.describe
	c.mu.Unlock()
	if !owed {
		return w, nil
	}
	w, err := k.sidecar.store.BranchGate(ctx)
	if err != nil || w.Waits() {
		return w, err
	}
	c.mu.Lock()
	c.branch.describe = false
	c.mu.Unlock()
	return w, c.co.later(ctx, jobSweep, prioSoon, sweepWork{}, jobSweep)
}

// putsOffDescribing reports whether descriptions have to wait. If not, the project
// file that waited for the same is there.
func (co *checkout) putsOffDescribing(ctx context.Context, st *stores) bool {
	if !st.isOnto() {
		return false
	}
	if co.putsOff(ctx, st.standing) {
		return true
	}
	if err := st.writeProject(ctx, co); err != nil {
		co.log.WarnContext(ctx, "Project file not written", "err", err)
	}
	return false
}

// putsOff reports whether what the daemon makes by itself has to wait until it can
// be committed too: a file that is left untracked would be in the way of the
// user's next pull (git.md B8). The committer asks for it again.
func (co *checkout) putsOff(ctx context.Context, k *standing) bool {
	w, err := k.sidecar.store.BranchGate(ctx)
	if err == nil && !w.Waits() {
		return false
	}
	if err != nil {
		co.log.WarnContext(ctx, "Branch not looked at", "err", err)
	}
	c := co.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	c.branch.describe, c.branch.wait = true, w
	if c.branch.since.IsZero() {
		c.branch.since = time.Now()
	}
	if c.branch.due.IsZero() {
		c.branch.due = time.Now().Add(min(max(w.After, time.Second), branchRetry))
	}
	c.nudge()
	return true
}

// fileWaits tells why the file at path has not what was written to it; "" if it has.
func (co *checkout) fileWaits(k *standing, path string) string {
	if path == "" {
		return ""
	}
	switch k.sidecar.store.Follows(path) {
	case gitops.FollowsRest:
		return "git is at work with it: its file follows when git rests"
	case gitops.FollowsPull:
		return "a branch that is ahead has such a file, too: its own follows with git pull or git switch"
	case gitops.FollowsCommit:
		return "its file comes with its commit onto the branch" + co.commits.becauseOf()
	}
	return ""
}

// fileToCome tells why a source file's memory has no file yet; "" if it gets none.
func (st *hold) fileToCome(ctx context.Context) string {
	c := st.co.commits
	c.mu.Lock()
	owed := c.branch.describe
	c.mu.Unlock()
	if !owed || !st.isOnto() {
		return ""
	}
	if files, err := st.in.Eligible(ctx); err != nil || !st.in.Rules().ToFold(len(files)) {
		return ""
	}
	return "its file is made when it can be committed onto the branch" + c.becauseOf()
}

// becauseOf adds to a sentence what commits onto the branch wait for.
func (c *committer) becauseOf() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.branch.wait.Reason; w != "" {
		return ", which waits: " + w
	}
	return ""
}

// branchStatus tells where commits go and what they wait for.
func (c *committer) branchStatus(k *standing, p *wire.ProjectStatus) {
	if !k.isOnto() {
		p.CommitTo = toSidecar
		return
	}
	p.CommitTo = toBranch
	c.mu.Lock()
	defer c.mu.Unlock()
	b := wire.BranchStatus{Name: c.branch.name, Unsigned: c.branch.unsigned}
	if !c.branch.since.IsZero() {
		since := c.branch.since.UTC()
		b.WaitsSince, b.Waits, b.Hint = &since, c.branch.wait.Reason, c.branch.wait.Hint
	}
	p.Branch = &b
}

const (
	// putOffLook is the time between looks whether git rests, where a file waits for that.
	putOffLook = 2 * time.Second
	// putOffAgain is that where a file cannot be written.
	putOffAgain = time.Minute
)

// putOffDue is when to look; zero if nothing is put off.
func (c *committer) putOffDue(k *standing) time.Time {
	waits := k.sidecar.store.Awaits()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !waits:
		c.putOff = time.Time{}
	case c.putOff.IsZero():
		c.putOff = time.Now().Add(putOffLook)
	}
	return c.putOff
}

// placePutOff has memories written that were put off, if git rests by now.
func (c *committer) placePutOff(ctx context.Context, k *standing) {
	waits, err := k.sidecar.store.PlacePutOff(ctx)
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	c.mu.Lock()
	again := failed == c.putOffFailed
	c.putOffFailed = failed
	c.mu.Unlock()
	if !again {
		c.warn(ctx, "memories that were put off are not written", err)
	}
	text := ""
	if n := len(k.sidecar.store.PutOff()); n > 0 && waits != "" {
		text = fmt.Sprintf("changes of %d memories are kept, and found, and get into their files when git rests (%s)", n, waits)
	}
	c.co.note("put off", text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putOff = time.Time{}
	if err != nil {
		c.putOff = time.Now().Add(putOffAgain)
	}
}

// checkTracking follows which branches track fold/ (git.md G18).
func (co *checkout) checkTracking(ctx context.Context, st *stores) error {
	st.heads = st.headStamps()
	head, main, branches, err := tracking(ctx, st.layout, co.rec.FoldDir)
	if err != nil {
		return err
	}
	return co.noteTracked(st.standing, tracked{head, main, branches})
}

// goesOnto reports whether commits go onto the branch: as the user said, or where that
// holds the memories, as main tells.
func (co *checkout) goesOnto(main bool) bool {
	switch co.record().CommitTo {
	case toBranch:
		return true
	case toSidecar:
		return false
	}
	return main
}

// comesBack reports whether the checkout has stepped behind fold/ for a while, as in a
// bisection: the branch it comes back to is one of branches, which have it.
func (co *checkout) comesBack(l *gitops.Layout, branches []string) bool {
	return len(branches) > 0 && l.InPassing(co.now()) && slices.Contains(branches, l.ComesBackTo())
}

// noteTracked has commits go where the branches say: onto the branch if the
// checkout's own tracks fold/, or was to from the start, else beside it.
func (co *checkout) noteTracked(k *standing, t tracked) error {
	onto := co.goesOnto(t.main)
	k.mu.Lock()
	if !onto && k.onto && co.record().CommitTo != toSidecar && k.layout.InPassing(co.now()) {
		onto = true // a bisection that steps behind fold/ comes back
	}
	changed := k.onto != onto
	k.onto = onto
	k.mu.Unlock()
	if changed {
		if err := k.sidecar.store.OntoBranch(onto); err != nil {
			return err
		}
		co.sync.hold()
	}
	switch {
	case onto:
		co.note("tracked", "")
		co.noteDriver(k)
		if co.commits.waitsForUser() { // who may just have pulled, or pushed
			co.sync.Told()
		}
		co.commits.wantBranch(k)
		co.commits.nudge()
	case len(t.branches) > 0:
		co.note("tracked", fmt.Sprintf("branch %s tracks %s/: switching to it lets git overwrite memories; commits go to the journal only. "+
			"Ways out: git rm -r --cached %s on that branch, or register with --fold-dir NAME", t.branches[0], co.rec.FoldDir, co.rec.FoldDir))
	default:
		co.note("tracked", "")
	}
	if !onto {
		co.note(driverNotice, "")
	}
	return nil
}

// driverNotice is the subject of what noteDriver says.
const driverNotice = "merge driver"

// noteDriver says how git is told to merge memories by their meaning, unless it
// was. Both commands are the user's to run: we write neither files outside fold/
// nor git's configuration.
func (co *checkout) noteDriver(k *standing) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	merges, err := k.sidecar.store.MergesMemories(ctx)
	if err != nil {
		co.log.Warn("Merge driver not looked for", "err", err)
		return
	}
	text := ""
	if !merges {
		text = fmt.Sprintf("git merges memories line by line here, and so may leave conflicts in them. To have it merge them as foldwatch does, run in %s: "+
			"git config merge.foldwatch.driver 'foldwatch merge-driver %%O %%A %%B %%P' && printf '%%s merge=foldwatch\\n' '%s/**/*.md' %s/project.toml >> .gitattributes",
			k.layout.MainTree, co.rec.FoldDir, co.rec.FoldDir)
	}
	co.note(driverNotice, text)
}
