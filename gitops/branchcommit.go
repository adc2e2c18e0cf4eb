package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// refBranched names the journal commit that the user's branch held when nothing
// was left to commit there.
const refBranched = "refs/foldwatch/branched"

// toBranch is what StoreOptions.CommitTo says for a branchTarget.
const toBranch = "branch"

// OntoBranch says from now on whether commits go onto the checkout's branch too,
// as StoreOptions.CommitTo did at the opening.
func (s *Store) OntoBranch(on bool) error {
	if err := s.writable(); err != nil {
		return err
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	switch {
	case !on:
		if err := s.keepBranched(); err != nil {
			return err
		}
		s.opt.CommitTo, s.onto = "sidecar", nil
		_, err := s.exhume(context.Background(), 0) // there a deletion needs none
		s.off.turn(false)
		return err
	case s.onto != nil:
		return nil
	}
	s.opt.CommitTo, s.onto = toBranch, s.newTarget()
	s.off.turn(true)
	root, err := s.openFold(false)
	if err != nil {
		return nil //nolint:nilerr // missing: the vanish guard's
	}
	defer root.Close()
	return s.hideFold(root)
}

// BranchGate says whether what the daemon makes by itself may be written now: it
// is committed in the same window, since a file that is left untracked would be in
// the way of the user's next pull (B8). The zero Wait means yes, also where no
// commits go onto the branch.
func (s *Store) BranchGate(ctx context.Context) (Wait, error) {
	s.commit.Lock()
	defer s.commit.Unlock()
	t := s.onto
	if t == nil {
		return Wait{}, nil
	}
	p, w, err := t.gate(ctx, s.opt.Now())
	if err != nil || !w.none() {
		return w, err
	}
	t.open()
	defer t.close()
	c, err := t.objects.commit(ctx, p.oid)
	if err != nil {
		return Wait{}, err
	}
	return t.rested(p.oid, c, s.opt.Now()), nil
}

// A branchTarget commits fold/ onto the branch of the user's checkout (B1 to B6).
// For one caller at a time: whoever holds the store's commit lock.
type branchTarget struct {
	l        *Layout
	dir      string // name of fold/
	conf     userConf
	objects  *userObjects
	own      *objects         // ours; nil where there is no store
	size     int              // bytes of an object name
	branches []string         // that are committed to, as the user named them; see StoreOptions
	allowed  string           // the default branch, once known
	left     map[string]stamp // what our last commit left of git's files

	pulled oid      // the commit that the branch was last moved to from the remote
	owed   []string // trailers of commits of ours that were taken back, for the next one

	audit audit
	unfit map[string]time.Time // files that could not be written, and since when; see setUnfit

	made oid           // our last commit
	more bool          // it left files to the next one, which need no other look
	sum  string        // what the index ends with that we wrote with it
	refs *refWatch     // how references stood then; nil if it is not known
	done plumbing.Hash // the journal commit that the branch has; zero if it is not known

	step func(name string) error // asked before each step that can be seen; a test's
}

func (s *Store) newTarget() *branchTarget {
	t := newBranchTarget(s.l, s.foldDir())
	t.branches, t.own = s.opt.Branches, s.obj
	return t
}

func newBranchTarget(l *Layout, dir string) *branchTarget {
	l = l.mainLayout()
	return &branchTarget{l: l, dir: dir, conf: userConf{l: l}, size: 20, left: map[string]stamp{}}
}

// A Branched says what one call of CommitBranch came to.
type Branched struct {
	Oid      string        // HEAD's new commit; "" if there is none
	Replaced string        // the commit of ours whose place it took
	Branch   string        // short name
	Count    int           // files that changed
	Pending  bool          // something is still to be committed
	More     bool          // of it, some that may be committed at once
	Wait     Wait          // why it was not
	Held     time.Duration // for how long git's index was locked
	Unsigned string        // why a commit that git would sign is not signed
}

// CommitBranch commits what the journal has of fold/, and HEAD has not, onto the
// checkout's branch, if git is quiet and the branch is one to commit to. What the
// user has staged, and every file outside fold/, stays as it is. Where nothing may
// be committed now, Wait says why; that is no error. In a store that commits beside
// the branch it does nothing.
func (s *Store) CommitBranch(ctx context.Context) (out Branched, err error) {
	if err := s.writable(); err != nil {
		return out, err
	}
	if s.bulks.Load() > 0 {
		return Branched{Pending: true, Wait: Wait{Reason: "many files are being written", After: time.Second}}, nil
	}
	var wrote []string
	defer func() { s.changed(wrote) }()
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.onto == nil {
		return out, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("commit onto the branch: %w", err)
		}
	}()
	if err := recoverBranch(ctx, s.l); err != nil {
		return out, err
	}
	done, err := s.branched()
	if err != nil {
		return out, err
	}
	s.mu.Lock()
	tip := s.tip
	s.mu.Unlock()
	out.Pending = tip != done
	if reason, up := s.guarded(); up {
		out.Wait = waitFor("%s", reason)
		return out, nil
	}
	t := s.onto
	p, w, err := t.gate(ctx, s.opt.Now())
	if out.Branch = p.branch; err != nil || p.oid == "" {
		out.Wait = w
		return out, err
	}
	t.open()
	defer t.close()
	look, err := s.auditLook(ctx, t, p)
	if err != nil {
		return out, err
	}
	owed := look != nil && len(look.found) > 0
	if !w.none() {
		soon := w.Reason == t.quiet(p, s.opt.Now()).Reason
		out.Wait, out.Pending = w, out.Pending || owed && soon
		return out, nil
	}
	if wrote, err = s.tidyBranch(ctx, t, p, look); err != nil {
		return out, err
	}
	d, err := s.draftBranch(ctx, t, p)
	if err == nil && d.wait.none() {
		var tombs []string
		tombs, err = s.bury(ctx, t, d)
		if wrote = append(wrote, tombs...); len(tombs) > 0 && err == nil {
			d, err = s.draftBranch(ctx, t, p)
		}
	}
	if err != nil {
		return out, err
	}
	if w := t.rested(p.oid, d.head, d.at); owed && d.wait.none() {
		d.wait = w
	}
	out.Wait, out.Pending = d.wait, d.skipped > 0 || !d.wait.none()
	if len(d.changes) > 0 && d.wait.none() {
		if err := s.finishDraft(ctx, t, d); err != nil {
			return out, err
		}
		if out.Held, out.Wait, err = s.placeDraft(ctx, t, d); err != nil || !out.Wait.none() {
			out.Pending = true
			return out, err
		}
		t.owed, out.More = nil, slices.ContainsFunc(d.changes, func(c *branchChange) bool { return c.off != nil }) && d.skipped > 0
		t.more = out.More
		out.Oid, out.Replaced, out.Count, out.Unsigned = d.next.String(), d.replaced.String(), len(d.changes), d.unsigned
	}
	if !out.Pending {
		s.mu.Lock()
		t.done = s.tip
		s.mu.Unlock()
	}
	at := p.oid
	if out.Oid != "" {
		at = d.next
	}
	return out, s.settleDeletions(ctx, t, at)
}

