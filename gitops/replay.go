package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A replayer finishes what a crash left in the log of writes.
type replayer struct{ *Store }

// replay brings the disk to what the wal says was acknowledged: disk = new →
// done; disk = base → write; else merge3(base, disk, new). Entries stay in the
// wal until the next commit holds them. It returns the paths that were written. A path
// that cannot be written now stays in the wal and is set aside.
func (p replayer) replay() (changed []string, err error) { return p.replayBut(nil) }

// replayStart is replay at a start: what a person has deleted since, whose file was
// there and is missing, is left to the commit that follows, which records the deletion,
// or puts the vanish guard up. The journal gets what was acknowledged by that.
func (p replayer) replayStart(ctx context.Context) (changed []string, err error) {
	if p.opt.Tracked {
		return p.replayTracked(ctx)
	}
	deleted, err := p.deletedSince()
	if err != nil { // what cannot be looked at was not deleted
		p.log.WarnContext(ctx, "Deletions since the last stop not looked for", "err", err)
	}
	return p.replayBut(deleted)
}

// deletedSince returns the memories of which the wal has a newer version, whose file had
// it and is missing by now. There are none where more is missing than a person deletes.
func (p replayer) deletedSince() (map[string]bool, error) {
	placed := map[string]bool{}
	for path, chain := range p.chains() {
		last := &chain[len(chain)-1]
		if chain[0].Base != nil && last.New != nil && p.wal.WasPlaced(last) {
			placed[path] = true
		}
	}
	if _, up := p.guarded(); up || len(placed) == 0 {
		return nil, nil
	}
	root, err := p.openFold(false)
	if err != nil {
		return nil, nil //nolint:nilerr // replay says what is wrong with it
	}
	defer root.Close()
	vanished, total, err := vanishGuard(p).vanished(root)
	if err != nil || tooMany(vanished, len(vanished), total) || len(vanished) == total {
		return nil, err
	}
	missing, err := vanishGuard(p).missing(root)
	if err != nil {
		return nil, err
	}
	deleted := map[string]bool{}
	for _, path := range missing {
		deleted[path] = placed[path]
	}
	return deleted, nil
}

// replayBut is replay of all but some paths.
func (p replayer) replayBut(deleted map[string]bool) (changed []string, err error) {
	chains := p.chains()
	if len(chains) == 0 {
		return nil, nil
	}
	root, err := p.foldForWrite()
	if err != nil {
		if errors.Is(err, fold.ErrUnavailable) {
			return nil, nil // the checkout is missing: they wait
		}
		return nil, err
	}
	defer root.Close()
	for _, path := range slices.Sorted(maps.Keys(chains)) {
		if deleted[path] {
			continue
		}
		differs, err := p.replayPath(root, path, chains[path])
		if err != nil {
			p.log.Warn("Replay left a write in the log", "path", path, "err", err)
			recorder(p).noteSetAside(path, err.Error())
			continue
		}
		if differs {
			changed = append(changed, path)
		}
	}
	// A crash may have come between the making of folders and their sync.
	if err := root.Sync(); err != nil {
		return changed, err
	}
	p.log.Info("Replayed acknowledged writes", "paths", len(chains), "written", len(changed))
	return changed, nil
}

// chains groups the wal by path, in order.
func (p replayer) chains() map[string][]wal.Entry {
	out := map[string][]wal.Entry{}
	for _, e := range p.wal.Entries() {
		out[e.Path] = append(out[e.Path], e)
	}
	return out
}

// replayPath deals with the entries of one path, which follow each other: the
// base of each is usually the result of the one before.
func (p replayer) replayPath(root *disk.Root, path string, chain []wal.Entry) (differs bool, err error) {
	if err := fold.ValidPath(path); err != nil {
		return false, err
	}
	p.flight.RLock()
	defer p.flight.RUnlock()
	defer p.paths.lock(path)()
	last := chain[len(chain)-1]
	for range 10 {
		have, err := readFile(root, path)
		if err != nil {
			return false, err
		}
		want := last.New
		if wal.Same(have, want) {
			return false, nil
		}
		known := false // have is a state on the way from first base to last result
		for _, e := range chain {
			known = known || wal.Same(have, e.Base) || wal.Same(have, e.New)
		}
		if !known {
			// Somebody else wrote. Was it after the journal had our write?
			// Then nothing of ours is missing from it.
			if in, err := p.inJournal(path, last.New); err != nil || in {
				return false, err
			}
		}
		if !known {
			if want, err = p.merge(path, chain[0].Base, have, last.New); err != nil {
				return false, err
			}
		}
		err = apply(root, wal.Entry{Path: path, Base: have, New: want})
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fold.ErrConflict) {
			return false, err
		}
	}
	return false, fmt.Errorf("%s: changes faster than it can be written: %w", path, fold.ErrUnavailable)
}

// replayTracked is replay in tracked mode. A file that was written, and has something
// else by now, is as git or a person left it, and so is what was written on another
// commit than HEAD names now: those are left alone. The commit that follows takes what
// was acknowledged into the journal, where git.md T4 counts it if it is nowhere else.
func (p replayer) replayTracked(ctx context.Context) (changed []string, err error) {
	chains := p.chains()
	if len(chains) == 0 {
		return nil, nil
	}
	root, err := p.openFold(false)
	if err != nil {
		if absentFold(err) || errors.Is(err, fold.ErrUnavailable) {
			return nil, nil
		}
		return nil, err
	}
	defer root.Close()
	head, err := p.l.HeadOid()
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(chains)) {
		chain := chains[path]
		last := &chain[len(chain)-1]
		if p.wal.WasPlaced(last) || last.Head != "" && last.Head != head {
			continue
		}
		have, err := readFile(root, path)
		if err == nil && last.Head == "" && !wal.Same(have, chain[0].Base) {
			continue // of an earlier version, which did not note HEAD
		}
		if err != nil {
			recorder(p).noteSetAside(path, err.Error())
			continue
		}
		differs, err := p.replayPath(root, path, chain)
		if err != nil {
			p.log.WarnContext(ctx, "Replay left a write in the log", "path", path, "err", err)
			recorder(p).noteSetAside(path, err.Error())
			continue
		}
		if differs {
			changed = append(changed, path)
		}
	}
	if err := root.Sync(); err != nil {
		return changed, err
	}
	p.log.InfoContext(ctx, "Replayed acknowledged writes", "paths", len(chains), "written", len(changed))
	return changed, nil
}

// inJournal reports whether one of the newest journal commits holds b at path.
// Two are enough: a commit cuts the wal, and one call of Commit makes two at
// most.
func (p replayer) inJournal(path string, b []byte) (bool, error) {
	if b == nil {
		return false, nil
	}
	want := plumbing.ComputeHash(plumbing.BlobObject, b)
	p.mu.Lock()
	at := p.known.tip
	p.mu.Unlock()
	for range 2 {
		if at.IsZero() {
			return false, nil
		}
		c, err := p.obj.CommitOf(at)
		if err != nil {
			return false, err
		}
		h, err := p.obj.Lookup(c.TreeHash, path)
		if err != nil || h == want {
			return h == want, err
		}
		at = objdb.FirstParent(c)
	}
	return false, nil
}
