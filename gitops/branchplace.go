package gitops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// What a commit onto the branch leaves in the state folder while it is under way.
const (
	branchIntent = "branch.json"  // what is about to be done; see intent
	branchIndex  = "branch.index" // git's index as it is to become
	branchAgain  = "branch.again" // the same with what git keeps of files
	branchRef    = "branch.ref"   // the reference as it is to become
	branchLock   = "branch.lock"  // whose the locks are
)

func branchFiles() []string {
	return []string{branchIndex, branchIndex + ".lock", branchAgain, branchAgain + ".lock", branchRef, branchLock}
}

// place moves branch and index to the draft (B4). All that takes time is done
// before: what the locks hold is what takes the place of index and reference, and
// is durable by then, as the objects are. While index.lock is there, it is seen
// that index, HEAD and branch are what the draft was made from; if not, nothing is
// done and Wait says why. Held is for how long it was there.
func (s *Store) place(ctx context.Context, t *branchTarget, d *branchDraft) (held time.Duration, w Wait, err error) {
	since := time.Now()
	state := t.l.StateDir()
	in := newIntent(t, d)
	if err := t.at("objects"); err != nil {
		return 0, w, err
	}
	if err := s.prepare(ctx, t, in, d); err != nil {
		return 0, w, errors.Join(err, t.undo(state))
	}
	scan := newProcessScan(t.l)
	if p := scan.git(); p != "" {
		return 0, waitFor("git is at work: %s", p), t.undo(state)
	}
	if err := t.at("intent"); err != nil {
		return 0, w, err
	}
	if d.ready != nil {
		if err := d.ready(); err != nil {
			return 0, w, errors.Join(err, t.undo(state))
		}
	}
	held, begun, w, err := t.swap(state, in, d, scan)
	switch {
	case errors.Is(err, errCrashed):
		return held, w, err
	case begun && err != nil: // the branch has moved: the index must follow
		s.log.WarnContext(ctx, "Commit onto the branch interrupted", "err", err)
		if err := recoverBranch(ctx, t.l); err != nil {
			return held, w, err // the intent stays for the next time
		}
		t.remember(d, since)
		return held, w, nil
	case err != nil || !w.none():
		return held, w, errors.Join(err, t.undo(state))
	}
	if err := t.refresh(state, in, d); err != nil {
		return held, w, err
	}
	if err := t.settle(state, in); err != nil {
		return held, w, err
	}
	t.remember(d, since)
	return held, w, nil
}

// errCrashed is what a test has a step return to leave all as a crash would.
var errCrashed = errors.New("crashed")

// prepare writes the objects, what reference and index are to become, and what is
// about to be done (B5): side by side, since all of it is durable before anything
// refers to it, and the disk takes many syncs at once for one.
func (s *Store) prepare(ctx context.Context, t *branchTarget, in *intent, d *branchDraft) error {
	state := t.l.StateDir()
	// A branch that is only in packed-refs may have no folder.
	if err := os.MkdirAll(filepath.Dir(filepath.Join(t.l.CommonDir, filepath.FromSlash(in.Ref))), 0o777); err != nil {
		return unavailable(err)
	}
	intent, err := json.Marshal(in)
	if err != nil {
		return err
	}
	var all, files errgroup.Group
	all.Go(func() error { return t.objects.write(ctx, s.opt.Faults) })
	for _, f := range []struct {
		name string
		b    []byte
	}{{branchLock, []byte(in.Lock)}, {branchRef, []byte(d.next.String() + "\n")}, {branchIndex, d.patched}, {branchIntent, intent}} {
		files.Go(func() error { return writeSynced(filepath.Join(state, f.name), f.b) })
	}
	all.Go(func() error {
		if err := files.Wait(); err != nil {
			return unavailable(err)
		}
		return unavailable(errors.Join(t.likeIndex(filepath.Join(state, branchIndex), d), syncPath(state)))
	})
	return all.Wait()
}

