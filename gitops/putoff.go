package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
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

// putOffMost is how many entries of one file, which later ones repeat, gather in the
// log before they are cut.
const putOffMost = 16

// putOffBatch is how many files get at once what was put off: the log is written anew
// once for them, and no other writer gets at them meanwhile, a few ms each.
const putOffBatch = 100

// A putOff is a file that has still to get what was acknowledged.
type putOff struct {
	walEntry           // Base is what lay there when the first change was put off; nil = nothing
	seqs     []uint64  // of all its entries in the log
	at       time.Time // since when, in this run
	told     []byte    // what git or a person put there since, and the journal has
	noted    uint64    // number of the newest entry that the journal has, with all before
}

// putOffs are those of a store. Safe for concurrent use.
type putOffs struct {
	log *wal

	looking sync.Mutex // one at a time looks into stashes

	mu      sync.Mutex // guards the fields below
	on      bool       // commits go onto the branch: changes may be put off
	leaving bool       // see leave
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

// leave has nothing put off any more, since nobody will look when git rests.
func (p *putOffs) leave(leaving bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaving = leaving
}

func (p *putOffs) isLeaving() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaving
}

// get returns what waits for the file at path, nil if nothing does. What it points to
// does not change.
func (p *putOffs) get(path string) *putOff {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[path]
}

// set has each of list wait for its file.
func (p *putOffs) set(list ...*putOff) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waits := maps.Clone(p.waits)
	if waits == nil {
		waits, p.at = map[string]disk.Waiting{}, map[string]*putOff{}
	}
	for _, o := range list {
		p.at[o.Path] = o
		waits[o.Path] = disk.Waiting{Data: o.New, Gone: o.New == nil, At: o.at}
	}
	p.waits = waits
}

// forget has nothing wait for the files at paths.
func (p *putOffs) forget(paths []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waits := maps.Clone(p.waits)
	for _, path := range paths {
		delete(p.at, path)
		delete(waits, path)
	}
	p.waits = waits
}

// tell notes that the journal has what is put off up to entry noted, and b, which lay
// where that is to go; nil for nothing.
func (p *putOffs) tell(path string, b []byte, noted uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.at[path]; o != nil {
		next := *o
		next.noted = max(o.noted, noted)
		if b != nil {
			next.told = b
		}
		p.at[path] = &next
	}
}

// entriesOf returns what the log holds of o, oldest first.
func (p *putOffs) entriesOf(o *putOff) []walEntry { return p.log.some(o.seqs) }

// openPutOffs reads what was put off in the last run: the newest entry of a file
// repeats the ones before.
func (s *Store) openPutOffs() (err error) {
	if s.off.log, err = openLog(s.l.StateDir(), putOffName, s.opt.Faults); err != nil {
		return err
	}
	newest := map[string]*putOff{}
	for _, e := range s.off.log.entries() {
		if fold.ValidPath(e.Path) != nil {
			continue
		}
		o := &putOff{walEntry: e, seqs: []uint64{e.Seq}, at: s.opt.Now()}
		if was := newest[e.Path]; was != nil {
			o.seqs = append(was.seqs, e.Seq)
		}
		newest[e.Path] = o
	}
	s.off.set(slices.Collect(maps.Values(newest))...)
	for path := range s.PutOff() {
		noted, err := s.notedBefore(path)
		if err != nil { // then the journal gets it again
			s.log.Warn("Journal not read", "path", path, "err", err)
		}
		s.off.tell(path, nil, noted)
	}
	return nil
}

// notedBefore returns the number of the newest entry of a file if the journal has it
// from the last run, and zero if that is not certain: then it gets it again.
func (s *Store) notedBefore(path string) (uint64, error) {
	var last []byte // before the deletion
	deletions := 0
	o := s.off.get(path)
	entries := s.off.entriesOf(o)
	for _, e := range entries {
		if e.New == nil {
			deletions++
			continue
		}
		last = e.New
	}
	if last == nil {
		last = o.Base
	}
	if deletions > 1 || deletions == 1 && o.New != nil || last == nil {
		return 0, nil
	}
	want, newest, first := plumbing.ComputeHash(plumbing.BlobObject, last), uint64(0), true
	err := s.eachHeld(s.Tip(), path, func(h plumbing.Hash) bool {
		if h == want && (o.New == nil) != first {
			newest = o.Seq
		}
		first = false
		return h.IsZero()
	})
	return newest, err
}

// PutOff returns the memories whose files have still to get what was acknowledged, by
// path below fold/. Nobody may change what it returns.
func (s *Store) PutOff() map[string]disk.Waiting {
	s.off.mu.Lock()
	defer s.off.mu.Unlock()
	return s.off.waits
}

