package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// In tracked mode an acknowledged memory is in a working file that its people have
// still to commit, and their git may overwrite it before they do. Of each file the last
// acknowledged version is therefore remembered until some reference or stash of theirs
// has it; one that is then nowhere is lost, and may be brought back (git.md T4). The
// journal has the bytes.

// pendingName is a file of the state folder: what was acknowledged and not yet seen in
// the user's history. It is written before the wal is cut.
const pendingName = "pending.json"

// A LostWrite is an acknowledged version that is neither in the work tree nor in any
// reference or stash.
type LostWrite struct {
	ID    fold.ID
	Path  string
	At    time.Time
	Bytes []byte // nil where the journal cannot be read
}

// A tracker follows, in tracked mode, what becomes of acknowledged writes (git.md T4).
type tracker struct{ *Store }

func (t tracker) pendingPath() string { return filepath.Join(t.l.StateDir(), pendingName) }

func (t tracker) loadPending() error {
	t.known.pending = map[string]pendingWrite{}
	if !t.opt.Tracked {
		return nil // what it says is of another time
	}
	b, err := os.ReadFile(t.pendingPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", pendingName, err)
	}
	if err := json.Unmarshal(b, &t.known.pending); err != nil || t.known.pending == nil {
		t.known.pending = map[string]pendingWrite{}
		t.log.Warn("Damaged list of uncommitted memories set aside; the journal has them", "err", err)
		return os.Rename(t.pendingPath(), t.pendingPath()+".damaged")
	}
	return nil
}