// writeSynced writes a file of the state folder. Its name is durable once the
// folder is synced too. A crash may leave it half written, which whoever reads it
// has to see.
func writeSynced(name string, b []byte) error {
	_ = os.Remove(name) // a lock may still be a name of the old one
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// likeIndex gives the prepared index the mode and the time of git's own: by it git
// tells which files may have changed within a tick of the clock after they were
// staged.
func (t *branchTarget) likeIndex(prepared string, d *branchDraft) error {
	fi, err := os.Stat(filepath.Join(t.l.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(prepared, fi.Mode().Perm()), os.Chtimes(prepared, time.Time{}, time.Unix(0, d.stamp.mtime)))
}

// swap is what is done under the locks. Begun says that the branch has moved. Git
// waits for the locks of references, and gives up at once where it finds the index
// locked: that one is taken last, and held for no more than to compare and rename.
func (t *branchTarget) swap(state string, in *intent, d *branchDraft, scan *processScan) (held time.Duration, begun bool, w Wait, err error) {
	var locks []*gitLock
	var since time.Time
	crashed := false
	defer func() {
		for i := len(locks) - 1; i >= 0 && !crashed; i-- {
			err = errors.Join(err, locks[i].release())
		}
		if !since.IsZero() && held == 0 {
			held = time.Since(since)
		}
	}()
	stop := func(step string) error {
		err := t.at(step)
		crashed = errors.Is(err, errCrashed)
		return err
	}
	from := []string{branchLock, branchRef, branchIndex}
	paths := in.locked(t.l)
	logs, index := in.openLogs(t.l), openOld(filepath.Join(t.l.GitDir, "index"))
	defer logs.close()
	defer index.Close() // or nil
	defer openOld(filepath.Join(t.l.CommonDir, filepath.FromSlash(in.Ref))).Close()
	for i, p := range paths {
		if i == len(paths)-1 {
			moved := t.moved(d)
			if p := scan.git(); p != "" && moved == "" {
				moved = "git is at work: " + p
			}
			if moved != "" {
				return 0, false, Wait{Reason: moved, After: branchQuiet}, nil
			}
		}
		lock, err := lockGit(p, filepath.Join(state, from[i]), in.Lock)
		if errors.Is(err, errLocked) {
			return 0, false, Wait{Reason: "git holds a lock (" + filepath.Base(p) + ".lock)", After: time.Second}, nil
		}
		if err != nil {
			return 0, false, w, err
		}
		if i == len(paths)-1 {
			since = time.Now()
		}
		locks = append(locks, lock)
		if err := stop("locked " + filepath.Base(p)); err != nil {
			return 0, false, w, err
		}
	}
	if moved := t.touched(d, index); moved != "" {
		return 0, false, Wait{Reason: moved, After: branchQuiet}, nil
	}
	if d.take != nil {
		if err := d.take(); err != nil {
			return 0, false, w, err
		}
		if err := stop("files"); err != nil {
			return 0, false, w, err
		}
	}
	if err := locks[1].put(); err != nil {
		return 0, false, w, err
	}
	if err := stop("reference"); err != nil {
		return 0, true, w, err
	}
	if err := locks[2].put(); err != nil {
		return 0, true, w, err
	}
	held = time.Since(since)
	if err := stop("index"); err != nil {
		return held, true, w, err
	}
	if err := logs.add(in.Line); err != nil {
		return held, true, w, err
	}
	return held, true, w, stop("log")
}

// refresh puts what git keeps of files into the index, now that they are there: git
// would read each of them to see that it has not changed, and does where this fails, or
// meets the user at work. That index is made ready as the first was. It returns nothing
// but what a step of a test does.
func (t *branchTarget) refresh(state string, in *intent, d *branchDraft) error {
	name, prepared := filepath.Join(t.l.GitDir, "index"), filepath.Join(state, branchAgain)
	is := &branchDraft{}
	if d.again == nil || is.readIndex(t.l) != nil || !bytes.Equal(is.index, d.patched) {
		return nil // somebody has changed it
	}
	b, err := d.again()
	if err != nil || b == nil || bytes.Equal(b, d.patched) || errors.Join(writeSynced(prepared, b), t.likeIndex(prepared, d)) != nil {
		return nil //nolint:nilerr // as above
	}
	index := openOld(name)
	defer index.Close() // or nil
	lock, err := lockGit(name, prepared, in.Lock)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if err := t.at("stat"); err != nil {
		return err
	}
	if t.sameIndex(is, index) && lock.put() == nil {
		d.patched = b
	}
	return lock.release()
}

// moved returns whether HEAD or the branch has moved since the draft was made, in
// a word for status, or "". Their locks are held.
func (t *branchTarget) moved(d *branchDraft) string {
	head, err := readSmall(filepath.Join(t.l.GitDir, "HEAD"))
	if err != nil || !bytes.Equal(head, d.pos.head) {
		return "HEAD moved meanwhile"
	}
	if value, err := t.refValue(d.pos.ref); err != nil || value != d.pos.oid.String() {
		return d.pos.branch + " moved meanwhile"
	}
	return ""
}

// touched returns whether an operation of the user began or the index changed
// since the draft was made, in a word for status, or "". All locks are held.
func (t *branchTarget) touched(d *branchDraft, index *os.File) string {
	for _, f := range busyFiles {
		if f.name == "index.lock" || f.name == "HEAD.lock" { // ours
			continue
		}
		if _, err := os.Lstat(filepath.Join(t.l.GitDir, f.name)); err == nil {
			return f.what
		}
	}
	if !t.sameIndex(d, index) {
		return "the index changed meanwhile"
	}
	return ""
}

// sameIndex reports whether git's index is the one the draft was made from: by its
// size, time and inode, and by the hash of all its bytes that it ends with. Where
// it has none (index.skipHash), all bytes are compared. Is is that index, opened
// before any lock was taken; nil if there was none.
func (t *branchTarget) sameIndex(d *branchDraft, is *os.File) bool {
	name := filepath.Join(t.l.GitDir, "index")
	if stampAt(name) != d.stamp {
		return false
	}
	if is == nil || !d.stamp.there {
		return is == nil && !d.stamp.there
	}
	if fi, err := is.Stat(); err != nil || stampOf(disk.InfoOf(fi)) != d.stamp {
		return false
	}
	from := max(0, len(d.index)-t.size)
	if len(bytes.Trim(d.index[from:], "\x00")) == 0 {
		from = 0
	}
	b := make([]byte, len(d.index)-from)
	n, err := is.ReadAt(b, int64(from))
	return n == len(b) && (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(b, d.index[from:])
}

// openOld opens what is to be replaced, nil if there is nothing. Whoever holds it open
// meanwhile has the system free its blocks when it is closed, and not before the
// rename returns: that waits for the disk where others write to it.
func openOld(name string) *os.File {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	return f
}

// settle makes durable what was renamed, and then forgets the intent.
func (t *branchTarget) settle(state string, in *intent) error {
	ref := filepath.Join(t.l.CommonDir, filepath.FromSlash(in.Ref))
	var g errgroup.Group
	for _, dir := range []string{filepath.Dir(ref), t.l.GitDir} {
		g.Go(func() error {
			if err := syncPath(dir); err != nil {
				return fmt.Errorf("sync %s: %w", dir, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := t.at("synced"); err != nil {
		return err
	}
	return t.undo(state)
}

// undo removes what was prepared; what was done stays.
func (t *branchTarget) undo(state string) error {
	var errs []error
	for _, name := range append([]string{branchIntent}, branchFiles()...) {
		if err := os.Remove(filepath.Join(state, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// remember notes how our own commit, begun at since, left git's files, and keeps
// its objects for the next one.
func (t *branchTarget) remember(d *branchDraft, since time.Time) {
	t.made, t.refs = d.next, watchRefs(t.l, d.pos.ref, since, t.refs)
	t.sum = string(d.patched[max(0, len(d.patched)-t.size):])
	for _, f := range t.quietFiles(d.pos) {
		t.left[f] = stampAt(f)
	}
	for id, o := range t.objects.made {
		switch o.kind {
		case "blob":
			_, _ = t.objects.blob(context.Background(), id) // all in memory
		case "tree":
			_, _ = t.objects.tree(context.Background(), id)
		case "commit":
			_, _ = t.objects.commit(context.Background(), id)
		}
	}
}

// reflogTime is a time as git's logs hold it.
func reflogTime(at time.Time) string { return fmt.Sprintf("%d %s", at.Unix(), at.Format("-0700")) }

// branchLogs are the logs of git that a commit is added to, opened before any lock
// is taken. Where the user keeps none, none is begun.
type branchLogs []*os.File

func (in *intent) openLogs(l *Layout) (logs branchLogs) {
	for _, name := range []string{filepath.Join(l.CommonDir, "logs", filepath.FromSlash(in.Ref)), filepath.Join(l.GitDir, "logs", "HEAD")} {
		if f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0); err == nil {
			logs = append(logs, f)
		}
	}
	return logs
}

func (logs branchLogs) close() {
	for _, f := range logs {
		_ = f.Close() // written to and not synced, as git does it
	}
}

// add adds a line to each of the logs that does not end with it.
func (logs branchLogs) add(line string) error {
	for _, f := range logs {
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		end := make([]byte, min(size, int64(len(line))))
		if _, err := f.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		text := line
		switch {
		case string(end) == line:
			continue
		case len(end) > 0 && end[len(end)-1] != '\n':
			text = "\n" + line
		}
		if _, err := f.WriteString(text); err != nil {
			return err
		}
	}
	return nil
}
