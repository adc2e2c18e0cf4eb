package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// What the daemon makes by itself, descriptions, the project file, memories of commits,
// has the same name on every machine. As an untracked file it would be in the way of the
// user's next pull, and as a change that is not committed in that of a rebase (B8). That
// git rests is not enough: the user may begin before the commit is made, which then has
// to wait. So where commits go onto the branch such a file comes with the commit that
// holds it: it is put off until then, acknowledged, in the journal, and found by every
// reader of ours, and comes under git's own locks, with reference and index.

// byCommit is why such a file waits.
const byCommit = "it comes with the commit that holds it"

// byCommitMost is how much one commit brings: git's index is locked while the names of
// files change, for 10 ms at most (B4). A new file takes some 0.05 ms, and 0.1 on a busy
// disk; one that takes the place of another, which is read and compared, 0.4.
const (
	byCommitMost = 80
	weightNew    = 1
	weightSwap   = 5
)

// weight is what it takes to bring the file of o, against byCommitMost.
func (o *putOff) weight() int {
	if o.Base == nil {
		return weightNew
	}
	return weightSwap
}

// newByCommit returns which of list, that HEAD does not have, come with a commit.
func (s *Store) newByCommit(list []*branchChange) (paths []string) {
	for _, c := range list {
		if c.was == "" && s.awaitsCommit(c.path) {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// comesByCommit reports whether the file of w, which follows on off, comes with the
// commit that holds it. Where nobody commits it would never come, and what stays on this
// machine is in nobody's way.
func (s *Store) comesByCommit(w *Write, off *putOff) bool {
	if !w.ByItself && (off == nil || !off.ByItself) || !s.off.turnedOn() || s.held.Load() || s.off.isLeaving() {
		return false
	}
	return w.New == nil || !local(s.opt.Slug, w.Path, w.New)
}

// awaitsCommit reports whether the file at path comes with the commit that holds it.
func (s *Store) awaitsCommit(path string) bool {
	o := s.off.get(path)
	return o != nil && o.ByItself && s.off.turnedOn() && !s.held.Load()
}

// A Follows says when the file of a memory gets what readers have of it already.
type Follows int

// Whose turn it is.
const (
	FollowsNothing Follows = iota // it has it
	FollowsRest                   // when git rests
	FollowsCommit                 // with the commit that holds it
	FollowsPull                   // when the user pulls the branch that has it, too, or switches to it
)

// Follows tells what the file at path waits for.
func (s *Store) Follows(path string) Follows {
	o := s.off.get(path)
	if o == nil {
		return FollowsNothing
	}
	commit := s.awaitsCommit(path)
	if o.Base == nil {
		if pull, ahead := s.ahead(s.absentOf([]string{path}))[path]; pull || ahead && !commit {
			return FollowsPull
		}
	}
	if commit {
		return FollowsCommit
	}
	return FollowsRest
}

// Awaits reports whether a file waits for git to rest, or may, and not for the commit
// that is to hold it.
func (s *Store) Awaits() bool {
	for path := range s.PutOff() {
		if o := s.off.get(path); o != nil && (o.told != nil || !s.awaitsCommit(path)) {
			return true
		}
	}
	return false
}

// restAwaited returns which files wait for git to rest, sorted. Among them are those
// that come with a commit, and that a person has edited meanwhile: git finds them
// changed as it is, and on a branch that nobody commits to readers would never get that
// edit.
func (s *Store) restAwaited(ctx context.Context) ([]string, error) {
	var rest, told []string
	for path := range s.PutOff() {
		o := s.off.get(path)
		switch {
		case o == nil:
		case !s.awaitsCommit(path):
			rest = append(rest, path)
		case o.told != nil:
			told = append(told, path)
		}
	}
	edited, err := s.editedBy(ctx, told)
	rest = append(rest, edited...)
	slices.Sort(rest)
	return rest, err
}

// editedBy returns those of paths that hold what somebody put there: the journal has
// that, and HEAD has not.
func (s *Store) editedBy(ctx context.Context, paths []string) (edited []string, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.onto == nil {
		return nil, nil
	}
	p, _, err := s.onto.position()
	if err != nil || p.oid == "" {
		return nil, err // HEAD is on no branch
	}
	slices.Sort(paths)
	key := []string{p.oid.String()}
	for _, path := range paths {
		if o := s.off.get(path); o != nil {
			key = append(key, path, hashOf(o.told))
		}
	}
	if slices.Equal(key, s.asHead) {
		return nil, nil
	}
	root, err := s.openFold(false)
	if err != nil {
		return nil, nil //nolint:nilerr // missing: the vanish guard's
	}
	defer root.Close()
	_, held, err := s.atHead(ctx, paths)
	if err != nil || held == nil {
		return nil, err
	}
	asHead := true
	for _, path := range paths {
		o := s.off.get(path)
		have, err := readFile(root, path)
		if o == nil || err != nil || !same(have, o.told) {
			asHead = false // it changes just now
			continue
		}
		if !same(have, held[path]) {
			edited = append(edited, path)
		}
	}
	if s.asHead = nil; asHead && len(edited) == 0 {
		s.asHead = key
	}
	return edited, nil
}

// putByCommit puts ws off, which are sorted and come with the commit that holds them, as
// putAwaited does one, with one sync for all.
func (s *Store) putByCommit(ws []Write) (done, skipped []string, err error) {
	for len(ws) > 0 {
		k := 1
		for k < len(ws) && k < batchFiles && ws[k].Path != ws[k-1].Path {
			k++
		}
		wrote, skip, err := s.putPartByCommit(ws[:k])
		if done, skipped = append(done, wrote...), append(skipped, skip...); err != nil {
			return done, skipped, err
		}
		ws = ws[k:]
	}
	return done, skipped, nil
}

// putPartByCommit is putByCommit of files of different paths.
func (s *Store) putPartByCommit(ws []Write) (done, skipped []string, err error) {
	s.flight.RLock()
	defer s.flight.RUnlock()
	for i := range ws {
		defer s.paths.lock(ws[i].Path)()
	}
	var entries []walEntry
	var after []*putOff
	for _, w := range ws {
		off := s.off.get(w.Path)
		have, base, err := s.haveOf(w.Path, off)
		if err != nil {
			skipped = append(skipped, w.Path) // a link or the like; the scan reports it
			continue
		}
		if off == nil && same(have, w.New) {
			done = append(done, w.Path)
			continue
		}
		e, _, err := s.offEntry(w, off, have, base)
		if err != nil {
			skipped = append(skipped, w.Path)
			continue
		}
		if e.ByItself = true; e.New == nil {
			e.Heads = s.standsAt()
		}
		entries, after = append(entries, e), append(after, off)
	}
	if len(entries) == 0 {
		return done, skipped, nil
	}
	if err := s.off.log.append(entries); err != nil {
		return done, skipped, err
	}
	list := make([]*putOff, 0, len(entries))
	for i, e := range entries {
		next := &putOff{walEntry: e, seqs: []uint64{e.Seq}, at: s.opt.Now()}
		if off := after[i]; off != nil {
			next.told, next.noted = off.told, off.noted
			next.seqs = append(slices.Clone(off.seqs), e.Seq)
		}
		list, done = append(list, next), append(done, e.Path)
	}
	s.off.set(list...)
	return done, skipped, nil
}

// settleByCommit ends the wait of files for which no commit is to come: HEAD has what
// they are to hold, or somebody has put another version there. It returns the paths that
// were written. The caller holds commit, and git rests.
func (s *Store) settleByCommit(ctx context.Context, t *branchTarget, at oid) (done []string, err error) {
	var paths []string
	for path := range s.PutOff() {
		if s.awaitsCommit(path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	slices.Sort(paths)
	ids, err := t.objects.heldAt(ctx, at, t.dir, paths)
	if err != nil {
		return nil, err
	}
	root, err := s.openFold(false)
	if err != nil {
		return nil, nil //nolint:nilerr // missing: the vanish guard's
	}
	defer root.Close()
	var now []string
	var gone []*putOff
	for _, path := range paths {
		o := s.off.get(path)
		have, err := readFile(root, path)
		if o == nil || err != nil {
			continue // something else lies there: the commit leaves it out, and the scan tells
		}
		var held []byte
		if ids[path] != "" {
			b, err := t.objects.blob(ctx, ids[path])
			if err != nil {
				return nil, err
			}
			held = append([]byte{}, b...)
		}
		switch {
		case o.removedByHand(have, held):
			gone = append(gone, o)
		case same(held, o.New) || !same(have, o.Base) && !same(have, o.New):
			now = append(now, path)
		}
	}
	if done, err = s.leaveRemoved(root, gone); err != nil {
		return done, err
	}
	for part := range slices.Chunk(now, putOffBatch) {
		wrote, err := s.placeNow(root, part)
		if done = append(done, wrote...); err != nil {
			return done, err
		}
	}
	return done, nil
}

// removedByHand reports whether somebody deleted the file that o is to change, which is
// have and held in HEAD, after that change was made: the first one saw the file, and what
// came later is a description, which the daemon makes of whatever it finds.
func (o *putOff) removedByHand(have, held []byte) bool {
	if have != nil || held == nil || o.Base == nil || o.New == nil {
		return false
	}
	_, gone := fold.Buried(held)
	return !gone && (len(o.seqs) == 1 || same(o.Described, o.New))
}

// leaveRemoved has files wait no more that somebody deleted meanwhile. The journal has
// what they were to hold, and decides as of any file that is gone: one is deleted, and of
// many at once the vanish guard brings that version back (G8).
func (s *Store) leaveRemoved(root *disk.Root, list []*putOff) (done []string, err error) {
	var seqs []uint64
	s.flight.RLock()
	defer s.flight.RUnlock()
	for _, o := range list { // sorted, as all take locks
		defer s.paths.lock(o.Path)()
		is := s.off.get(o.Path)
		if have, err := readFile(root, o.Path); err != nil || have != nil || is == nil || is.Seq != o.Seq || is.noted < o.Seq {
			continue // it changes just now, or is for when the journal has it
		}
		done, seqs = append(done, o.Path), append(seqs, is.seqs...)
	}
	if err := s.off.log.cut(seqs); err != nil {
		return nil, err
	}
	if len(done) > 0 {
		s.off.forget(done)
	}
	return done, nil
}

// placeNow gives files what they wait for, and returns those that have it.
func (s *Store) placeNow(root *disk.Root, paths []string) (done []string, err error) {
	s.flight.RLock()
	defer s.flight.RUnlock()
	for _, path := range paths {
		defer s.paths.lock(path)()
	}
	failed, err := s.placeOff(root, paths...)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if why := failed[path]; why != nil {
			s.noteSetAside(path, "it cannot be written: "+why.Error())
			continue
		}
		done = append(done, path)
	}
	return done, nil
}

// fillByCommit is fillChange of a file that comes with the commit: want is what it is to
// hold. It reports false where the journal, or the disk, has another version by now. The
// file is staged unless it is there already.
func (s *Store) fillByCommit(root *disk.Root, c *branchChange, o *putOff) (ok, there bool) {
	have, err := readFile(root, c.path)
	if err != nil || hashOf(o.New) != c.blob.String() && (o.New != nil || !c.blob.IsZero()) {
		return false, false
	}
	if same(have, o.New) {
		return true, true
	}
	if !same(have, o.Base) {
		return false, false
	}
	if c.b, c.off = o.New, o; c.b != nil {
		c.b = slices.Concat([]byte{}, c.b) // name may give it another form
	}
	return true, false
}

// stageDraft makes ready the files that come with the commit of d; nil if none does.
// What it holds is let go of by endStage.
func (s *Store) stageDraft(d *branchDraft) (*stage, error) {
	var ws []Write
	for _, c := range d.changes {
		if c.off != nil {
			ws = append(ws, Write{ID: c.off.ID, Path: c.path, Base: c.off.Base, New: c.off.New, Merge: true, Author: c.off.Author, Reason: c.off.Reason, Described: c.off.Described})
		}
	}
	if len(ws) == 0 {
		return nil, nil
	}
	g, err := s.stageFiles(ws)
	if err != nil {
		return nil, err
	}
	for _, c := range d.changes {
		if c.off != nil && s.off.get(c.path) != c.off {
			g.leave()
			return nil, fmt.Errorf("%s changed meanwhile: %w", c.path, errLocked)
		}
	}
	d.ready = g.log
	d.take = func() error {
		_, failed, err := g.place(context.Background())
		for _, path := range sortedKeys(failed) {
			err = errors.Join(err, &disk.StageError{Path: path, Err: fmt.Errorf("%s: %w", path, failed[path])})
		}
		return err
	}
	if d.file != nil {
		d.again = func() ([]byte, error) { return s.restatDraft(d) }
	}
	return g, nil
}

// unfitFor is for how long a file that could not be written is left out of commits.
const unfitFor = 10 * time.Minute

// setUnfit reports whether err is that of one file that cannot be written, as in a
// read-only folder, and not of the disk: the commit goes on without it, and what else of
// d belongs into that folder (G7).
func (s *Store) setUnfit(t *branchTarget, d *branchDraft, err error) bool {
	se, ok := errors.AsType[*disk.StageError](err)
	if !ok || !unwritable(err) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	if t.unfit == nil {
		t.unfit = map[string]time.Time{}
	}
	for _, c := range d.changes {
		if c.off != nil && path.Dir(c.path) == path.Dir(se.Path) {
			t.unfit[c.path] = s.opt.Now()
			s.noteSetAside(c.path, "it cannot be written: "+err.Error())
		}
	}
	return true
}

// isUnfit reports whether the file at path is left out since it could not be written.
func (t *branchTarget) isUnfit(path string, now time.Time) bool {
	since, is := t.unfit[path]
	return is && now.Sub(since) < unfitFor
}

// endStage ends the stage of a commit. Where that was made its files wait no more; else
// those that are there are taken away again.
func (s *Store) endStage(ctx context.Context, g *stage, made bool) error {
	var paths []string
	var seqs []uint64
	for path := range g.writes {
		if o := s.off.get(path); o != nil {
			paths, seqs = append(paths, path), append(seqs, o.seqs...)
		}
	}
	if !made {
		return errors.Join(g.end(), s.withdraw(ctx))
	}
	err := s.off.log.cut(seqs) // the wal has them
	if err == nil {
		s.off.forget(paths)
	}
	for _, path := range paths {
		if _, was := s.onto.unfit[path]; was {
			delete(s.onto.unfit, path)
			s.noteSetAside(path, "")
		}
	}
	return errors.Join(err, g.end())
}

// endWaits has files wait no more that were there before the commit of d, since a crash
// came between them and theirs.
func (s *Store) endWaits(d *branchDraft) error {
	var paths []string
	var seqs []uint64
	slices.SortFunc(d.changes, func(a, b *branchChange) int { return compareStrings(a.path, b.path) }) // as all take locks
	for _, c := range d.changes {
		defer s.paths.lock(c.path)()
		if o := s.off.get(c.path); o != nil && s.awaitsCommit(c.path) && hashOf(o.New) == c.blob.String() {
			paths, seqs = append(paths, c.path), append(seqs, o.seqs...)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	if err := s.off.log.cut(seqs); err != nil {
		return err
	}
	s.off.forget(paths)
	return nil
}

// restatDraft makes the index of d once more, with what git keeps of files that are
// there now.
func (s *Store) restatDraft(d *branchDraft) ([]byte, error) {
	root, err := s.openFold(false)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	edits := slices.Clone(d.edits)
	for i, c := range d.changes {
		if c.off == nil || c.b == nil {
			continue
		}
		b, info, err := root.Read(c.path, maxFile)
		full := filepath.Join(s.l.FoldPath(s.opt.FoldDir), filepath.FromSlash(c.path))
		fi, serr := os.Lstat(full)
		if err == nil && serr == nil && same(b, c.off.New) && disk.InfoOf(fi) == info {
			edits[i].Stat = indexStatOf(fi)
		}
	}
	b, _ := d.file.Patch(edits, d.trees)
	return b, nil
}

// withdraw takes away files that came for a commit that was not made, since a crash or an
// error was in between: nothing of git's knows them, and they would be in its way.
func (s *Store) withdraw(ctx context.Context) error {
	if s.onto == nil {
		return nil
	}
	var paths []string
	for path := range s.PutOff() {
		if o := s.off.get(path); o != nil && s.awaitsCommit(path) && o.Base == nil && o.New != nil {
			paths = append(paths, path)
		}
	}
	root, err := s.openFold(false)
	if err != nil || len(paths) == 0 {
		return nil //nolint:nilerr // where there is no folder nothing is in the way
	}
	defer root.Close()
	paths = slices.DeleteFunc(paths, func(path string) bool {
		have, err := readFile(root, path)
		o := s.off.get(path)
		return err != nil || o == nil || !same(have, o.New)
	})
	slices.Sort(paths) // as all take locks
	if len(paths) == 0 {
		return nil
	}
	_, held, err := s.atHead(ctx, paths)
	if err != nil || held == nil {
		return err // HEAD is on no branch, or cannot be told: they stay
	}
	out, err := s.onto.l.git("ls-files", "-z", "--", s.onto.dir).output(ctx)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if below, ok := strings.CutPrefix(name, s.onto.dir+"/"); ok && held[below] == nil {
			held[below] = []byte{} // the user's: a merge that is not committed yet has brought it
		}
	}
	for _, path := range paths {
		defer s.paths.lock(path)()
		if o := s.off.get(path); o != nil && held[path] == nil {
			if err := apply(root, walEntry{Path: path, Base: o.New}); err != nil && !errors.Is(err, fold.ErrConflict) {
				return err
			}
		}
	}
	return nil
}

// editsOf are the changes of git's index that belong to those of a draft.
func (d *branchDraft) editsOf(dir string) []gitindex.Edit {
	edits := make([]gitindex.Edit, 0, len(d.changes))
	for _, c := range d.changes {
		edits = append(edits, gitindex.Edit{Path: joinDir(dir, c.path), Was: c.was.bytes(), Now: c.now.bytes(), Mode: indexMode(c.mode), Stat: c.stat})
	}
	return edits
}
