package gitops

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	// switchQuiet is for how long after a switch of branches, or a stash, the user's
	// next command is likely to bring things back: a person takes seconds between two.
	switchQuiet = 2 * time.Minute
	// stashHolds is for how long a memory of which a stash has a version waits for
	// that to be popped, and how long one waits for HEAD to be on a branch again. What
	// is older the user has left, and will not be back for in a moment.
	stashHolds = 30 * time.Minute
)

// unrest returns why git may be about to bring another version of a memory, or "": a
// file that is changed now would be in its way. It runs a process at most once for each
// stash.
func (s *Store) unrest(path string, scan *processScan) string {
	if waits := s.stirs(); waits != "" {
		return waits
	}
	if waits := s.stashedApart(path); waits != "" {
		return waits
	}
	return gitAtWork(scan)
}

// stirs is unrest for all memories, as a few files of git tell.
func (s *Store) stirs() string {
	l := s.l.mainLayout()
	if busy := l.Busy(); busy != "" {
		return busy
	}
	now := s.opt.Now()
	head := filepath.Join(l.GitDir, "HEAD")
	if b, err := readSmall(head); err == nil && !bytes.HasPrefix(b, []byte("ref: ")) && stampAt(head).younger(now, stashHolds) {
		return "HEAD is detached"
	}
	if stampAt(l.stashLog()).younger(now, switchQuiet) {
		return "something was stashed a moment ago"
	}
	if _, at := lastMove(filepath.Join(l.GitDir, "logs", "HEAD")); now.Sub(at) < switchQuiet && now.Sub(at) > -time.Minute {
		return "the branch was switched a moment ago"
	}
	return ""
}

// stashLog is the log of stashes.
func (l *Layout) stashLog() string { return filepath.Join(l.CommonDir, "logs", "refs", "stash") }

// stashedApart is unrest for one memory, as the newest stashes tell.
func (s *Store) stashedApart(path string) string {
	l := s.l.mainLayout()
	at := stampAt(l.stashLog())
	if at.younger(s.opt.Now(), stashHolds) && s.off.holds(l, s.foldDir(), l.stashLog(), at, path) {
		return "a stash has another version"
	}
	return ""
}

// gitAtWork is unrest for all memories, as the processes tell: a program that stashes
// by itself then wants to find nothing changed.
func gitAtWork(scan *processScan) string {
	if p := scan.git(); p != "" {
		return "git is at work: " + p
	}
	return ""
}

// awaited returns which of some files git may be about to bring another version of, or
// to bring back, and why. What lies nowhere in git's hands is in nobody's way.
func (s *Store) awaited(paths []string) (waits map[string]string, err error) {
	on := s.off.turnedOn()
	var lie, absent, away []string
	root, err := s.openFold(false)
	switch {
	case err == nil:
		defer root.Close()
	case !absentFold(err): // where git took all of it away, it may bring that back
		return nil, err
	}
	for _, path := range paths {
		there := root != nil
		if there {
			_, err := root.Lstat(path)
			there = !errors.Is(err, fs.ErrNotExist)
		}
		if on && !there && path != fold.ProjectFile {
			away = append(away, path)
		}
		switch {
		case s.off.get(path) != nil:
			lie = append(lie, path)
		case !on || path == fold.ProjectFile:
		case there:
			lie = append(lie, path)
		default:
			absent = append(absent, path)
		}
	}
	if len(lie)+len(absent) == 0 {
		return nil, nil
	}
	waits = map[string]string{}
	all := s.stirs()
	of := func(path string) string {
		if all != "" {
			return all
		}
		return s.stashedApart(path)
	}
	back := absent[:0:0]
	for _, path := range absent {
		if of(path) != "" {
			back = append(back, path)
		}
	}
	if len(back) > 0 {
		if lie, err = s.expected(lie, back); err != nil {
			return nil, err
		}
	}
	if all == "" && len(lie) > 0 {
		all = gitAtWork(newProcessScan(s.l.mainLayout()))
	}
	for _, path := range lie {
		if w := of(path); w != "" {
			waits[path] = w
		}
	}
	for path := range s.ahead(away) {
		if waits[path] == "" {
			waits[path] = isAhead
		}
	}
	return waits, nil
}

// absentOf returns those of paths where no file lies.
func (s *Store) absentOf(paths []string) []string {
	root, err := s.openFold(false)
	if err != nil {
		return nil // missing: the vanish guard's
	}
	defer root.Close()
	absent := paths[:0:0]
	for _, path := range paths {
		if _, err := root.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			absent = append(absent, path)
		}
	}
	return absent
}