// setPending makes next what is remembered, durably. The caller holds commit.
func (t tracker) setPending(next map[string]pendingWrite) error {
	t.mu.Lock()
	same := maps.Equal(t.known.pending, next)
	t.mu.Unlock()
	if same {
		return nil
	}
	b, err := json.Marshal(next)
	if err == nil {
		err = disk.WriteFile(t.pendingPath(), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember what is not committed yet: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known.pending = next
	return nil
}

// remembered returns a copy of what is remembered.
func (t tracker) remembered() map[string]pendingWrite {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.known.pending)
}

// notePending remembers the acknowledged writes of changes, which the journal has by now.
// An acknowledged deletion ends what was remembered of its file.
func (t tracker) notePending(changes []*change) error {
	if !t.opt.Tracked {
		return nil
	}
	next := t.remembered()
	for _, c := range changes {
		if c.ours.New == nil {
			delete(next, c.path)
			continue
		}
		next[c.path] = pendingWrite{
			ID: c.ours.ID, At: t.opt.Now().UTC(),
			Blob: plumbing.ComputeHash(plumbing.BlobObject, c.ours.New).String(),
		}
	}
	return t.setPending(next)
}

// Lost returns the acknowledged versions that were found to be lost, by path.
func (s *Store) Lost() []LostWrite {
	var out []LostWrite
	for path, p := range (tracker{s}).remembered() {
		if p.Lost {
			b, err := s.obj.Blob(plumbing.NewHash(p.Blob))
			if err != nil {
				s.log.Warn("Lost memory not read", "path", path, "err", err)
			}
			out = append(out, LostWrite{p.ID, path, p.At, b})
		}
	}
	slices.SortFunc(out, func(a, b LostWrite) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// FindLost compares what is remembered with the work tree and with the user's history,
// and returns how many are lost. Nothing is decided while an operation of git is open, or
// where HEAD moved meanwhile: what was seen then may be of two commits. It costs nothing
// where nothing is remembered, and runs git only for what the work tree does not have.
// Commits go on meanwhile.
func (s *Store) FindLost(ctx context.Context) (lost int, err error) {
	if err := s.writable(); err != nil {
		return 0, err
	}
	if err := (tracker{s}).lookForLost(ctx); err != nil {
		return 0, fmt.Errorf("look for lost memories: %w", err)
	}
	_, lost = s.CountPending()
	return lost, nil
}

func (t tracker) lookForLost(ctx context.Context) error {
	was := t.remembered()
	if !t.opt.Tracked || len(was) == 0 || t.l.Busy() != "" {
		return nil
	}
	from, err := t.l.HeadOid()
	if err != nil {
		return err
	}
	decided := maps.Clone(was)
	if err := t.decidePending(ctx, decided); err != nil {
		return err
	}
	if to, err := t.l.HeadOid(); err != nil || to != from || t.l.Busy() != "" {
		return err // the next look decides
	}
	if err := t.lockCommit(); err != nil {
		return err
	}
	defer t.commit.Unlock()
	next := t.remembered()
	for path, p := range was {
		if next[path] != p {
			continue // written again since
		}
		if d, still := decided[path]; still {
			next[path] = d
		} else {
			delete(next, path)
		}
	}
	return t.setPending(next)
}

// CountPending returns how many acknowledged memories no reference or stash of the user's
// had at the last look: of waiting the work tree has the file, lost ones were nowhere.
func (s *Store) CountPending() (waiting, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.known.pending {
		if p.Lost {
			lost++
		} else {
			waiting++
		}
	}
	return waiting, lost
}

// AwaitingCommit is CountPending after a look at what is acknowledged by now.
func (s *Store) AwaitingCommit(ctx context.Context) (waiting, lost int, err error) {
	if _, err := s.Commit(ctx, nil, ""); err != nil { // what is in the log only
		return 0, 0, err
	}
	if _, err = s.FindLost(ctx); err != nil {
		return 0, 0, err
	}
	waiting, lost = s.CountPending()
	return waiting, lost, nil
}

// decidePending drops from next what the user's history has, or a person edited since,
// and marks what is lost.
func (t tracker) decidePending(ctx context.Context, next map[string]pendingWrite) error {
	root, err := t.openFold(false)
	if err != nil && !absentFold(err) {
		return err
	}
	if root != nil {
		defer root.Close()
	}
	head, committed, err := t.user.Head(ctx)
	if err != nil {
		return err
	}
	missed := map[string]string{} // path → git's name of what is not there
	others := map[string]string{} // path → git's name of what is there instead
	for _, path := range slices.Sorted(maps.Keys(next)) {
		p := next[path]
		there, err := t.blobOnDisk(root, path)
		if err != nil {
			continue // a link, a folder: not decided
		}
		want := plumbing.NewHash(p.Blob)
		if there.name == want {
			p.Lost = false
		}
		name, err := t.userName(head, want)
		if err != nil {
			return err
		}
		switch {
		case name != "" && committed[path] == name:
			delete(next, path)
			continue
		case there.name == want:
		default:
			missed[path] = name
			if there.b != nil {
				others[path] = usergit.BlobName(there.b, len(head) == 64)
			}
		}
		next[path] = p
	}
	if err := t.dropEdited(ctx, next, missed, others, committed); err != nil || len(missed) == 0 {
		return err
	}
	return t.decideMissed(ctx, root, next, missed, committed)
}

// dropEdited drops what somebody edited since, of which the journal has what was before.
// Where a commit or a stash has what the file holds now, git put it there instead, as
// git checkout REVISION -- FILE does.
func (t tracker) dropEdited(ctx context.Context, next map[string]pendingWrite, missed, holds, committed map[string]string) error {
	maps.DeleteFunc(holds, func(path, name string) bool { return committed[path] == name })
	inRefs, stashed, err := t.user.InHistory(ctx, holds)
	if err != nil {
		return err
	}
	for path := range holds {
		if !inRefs[path] && !stashed[path] {
			delete(next, path)
			delete(missed, path)
		}
	}
	return nil
}

// decideMissed decides on what the work tree does not have: a reference may, a stash until
// it is dropped, the index until it is committed, or somebody moved the file.
func (t tracker) decideMissed(ctx context.Context, root *disk.Root, next map[string]pendingWrite, missed, committed map[string]string) error {
	inHead := map[string]bool{} // also of a file that somebody moved and committed since
	for _, name := range committed {
		inHead[name] = true
	}
	inRefs, stashed, err := t.user.InHistory(ctx, missed)
	if err != nil {
		return err
	}
	staged, err := t.user.Staged(ctx)
	if err != nil {
		return err
	}
	others, err := t.uncommitted(root, committed, missed)
	if err != nil {
		return err
	}
	for path, name := range missed {
		p := next[path]
		switch {
		case inRefs[path], inHead[name], others[p.Blob], p.ID != "" && others[string(p.ID)]:
			delete(next, path)
			continue
		case stashed[path], name != "" && staged[path] == name:
			p.Lost = false
		default:
			p.Lost = true
		}
		next[path] = p
	}
	return nil
}

// onDisk is what a file of fold/ holds; b is nil if it is not there.
type onDisk struct {
	name plumbing.Hash
	b    []byte
}

func (t tracker) blobOnDisk(root *disk.Root, path string) (onDisk, error) {
	if root == nil {
		return onDisk{}, nil
	}
	b, err := readFile(root, path)
	if err != nil || b == nil {
		return onDisk{}, err
	}
	return onDisk{plumbing.ComputeHash(plumbing.BlobObject, b), b}, nil
}

// userName returns what the user's repository calls a blob of the journal; "" if
// nothing was committed in it.
func (t tracker) userName(head string, blob plumbing.Hash) (string, error) {
	if head == "" || len(head) == len(plumbing.ZeroHash)*2 {
		return blob.String(), nil
	}
	b, err := t.obj.Blob(blob)
	if err != nil {
		return "", err
	}
	return usergit.BlobName(b, len(head) == 64), nil
}

// uncommitted returns the ids and the blobs of files of the work tree that HEAD does not
// have, and that are not at one of the missed paths: a memory that is among them was moved
// by a person.
func (t tracker) uncommitted(root *disk.Root, committed, missed map[string]string) (map[string]bool, error) {
	found := map[string]bool{}
	if root == nil {
		return found, nil
	}
	err := root.Walk(func(path string, _ disk.Info) error {
		if _, is := missed[path]; is || committed[path] != "" || !allowed(path) {
			return nil
		}
		if b, err := readFile(root, path); err == nil && b != nil {
			found[plumbing.ComputeHash(plumbing.BlobObject, b).String()] = true
			if m, err := fold.Decode(t.opt.Slug, path, b); err == nil {
				found[string(m.ID)] = true
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // fold/ went away meanwhile: nothing is in it
	}
	return found, err
}

// lostVersion returns the version of path that is lost, nil if none is.
func (t tracker) lostVersion(path string) ([]byte, error) {
	p, ok := t.remembered()[path]
	if !ok || !p.Lost {
		return nil, nil
	}
	return t.obj.Blob(plumbing.NewHash(p.Blob))
}

// noteRestored notes that what was lost at path is a working file again.
func (t tracker) noteRestored(path string) error {
	if err := t.lockCommit(); err != nil {
		return err
	}
	defer t.commit.Unlock()
	next := t.remembered()
	p, ok := next[path]
	if !ok || !p.Lost {
		return nil
	}
	p.Lost = false
	next[path] = p
	return t.setPending(next)
}

// ForgetLost ends the matter of what is lost and returns how many those were. The
// journal keeps them.
func (s *Store) ForgetLost(_ context.Context) (n int, err error) {
	if err := s.lockCommit(); err != nil {
		return 0, err
	}
	defer s.commit.Unlock()
	next := (tracker{s}).remembered()
	for path, p := range next {
		if p.Lost {
			delete(next, path)
			n++
		}
	}
	return n, (tracker{s}).setPending(next)
}
