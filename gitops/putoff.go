package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Where the user's branch tracks fold/, git refuses to change branches, to pop a stash
// or to go on with a bisection over a file that was changed meanwhile, and what was
// deleted meanwhile it brings back. A change of a memory that git may hold another
// version of is therefore put off (git.md B7): it is acknowledged once it is in a log
// of its own, goes into the journal, and every reader of ours gets it; its file follows
// when git rests, merged with what lies there by then. New memories are in nobody's
// way, and are made at once.

// putOffName is that log. It is apart from the wal, of which the journal takes all and
// which is replayed onto the disk at every start: what is in here stays until it is in
// its file.
const putOffName = "putoff"

// putOffMost is how many entries of one file the log holds before the older ones, which
// the newest repeats, are cut.
const putOffMost = 16

// A putOff is a file that has still to get what was acknowledged.
type putOff struct {
	walEntry           // Base is what lay there when the first change was put off
	seqs     []uint64  // of all its entries in the log
	at       time.Time // since when, in this run
	told     []byte    // what git or a person put there since, and the journal has
}

// putOffs are those of a store. Safe for concurrent use.
type putOffs struct {
	log *wal // nil if read-only

	mu      sync.Mutex // guards the fields below
	on      bool       // commits go onto the branch: changes may be put off
	at      map[string]*putOff
	waits   map[string]disk.Waiting // the same, as readers see it; made anew, never changed
	stashed stashed
}

func (p *putOffs) turn(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = on
}

func (p *putOffs) turnedOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.on
}

// get returns what waits for the file at path, nil if nothing does. What it points to
// does not change.
func (p *putOffs) get(path string) *putOff {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[path]
}

// set has o wait for its file, or nothing if it is nil.
func (p *putOffs) set(path string, o *putOff) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waits := maps.Clone(p.waits)
	if waits == nil {
		waits, p.at = map[string]disk.Waiting{}, map[string]*putOff{}
	}
	if o == nil {
		delete(p.at, path)
		delete(waits, path)
	} else {
		p.at[path] = o
		waits[path] = disk.Waiting{Data: o.New, Gone: o.New == nil, At: o.at}
	}
	p.waits = waits
}

// tell notes that the journal has b, which lay where o is to go.
func (p *putOffs) tell(path string, b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.at[path]; o != nil {
		next := *o
		next.told = b
		p.at[path] = &next
	}
}

// openPutOffs reads what was put off in the last run: the newest entry of a file
// repeats the ones before.
func (s *Store) openPutOffs() (err error) {
	if s.off.log, err = openLog(s.l.StateDir(), putOffName, s.opt.Faults); err != nil {
		return err
	}
	for _, e := range s.off.log.entries() {
		if fold.ValidPath(e.Path) != nil {
			continue
		}
		o := &putOff{walEntry: e, seqs: []uint64{e.Seq}, at: s.opt.Now()}
		if was := s.off.get(e.Path); was != nil {
			o.seqs = append(slices.Clone(was.seqs), e.Seq)
		}
		s.off.set(e.Path, o)
	}
	return nil
}

// PutOff returns the memories whose files have still to get what was acknowledged, by
// path below fold/. Nobody may change what it returns.
func (s *Store) PutOff() map[string]disk.Waiting {
	s.off.mu.Lock()
	defer s.off.mu.Unlock()
	return s.off.waits
}

// putWhen is put for a change that nobody waits for to be in its file: what git may
// hold is put off.
func (s *Store) putWhen(w Write) (Put, error) {
	s.flight.RLock()
	defer s.flight.RUnlock()
	defer s.paths.lock(w.Path)()
	root, err := s.foldForWrite()
	if err != nil {
		return Put{}, err
	}
	defer root.Close()
	off := s.off.get(w.Path)
	if off == nil && (w.Base == nil || w.Path == fold.ProjectFile || !s.off.turnedOn()) {
		return s.putAt(root, w)
	}
	waits := s.unrest(w.Path, newProcessScan(s.l.mainLayout()))
	if waits == "" {
		if err := s.placeOff(root, w.Path); err != nil {
			return Put{}, err
		}
		return s.putAt(root, w)
	}
	var have, base []byte
	if off != nil {
		have, base = off.New, off.Base
	} else {
		b, err := readFile(root, w.Path)
		if err != nil || b == nil || same(b, w.New) {
			return s.putAt(root, w) // nothing to put off
		}
		have, base = b, b
	}
	e, merged, err := s.entry(w, have)
	if err != nil {
		return Put{}, err
	}
	e.Base = base
	if e.New == nil {
		e.Known = s.Tip()
	}
	if off != nil && e.Described == nil {
		e.Described = off.Described
	}
	if err := s.appendOff(off, e); err != nil {
		return Put{}, err
	}
	return Put{Path: w.Path, Bytes: e.New, Merged: merged, Waits: waits}, nil
}