// putWhen is put for a change that nobody waits for to be in its file: what git may
// hold, or bring back, is put off.
func (s *Store) putWhen(w Write) (Put, error) {
	awaited, err := s.awaited([]string{w.Path}) // before the locks: it may run git
	if err != nil {
		return Put{}, err
	}
	return s.putAwaited(w, awaited[w.Path])
}

// putAwaited is putWhen with the reason why it has to wait, if it has.
func (s *Store) putAwaited(w Write, waits string) (Put, error) {
	s.flight.RLock()
	defer s.flight.RUnlock()
	defer s.paths.lock(w.Path)()
	off := s.off.get(w.Path)
	have, base, err := s.haveOf(w.Path, off)
	byItself := s.comesByCommit(&w, off)
	if waits == "" && byItself {
		waits = byCommit
	}
	if waits == "" && err == nil && (off != nil || have != nil && w.Path != fold.ProjectFile && s.off.turnedOn()) {
		waits = s.stirs() // since then
	}
	if waits == "" || s.off.isLeaving() || off == nil && (err != nil || same(have, w.New)) {
		root, err := s.foldForWrite()
		if err != nil {
			return Put{}, err
		}
		defer root.Close()
		if err := s.placeOne(root, w.Path); err != nil {
			return Put{}, err
		}
		return s.putAt(root, w)
	}
	e, merged, err := s.offEntry(w, off, have, base)
	if err != nil {
		return Put{}, err
	}
	if e.ByItself = byItself; e.New == nil {
		e.Heads = s.standsAt()
	}
	if err := s.appendOff(off, e); err != nil {
		return Put{}, err
	}
	return Put{Path: w.Path, Bytes: e.New, Merged: merged, Waits: waits}, nil
}

// offEntry is what the log gets of w, which follows on off: readers have have, and base
// is what lies at its place.
func (s *Store) offEntry(w Write, off *putOff, have, base []byte) (e walEntry, merged bool, err error) {
	if e, merged, err = s.entry(w, have); err != nil {
		return e, false, err
	}
	e.Base = base
	if e.New == nil || base == nil {
		e.Known = s.Tip()
	}
	if off != nil && e.Described == nil {
		e.Described = off.Described
	}
	return e, merged, nil
}

