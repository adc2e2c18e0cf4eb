package gitops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// What a commit onto the branch leaves in the state folder while it is under way.
const (
	branchIntent = "branch.json"  // what is about to be done; see intent
	branchIndex  = "branch.index" // git's index as it is to become
	branchRef    = "branch.ref"   // the reference as it is to become
	branchLock   = "branch.lock"  // what the locks hold
)

func branchFiles() []string {
	return []string{branchIndex, branchIndex + ".lock", branchRef, branchLock}
}

// place moves branch and index to the draft (B4). All that takes time was done
// before. While the locks are held, it is seen that index, HEAD and branch are what
// the draft was made from, and no git program came up; if not, nothing is done and
// Wait says why. Held is for how long index.lock was there.
func (s *Store) place(ctx context.Context, t *branchTarget, d *branchDraft) (held time.Duration, w Wait, err error) {
	state := t.l.StateDir()
	in := newIntent(t, d)
	if err := t.prepare(state, in, d); err != nil {
		return 0, w, unavailable(err)
	}
	scan := newProcessScan(t.l)
	if p := scan.git(); p != "" {
		return 0, waitFor("git is at work: %s", p), t.undo(state)
	}
	if err := t.at("intent"); err != nil {
		return 0, w, err
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
		t.remember(d)
		return held, w, nil
	case err != nil || !w.none():
		return held, w, errors.Join(err, t.undo(state))
	}
	if err := t.settle(state, in); err != nil {
		return held, w, err
	}
	t.remember(d)
	return held, w, nil
}

// errCrashed is what a test has a step return to leave all as a crash would.
var errCrashed = errors.New("crashed")

// prepare writes, durably, what the locks hold, what reference and index are to
// become, and then what is about to be done (B5).
func (t *branchTarget) prepare(state string, in *intent, d *branchDraft) error {
	// A branch that is only in packed-refs may have no folder.
	if err := os.MkdirAll(filepath.Dir(filepath.Join(t.l.CommonDir, filepath.FromSlash(in.Ref))), 0o777); err != nil {
		return err
	}
	intent, err := json.Marshal(in)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		b    []byte
	}{{branchLock, []byte(in.Lock)}, {branchRef, []byte(d.next.String() + "\n")}, {branchIndex, d.patched}, {branchIntent, intent}} {
		if err := writeSynced(filepath.Join(state, f.name), f.b); err != nil {
			return err
		}
	}
	return errors.Join(t.likeIndex(filepath.Join(state, branchIndex), d), syncPath(state))
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

// swap is what is done under the locks. Begun says that the branch has moved.
func (t *branchTarget) swap(state string, in *intent, d *branchDraft, scan *processScan) (held time.Duration, begun bool, w Wait, err error) {
	var locks []*gitLock
	var since time.Time
	crashed := false
	defer func() {
		for i := len(locks) - 1; i >= 0 && !crashed; i-- {
			err = errors.Join(err, locks[i].release())
		}
		if !since.IsZero() {
			held = time.Since(since)
		}
	}()
	stop := func(step string) error {
		err := t.at(step)
		crashed = errors.Is(err, errCrashed)
		return err
	}
	for _, p := range in.locked(t.l) {
		lock, err := lockGit(p, filepath.Join(state, branchLock), in.Lock)
		if errors.Is(err, errLocked) {
			return 0, false, Wait{Reason: "git holds a lock (" + filepath.Base(p) + ".lock)", After: time.Second}, nil
		}
		if err != nil {
			return 0, false, w, err
		}
		if since.IsZero() {
			since = time.Now()
		}
		locks = append(locks, lock)
		if err := stop("locked " + filepath.Base(p)); err != nil {
			return 0, false, w, err
		}
	}
	if moved := t.moved(d, scan); moved != "" {
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
	if err := os.Rename(filepath.Join(state, branchRef), filepath.Join(t.l.CommonDir, filepath.FromSlash(in.Ref))); err != nil {
		return 0, false, w, err
	}
	if err := stop("reference"); err != nil {
		return 0, true, w, err
	}
	if err := in.log(t.l); err != nil {
		return 0, true, w, err
	}
	if err := stop("log"); err != nil {
		return 0, true, w, err
	}
	if err := os.Rename(filepath.Join(state, branchIndex), filepath.Join(t.l.GitDir, "index")); err != nil {
		return 0, true, w, err
	}
	return 0, true, w, stop("index")
}

// moved returns what has changed since the draft was made, or "".
func (t *branchTarget) moved(d *branchDraft, scan *processScan) string {
	head, err := readSmall(filepath.Join(t.l.GitDir, "HEAD"))
	if err != nil || !bytes.Equal(head, d.pos.head) {
		return "HEAD moved meanwhile"
	}
	if value, err := t.refValue(d.pos.ref); err != nil || value != d.pos.oid.String() {
		return d.pos.branch + " moved meanwhile"
	}
	for _, f := range busyFiles {
		if f.name == "index.lock" || f.name == "HEAD.lock" { // ours
			continue
		}
		if _, err := os.Lstat(filepath.Join(t.l.GitDir, f.name)); err == nil {
			return f.what
		}
	}
	if stampAt(filepath.Join(t.l.GitDir, "index")) != d.stamp || !t.sameIndex(d.index) {
		return "the index changed meanwhile"
	}
	if p := scan.git(); p != "" {
		return "git is at work: " + p
	}
	return ""
}

// sameIndex compares the bytes of git's index with those the draft was made from.
func (t *branchTarget) sameIndex(was []byte) bool {
	b, err := os.ReadFile(filepath.Join(t.l.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return len(was) == 0
	}
	return err == nil && bytes.Equal(b, was)
}

// settle makes durable what was renamed, and then forgets the intent.
func (t *branchTarget) settle(state string, in *intent) error {
	ref := filepath.Join(t.l.CommonDir, filepath.FromSlash(in.Ref))
	for _, dir := range []string{filepath.Dir(ref), t.l.GitDir} {
		if err := syncPath(dir); err != nil {
			return fmt.Errorf("sync %s: %w", dir, err)
		}
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

// remember notes how our own commit left git's files, and keeps its objects for
// the next one.
func (t *branchTarget) remember(d *branchDraft) {
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

// appendLog adds a line to a log of git that is there: where the user keeps none,
// none is begun. A line that is there already is not added again.
func appendLog(name, line string) error {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if bytes.HasSuffix(b, []byte(line)) {
		return nil
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		line = "\n" + line
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