// placeDraft is place with the files that come with the commit.
func (s *Store) placeDraft(ctx context.Context, t *branchTarget, d *branchDraft) (held time.Duration, w Wait, err error) {
	defer func() {
		if s.setUnfit(t, d, err) {
			w, err = Wait{Reason: err.Error(), After: time.Second}, nil
		}
	}()
	g, err := s.stageDraft(d)
	if isLocked(err) {
		return 0, Wait{Reason: err.Error(), After: time.Second}, nil
	}
	if err != nil {
		return 0, w, err
	}
	held, w, err = s.place(ctx, t, d)
	switch {
	case g == nil:
	case errors.Is(err, errCrashed):
		g.leave()
	default:
		err = errors.Join(err, s.endStage(ctx, g, err == nil && w.none()))
	}
	if err == nil && w.none() {
		err = s.endWaits(d)
	}
	return held, w, err
}

// tidyBranch does what belongs to a commit and makes changes of its own, if one may
// be made now: it is committed in the same window (B8). It returns the paths.
func (s *Store) tidyBranch(ctx context.Context, t *branchTarget, p position, look *auditLook) ([]string, error) {
	head, err := t.objects.commit(ctx, p.oid)
	if err != nil || !t.rested(p.oid, head, s.opt.Now()).none() {
		return nil, err
	}
	var wrote []string
	more := t.more && t.made == p.oid
	if t.more = false; !more {
		if wrote, err = s.settleByCommit(ctx, t, p.oid); err != nil {
			return wrote, err
		}
	}
	found, err := s.auditBranch(ctx, t, p, look)
	if wrote = append(wrote, found...); err != nil {
		return wrote, err
	}
	tombs, err := s.exhume(ctx, fold.TombstoneAge)
	return append(wrote, tombs...), err
}

