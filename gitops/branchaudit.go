package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// After a merge or rebase of the user a memory that one side edited may be missing
// from the result: git was told to take one side, a commit was skipped, a conflict
// was resolved by `git rm`. It is written again, as a new change (B9). What a plain
// commit of the user deletes stays deleted.

// auditName is a file of the state folder: up to which commit each branch was
// looked at, by reference.
const auditName = "audited.json"

// An audit knows which part of the log of each branch was looked at.
type audit struct {
	at    map[string]string // the newest commit of a reference's log; nil before the first look
	stamp map[string]stamp  // of the log then
}

// A joined is a merge or rebase: what came of two sides.
type joined struct{ one, other, result oid }

// An auditLook is what the log of a branch has new.
type auditLook struct {
	ref, last string
	stamp     stamp
	found     []joined // oldest first
	first     bool     // nothing was looked at before
}

// auditLook reads the log of the branch at p, if it moved; nil if not. The caller
// holds commit and has opened t.
func (s *Store) auditLook(ctx context.Context, t *branchTarget, p position) (*auditLook, error) {
	a := &t.audit
	if a.at == nil {
		b, err := os.ReadFile(filepath.Join(s.l.StateDir(), auditName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		a.at, a.stamp = map[string]string{}, map[string]stamp{}
		_ = json.Unmarshal(b, &a.at) // else all is as at the first look
	}
	name := filepath.Join(t.l.CommonDir, "logs", filepath.FromSlash(p.ref))
	look := &auditLook{ref: p.ref, stamp: stampAt(name), first: a.at[p.ref] == ""}
	if !look.stamp.there || look.stamp == a.stamp[p.ref] {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	look.last, look.found = t.joinedSince(ctx, string(b), a.at[p.ref])
	return look, nil
}

// auditBranch writes again what the merges and rebases of look have lost, and
// returns the paths. The caller holds commit and has opened t.
func (s *Store) auditBranch(ctx context.Context, t *branchTarget, p position, look *auditLook) (done []string, err error) {
	if look == nil {
		return nil, nil
	}
	lost := map[string]*loss{}
	for _, j := range look.found {
		if err := s.lostBy(ctx, t, j, p.oid, lost); err != nil && !errors.Is(err, fold.ErrUnavailable) {
			return nil, fmt.Errorf("look for what a merge lost: %w", err)
		}
	}
	if done, err = s.putLost(lost); err != nil {
		return done, err
	}
	t.audit.at[look.ref], t.audit.stamp[look.ref] = look.last, look.stamp
	if !look.first && len(look.found) == 0 {
		return nil, nil // commits alone: a restart passes over them once more
	}
	// Before the journal has what was lost, since the wal does: whoever deletes that now
	// has seen it, and does not get it once more.
	kept, err := json.Marshal(t.audit.at)
	if err == nil {
		err = disk.WriteFile(filepath.Join(s.l.StateDir(), auditName), kept, 0o600)
	}
	if err != nil || len(done) == 0 {
		return done, err
	}
	s.log.InfoContext(ctx, "Memories restored that a merge had lost", "count", len(done))
	_, err = s.recordAll(ctx, done, fmt.Sprintf("fold: Restore %s that a merge had lost", plural(len(done), "memory", "memories")))
	return done, err
}

// joinedSince returns the merges and rebases in the log of a branch after the
// newest line that led to since, oldest first, and to what its last line leads.
// Without since, or where the log has lost it, there are none.
func (t *branchTarget) joinedSince(ctx context.Context, log, since string) (last string, out []joined) {
	known := false
	for line := range strings.Lines(log) {
		f := strings.Fields(line)
		head, message, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 2 || !ok {
			continue
		}
		last = f[1]
		if known && !strings.Contains(head, " <"+committerEmail+"> ") {
			if j, ok := t.joinedBy(ctx, f[0], f[1], message); ok {
				out = append(out, j)
			}
		}
		if f[1] == since {
			known, out = true, nil
		}
	}
	return last, out
}

// joinedBy tells of a move of the branch whether it was a merge or a rebase.
func (t *branchTarget) joinedBy(ctx context.Context, from, to, message string) (j joined, ok bool) {
	was, ok1 := parseOid(from, t.size)
	is, ok2 := parseOid(to, t.size)
	if !ok1 || !ok2 {
		return j, false
	}
	if what, onto, ok := strings.Cut(message, " onto "); ok && strings.Contains(what, "rebase") && strings.Contains(what, "finish") {
		onto, ok := parseOid(strings.TrimSpace(onto), t.size)
		return joined{was, onto, is}, ok
	}
	c, err := t.objects.commit(ctx, is)
	if err != nil || len(c.parents) != 2 || c.parents[0] != was {
		return j, false
	}
	return joined{was, c.parents[1], is}, true
}

// A loss is a memory that a result lacks, or has without an edit.
type loss struct {
	has []byte // what the result holds; nil for nothing
	b   []byte // what it is to hold; nil for nothing
}

// lostBy adds to lost what a merge or rebase has lost and what is still so at
// head.
func (s *Store) lostBy(ctx context.Context, t *branchTarget, j joined, head oid, lost map[string]*loss) error {
	text, err := t.l.git("merge-base", j.one.String(), j.other.String()).line(ctx)
	if err != nil && exitCode(err) != 1 {
		return err
	}
	base, _ := parseOid(text, t.size) // "" without a common one: then all is new on both sides
	var trees [5]oid
	for i, c := range []oid{base, j.one, j.other, j.result, head} {
		if c == "" {
			continue
		}
		commit, err := t.objects.commit(ctx, c)
		if err != nil {
			return err
		}
		e, err := t.objects.child(ctx, commit.tree, t.dir)
		if err != nil {
			return err
		}
		if e.isDir() {
			trees[i] = e.oid
		}
	}
	edited := map[string]bool{}
	for _, side := range trees[1:3] {
		err := t.objects.diff(ctx, trees[0], side, "", func(path string, _, is userEntry) {
			if regularMode(is.mode) && allowed(path) && path != fold.ProjectFile {
				edited[path] = true
			}
		})
		if err != nil {
			return err
		}
	}
	for _, path := range sortedKeys(edited) {
		if err := ctx.Err(); err != nil {
			return err
		}
		var at [5]oid
		for i, tree := range trees {
			if at[i], err = t.objects.at(ctx, tree, path); err != nil {
				return err
			}
		}
		if at[3] != at[4] {
			continue // changed since, by a commit of its own
		}
		delete(lost, path)
		l, err := s.lossOf(ctx, t, path, at)
		if err != nil {
			return err
		}
		if l != nil {
			lost[path] = l
		}
	}
	return nil
}

// lossOf compares what base, one side, the other and the result hold at path. A
// result that is neither side was made by somebody who saw both.
func (s *Store) lossOf(ctx context.Context, t *branchTarget, path string, at [5]oid) (*loss, error) {
	base, one, other, result := at[0], at[1], at[2], at[3]
	if one == other || result != "" && result != base && result != one && result != other {
		return nil, nil
	}
	var b [4][]byte
	var buried [4]bool
	for i, id := range []oid{base, one, other, result} {
		if id == "" {
			continue
		}
		raw, err := t.objects.blob(ctx, id)
		if err != nil {
			return nil, err
		}
		b[i] = append([]byte{}, raw...)
		if _, buried[i] = fold.Buried(raw); buried[i] && i < 3 {
			b[i] = nil
		}
	}
	if _, own := fold.OwnPath(path); !own && (b[1] == nil || b[2] == nil) && base != "" {
		return nil, nil // a note that one side moved: git may have brought the edit along
	}
	r, err := fold.Merge3(b[0], b[1], b[2], fold.MergeOptions{Now: s.opt.Now(), Project: s.opt.Slug, Path: path})
	if err != nil || same(r.Bytes, b[3]) {
		return nil, err
	}
	if r.Deleted { // where no tombstone says so, it may have been git's doing
		if !buried[1] && !buried[2] || b[3] == nil || buried[3] {
			return nil, nil
		}
		return &loss{has: b[3]}, nil
	}
	if why := s.gate(path, r.Bytes); why != nil || local(s.opt.Slug, path, r.Bytes) {
		return nil, nil //nolint:nilerr // may be in no commit, so that it was in none of ours
	}
	return &loss{has: b[3], b: r.Bytes}, nil
}

// putLost writes what was lost, merged with what is there by now.
func (s *Store) putLost(lost map[string]*loss) (done []string, err error) {
	for _, path := range sortedKeys(lost) {
		l := lost[path]
		_, err := s.putWhen(Write{Path: path, Base: l.has, New: l.b, Merge: true, ByItself: true})
		if err != nil {
			return done, fmt.Errorf("%s: %w", path, err)
		}
		done = append(done, path)
	}
	return done, nil
}

// at returns the regular file at path in a tree, "" if there is none.
func (u *userObjects) at(ctx context.Context, tree oid, path string) (oid, error) {
	for {
		name, rest, deeper := strings.Cut(path, "/")
		e, err := u.child(ctx, tree, name)
		if err != nil || deeper && !e.isDir() || !deeper && !regularMode(e.mode) {
			return "", err
		}
		if !deeper {
			return e.oid, nil
		}
		tree, path = e.oid, rest
	}
}
