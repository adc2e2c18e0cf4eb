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

	"github.com/foldwatch/foldwatch/gitops/gitindex"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// An intent says what a commit onto the branch is about to do, so that a restart
// can finish or undo it (B5).
type intent struct {
	Ref  string `json:"ref"`
	Old  string `json:"old"`
	New  string `json:"new"`
	Dir  string `json:"dir"`  // name of fold/
	Line string `json:"line"` // for git's logs
	Lock string `json:"lock"` // whose the locks are
	Size int    `json:"size"` // bytes of an object name
}

func newIntent(t *branchTarget, d *branchDraft) *intent {
	verb := "commit"
	if d.replaced != "" {
		verb = "commit (amend)"
	}
	if d.verb != "" {
		verb = d.verb
	}
	at := reflogTime(d.at)
	return &intent{
		Ref: d.pos.ref, Old: d.pos.oid.String(), New: d.next.String(), Dir: t.dir, Size: t.size, Lock: lockText(),
		Line: fmt.Sprintf("%s %s %s <%s> %s\t%s: %s\n", d.pos.oid, d.next, committerName, committerEmail, at, verb, d.subject),
	}
}

// locked are the files of git that are locked, in that order.
func (in *intent) locked(l *Layout) []string {
	return []string{filepath.Join(l.GitDir, "HEAD"), filepath.Join(l.CommonDir, filepath.FromSlash(in.Ref)), filepath.Join(l.GitDir, "index")}
}

// log adds what was done to git's logs.
func (in *intent) log(l *Layout) error {
	logs := in.openLogs(l)
	defer logs.close()
	return logs.add(in.Line)
}

// recoverBranch finishes or undoes a commit onto the branch that a crash
// interrupted: where the branch has moved, the index follows; where it has not,
// the index goes back, should a power cut have kept it and not the reference. Locks of ours are removed, others never (F05). The caller
// holds the lock of the store.
func recoverBranch(ctx context.Context, l *Layout) (err error) {
	l = l.mainLayout()
	state := l.StateDir()
	b, err := os.ReadFile(filepath.Join(state, branchIntent))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("take up an interrupted commit onto the branch: %w", err)
		}
	}()
	if err != nil {
		return err
	}
	in := &intent{}
	t := newBranchTarget(l, in.Dir)
	if json.Unmarshal(b, in) != nil || !filepath.IsLocal(filepath.FromSlash(in.Ref)) {
		return t.undo(state) // never written whole, so nothing came after it
	}
	t.dir, t.size = in.Dir, in.Size
	value, err := t.refValue(in.Ref)
	if err != nil {
		return err
	}
	if err := clearLocks(state, in.locked(l)...); err != nil {
		return err
	}
	switch value {
	case in.New:
		if err := t.moveIndex(ctx, state, in, in.Old, in.New); err != nil {
			return err
		}
		if err := in.log(t.l); err != nil {
			return err
		}
	case in.Old:
		// A commit that is not there whole never came to the index.
		if err := t.moveIndex(ctx, state, in, in.New, in.Old); err != nil && !errors.Is(err, errNoCommit) {
			return err
		}
	}
	return t.undo(state)
}

// errNoCommit says that a commit of ours, or what it names, is not in the repository.
var errNoCommit = errors.New("the commit cannot be read")

// moveIndex brings the index from one commit to another. Only entries that are as
// the first has them are changed, so that it does not matter how far the crash let it
// come, nor what the user did since.
func (t *branchTarget) moveIndex(ctx context.Context, state string, in *intent, from, to string) error {
	t.open()
	defer t.close()
	d := &branchDraft{}
	if err := d.readIndex(t.l); err != nil {
		return err
	}
	was, ok := parseOid(from, in.Size)
	is, ok2 := parseOid(to, in.Size)
	if !ok || !ok2 {
		return fmt.Errorf("%s is damaged: %w", branchIntent, fold.ErrInvalid)
	}
	edits, err := t.editsBetween(ctx, was, is)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoCommit, err)
	}
	f, err := gitindex.Parse(d.index, t.size)
	switch {
	case errors.Is(err, gitindex.ErrOdd):
		d.patched, err = t.patchByGit(ctx, d, edits)
	case err == nil:
		d.patched, _ = f.Patch(edits, nil)
	}
	if err != nil {
		return err
	}
	if bytes.Equal(d.patched, d.index) {
		return nil
	}
	prepared := filepath.Join(state, branchIndex)
	if err := disk.WriteFile(prepared, d.patched, 0o644); err != nil {
		return err
	}
	if err := t.likeIndex(prepared, d); err != nil {
		return err
	}
	lock, err := lockGit(filepath.Join(t.l.GitDir, "index"), prepared, in.Lock)
	if errors.Is(err, errLocked) {
		return nil // the user is at work: the index is theirs now
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.release() }()
	index := openOld(filepath.Join(t.l.GitDir, "index"))
	defer index.Close() // or nil
	if !t.sameIndex(d, index) {
		return fmt.Errorf("git's index changes: %w", fold.ErrUnavailable)
	}
	return lock.put()
}

// editsBetween are the edits that bring an index from one commit to another.
func (t *branchTarget) editsBetween(ctx context.Context, was, is oid) (edits []gitindex.Edit, err error) {
	a, err := t.objects.commit(ctx, was)
	if err != nil {
		return nil, err
	}
	b, err := t.objects.commit(ctx, is)
	if err != nil {
		return nil, err
	}
	err = t.objects.diff(ctx, a.tree, b.tree, "", func(path string, was, is userEntry) {
		e := gitindex.Edit{Path: path, Was: was.oid.bytes(), Now: is.oid.bytes(), Mode: indexMode(is.mode)}
		edits = append(edits, e)
	})
	return edits, err
}