// isAhead is why a change waits for which ahead says so.
const isAhead = "the last commit here has no such file yet, and a branch that is ahead has: git pull or git switch brings it"

// expected adds to list those of paths, where no file lies, that the journal or what
// git may go back to has one at.
func (s *Store) expected(list, paths []string) ([]string, error) {
	tree, err := s.tipTree()
	if err != nil {
		return nil, err
	}
	l := s.l.mainLayout()
	revs := []string{"HEAD", "ORIG_HEAD", "@{-1}", "refs/stash", ""} // the last is the index
	for _, name := range startedOn() {
		if b, err := readSmall(filepath.Join(l.GitDir, name)); err == nil && len(bytes.Fields(b)) == 1 {
			revs = append(revs, string(bytes.TrimSpace(b)))
		}
	}
	var in strings.Builder
	var ask []string
	for _, path := range paths {
		if h, err := s.obj.lookup(tree, path); err != nil {
			return nil, err
		} else if !h.IsZero() {
			list = append(list, path)
			continue
		}
		ask = append(ask, path)
		for _, rev := range revs {
			in.WriteString(rev + ":" + joinDir(s.foldDir(), path) + "\n")
		}
	}
	if len(ask) == 0 {
		return list, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c := l.git("cat-file", "--batch-check=%(objecttype)")
	c.stdin = strings.NewReader(in.String())
	out, err := c.output(ctx)
	lines := strings.Split(string(out), "\n")
	for i, path := range ask {
		// What cannot be told waits too: nothing is lost by that.
		if err != nil || len(lines) < (i+1)*len(revs) || slices.Contains(lines[i*len(revs):(i+1)*len(revs)], "blob") {
			list = append(list, path)
		}
	}
	return list, nil
}

// younger reports whether a file was last written less than age before now.
func (s stamp) younger(now time.Time, age time.Duration) bool {
	past := now.Sub(time.Unix(0, s.mtime))
	return s.there && past < age && past > -time.Minute
}

// lastMove returns when HEAD last went from one branch or commit to another, as the end
// of its log tells, and from which; zero if that does not.
func lastMove(log string) (from string, at time.Time) {
	f, err := os.Open(log)
	if err != nil {
		return "", at
	}
	defer f.Close()
	const tail = 4096 // some twenty lines
	fi, err := f.Stat()
	if err != nil {
		return "", at
	}
	b := make([]byte, min(fi.Size(), tail))
	n, _ := f.ReadAt(b, fi.Size()-int64(len(b))) // what cannot be read is not told
	for line := range lastFirst(string(b[:n])) {
		head, message, _ := strings.Cut(line, "\t")
		names, ok := strings.CutPrefix(message, "checkout: moving from ")
		if !ok {
			continue
		}
		words := strings.Fields(head)
		if len(words) < 2 {
			continue
		}
		sec, err := strconv.ParseInt(words[len(words)-2], 10, 64)
		if err != nil {
			return "", at
		}
		from, _, _ = strings.Cut(names, " to ")
		return from, time.Unix(sec, 0)
	}
	return "", at
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

// stashed are the paths below fold/ that the newest stashes have versions of.
type stashed struct {
	log   stamp // of the log of stashes, as they were read
	paths map[string]bool
}

// stashesRead is how many stashes are looked into: the user pops the newest.
const stashesRead = 3

// holds reports whether one of the newest stashes has a version of its own of path. The
// log, whose stamp is at, says when to look again.
func (p *putOffs) holds(l *Layout, dir, log string, at stamp, path string) bool {
	p.looking.Lock() // one looks for all
	defer p.looking.Unlock()
	p.mu.Lock()
	known := p.stashed
	p.mu.Unlock()
	if known.log == at {
		return known.paths[path]
	}
	known = stashed{at, map[string]bool{}}
	b, err := os.ReadFile(log)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	n := 0
	for line := range lastFirst(string(b)) {
		f := strings.Fields(line)
		if n++; len(f) < 2 || n > stashesRead {
			break
		}
		out, err := l.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", f[1]+"^1", f[1], "--", dir).output(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return true // not to be told now: it waits
			}
			continue // dropped, and gone
		}
		for name := range strings.SplitSeq(string(out), "\x00") {
			if below, ok := strings.CutPrefix(name, dir+"/"); ok && fold.ValidPath(below) == nil {
				known.paths[below] = true
			}
		}
	}
	p.mu.Lock()
	p.stashed = known
	p.mu.Unlock()
	return known.paths[path]
}
