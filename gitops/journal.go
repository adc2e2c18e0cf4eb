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

// A Recorded says what one call of Commit came to.
type Recorded struct {
	Oid       string             // of the commit; "" if there was nothing to record
	Written   []string           // paths below fold/ that it adds or changes
	Removed   []string           // paths that it deletes
	SetAside  []gitsync.SetAside // kept out, with the reason; the rest went in
	Unsettled []string           // changed less than 300 ms ago: call again for them
	Later     bool               // many files are being written, see [Store.Bulk]: call again
	Guarded   bool               // the vanish guard is up and nothing was committed
	Reason    string             // of Guarded
}

// Commit records the state on disk of paths (below fold/) in the journal,
// together with every acknowledged write, and then cuts the wal. Paths that
// may not be in a tree are passed over; files that may not be committed are
// set aside. An empty message is made up from what changed. It costs
// O(changed), whatever the size of the whole (G5).
func (s *Store) Commit(ctx context.Context, paths []string, message string) (Recorded, error) {
	if s.bulks.Load() > 0 {
		return Recorded{Later: true}, nil
	}
	return s.commitNow(ctx, paths, message)
}

func (s *Store) commitNow(ctx context.Context, paths []string, message string) (Recorded, error) {
	if err := s.lockCommit(); err != nil {
		return Recorded{}, err
	}
	defer s.commit.Unlock()
	return s.recordAll(ctx, paths, message)
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
	paths, err := s.scan(ctx)
	if err != nil {
		return Recorded{}, err
	}
	return s.recordAll(ctx, paths, "")
}

// commitFiles is how many files one commit takes at most, since all of them are
// in memory until it is written. A storm of ten thousand is one or two.
const commitFiles = 10_000

// recordAll is record in as many commits as it takes. What an error, or the end
// of ctx, leaves of them is there as any commit is.
func (s *Store) recordAll(ctx context.Context, paths []string, message string) (Recorded, error) {
	var all Recorded
	for {
		part := paths[:min(len(paths), s.perCommit)]
		paths = paths[len(part):]
		r, err := s.record(ctx, part, message)
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
func (s *Store) record(ctx context.Context, paths []string, message string) (out Recorded, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("commit fold/: %w", err)
		}
	}()
	entries := s.placedEntries()
	root, err := s.openFold(false)
	if errors.Is(err, fs.ErrNotExist) && s.hasJournal() && !s.opt.Tracked {
		s.raiseGuard(reasonFoldMissing)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if root != nil {
		defer root.Close()
	}
	if reason, up := s.guarded(); up {
		return Recorded{Guarded: true, Reason: reason}, nil
	}
	if root == nil && !s.opt.Tracked { // an empty journal and no folder
		if len(entries) == 0 {
			return out, nil
		}
		// Gone before the first commit: what was acknowledged is written again.
		if _, err := s.replay(); err != nil {
			return out, err
		}
		if root, err = s.openFold(false); err != nil {
			return out, err
		}
		defer root.Close()
	}
	changes, err := s.collect(ctx, root, paths, entries, &out)
	if err != nil {
		return out, err
	}
	if up, err := s.checkVanished(root, changes); err != nil || up {
		reason, _ := s.guarded()
		return Recorded{Guarded: up, Reason: reason, SetAside: out.SetAside}, err
	}
	done, err := s.write(ctx, changes, message, &out)
	if err != nil {
		s.obj.Drop()
		return out, err
	}
	return out, s.wal.Cut(done)
}

// placedEntries returns the wal as it is when no write is between wal and
// disk: each entry's file has been written.
func (s *Store) placedEntries() []wal.Entry {
	s.flight.Lock()
	defer s.flight.Unlock()
	return s.wal.Entries()
}

// collect reads what is on disk at paths and at every path of the wal.
func (s *Store) collect(ctx context.Context, root *disk.Root, paths []string, entries []wal.Entry, out *Recorded) ([]*change, error) {
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
	old, err := s.oldBlobs(byPath)
	if err != nil {
		return nil, err
	}
	var list []*change
	git := takenByGit{user: s.user, off: !s.opt.Tracked}
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := byPath[p]
		c.old, c.at = old[p], s.opt.Now()
		var b []byte
		var info disk.Info
		err := fs.ErrNotExist
		if root != nil {
			b, info, err = root.ReadNamed(p, fold.MaxFile)
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
			s.noteThere(p)
		case errors.Is(err, fs.ErrNotExist) && s.justGone(c):
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
			s.setApart(out, p, err)
			if c.ours == nil || c.ours.New == nil {
				continue
			}
			c.disk, c.apart = c.ours.New, true
		}
		mine := c.ours != nil && wal.Same(c.disk, c.ours.New)
		if c.disk != nil && !mine && s.beingWritten(c.info) {
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
func (s *Store) oldBlobs(m map[string]*change) (map[string]plumbing.Hash, error) {
	tree, err := s.tipTree()
	if err != nil {
		return nil, err
	}
	if len(m) > 200 { // one pass over the tree costs less than a path each
		return s.obj.List(tree)
	}
	out := make(map[string]plumbing.Hash, len(m))
	for p := range m {
		if out[p], err = s.obj.Lookup(tree, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setApart notes a file that stays out.
func (s *Store) setApart(out *Recorded, path string, err error) {
	out.SetAside = append(out.SetAside, gitsync.SetAside{Path: path, Err: err})
	s.noteSetAside(path, err.Error())
}

// write makes the commits and moves the journal. It returns the wal entries
// that the journal now holds.
//
// Where somebody has changed a file since we acknowledged a write to it, the
// journal gets our version first, in a commit of its own, and then theirs: an
// acknowledged byte is never only in a file that others may overwrite.
func (s *Store) write(ctx context.Context, changes []*change, message string, out *Recorded) (done []uint64, err error) {
	s.mu.Lock()
	tip := s.tip
	s.mu.Unlock()
	first, second := &draft{}, &draft{}
	var held []*change // of which the journal gets what we wrote
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		diskErr, oursErr := error(nil), error(nil)
		mine := c.ours != nil && wal.Same(c.disk, c.ours.New)
		if c.disk != nil {
			diskErr = s.check(c.path, c.disk)
		}
		if c.ours != nil && !mine && c.ours.New != nil {
			if oursErr = s.check(c.path, c.ours.New); oursErr == nil {
				first.add(c, c.ours.New)
			}
		}
		if diskErr != nil {
			s.setApart(out, c.path, diskErr)
		} else {
			second.add(c, c.disk)
			if !c.apart {
				s.noteSetAside(c.path, "")
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
	for _, d := range append(overwritten(changes, s.check), first) {
		if tip, err = s.commitDraft(ctx, tip, d, "fold: Keep writes that were overwritten", nil); err != nil {
			return nil, err
		}
	}
	if tip, err = s.commitDraft(ctx, tip, second, message, out); err != nil {
		return nil, err
	}
	described, err := s.spliceDescribed(changes)
	if err != nil {
		return nil, err
	}
	if tip != before {
		if err := s.moveTip(ctx, tip); err != nil {
			return nil, err
		}
		out.Oid = tip.String()
	}
	if err := s.setDescribed(described); err != nil {
		return nil, err
	}
	for _, c := range changes {
		s.noteSeen(c)
	}
	return s.upTo(done), s.notePending(held)
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
func (s *Store) upTo(seqs []uint64) []uint64 {
	newest := map[string]uint64{}
	in := map[uint64]bool{}
	for _, q := range seqs {
		in[q] = true
	}
	entries := s.wal.Entries()
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