// appendOff puts e, which follows on off, into the log and has it wait.
func (s *Store) appendOff(off *putOff, e walEntry) error {
	one := []walEntry{e}
	if err := s.off.log.append(one); err != nil {
		return err
	}
	next := &putOff{walEntry: one[0], seqs: []uint64{one[0].Seq}, at: s.opt.Now()}
	if off != nil {
		next.told = off.told
		next.seqs = append(slices.Clone(off.seqs), one[0].Seq)
	}
	s.off.set(e.Path, next)
	if last := len(next.seqs) - 1; last >= putOffMost {
		if err := s.off.log.cut(next.seqs[:last]); err != nil {
			s.log.Warn("Log not shortened", "path", e.Path, "err", err) // it is tried again when the file is written
		}
	}
	return nil
}

// placeOff gives a file what was put off, merged with what others made of it since.
// The path is locked. Done again after a crash, it changes nothing more.
func (s *Store) placeOff(root *disk.Root, path string) error {
	o := s.off.get(path)
	if o == nil {
		return nil
	}
	w := Write{ID: o.ID, Path: path, Base: o.Base, New: o.New, Merge: true, Author: o.Author, Reason: o.Reason, Described: o.Described}
	if o.New == nil {
		have, err := readFile(root, path)
		if err != nil {
			return err
		}
		stays, err := s.editedSince(o, have)
		if err != nil {
			return err
		}
		if w.Base = have; stays {
			s.log.Info("A deleted memory was edited meanwhile and stays", "path", path)
			w.New = have
		}
	}
	if !same(w.Base, w.New) {
		if _, err := s.putAt(root, w); err != nil {
			return err
		}
	}
	if err := s.off.log.cut(o.seqs); err != nil {
		return err
	}
	s.off.set(path, nil)
	return nil
}

// editedSince reports whether have, where a memory was to be deleted, is an edit that
// whoever deleted it could not know of: an edit wins. What git brought back is none,
// since the journal had it by then.
func (s *Store) editedSince(o *putOff, have []byte) (bool, error) {
	if have == nil || same(have, o.Base) {
		return false, nil
	}
	if _, gone := fold.Buried(have); gone {
		return true, nil // somebody else's deletion
	}
	known, err := s.heldBefore(o.Known, o.Path, have)
	return !known, err
}

// heldBefore reports whether one of the journal's commits up to rev holds b at path, as
// far as one looks.
func (s *Store) heldBefore(rev, path string, b []byte) (bool, error) {
	want, at := plumbing.ComputeHash(plumbing.BlobObject, b), plumbing.NewHash(rev)
	for range 2000 {
		if at.IsZero() {
			break
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return false, err
		}
		h, err := s.obj.lookup(c.TreeHash, path)
		if err != nil || h == want {
			return err == nil, err
		}
		at = firstParent(c)
	}
	return false, nil
}

// PlacePutOff gives their files what was put off, where git rests by now. It returns
// why others have to wait; "" if none has.
func (s *Store) PlacePutOff(ctx context.Context) (waits string, err error) {
	if err := s.writable(); err != nil {
		return "", err
	}
	var done []string
	defer func() { s.changed(done) }()
	var errs []error
	scan := newProcessScan(s.l.mainLayout())
	for _, path := range slices.Sorted(maps.Keys(s.PutOff())) {
		if err := ctx.Err(); err != nil {
			return waits, err
		}
		if reason, up := s.guarded(); up {
			return reason, nil
		}
		wait, err := s.placeRested(path, scan)
		switch {
		case err != nil:
			waits = err.Error()
			errs = append(errs, fmt.Errorf("write %s, which was put off: %w", path, err))
		case wait != "":
			waits = wait
		default:
			done = append(done, path)
		}
	}
	return waits, errors.Join(errs...)
}

// placeRested is placeOff unless it has to wait, and says why.
func (s *Store) placeRested(path string, scan *processScan) (waits string, err error) {
	s.flight.RLock()
	defer s.flight.RUnlock()
	defer s.paths.lock(path)()
	if waits = s.unrest(path, scan); waits != "" {
		return waits, nil
	}
	root, err := s.openFold(false)
	if errors.Is(err, fs.ErrNotExist) {
		return reasonFoldMissing, nil // the vanish guard's
	}
	if err != nil {
		return "", err
	}
	defer root.Close()
	return "", s.placeOff(root, path)
}

// collectOff makes o the content of c: the journal has it before its file. What lies
// there meanwhile, by git's hand or a person's, the journal keeps too.
func (s *Store) collectOff(root *disk.Root, c *change, o *putOff, out *Recorded) {
	b, info, err := root.Read(c.path, maxFile)
	if err == nil && b != nil && !same(b, o.Base) && !same(b, o.New) && !same(b, o.told) {
		if s.unsettled(info) {
			out.Unsettled = append(out.Unsettled, c.path)
		} else {
			c.told = b
			c.lost = append(c.lost, b)
		}
	}
	c.lost = append(s.takeDisplaced(c.path, o.New), c.lost...)
	c.off, c.apart, c.disk, c.author, c.reason = true, true, o.New, o.Author, o.Reason
	if o.Described != nil {
		c.described = o.Described
	}
	if o.New == nil && o.told == nil { // what was changed and deleted before any commit would be nowhere
		for _, e := range s.off.log.entries() {
			if e.Path == c.path && e.New != nil {
				c.lost = append(c.lost, e.New)
			}
		}
		c.lost, c.told = append(c.lost, o.Base), o.Base
	}
}