// branched returns the journal commit that the branch was last up to date with.
func (s *Store) branched() (plumbing.Hash, error) {
	if !s.onto.done.IsZero() {
		return s.onto.done, nil
	}
	return s.obj.ref(refBranched)
}

// keepBranched writes that down for the next run. Without it the next one looks
// once more, and finds nothing to do.
func (s *Store) keepBranched() error {
	if s.onto == nil || s.onto.done.IsZero() {
		return nil
	}
	if was, err := s.obj.ref(refBranched); err != nil || was == s.onto.done {
		return err
	}
	return s.obj.setRef(refBranched, s.onto.done)
}

func (t *branchTarget) open() {
	if t.objects == nil || t.objects.size != t.size {
		t.objects = newUserObjects(t.l, t.size)
		t.objects.own = t.own
	}
}

func (t *branchTarget) close() { t.objects.close() }

// at asks the test, if there is one, whether the step may be done.
func (t *branchTarget) at(step string) error {
	if t.step == nil {
		return nil
	}
	return t.step(step)
}

// A branchDraft is a commit in the making.
type branchDraft struct {
	pos      position
	head     userCommit
	changes  []*branchChange
	skipped  int
	wait     Wait
	index    []byte // git's index as it was read
	stamp    stamp  // of that file
	patched  []byte // what it is to become
	trees    map[string]gitindex.TreeChange
	edits    []gitindex.Edit // of changes, in their order
	file     *gitindex.File  // index, parsed; nil where only git can change it
	tree     oid             // of the commit
	next     oid
	replaced oid    // our own last commit, if next takes its place
	verb     string // for git's logs; "" means commit
	subject  string
	unsigned string
	at       time.Time

	// ready is done before the locks are taken, and take under them, before the branch
	// moves; nil for nothing.
	ready func() error
	take  func() error
	// again makes the index once more, when the files are there; nil for nothing.
	again func() ([]byte, error)
}

// draftBranch finds what is to be committed, and what of the checkout's state
// forbids it.
func (s *Store) draftBranch(ctx context.Context, t *branchTarget, p position) (d *branchDraft, err error) {
	d = &branchDraft{pos: p, trees: map[string]gitindex.TreeChange{}, at: s.opt.Now()}
	if d.head, err = t.objects.commit(ctx, p.oid); err != nil {
		return d, err
	}
	entry, err := t.objects.child(ctx, d.head.tree, t.dir)
	if err != nil {
		return d, err
	}
	if entry.mode != "" && !entry.isDir() {
		d.wait = waitFor("%s is not a folder in the last commit", t.dir).hint("register the checkout with --fold-dir NAME")
		return d, nil
	}
	if d.changes, d.skipped, err = s.branchChanges(ctx, t, entry.oid); err != nil || len(d.changes) == 0 {
		return d, err
	}
	if d.wait = t.rested(p.oid, d.head, s.opt.Now()); !d.wait.none() {
		return d, nil
	}
	if d.changes, d.wait, err = t.name(ctx, t.dir, d.changes); err != nil || !d.wait.none() || len(d.changes) == 0 {
		return d, err
	}
	return d, t.draftIndex(ctx, d, entry.oid)
}

