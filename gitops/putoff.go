package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Where the user's branch tracks fold/, git refuses to change branches, to pop a stash
// or to go on with a rebase over a file that was changed meanwhile. A change of a
// memory that git holds at the time is therefore put off: it is acknowledged, in the
// write-ahead log and the journal, and every reader of ours gets it; the file follows
// when git rests. New memories and deletions are in nobody's way, and are made at once.

const (
	// switchQuiet is for how long after a switch of branches, or a stash, the next
	// command is likely to bring things back: a person takes seconds between two.
	switchQuiet = 2 * time.Minute
	// stashHolds is for how long a memory of which a stash has a version waits for
	// that to be popped, and how long one waits for HEAD to be on a branch. Later than
	// that it is the stash that was left, and not the user who will be back.
	stashHolds = 30 * time.Minute
)

// A putOff is the state of a file that its place has still to get.
type putOff struct {
	base []byte   // what lay there when the first change was put off
	last walEntry // the newest; nothing follows it but others that are put off too
	seqs []uint64 // of all
	told []byte   // what somebody else wrote there since and the journal was told of
}

// putOffs are those of a store. Safe for concurrent use.
type putOffs struct {
	mu    sync.Mutex
	on    bool // commits go onto the branch
	at    map[string]*putOff
	stash stamp           // of the log of stashes
	held  map[string]bool // paths below fold/ that its young ones have versions of
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

func (p *putOffs) get(path string) *putOff {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[path]
}

// content returns the newest bytes of a file that is put off.
func (p *putOffs) content(path string) ([]byte, bool) {
	if o := p.get(path); o != nil {
		return o.last.New, true
	}
	return nil, false
}

func (p *putOffs) paths() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sortedKeys(p.at)
}

// add notes an entry of the log that was put off.
func (p *putOffs) add(e walEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &putOff{base: e.Base, last: e, seqs: []uint64{e.Seq}}
	if was := p.at[e.Path]; was != nil {
		next.base, next.told = was.base, was.told
		next.seqs = append(slices.Clone(was.seqs), e.Seq)
	}
	if p.at == nil {
		p.at = map[string]*putOff{}
	}
	p.at[e.Path] = next
}

func (p *putOffs) drop(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.at, path)
}

// tell reports whether b, found at the place of a file that is put off, is news to the
// journal, and remembers that it was told.
func (p *putOffs) tell(path string, b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.at[path]
	if o == nil || b == nil || same(b, o.base) || same(b, o.told) || same(b, o.last.New) {
		return false
	}
	next := *o
	next.told = b
	p.at[path] = &next
	return true
}

// loadPutOffs takes from the log what was put off in the last run. An entry that
// followed one was made when it was placed.
func (s *Store) loadPutOffs() {
	for _, e := range s.wal.entries() {
		if e.Off {
			s.off.add(e)
		} else {
			s.off.drop(e.Path)
		}
	}
}

// PutOff returns the newest bytes of a memory whose file has still to get them, since
// git is at work with it.
func (s *Store) PutOff(path string) ([]byte, bool) { return s.off.content(path) }

// putWhen is put for whoever may wait for the file: what git holds is put off. The
// path is locked.
func (s *Store) putWhen(root *disk.Root, w Write) (Put, error) {
	off := s.off.get(w.Path)
	if off == nil && (w.Base == nil || w.New == nil || !s.off.turnedOn()) {
		return s.putAt(root, w)
	}
	if w.New == nil || s.unrest(w.Path) == "" {
		if err := s.placeOff(root, w.Path); err != nil {
			return Put{}, err
		}
		return s.putAt(root, w)
	}
	var have []byte
	if off != nil {
		have = off.last.New
	} else if b, err := readFile(root, w.Path); err != nil || b == nil || same(b, w.New) {
		return s.putAt(root, w) // nothing there, which is in nobody's way
	} else {
		have = b
	}
	e, merged, err := s.entry(w, have)
	if err != nil {
		return Put{}, err
	}
	e.Off = true
	one := []walEntry{e}
	if err := s.wal.append(one); err != nil {
		return Put{}, err
	}
	s.off.add(one[0])
	return Put{Path: w.Path, Bytes: e.New, Merged: merged}, nil
}

// placeOff gives a file what was put off, merged with what others made of it since.
// The path is locked.
func (s *Store) placeOff(root *disk.Root, path string) error {
	off := s.off.get(path)
	if off == nil {
		return nil
	}
	e := off.last
	_, err := s.putAt(root, Write{ID: e.ID, Path: path, Base: off.base, New: e.New, Merge: true, Author: e.Author, Reason: e.Reason, Described: e.Described})
	if err != nil {
		return err
	}
	s.off.drop(path)
	return s.wal.cut(off.seqs)
}

