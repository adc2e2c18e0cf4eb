package gitops

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// What the user's history had of a memory before a clone, the journal never saw. Where
// git brings such a version to the place of a memory that was deleted meanwhile, it is
// the history that tells it from an edit.

// pastMost is for how long a history is looked through for one memory, and pastAll for
// how long within a minute for all: commits and writes wait meanwhile.
const (
	pastMost = 3 * time.Second
	pastAll  = 10 * time.Second
)

// A pastTime is how much of that was used. Safe for concurrent use.
type pastTime struct {
	mu    sync.Mutex // guards the fields below
	since time.Time  // when the minute began
	used  time.Duration
}

// take returns how long one look may take from now on, and what notes that it ended.
func (p *pastTime) take() (most time.Duration, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.since) >= time.Minute {
		p.since, p.used = now, 0
	}
	return min(pastMost, pastAll-p.used), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.used += time.Since(now)
	}
}

// standsAt returns the commits, apart by spaces, that the user's checkout stands at: that
// of its branch, or, where HEAD is on none, that of HEAD and those of the branches that it
// was taken from. Other branches say nothing of this one. It is "" where that cannot be
// told, and in a store that does not commit onto a branch.
func (s *Store) standsAt() string {
	if !s.off.turnedOn() {
		return ""
	}
	t := newBranchTarget(s.l, s.foldDir()) // that of the store is guarded by commit
	p, _, err := t.position()
	if err != nil {
		return ""
	}
	var ids []string
	add := func(name string) {
		name = strings.TrimSpace(name)
		if !isFullName(name) {
			short := strings.TrimPrefix(name, "refs/heads/")
			if short == "" || !filepath.IsLocal(filepath.FromSlash(short)) {
				return
			}
			if name, err = t.refValue("refs/heads/" + short); err != nil {
				return
			}
		}
		if isFullName(name) {
			ids = append(ids, name)
		}
	}
	if p.ref != "" {
		add(p.ref)
		return strings.Join(ids, " ")
	}
	add(string(p.head))
	for _, name := range startedOn() {
		if b, err := readSmall(filepath.Join(t.l.GitDir, name)); err == nil {
			add(string(b))
		}
	}
	from, _ := lastMove(filepath.Join(t.l.GitDir, "logs", "HEAD"))
	add(from)
	return strings.Join(ids, " ")
}

// isFullName reports whether name is that of an object, of either size.
func isFullName(name string) bool {
	_, sha1 := parseOid(name, 20)
	_, sha256 := parseOid(name, 32)
	return sha1 || sha256
}

// pastHolds reports whether a commit up to heads, which standsAt returned, holds b at
// path, and HEAD has it there by none that it came to since: that would be somebody's
// way back to b, which is an edit like any other. So is b beside another version in HEAD:
// somebody asked git for it. Where the history cannot tell in time it holds nothing. It
// starts processes.
func (s *Store) pastHolds(heads, path string, b []byte) (bool, error) {
	names := strings.Fields(heads)
	if len(names) == 0 || fold.ValidPath(path) != nil || slices.ContainsFunc(names, func(n string) bool { return !isFullName(n) }) {
		return false, nil
	}
	most, done := s.pastTime.take()
	defer done()
	if most <= 0 {
		return false, nil
	}
	t := newBranchTarget(s.l, s.foldDir())
	// In the repository of the user an object may have another name than in ours.
	objects := newUserObjects(t.l, len(names[0])/2)
	id, file := objects.put("blob", b).String(), joinDir(t.dir, path)
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	if has, err := t.l.git("rev-parse", "--verify", "--quiet", "HEAD:"+file).line(ctx); err != nil || has != id {
		return false, nil //nolint:nilerr // as where HEAD has another one
	}
	moved := func(commits ...string) (bool, error) { // one of them brought b there, or took it away
		args := append([]string{"--literal-pathspecs", "log", "-1", "--format=%H", "--full-history", "--no-renames", "--find-object=" + id}, commits...)
		out, err := t.l.git(append(args, "--", file)...).line(ctx)
		return out != "", err
	}
	if held, err := moved(names...); err != nil || !held {
		return false, nil //nolint:nilerr // a commit may be gone by now, or the history be long
	}
	since, err := moved(append([]string{"HEAD", "--not"}, names...)...)
	return err == nil && !since, nil
}