// draftIndex reads git's index, sees that nothing of fold/ is staged, and makes
// the tree of the commit and the index that belongs to it.
func (t *branchTarget) draftIndex(ctx context.Context, d *branchDraft, foldTree oid) error {
	if err := d.readIndex(t.l); err != nil {
		return err
	}
	parse := gitindex.Parse
	if n := len(d.index) - t.size; n > 0 && d.stamp == t.left[filepath.Join(t.l.GitDir, "index")] && string(d.index[n:]) == t.sum {
		parse = gitindex.ParseKnown // made here, and not written since
	}
	f, err := parse(d.index, t.size)
	odd := errors.Is(err, gitindex.ErrOdd)
	if err != nil && !odd {
		return err
	}
	if odd {
		d.wait, err = t.oddStaged(ctx)
	} else {
		d.wait, err = t.staged(ctx, f, foldTree)
	}
	if err != nil || !d.wait.none() {
		return err
	}
	changes := make(map[string]spliced, len(d.changes))
	kept := d.changes[:0]
	for _, c := range d.changes {
		p := joinDir(t.dir, c.path)
		if !odd {
			if e := f.Find(p); e != nil && f.SkipsWorktree(e) {
				continue // a sparse checkout leaves it out
			}
		}
		kept = append(kept, c)
		changes[p] = spliced{c.was, c.now, c.mode}
	}
	if d.changes = kept; len(kept) == 0 {
		return nil
	}
	if d.tree, err = t.objects.splice(ctx, d.head.tree, "", changes, d.trees); err != nil {
		return err
	}
	if err := t.assertOnly(ctx, d.head.tree, d.tree, changes); err != nil {
		return err
	}
	d.edits = d.editsOf(t.dir)
	if odd {
		d.patched, err = t.patchByGit(ctx, d, d.edits)
		return err
	}
	d.file = f
	var left []string
	if d.patched, left = f.Patch(d.edits, d.trees); len(left) > 0 {
		d.wait = waitFor("%s is staged", left[0]).hint("commit it, or: git restore --staged %s", t.dir)
	}
	return nil
}

func indexMode(mode string) uint32 {
	if mode == modeExecutable {
		return 0o100755
	}
	return 0o100644
}

// readIndex reads git's index file; one that is not there is empty.
func (d *branchDraft) readIndex(l *Layout) error {
	name := filepath.Join(l.GitDir, "index")
	for range 3 {
		before := stampAt(name)
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read git's index: %w", err)
		}
		if d.index, d.stamp = b, stampAt(name); d.stamp == before {
			return nil
		}
	}
	return fmt.Errorf("git's index keeps changing: %w", fold.ErrUnavailable)
}

// staged returns why the index does not allow a commit: paths that are not merged,
// or something staged under fold/.
func (t *branchTarget) staged(ctx context.Context, f *gitindex.File, foldTree oid) (Wait, error) {
	if f.Unmerged() {
		return waitFor("there are conflicts to be resolved"), nil
	}
	if known, ok := f.TreeOf(t.dir); ok && oid(known) == foldTree {
		return Wait{}, nil
	}
	in := map[string]userEntry{}
	err := t.objects.diff(ctx, "", foldTree, t.dir+"/", func(path string, _, is userEntry) { in[path] = is })
	if err != nil {
		return Wait{}, err
	}
	entries := f.Below(t.dir)
	for i := range entries {
		e := &entries[i]
		c, ok := in[string(e.Path)]
		if !ok || c.oid != oid(e.Oid) || c.mode != fmt.Sprintf("%o", e.Mode) || f.Intended(e) {
			return waitFor("%s is staged", oneLine(string(e.Path))).hint("commit it, or: git restore --staged %s", t.dir), nil
		}
		delete(in, string(e.Path))
	}
	for p := range in {
		return waitFor("%s is staged as deleted", oneLine(p)).hint("commit it, or: git restore --staged %s", t.dir), nil
	}
	return Wait{}, nil
}

// assertOnly proves that a tree is another one with changes and nothing else (B4).
func (t *branchTarget) assertOnly(ctx context.Context, was, is oid, changes map[string]spliced) error {
	n := 0
	var wrong string
	err := t.objects.diff(ctx, was, is, "", func(path string, a, b userEntry) {
		c, ok := changes[path]
		if !ok || !strings.HasPrefix(path, t.dir+"/") || c.was != a.oid || c.now != b.oid {
			wrong = path
		}
		n++
	})
	if err == nil && (wrong != "" || n != len(changes)) {
		err = fmt.Errorf("the commit would change %q, and %d of %d files: nothing was done", wrong, n, len(changes))
	}
	return err
}

// finishDraft makes the commit of d.
func (s *Store) finishDraft(ctx context.Context, t *branchTarget, d *branchDraft) error {
	parent, parentTree := d.pos.oid, d.head.tree
	replace, err := t.replaceable(ctx, d)
	if err != nil {
		return err
	}
	var old userCommit
	if replace {
		parent = d.head.parents[0]
		if old, err = t.objects.commit(ctx, parent); err != nil {
			replace, parent = false, d.pos.oid // a shallow clone
		} else {
			parentTree, d.replaced = old.tree, d.pos.oid
		}
	}
	if replace && parentTree == d.tree { // all of it was taken back
		d.next, d.subject = parent, "nothing is left of it"
		return nil
	}
	files, err := t.told(ctx, parentTree, d)
	if err != nil {
		return err
	}
	message := s.message("", files)
	authors, err := s.coauthors(ctx)
	if err != nil {
		return err
	}
	if replace {
		authors = append(authors, coauthorLines(d.head.message)...)
	}
	authors = append(authors, t.owed...)
	slices.Sort(authors)
	message += strings.Join(slices.Compact(authors), "")
	d.subject, _, _ = strings.Cut(message, "\n")
	d.next, d.unsigned = t.putCommit(ctx, d.tree, parent, message, d.at)
	return nil
}

