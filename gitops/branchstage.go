package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// A stage is what becomes of working files under git's locks, made ready before those
// are taken: what waits for the disk is done by then, or is after, so that git finds its
// index locked for no longer than some names take to change (B4). What is new waits in
// the state folder, where it is in the way of no command of the user.
//
// A stage holds the locks of its paths, and that of writes in flight, whose other side
// is taken by who holds commit alone: by nobody else meanwhile.
type stage struct {
	s       *Store
	root    *disk.Root
	writes  map[string]Write
	entries []walEntry // what changes
	files   *disk.Staged
	same    []string // paths whose files hold it already
	logged  bool     // the wal has entries
	placing bool     // files may have changed
	unlock  []func()
}

// stageFiles makes ws ready, which are of different paths. The caller holds commit, and
// ends the stage with end or leave.
func (s *Store) stageFiles(ws []Write) (g *stage, err error) {
	g = &stage{s: s, writes: make(map[string]Write, len(ws))}
	s.flight.RLock()
	g.unlock = append(g.unlock, s.flight.RUnlock)
	defer func() {
		if err != nil {
			g.leave()
		}
	}()
	ws = slices.Clone(ws)
	slices.SortFunc(ws, func(a, b Write) int { return compareStrings(a.Path, b.Path) })
	for _, w := range ws {
		g.unlock = append(g.unlock, s.paths.lock(w.Path))
		g.writes[w.Path] = w
	}
	if g.root, err = s.foldForWrite(); err != nil {
		return g, err
	}
	var changes []disk.Change
	for _, w := range ws {
		if s.off.get(w.Path) != nil && !s.awaitsCommit(w.Path) {
			return g, fmt.Errorf("%s: has still to get what was changed: %w", w.Path, errLocked)
		}
		have, err := readFile(g.root, w.Path)
		if err != nil {
			return g, &disk.StageError{Path: w.Path, Err: fmt.Errorf("%s: %w", w.Path, err)}
		}
		e, _, err := s.entry(w, have)
		if err != nil {
			return g, &disk.StageError{Path: w.Path, Err: fmt.Errorf("%s: %w", w.Path, err)}
		}
		if same(e.Base, e.New) {
			g.same = append(g.same, w.Path)
			continue
		}
		g.entries = append(g.entries, e)
		changes = append(changes, disk.Change{Path: e.Path, Was: e.Base, Now: e.New})
	}
	g.files, err = g.root.Stage(s.l.StateDir(), changes)
	return g, err
}

// log puts what changes into the wal: from then on a crash leaves files that follow.
func (g *stage) log() error {
	err := g.s.wal.append(g.entries)
	g.logged = err == nil
	return err
}

// place gives the files what they are to hold. One that somebody saved meanwhile is
// merged, as any is. It returns what was written and what could not be, as takeMany
// does.
func (g *stage) place(ctx context.Context) (done []string, failed map[string]error, err error) {
	g.placing = true
	left, err := g.files.Place()
	if err != nil {
		return nil, nil, err
	}
	done, failed = g.same, map[string]error{}
	leaves := make(map[string]bool, len(left))
	for _, c := range left {
		leaves[c.Path] = true
	}
	for _, e := range g.entries {
		if !leaves[e.Path] {
			done = append(done, e.Path)
		}
	}
	for _, c := range left {
		if err := ctx.Err(); err != nil {
			return done, failed, err
		}
		_, err := g.s.putAt(g.root, g.writes[c.Path])
		switch {
		case err == nil:
			done = append(done, c.Path)
		case unwritable(err):
			failed[c.Path] = err
		default:
			return done, failed, err
		}
	}
	return done, failed, nil
}

// end makes durable what was placed, and takes out of the wal what was not.
func (g *stage) end() (err error) {
	defer g.leave()
	s := g.s
	if g.placing {
		err = g.files.Sync()
	}
	var placed []walEntry
	var withdrawn []uint64
	for _, e := range g.entries {
		old, ok := g.files.Placed(e.Path)
		switch {
		case !ok:
			withdrawn = append(withdrawn, e.Seq)
		case old != nil:
			s.keepLate(e.Path, e.Base, old)
			fallthrough
		default:
			placed = append(placed, e)
		}
	}
	if err != nil {
		return err
	}
	s.wal.placed(placed...)
	if !g.logged {
		return nil
	}
	return s.wal.cut(withdrawn)
}

// leave lets go of all that the stage holds. What is in the wal stays, as after a crash.
func (g *stage) leave() {
	if g.files != nil {
		g.files.Close()
	}
	if g.root != nil {
		_ = g.root.Close()
	}
	for _, unlock := range slices.Backward(g.unlock) {
		unlock()
	}
	g.unlock = nil
}

// isLocked reports whether err says that others have what is needed, for a moment.
func isLocked(err error) bool { return errors.Is(err, errLocked) }
