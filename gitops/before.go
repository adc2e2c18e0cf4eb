package gitops

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// What the user's history had of a memory before a clone, the journal never saw. Where
// git brings such a version to the place of a memory that was deleted meanwhile, it is
// the history that tells it from an edit.

// pastMost is for how long a history is looked through.
const pastMost = 3 * time.Second

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
	if p.oid != "" {
		return p.oid.String()
	}
	var ids []string
	add := func(name string) {
		name = strings.TrimSpace(name)
		if _, ok := parseOid(name, t.size); !ok {
			short := strings.TrimPrefix(name, "refs/heads/")
			if short == "" || !filepath.IsLocal(filepath.FromSlash(short)) {
				return
			}
			if name, err = t.refValue("refs/heads/" + short); err != nil {
				return
			}
		}
		if _, ok := parseOid(name, t.size); ok {
			ids = append(ids, name)
		}
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

// pastHolds reports whether a commit up to heads, which standsAt returned, holds b at
// path. Where the history cannot tell in time it holds nothing. It starts a process.
func (s *Store) pastHolds(heads, path string, b []byte) (bool, error) {
	if heads == "" || fold.ValidPath(path) != nil {
		return false, nil
	}
	t := newBranchTarget(s.l, s.foldDir())
	for id := range strings.FieldsSeq(heads) {
		if _, ok := parseOid(id, t.size); !ok {
			return false, nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), pastMost)
	defer cancel()
	args := append([]string{"--literal-pathspecs", "log", "-1", "--format=%H", "--full-history", "--no-renames", "--find-object=" + hashOf(b)}, strings.Fields(heads)...)
	out, err := t.l.git(append(args, "--", joinDir(t.dir, path))...).line(ctx)
	if err != nil {
		return false, nil //nolint:nilerr // a commit may be gone by now, or the history be long
	}
	return out != "", nil
}
