package gitops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
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
	l := s.l.mainLayout()
	if busy := l.Busy(); busy != "" {
		return busy
	}
	now := s.opt.Now()
	head := filepath.Join(l.GitDir, "HEAD")
	if b, err := readSmall(head); err == nil && !bytes.HasPrefix(b, []byte("ref: ")) && stampAt(head).younger(now, stashHolds) {
		return "HEAD is detached"
	}
	stashes := filepath.Join(l.CommonDir, "logs", "refs", "stash")
	switch at := stampAt(stashes); {
	case at.younger(now, switchQuiet):
		return "something was stashed a moment ago"
	case at.younger(now, stashHolds) && s.off.holds(l, s.foldDir(), stashes, at, path):
		return "a stash has another version"
	}
	if at := lastSwitch(filepath.Join(l.GitDir, "logs", "HEAD")); now.Sub(at) < switchQuiet && now.Sub(at) > -time.Minute {
		return "the branch was switched a moment ago"
	}
	if p := scan.git(); p != "" { // one that stashes by itself then wants to find nothing changed
		return "git is at work: " + p
	}
	return ""
}

// younger reports whether a file was last written less than age before now.
func (s stamp) younger(now time.Time, age time.Duration) bool {
	past := now.Sub(time.Unix(0, s.mtime))
	return s.there && past < age && past > -time.Minute
}

// lastSwitch returns when HEAD last went from one branch or commit to another, as the
// end of its log tells; zero if that does not.
func lastSwitch(log string) time.Time {
	f, err := os.Open(log)
	if err != nil {
		return time.Time{}
	}
	defer f.Close()
	const tail = 4096 // some twenty lines
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