// replaceable reports whether HEAD is a commit of ours that nobody else has seen:
// it says so, touches only fold/, and no other reference leads to it (B6).
func (t *branchTarget) replaceable(ctx context.Context, d *branchDraft) (bool, error) {
	if !ours(d.head) {
		return false, nil
	}
	parent, err := t.objects.commit(ctx, d.head.parents[0])
	if err != nil {
		return false, nil //nolint:nilerr // a shallow clone ends here
	}
	inside, err := t.onlyFold(ctx, parent.tree, d.head.tree)
	if err != nil || !inside {
		return false, err
	}
	if published, err := t.published(ctx, d); err != nil || published {
		return false, err
	}
	if t.checkedOutAt(d.pos.oid) {
		return false, nil
	}
	if t.made == d.pos.oid && t.refs.alone(t.l, d.pos.ref) {
		return true, nil
	}
	out, err := t.l.git("for-each-ref", "--count=2", "--format=%(refname)", "--contains="+d.pos.oid.String()).line(ctx)
	if err != nil {
		return false, fmt.Errorf("look for references: %w", err)
	}
	return out == d.pos.ref, nil
}

// onlyFold reports whether two root trees differ in fold/ alone.
func (t *branchTarget) onlyFold(ctx context.Context, a, b oid) (bool, error) {
	return t.objects.differOnlyAt(ctx, t.dir, a, b)
}

// told lists what the commit changes against its parent, for its message.
func (t *branchTarget) told(ctx context.Context, parentTree oid, d *branchDraft) (files []draftFile, err error) {
	mine := map[string]*branchChange{}
	for _, c := range d.changes {
		mine[joinDir(t.dir, c.path)] = c
	}
	var fail error
	err = t.objects.diff(ctx, parentTree, d.tree, "", func(path string, was, is userEntry) {
		f := draftFile{c: &change{path: strings.TrimPrefix(path, t.dir+"/")}}
		if was.oid != "" {
			copy(f.c.old[:], was.oid)
		}
		if c := mine[path]; c != nil {
			f.b = c.b
		} else if is.oid != "" {
			b, err := t.objects.blob(ctx, is.oid)
			if err != nil {
				fail = err
			}
			f.b = append([]byte{}, b...)
		}
		files = append(files, f)
	})
	return files, errors.Join(err, fail)
}

// coauthors returns the trailers of the agents that wrote what the journal has
// since the branch was last up to date.
func (s *Store) coauthors(ctx context.Context) (lines []string, err error) {
	done, err := s.branched()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	at := s.tip
	s.mu.Unlock()
	for range 200 {
		if at == done || at.IsZero() {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return nil, err
		}
		lines = append(lines, coauthorLines(c.Message)...)
		at = firstParent(c)
	}
	return lines, nil
}

func coauthorLines(message string) (lines []string) {
	for line := range strings.Lines(message) {
		if strings.HasPrefix(line, "Co-authored-by: ") && strings.HasSuffix(line, " <"+committerEmail+">\n") {
			lines = append(lines, line)
		}
	}
	return lines
}

// putCommit adds a commit to the new objects. Unsigned says why it is not signed
// where git would sign it.
func (t *branchTarget) putCommit(ctx context.Context, tree, parent oid, message string, at time.Time) (id oid, unsigned string) {
	name, email := t.conf.identity()
	when := reflogTime(at)
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\nparent %s\nauthor %s <%s> %s\ncommitter %s <%s> %s\n", tree, parent, name, email, when, committerName, committerEmail, when)
	text := "\n" + message
	if t.conf.yes("commit.gpgsign") {
		signature, err := t.sign(ctx, b.String()+text)
		if err != nil {
			unsigned = oneLine(redact(err.Error()))
		} else {
			b.WriteString(signature)
		}
	}
	b.WriteString(text)
	return t.objects.put("commit", b.Bytes()), unsigned
}