// haveOf returns what whoever reads the file at path gets, of which off waits, and what
// was there before that; nil for nothing.
func (s *Store) haveOf(path string, off *putOff) (have, base []byte, err error) {
	if off != nil {
		return off.New, off.Base, nil
	}
	root, err := s.openFold(false)
	if absentFold(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	have, err = readFile(root, path)
	return have, have, err
}

// appendOff puts e, which follows on off, into the log and has it wait.
func (s *Store) appendOff(off *putOff, e walEntry) error {
	one := []walEntry{e}
	if err := s.off.log.append(one); err != nil {
		return err
	}
	next := &putOff{walEntry: one[0], seqs: []uint64{one[0].Seq}, at: s.opt.Now()}
	if off != nil {
		next.told, next.noted = off.told, off.noted
		next.seqs = append(slices.Clone(off.seqs), one[0].Seq)
	}
	if len(next.seqs) > putOffMost {
		if again := s.repeated(next); len(again) >= putOffMost {
			if err := s.off.log.cut(again); err != nil {
				s.log.Warn("Log not shortened", "path", e.Path, "err", err) // it is tried again when the file is written
			} else {
				next.seqs = slices.DeleteFunc(next.seqs, func(q uint64) bool { return slices.Contains(again, q) })
			}
		}
	}
	s.off.set(next)
	return nil
}

// repeated returns the numbers of the entries of o that need not be kept: the journal
// has them, or a later version was made from them. A deletion repeats nothing.
func (s *Store) repeated(o *putOff) (seqs []uint64) {
	entries := s.off.entriesOf(o)
	for i, e := range entries[:max(len(entries)-1, 0)] {
		if e.Seq <= o.noted || e.New != nil && entries[i+1].New != nil {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

// buried returns the versions that were acknowledged, deleted again, and are not in the
// journal, oldest first: they would be nowhere once the log is cut.
func (s *Store) buried(o *putOff) (versions [][]byte, err error) {
	entries := s.off.entriesOf(o)
	for len(entries) > 0 && entries[len(entries)-1].New != nil {
		entries = entries[:len(entries)-1] // no deletion followed
	}
	for i, e := range entries {
		if e.Seq <= o.noted {
			continue
		}
		if i == 0 && o.Base != nil {
			held, err := s.heldBefore(s.Tip(), o.Path, o.Base)
			if err != nil {
				return nil, err
			}
			if !held {
				versions = append(versions, o.Base)
			}
		}
		if e.New != nil {
			versions = append(versions, e.New)
		}
	}
	return versions, nil
}

// placeOff gives files what was put off for them, merged with what others made of it
// since, and then forgets that, for all of them at once. The paths are locked until it
// is forgotten. Done again after a crash, it changes nothing more. Failed are the files
// that could not be written.
func (s *Store) placeOff(root *disk.Root, paths ...string) (failed map[string]error, err error) {
	var placed []string
	var seqs []uint64
	for _, path := range paths {
		o := s.off.get(path)
		if o == nil {
			continue
		}
		if err := s.placeFile(root, o); err != nil {
			if failed == nil {
				failed = map[string]error{}
			}
			failed[path] = err
			continue
		}
		placed, seqs = append(placed, path), append(seqs, o.seqs...)
	}
	if len(placed) == 0 {
		return failed, nil
	}
	if err := s.off.log.cut(seqs); err != nil {
		return failed, err
	}
	s.off.forget(placed)
	for _, path := range placed {
		s.noteSetAside(path, "") // the next commit looks again
	}
	return failed, nil
}

// placeFile gives the file that o waits for what it is to get.
func (s *Store) placeFile(root *disk.Root, o *putOff) error {
	path := o.Path
	have, err := readFile(root, path)
	if err != nil {
		return err
	}
	w := Write{ID: o.ID, Path: path, Base: o.Base, New: o.New, Merge: true, Author: o.Author, Reason: o.Reason, Described: o.Described}
	if o.New == nil {
		stays, err := s.editedSince(o, have)
		if err != nil {
			return err
		}
		if w.Base = have; stays {
			s.log.Info("A deleted memory was edited meanwhile and stays", "path", path)
			w.New = have
		}
	} else if o.Base == nil && have != nil {
		held, err := s.heldBefore(o.Known, path, have)
		if err != nil {
			return err
		}
		if held { // git brought back what somebody wrote over since
			w.Base = have
		}
	}
	if err := s.logBuried(o, w.New == nil, have); err != nil {
		return err
	}
	switch {
	case same(w.Base, w.New):
	case w.New == nil: // the journal, or the wal, has that and the version before
		if err := apply(root, walEntry{Path: path, Base: have}); err != nil {
			return err
		}
	default:
		if _, err := s.putAt(root, w); err != nil {
			return err
		}
	}
	return nil
}

// logBuried puts into the wal, from where the next commit takes it, what of o would be
// nowhere once its file, which holds have, is gone or holds the newest version.
func (s *Store) logBuried(o *putOff, gone bool, have []byte) error {
	versions, err := s.buried(o)
	if err != nil {
		return err
	}
	var chain []walEntry
	for _, b := range versions { // none is the base of the next: the journal gets each
		chain = append(chain, walEntry{ID: o.ID, Path: o.Path, New: b, Author: o.Author})
	}
	switch {
	case gone && o.noted < o.Seq:
		last := o.Base
		for _, e := range s.off.entriesOf(o) {
			if e.New != nil {
				last = e.New
			}
		}
		chain = append(chain, walEntry{ID: o.ID, Path: o.Path, Base: last, Author: o.Author, Reason: o.Reason, Described: o.Described})
	case !gone && len(chain) > 0:
		chain = append(chain, walEntry{ID: o.ID, Path: o.Path, New: have})
	}
	return s.wal.append(chain)
}

// editedSince reports whether have, where a memory was to be deleted, is an edit that
// whoever deleted it could not know of: an edit wins. What git brought back is none:
// the journal had it by then, or, where it is from before the clone, the history that
// was checked out.
func (s *Store) editedSince(o *putOff, have []byte) (bool, error) {
	if have == nil || same(have, o.Base) {
		return false, nil
	}
	if _, gone := fold.Buried(have); gone {
		return true, nil // somebody else's deletion
	}
	known, err := s.heldBefore(o.Known, o.Path, have)
	if err == nil && !known {
		known, err = s.pastHolds(o.Heads, o.Path, have)
	}
	return !known, err
}

// heldBefore reports whether one of the journal's commits up to rev holds b at path, as
// far as one looks.
func (s *Store) heldBefore(rev, path string, b []byte) (held bool, err error) {
	want := plumbing.ComputeHash(plumbing.BlobObject, b)
	err = s.eachHeld(rev, path, func(h plumbing.Hash) bool {
		held = h == want
		return !held
	})
	return held, err
}

// eachHeld calls fn with what the journal's commits hold at path, from rev back, as far
// as one looks and until fn returns false; zero for nothing.
func (s *Store) eachHeld(rev, path string, fn func(plumbing.Hash) bool) error {
	at := plumbing.NewHash(rev)
	for range 2000 {
		if at.IsZero() {
			break
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return err
		}
		h, err := s.obj.lookup(c.TreeHash, path)
		if err != nil || !fn(h) {
			return err
		}
		at = firstParent(c)
	}
	return nil
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
	rest, err := s.restAwaited(ctx)
	if err != nil {
		return "", err
	}
	for part := range slices.Chunk(rest, putOffBatch) {
		if err := ctx.Err(); err != nil {
			return waits, err
		}
		if reason, up := s.guarded(); up {
			return reason, nil
		}
		wrote, wait, failed, err := s.placeRested(part, scan)
		if done = append(done, wrote...); err != nil {
			return err.Error(), err
		}
		if wait != "" {
			waits = wait
		}
		for _, path := range sortedKeys(failed) {
			waits = failed[path].Error()
			s.noteSetAside(path, "it was put off until git rests, and cannot be written: "+waits)
			errs = append(errs, fmt.Errorf("write %s, which was put off: %w", path, failed[path]))
		}
	}
	return waits, errors.Join(errs...)
}

// PutsOff reports whether the store of a repository, which need not be open, has
// changes that are not in their files yet.
func (l *Layout) PutsOff() bool {
	fi, err := os.Lstat(filepath.Join(l.StateDir(), putOffName))
	return err == nil && fi.Size() > int64(len(walMagic))
}

// PlaceAll gives their files what was put off, whatever git does, and has nothing put
// off from then on: the store is about to be closed for good. After an error all is as
// it was.
func (s *Store) PlaceAll() (err error) {
	if err := s.writable(); err != nil {
		return err
	}
	s.off.leave(true)
	var done []string
	defer func() {
		if s.changed(done); err != nil {
			s.off.leave(false)
		}
	}()
	for part := range slices.Chunk(slices.Sorted(maps.Keys(s.PutOff())), putOffBatch) {
		wrote, _, failed, err := s.placeRested(part, nil)
		done = append(done, wrote...)
		for _, path := range sortedKeys(failed) {
			return fold.WithHint(fmt.Errorf("write %s, which was put off until git rests: %w", path, failed[path]),
				"make room for that file, so that what was changed is not lost, and try again")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placeRested is placeOff of those of paths, which are sorted, that have not to wait;
// waits is why others have. A nil scan does not look whether git rests.
func (s *Store) placeRested(paths []string, scan *processScan) (done []string, waits string, failed map[string]error, err error) {
	var rested []string
	for _, path := range paths {
		if scan != nil {
			if w := s.unrest(path, scan); w != "" { // before the locks: it may run git
				waits = w
				continue
			}
		}
		rested = append(rested, path)
	}
	if scan != nil {
		if ahead := s.ahead(s.absentOf(rested)); len(ahead) > 0 {
			waits = isAhead
			rested = slices.DeleteFunc(rested, func(p string) bool { _, is := ahead[p]; return is })
		}
	}
	if len(rested) == 0 {
		return nil, waits, nil, nil
	}
	s.flight.RLock()
	defer s.flight.RUnlock()
	for _, path := range rested {
		defer s.paths.lock(path)()
	}
	if scan != nil {
		if w := s.stirs(); w != "" {
			return nil, w, nil, nil
		}
	}
	root, err := s.openFold(false)
	if errors.Is(err, fs.ErrNotExist) {
		if scan != nil && s.hasJournal() {
			return nil, reasonFoldMissing, nil, nil // the vanish guard's
		}
		root, err = s.foldForWrite()
	}
	if err != nil {
		return nil, waits, nil, err
	}
	defer root.Close()
	if failed, err = s.placeOff(root, rested...); err != nil {
		return nil, waits, failed, err
	}
	for _, path := range rested {
		if failed[path] == nil {
			done = append(done, path)
		}
	}
	return done, waits, failed, nil
}

// placeOne is placeOff of one file.
func (s *Store) placeOne(root *disk.Root, path string) error {
	failed, err := s.placeOff(root, path)
	return errors.Join(err, failed[path])
}

// collectOff makes o the content of c: the journal has it before its file. What lies
// there meanwhile, by git's hand or a person's, the journal keeps too, and what was
// changed and deleted before any commit, in that order: the last version is the one
// that is restored.
func (s *Store) collectOff(root *disk.Root, c *change, o *putOff, out *Recorded) error {
	b, info, err := root.Read(c.path, maxFile)
	if err == nil && b != nil && !same(b, o.Base) && !same(b, o.New) && !same(b, o.told) {
		if s.unsettled(info) {
			out.Unsettled = append(out.Unsettled, c.path)
		} else {
			held, err := s.heldBefore(s.Tip(), c.path, b) // told in the last run
			if err != nil {
				return err
			}
			if c.told = b; !held {
				c.lost = append(c.lost, b)
			}
		}
	}
	versions, err := s.buried(o)
	if err != nil {
		return err
	}
	c.lost = append(append(s.takeDisplaced(c.path, o.New), c.lost...), versions...)
	c.off, c.noted, c.apart, c.disk, c.author, c.reason = true, o.Seq, true, o.New, o.Author, o.Reason
	if o.Described != nil {
		c.described = o.Described
	}
	return nil
}
