package gitops

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// mostApart is of how many commits the way between a branch and the remote's is
// looked at. Beyond that a person brings them together.
const mostApart = 2000

// A BranchSynced says what one call of SyncBranch came to.
type BranchSynced struct {
	Branch  string // short name; "" where none may be synced
	Fetched bool   // the remote had something new
	Pushed  bool   // the remote has taken something from us
	Sent    int    // the memories that this changed there
	Remote  string // the tip of the remote's branch; "" if it has none
	Local   string // the tip of the checkout's
	// Paths are the files below fold/ that were written or deleted, sorted; Merged
	// counts those of them that both sides had changed, Conflicts those of which
	// something is kept in a callout or in history only.
	Paths             []string
	Merged, Conflicts int
	// Wait says why branch and remote do not hold the same; it is no error.
	Wait Wait
	// Yours says that Wait ends with something that the user does with git, not by
	// itself.
	Yours bool
}

// SyncBranch brings the checkout's branch and that of the remote together where that
// concerns fold/ alone (B7): it pushes what is ours, if every commit that the remote
// lacks is; it moves the branch to the remote's, with index and files, if every commit
// that the branch lacks changes memories and nothing else. Commits of ours that lie
// beside such are taken back and made again on the remote's tip, so that history has
// one line. Where anything of the user's is among them nothing is touched, and Wait
// says why. Only the user's branch moves: no remote-tracking reference, nor FETCH_HEAD
// (I4). Errors that end a sync are *SyncError. In a store that commits beside the
// branch it does nothing. One call runs at a time.
func (s *Store) SyncBranch(ctx context.Context, opt SyncOptions) (out BranchSynced, err error) {
	if err := s.writable(); err != nil {
		return out, err
	}
	if opt.Rand == nil {
		opt.Rand = rand.Float64
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	r := &branchRound{s: s, opt: opt, out: &out}
	defer func() {
		if r.u != nil {
			r.u.close()
		}
	}()
	for try := 1; ; try++ {
		err := r.run(ctx)
		if lost, ok := errors.AsType[*SyncError](err); !ok || lost.Kind != SyncLost {
			return out, r.inBranch(err)
		} else if try == syncTries {
			lost.Err = fold.WithHint(lost.Err, SyncLost.hint(r.host()))
			return out, lost
		}
		pause := 50*time.Millisecond + time.Duration(opt.Rand()*float64(450*time.Millisecond))
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// A branchRound is one pass of SyncBranch.
type branchRound struct {
	s   *Store
	t   *branchTarget
	u   *upstream // nil until the store is known to commit onto a branch
	opt SyncOptions
	out *BranchSynced

	notes *upstreamNotes
	tip   oid // of the remote's branch; "" if there is none
}

func (r *branchRound) host() string {
	if r.u == nil {
		return ""
	}
	return r.u.at.host
}

func (r *branchRound) step(name string) error {
	if r.opt.Step == nil {
		return nil
	}
	return r.opt.Step(name)
}

func (r *branchRound) known() *upstreamBranch { return r.notes.of(r.out.Branch) }

func (r *branchRound) save() error { return r.notes.write(r.t.l.StateDir()) }

// inBranch says what is another thing here than with a branch of our own.
func (r *branchRound) inBranch(err error) error {
	bad, ok := errors.AsType[*SyncError](err)
	if !ok {
		return err
	}
	switch bad.Kind {
	case SyncPolicy: // B10
		bad.advise("keep memories on a branch of their own: foldwatch add " + quoteArg(r.t.l.WorkTree) +
			" --commit-to sidecar, then: foldwatch sync on; or allow pushes to " + r.out.Branch + ", then: foldwatch sync")
	case SyncRefused:
		if strings.Contains(bad.Err.Error(), "the remote sent more than") {
			bad.advise("fetch it yourself: git fetch; then: foldwatch sync")
		}
	}
	return bad
}

// stand finds out which branch is synced. It returns false where none may be, or
// commits do not go onto a branch.
func (r *branchRound) stand(ctx context.Context) (ok bool, err error) {
	s := r.s
	s.commit.Lock()
	defer s.commit.Unlock()
	if r.t = s.onto; r.t == nil {
		return false, nil
	}
	if err := recoverBranch(ctx, s.l); err != nil {
		return false, err
	}
	p, w, err := r.t.stand(ctx, s.opt.Now())
	if err != nil {
		return false, err
	}
	r.out.Wait = w
	if r.out.Branch = p.branch; p.branch == "" || !r.t.allows(p.branch) {
		r.out.Branch = r.t.allowed
	}
	if onto := r.t.conf.get("branch." + r.out.Branch + ".merge"); r.out.Wait.none() && onto != "" && onto != "refs/heads/"+r.out.Branch {
		r.yours(waitFor("%s follows %s, another branch of the remote", r.out.Branch, oneLine(strings.TrimPrefix(onto, "refs/heads/"))).
			hint("git push, as you set it up"))
	}
	return r.out.Branch != "", nil
}

// yours notes a wait that only the user ends, with git.
func (r *branchRound) yours(w Wait) { r.out.Wait, r.out.Yours = w, true }

func (r *branchRound) run(ctx context.Context) error {
	r.out.Yours = false
	if ok, err := r.stand(ctx); err != nil || !ok {
		return err
	}
	var err error
	if r.u == nil {
		if r.u, err = r.s.openUpstream(r.t, r.opt); err != nil {
			return err
		}
	}
	if err := r.s.unguarded(r.u.at.host); err != nil {
		return err
	}
	if r.notes, err = readUpstream(r.t.l.StateDir()); err != nil {
		return err
	}
	if r.notes.Remote != r.u.at.url { // what was seen elsewhere says nothing about it
		r.notes = &upstreamNotes{Remote: r.u.at.url}
	}
	if err := r.ask(ctx); err != nil {
		return err
	}
	for range 4 { // take, make again, push
		again, err := r.bring(ctx)
		if err != nil || !again {
			return err
		}
	}
	return nil
}

// ask finds out where the remote's branch stands, and holds what is on it.
func (r *branchRound) ask(ctx context.Context) error {
	if err := r.step("ask"); err != nil {
		return err
	}
	text, err := r.u.git.tipOf(ctx, "refs/heads/"+r.out.Branch)
	if err != nil {
		return err
	}
	r.s.noteContact()
	r.out.Remote, r.tip = text, ""
	if text == "" {
		return nil
	}
	var ok bool
	if r.tip, ok = parseOid(text, r.t.size); !ok {
		return syncError(SyncRefused, r.host(), "", "the remote names objects in another way than this repository")
	}
	r.out.Fetched = r.out.Fetched || text != r.known().Seen
	if r.u.holds(ctx, r.tip) {
		return nil
	}
	if err := r.step("fetch"); err != nil {
		return err
	}
	r.tip, err = r.u.fetch(ctx, r.s, r.t, r.out.Branch)
	r.out.Remote = r.tip.String()
	return err
}

// bring does what is next. It reports whether there may be more.
func (r *branchRound) bring(ctx context.Context) (again bool, err error) {
	s := r.s
	s.commit.Lock()
	p, w, err := r.t.stand(ctx, s.opt.Now())
	var rel relation
	if err == nil {
		rel, err = r.relate(ctx, p)
	}
	if err == nil {
		err = r.rewritten(ctx, &rel)
	}
	if err == nil {
		err = r.saw(&rel)
	}
	if err != nil || !w.none() || r.out.Yours || rel.local == "" {
		s.commit.Unlock()
		if err == nil && !r.out.Yours && !w.none() {
			r.out.Wait = w
		}
		return false, err
	}
	r.out.Wait = Wait{}
	remote := "the remote"
	switch {
	case r.tip == "":
		r.yours(waitFor("%s has no branch %s yet", remote, p.branch).hint("git push -u origin %s", p.branch))
	case rel.same():
	case rel.foreign != "" && len(rel.behind) > 0 && len(rel.ahead) > 0 && !rel.ours:
		r.yours(waitFor("%s and %s have both moved: %s", p.branch, remote, rel.foreign).hint("git pull, then git push"))
	case rel.foreign != "" && len(rel.behind) > 0:
		r.yours(waitFor("%s", rel.foreign).hint("git pull"))
	case (!rel.ours || rel.moved) && len(rel.behind) > 0:
		r.yours(waitFor("%s has commits of yours beside those of %s", p.branch, remote).hint("git pull, then git push"))
	case !rel.ours:
		r.yours(waitFor("%s has commits of yours that %s has not", p.branch, remote).hint("git push"))
	case len(rel.behind) > 0:
		err := r.take(ctx, p, &rel)
		s.commit.Unlock()
		s.changed(r.out.Paths)
		if err != nil || !r.out.Wait.none() {
			return false, err
		}
		if len(rel.ahead) > 0 { // taken back: made again where it stands now
			b, err := s.CommitBranch(ctx)
			r.out.Wait = b.Wait
			return err == nil && b.Wait.none(), err
		}
		return true, nil
	case r.opt.Publish:
		return false, r.push(ctx, &rel) // lets go of the lock
	}
	s.commit.Unlock()
	return false, nil
}

// rewritten stops where what we saw of the remote's branch is gone from it, unless
// the checkout's branch went the same way: then it was the user (G14).
func (r *branchRound) rewritten(ctx context.Context, rel *relation) error {
	seen, ok := parseOid(r.known().Seen, r.t.size)
	if !ok || r.opt.Resync || r.tip == "" || r.tip == seen || len(rel.ahead) == 0 {
		return nil
	}
	_, err := r.u.layout().git("merge-base", "--is-ancestor", seen.String(), r.tip.String()).output(ctx)
	if err == nil {
		return nil
	}
	return syncError(SyncRewritten, r.host(), "", "the branch %s of the remote was rewritten: %.12s is no longer part of it", r.out.Branch, seen)
}

// saw keeps where the remote stands.
func (r *branchRound) saw(rel *relation) error {
	b := r.known()
	was, last := *b, r.notes.Branch
	r.notes.Branch = r.out.Branch
	b.Seen = r.tip.String()
	if rel.local != "" { // else another branch is checked out: what it had in common stays so
		b.Base = rel.base.String()
	}
	if r.tip != "" {
		b.Offered = "" // it has it, or has it not
	}
	r.out.Local = rel.local.String()
	if *b == was && last == r.notes.Branch {
		return nil
	}
	return r.save()
}

// push moves the remote's branch to ours. The caller holds commit, which is let go
// of while git is at it.
func (r *branchRound) push(ctx context.Context, rel *relation) error {
	s := r.s
	b := r.known()
	sent, err := r.mayLeave(ctx, rel)
	if err == nil && r.out.Wait.none() {
		b.Offered = rel.local.String()
		err = r.save()
	}
	s.commit.Unlock()
	if err != nil || !r.out.Wait.none() {
		return err
	}
	if err := r.step("push"); err != nil {
		return err
	}
	err = r.u.git.pushRef(ctx, "refs/heads/"+r.out.Branch, r.tip.String(), rel.local.String())
	s.commit.Lock()
	defer s.commit.Unlock()
	if err != nil {
		if bad, ok := errors.AsType[*SyncError](err); ok && (bad.Kind == SyncLost || bad.Kind == SyncPolicy) {
			b.Offered = "" // it said no
			return errors.Join(err, r.save())
		}
		return err
	}
	if err := r.step("pushed"); err != nil {
		return err
	}
	*b = upstreamBranch{Seen: rel.local.String(), Base: rel.local.String(), Pushed: s.opt.Now().UTC()}
	r.out.Pushed, r.out.Sent, r.out.Remote = true, r.out.Sent+sent, rel.local.String()
	return r.save()
}

// mayLeave looks once more at what a push would publish: what counts as a secret may
// have been learned since it was committed. It returns how many memories that is.
func (r *branchRound) mayLeave(ctx context.Context, rel *relation) (n int, err error) {
	bad := ""
	err = r.u.foldDiff(ctx, r.t.dir, r.tip, rel.local, func(path string, _, is userEntry) error {
		if path != fold.ProjectFile {
			n++
		}
		if is.oid == "" || !allowed(path) {
			return nil
		}
		b, err := r.u.objects.blob(ctx, is.oid)
		if err == nil && bad == "" {
			if why := r.s.gate(path, b); why != nil {
				bad = why.Error()
			}
		}
		return err
	})
	if err == nil && bad != "" {
		r.out.Wait = waitFor("%s/%s", r.t.dir, bad).hint("take it out of the memory: it is committed, but not pushed")
	}
	return n, err
}

// RemoteBranchTip asks the remote for the tip of the branch that is synced, and
// reports whether it is another than SyncBranch saw last. It is the poll of branch
// mode: one question, nothing fetched, nothing written.
func (s *Store) RemoteBranchTip(ctx context.Context, opt SyncOptions) (moved bool, err error) {
	if err := s.writable(); err != nil {
		return false, err
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	r := &branchRound{s: s, opt: opt, out: &BranchSynced{}}
	if ok, err := r.stand(ctx); err != nil || !ok {
		return false, err
	}
	if r.u, err = s.openUpstream(r.t, opt); err != nil {
		return false, err
	}
	defer r.u.close()
	if r.notes, err = readUpstream(r.t.l.StateDir()); err != nil {
		return false, err
	}
	tip, err := r.u.git.tipOf(ctx, "refs/heads/"+r.out.Branch)
	if err != nil {
		return false, err
	}
	s.noteContact()
	return r.notes.Remote != r.u.at.url || tip != r.known().Seen, nil
}

// A relation says how the checkout's branch stands to the remote's.
type relation struct {
	local  oid
	base   oid   // the last commit that both have; "" if there is none
	ahead  []oid // commits that only the checkout's has, newest first
	behind []oid // that only the remote's has
	ours   bool  // each of ahead is a commit of ours, on one line
	moved  bool  // some of them the user has rebased or amended since
	// foreign says what of behind is not ours to take: it is about more than
	// memories. "" if nothing is.
	foreign string
}

func (rel *relation) same() bool { return len(rel.ahead)+len(rel.behind) == 0 }

// relate compares the branch at p with the remote's tip.
func (r *branchRound) relate(ctx context.Context, p position) (rel relation, err error) {
	rel.local, rel.ours = p.oid, true
	if p.oid == "" || r.tip == "" || p.branch != r.out.Branch {
		rel.local = ""
		if p.branch == r.out.Branch {
			rel.local = p.oid
		}
		return rel, nil
	}
	if p.oid == r.tip {
		rel.base = r.tip
		return rel, nil
	}
	g := r.u.layout()
	out, err := g.git("rev-list", "--left-right", "--topo-order", fmt.Sprintf("--max-count=%d", mostApart+1), p.oid.String()+"..."+r.tip.String()).line(ctx)
	if err != nil {
		return rel, fmt.Errorf("compare %s with the remote: %w", p.branch, err)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		id, ok := parseOid(strings.TrimLeft(line, "<>"), r.t.size)
		switch {
		case !ok:
			return rel, fmt.Errorf("compare %s with the remote: git answered %.80q", p.branch, line)
		case line[0] == '<':
			rel.ahead = append(rel.ahead, id)
		default:
			rel.behind = append(rel.behind, id)
		}
	}
	if base, err := g.git("merge-base", p.oid.String(), r.tip.String()).line(ctx); err == nil {
		rel.base, _ = parseOid(base, r.t.size)
	}
	if len(rel.ahead)+len(rel.behind) > mostApart || rel.base == "" {
		rel.ours, rel.foreign = len(rel.ahead) == 0, "the remote has many commits that "+p.branch+" has not"
		return rel, nil
	}
	if err := r.whose(ctx, &rel); err != nil {
		return rel, err
	}
	rel.foreign, err = r.beyondFold(ctx, rel.base, rel.behind)
	return rel, err
}

// whose sees whether all commits that the remote lacks are ours: they say so, and
// change nothing but fold/ (B6).
func (r *branchRound) whose(ctx context.Context, rel *relation) error {
	for _, id := range rel.ahead {
		c, err := r.u.objects.commit(ctx, id)
		if err != nil {
			return err
		}
		rel.moved = rel.moved || !ours(c)
		if rel.ours = marked(c); !rel.ours {
			return nil
		}
		parent, err := r.u.objects.commit(ctx, c.parents[0])
		if err != nil {
			return err
		}
		if rel.ours, err = r.u.objects.differOnlyAt(ctx, r.t.dir, parent.tree, c.tree); err != nil || !rel.ours {
			return err
		}
	}
	return nil
}

// beyondFold returns what of commits of the remote concerns more than memories, or "".
func (r *branchRound) beyondFold(ctx context.Context, base oid, list []oid) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	for _, id := range list {
		c, err := r.u.objects.commit(ctx, id)
		if err != nil {
			return "", err
		}
		inside := len(c.parents) > 0
		for _, p := range c.parents {
			parent, err := r.u.objects.commit(ctx, p)
			if err != nil {
				return "", err
			}
			if inside, err = r.u.objects.differOnlyAt(ctx, r.t.dir, parent.tree, c.tree); err != nil {
				return "", err
			}
			if !inside {
				break
			}
		}
		if !inside {
			return fmt.Sprintf("the remote has commits that change more than %s/ (%.12s)", r.t.dir, id), nil
		}
	}
	odd := ""
	err := r.u.foldDiff(ctx, r.t.dir, base, list[0], func(path string, was, is userEntry) error {
		plain := func(e userEntry) bool { return e.oid == "" || e.mode == modeRegular }
		if odd == "" && (!allowed(path) || !plain(was) || !plain(is)) {
			odd = fmt.Sprintf("the remote changes %s/%s, which is no memory", r.t.dir, oneLine(path))
		}
		return nil
	})
	return odd, err
}

// foldDiff calls fn with the files below the folder dir that differ between two
// commits; "" is one without any. Paths are those below dir.
func (u *upstream) foldDiff(ctx context.Context, dir string, a, b oid, fn func(path string, was, is userEntry) error) error {
	var trees [2]oid
	for i, id := range []oid{a, b} {
		if id == "" {
			continue
		}
		c, err := u.objects.commit(ctx, id)
		if err != nil {
			return err
		}
		e, err := u.objects.child(ctx, c.tree, dir)
		if err != nil {
			return err
		}
		if e.mode != "" && !e.isDir() {
			return fmt.Errorf("%s is not a folder in %s: %w", dir, id, fold.ErrConflict)
		}
		trees[i] = e.oid
	}
	var fail error
	err := u.objects.diff(ctx, trees[0], trees[1], "", func(path string, was, is userEntry) {
		if fail == nil {
			fail = fn(path, was, is)
		}
	})
	return errors.Join(err, fail)
}
