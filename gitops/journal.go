package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Commit records the state on disk of paths (below fold/) in the journal,
// together with every acknowledged write, and then cuts the wal. Paths that
// may not be in a tree are passed over; files that may not be committed are
// set aside. An empty message is made up from what changed. It costs
// O(changed), whatever the size of the whole (G5).
func (s *Store) Commit(ctx context.Context, paths []string, message string) (Recorded, error) {
	if s.bulks.Load() > 0 {
		return Recorded{Later: true}, nil
	}
	return (recorder{s}).commitNow(ctx, paths, message)
}

func (rc recorder) commitNow(ctx context.Context, paths []string, message string) (Recorded, error) {
	if err := rc.lockCommit(); err != nil {
		return Recorded{}, err
	}
	defer rc.commit.Unlock()
	return rc.recordAll(ctx, paths, message)
}

// CommitAll compares all of fold/ with the journal and records what differs:
// for start-up and after lost events. Files whose stat data is that of the
// last scan are not read.
func (s *Store) CommitAll(ctx context.Context) (Recorded, error) {
	if s.bulks.Load() > 0 {
		return Recorded{Later: true}, nil
	}
	if err := s.lockCommit(); err != nil {
		return Recorded{}, err
	}
	defer s.commit.Unlock()
	paths, err := (recorder{s}).scan(ctx)
	if err != nil {
		return Recorded{}, err
	}
	return (recorder{s}).recordAll(ctx, paths, "")
}

// commitFiles is how many files one commit takes at most, since all of them are
// in memory until it is written. A storm of ten thousand is one or two.
const commitFiles = 10_000

// recordAll is record in as many commits as it takes. What an error, or the end
// of ctx, leaves of them is there as any commit is.
func (rc recorder) recordAll(ctx context.Context, paths []string, message string) (Recorded, error) {
	var all Recorded
	for {
		part := paths[:min(len(paths), rc.perCommit)]
		paths = paths[len(part):]
		r, err := rc.record(ctx, part, message)
		if r.Oid != "" {
			all.Oid = r.Oid
		}
		all.Written = append(all.Written, r.Written...)
		all.Removed = append(all.Removed, r.Removed...)
		all.SetAside = append(all.SetAside, r.SetAside...)
		all.Unsettled = append(all.Unsettled, r.Unsettled...)
		all.Guarded, all.Reason = r.Guarded, r.Reason
		if err != nil || r.Guarded || len(paths) == 0 {
			return all, err
		}
	}
}

// record is one commit, with the lock held.
func (rc recorder) record(ctx context.Context, paths []string, message string) (out Recorded, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("commit fold/: %w", err)
		}
	}()
	entries := rc.placedEntries()
	root, err := rc.openFold(false)
	if errors.Is(err, fs.ErrNotExist) && rc.hasJournal() && !rc.opt.Tracked {
		vanishGuard(rc).raiseGuard(reasonFoldMissing)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if root != nil {
		defer root.Close()
	}
	if reason, up := rc.guarded(); up {
		return Recorded{Guarded: true, Reason: reason}, nil
	}
	if root == nil && !rc.opt.Tracked { // an empty journal and no folder
		if len(entries) == 0 {
			return out, nil
		}
		// Gone before the first commit: what was acknowledged is written again.
		if _, err := replayer(rc).replay(); err != nil {
			return out, err
		}
		if root, err = rc.openFold(false); err != nil {
			return out, err
		}
		defer root.Close()
	}
	changes, err := rc.collect(ctx, root, paths, entries, &out)
	if err != nil {
		return out, err
	}
	if up, err := vanishGuard(rc).checkVanished(root, changes); err != nil || up {
		reason, _ := rc.guarded()
		return Recorded{Guarded: up, Reason: reason, SetAside: out.SetAside}, err
	}
	done, err := rc.write(ctx, changes, message, &out)
	if err != nil {
		rc.obj.Drop()
		return out, err
	}
	return out, rc.wal.Cut(done)
}

// placedEntries returns the wal as it is when no write is between wal and
// disk: each entry's file has been written.
func (rc recorder) placedEntries() []wal.Entry {
	rc.flight.Lock()
	defer rc.flight.Unlock()
	return rc.wal.Entries()
}