// placeRested gives their files what was put off and has no longer to be. It returns
// the paths, and whether others have to wait.
func (s *Store) placeRested(ctx context.Context, all bool) (done []string, left bool, err error) {
	var errs []error
	for _, path := range s.off.paths() {
		if err := ctx.Err(); err != nil {
			return done, true, err
		}
		if !all && s.unrest(path) != "" {
			left = true
			continue
		}
		if err := s.placeLocked(path); err != nil {
			errs, left = append(errs, fmt.Errorf("write %s, which was put off: %w", path, err)), true
			continue
		}
		done = append(done, path)
	}
	return done, left, errors.Join(errs...)
}

func (s *Store) placeLocked(path string) error {
	s.flight.RLock()
	defer s.flight.RUnlock()
	defer s.paths.lock(path)()
	root, err := s.foldForWrite()
	if err != nil {
		return err
	}
	defer root.Close()
	return s.placeOff(root, path)
}

// unrest returns why a change of a memory that git may hold is to wait, or "".
func (s *Store) unrest(path string) string {
	l := s.l.mainLayout()
	if busy := l.Busy(); busy != "" {
		return busy
	}
	now := s.opt.Now()
	if head, err := readSmall(filepath.Join(l.GitDir, "HEAD")); err == nil && !bytes.HasPrefix(head, []byte("ref: ")) {
		if young(stampAt(filepath.Join(l.GitDir, "HEAD")), now, stashHolds) {
			return "HEAD is detached"
		}
	}
	stashes := filepath.Join(l.CommonDir, "logs", "refs", "stash")
	if at := stampAt(stashes); young(at, now, switchQuiet) {
		return "something was stashed a moment ago"
	} else if young(at, now, stashHolds) && s.stashed(l, stashes, at)[path] {
		return "a stash has another version"
	}
	if at := lastSwitch(filepath.Join(l.GitDir, "logs", "HEAD")); now.Sub(at) < switchQuiet && now.Sub(at) > -time.Minute {
		return "the branch was switched a moment ago"
	}
	if p := newProcessScan(l).git(); p != "" {
		return "git is at work: " + p
	}
	return ""
}

// young reports whether a file was written at most so long ago.
func young(s stamp, now time.Time, most time.Duration) bool {
	age := now.Sub(time.Unix(0, s.mtime))
	return s.there && age < most && age > -time.Minute
}

// lastSwitch returns when HEAD last went from one branch or commit to another, as the
// end of its log tells; zero if that does not.
func lastSwitch(log string) time.Time {
	f, err := os.Open(log)
	if err != nil {
		return time.Time{}
	}
	defer f.Close()
	const tail = 4096
	fi, err := f.Stat()
	if err != nil {
		return time.Time{}
	}
	b := make([]byte, min(fi.Size(), tail))
	n, _ := f.ReadAt(b, fi.Size()-int64(len(b))) // what cannot be read is not told
	for line := range lastFirst(string(b[:n])) {
		head, message, ok := strings.Cut(line, "\t")
		if !ok || !strings.HasPrefix(message, "checkout: ") {
			continue
		}
		words := strings.Fields(head)
		if len(words) < 2 {
			continue
		}
		at, err := strconv.ParseInt(words[len(words)-2], 10, 64)
		if err != nil {
			return time.Time{}
		}
		return time.Unix(at, 0)
	}
	return time.Time{}
}

// lastFirst yields the lines of a text, the last one first.
func lastFirst(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			text = strings.TrimSuffix(text, "\n")
			i := strings.LastIndexByte(text, '\n') + 1
			if !yield(text[i:]) {
				return
			}
			text = text[:i]
		}
	}
}

// stashed returns the paths below fold/ of which the newest stashes have versions of
// their own. The log, whose stamp is at, says when to look again.
func (s *Store) stashed(l *Layout, log string, at stamp) map[string]bool {
	s.off.mu.Lock()
	defer s.off.mu.Unlock()
	if s.off.stash == at {
		return s.off.held
	}
	held := map[string]bool{}
	b, err := os.ReadFile(log)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	const most = 3
	n := 0
	for line := range lastFirst(string(b)) {
		f := strings.Fields(line)
		if n++; len(f) < 2 || n > most {
			break
		}
		out, err := l.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", f[1]+"^1", f[1], "--", s.foldDir()).output(ctx)
		if err != nil {
			continue // dropped, and gone
		}
		for name := range strings.SplitSeq(string(out), "\x00") {
			if path, ok := strings.CutPrefix(name, s.foldDir()+"/"); ok && fold.ValidPath(path) == nil {
				held[path] = true
			}
		}
	}
	s.off.stash, s.off.held = at, held
	return held
}