// collect reads what is on disk at paths and at every path of the wal.
func (rc recorder) collect(ctx context.Context, root *disk.Root, paths []string, entries []wal.Entry, out *Recorded) ([]*change, error) {
	byPath := map[string]*change{}
	for _, p := range paths {
		if allowed(p) {
			byPath[p] = &change{path: p}
		}
	}
	for i := range entries {
		e := &entries[i]
		c := byPath[e.Path]
		if c == nil {
			c = &change{path: e.Path}
			byPath[e.Path] = c
		}
		if c.ours != nil && c.ours.New != nil && !wal.Same(c.ours.New, e.Base) {
			c.lost = append(c.lost, c.ours.New)
		}
		if e.New == nil && e.Base != nil {
			// What was written and deleted before any commit, or saved by hand a
			// moment before, would be nowhere: [Store.Restore] could not find it.
			c.lost = append(c.lost, e.Base)
		}
		c.ours, c.author, c.reason = e, e.Author, e.Reason
		if e.Described != nil {
			c.described = e.Described
		}
	}
	old, err := rc.oldBlobs(byPath)
	if err != nil {
		return nil, err
	}
	var list []*change
	git := takenByGit{user: rc.user, off: !rc.opt.Tracked}
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := byPath[p]
		c.old, c.at = old[p], rc.opt.Now()
		var b []byte
		var info disk.Info
		err := fs.ErrNotExist
		if root != nil {
			b, info, err = root.ReadExactName(p, fold.MaxFile)
		}
		taken := false
		if errors.Is(err, fs.ErrNotExist) {
			var gitErr error
			if taken, gitErr = git.took(ctx, c); gitErr != nil {
				return nil, gitErr
			}
		}
		switch {
		case taken:
			if c.ours == nil {
				continue
			}
			c.disk, c.apart = c.ours.New, true
		case err == nil:
			if c.disk, c.info = b, info; b == nil {
				c.disk = []byte{}
			}
			vanishGuard(rc).noteThere(p)
		case errors.Is(err, fs.ErrNotExist) && vanishGuard(rc).justGone(c):
			// What we wrote there goes in; that it is gone is for a later look.
			out.Unsettled = append(out.Unsettled, p)
			if c.ours == nil {
				continue
			}
			c.disk, c.apart = c.ours.New, true
		case errors.Is(err, fs.ErrNotExist):
		default:
			// A read error is never a deletion. What we wrote there ourselves
			// still goes in.
			rc.setApart(out, p, err)
			if c.ours == nil || c.ours.New == nil {
				continue
			}
			c.disk, c.apart = c.ours.New, true
		}
		mine := c.ours != nil && wal.Same(c.disk, c.ours.New)
		if c.disk != nil && !mine && rc.beingWritten(c.info) {
			out.Unsettled = append(out.Unsettled, p)
			if c.ours == nil || c.ours.New == nil {
				continue
			}
			c.disk, c.info, c.apart = c.ours.New, disk.Info{}, true
		}
		list = append(list, c)
	}
	return list, nil
}

// oldBlobs returns what the tip's tree holds at the paths of m.
func (rc recorder) oldBlobs(m map[string]*change) (map[string]plumbing.Hash, error) {
	tree, err := rc.tipTree()
	if err != nil {
		return nil, err
	}
	if len(m) > 200 { // one pass over the tree costs less than a path each
		return rc.obj.List(tree)
	}
	out := make(map[string]plumbing.Hash, len(m))
	for p := range m {
		if out[p], err = rc.obj.Lookup(tree, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setApart notes a file that stays out.
func (rc recorder) setApart(out *Recorded, path string, err error) {
	out.SetAside = append(out.SetAside, gitsync.SetAside{Path: path, Err: err})
	rc.noteSetAside(path, err.Error())
}

// write makes the commits and moves the journal. It returns the wal entries
// that the journal now holds.
//
// Where somebody has changed a file since we acknowledged a write to it, the
// journal gets our version first, in a commit of its own, and then theirs: an
// acknowledged byte is never only in a file that others may overwrite.
func (rc recorder) write(ctx context.Context, changes []*change, message string, out *Recorded) (done []uint64, err error) {
	rc.mu.Lock()
	tip := rc.known.tip
	rc.mu.Unlock()
	first, second := &draft{}, &draft{}
	var held []*change // of which the journal gets what we wrote
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		diskErr, oursErr := error(nil), error(nil)
		mine := c.ours != nil && wal.Same(c.disk, c.ours.New)
		if c.disk != nil {
			diskErr = rc.check(c.path, c.disk)
		}
		if c.ours != nil && !mine && c.ours.New != nil {
			if oursErr = rc.check(c.path, c.ours.New); oursErr == nil {
				first.add(c, c.ours.New)
			}
		}
		if diskErr != nil {
			rc.setApart(out, c.path, diskErr)
		} else {
			second.add(c, c.disk)
			if !c.apart {
				rc.noteSetAside(c.path, "")
			}
		}
		// What may not enter is done with once somebody has replaced it by what may.
		if c.ours != nil && (diskErr == nil || !mine && oursErr == nil) {
			done = append(done, c.ours.Seq)
			if oursErr == nil {
				held = append(held, c)
			}
		}
	}
	before := tip
	for _, d := range append(overwritten(changes, rc.check), first) {
		if tip, err = rc.commitDraft(ctx, tip, d, "fold: Keep writes that were overwritten", nil); err != nil {
			return nil, err
		}
	}
	if tip, err = rc.commitDraft(ctx, tip, second, message, out); err != nil {
		return nil, err
	}
	described, err := rc.spliceDescribed(changes)
	if err != nil {
		return nil, err
	}
	if tip != before {
		if err := rc.moveTip(ctx, tip); err != nil {
			return nil, err
		}
		out.Oid = tip.String()
	}
	if err := rc.setDescribed(described); err != nil {
		return nil, err
	}
	for _, c := range changes {
		rc.noteSeen(c)
	}
	return rc.upTo(done), tracker(rc).notePending(held)
}

// overwritten returns, oldest first, the acknowledged writes that the newest of
// their path was not built on. What may not enter was never to be kept.
func overwritten(changes []*change, check func(string, []byte) error) []*draft {
	var rounds []*draft
	for _, c := range changes {
		for i, b := range c.lost {
			if i == len(rounds) {
				rounds = append(rounds, &draft{})
			}
			if check(c.path, b) == nil {
				rounds[i].add(c, b)
			}
		}
	}
	return rounds
}

// upTo adds to seqs the older entries of the same paths, which are superseded.
func (rc recorder) upTo(seqs []uint64) []uint64 {
	newest := map[string]uint64{}
	in := map[uint64]bool{}
	for _, q := range seqs {
		in[q] = true
	}
	entries := rc.wal.Entries()
	for _, e := range entries {
		if in[e.Seq] {
			newest[e.Path] = e.Seq
		}
	}
	out := make([]uint64, 0, len(seqs))
	for _, e := range entries {
		if e.Seq <= newest[e.Path] {
			out = append(out, e.Seq)
		}
	}
	return out
}
