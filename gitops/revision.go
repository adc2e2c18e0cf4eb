package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Revision is one commit of the journal, or of what came from the remote.
type Revision struct {
	Oid     string
	Time    time.Time // UTC
	Author  string
	Subject string
	Body    string       // ids, paths and trailers
	Paths   []PathChange // at most 200

	From    string   // FromHere, FromSync or FromRemote
	Writers []string // of FromSync: who wrote what came, as far as it is known; else empty or Author
}

// A PathChange is one file that a revision changes.
type PathChange struct {
	Status byte // A, M or D
	Path   string
}

// blob returns the bytes of a file of the journal.
func (s *Store) blob(h plumbing.Hash) ([]byte, error) { return s.obj.Get(plumbing.BlobObject, h) }

// start returns the newest journal commit, or an error if there is nothing to
// read.
func (s *Store) start() (plumbing.Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return plumbing.ZeroHash, fmt.Errorf("store is closed: %w", fold.ErrUnavailable)
	}
	return s.tip, nil
}

// Log returns the revisions that changed path (below fold/; "" means any),
// newest first, at most limit (0 means all). Of one path there are also those
// that others wrote between two syncs, which the journal does not have.
func (s *Store) Log(ctx context.Context, path string, limit int) ([]Revision, error) {
	at, err := s.start()
	if err != nil {
		return nil, err
	}
	var out []Revision
	came := map[string][]versionAt{}
	here := map[plumbing.Hash]bool{} // versions that the journal has of path
	for !at.IsZero() && (limit <= 0 || len(out) < limit) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := s.obj.CommitOf(at)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		parent := objdb.FirstParent(c)
		before, err := s.obj.TreeOf(parent)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		hit, err := s.touches(before, c.TreeHash, path)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if hit {
			r, err := s.revision(at, c, before)
			if err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
			if err := s.tell(&r, c.TreeHash, path, came, here); err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
			out = append(out, r)
		}
		at = parent
	}
	if err := s.writers(ctx, out, came); err != nil {
		return nil, fmt.Errorf("read what came from the remote: %w", err)
	}
	if path == "" {
		return out, nil
	}
	theirs, err := s.remoteRevisions(ctx, path, here, limit)
	if err != nil {
		return nil, fmt.Errorf("read what came from the remote: %w", err)
	}
	out = append(out, theirs...)
	slices.SortStableFunc(out, func(a, b Revision) int { return b.Time.Compare(a.Time) })
	if limit > 0 {
		out = out[:min(len(out), limit)]
	}
	return out, nil
}

// revision is what Log tells of a commit.
func (s *Store) revision(at plumbing.Hash, c *object.Commit, before plumbing.Hash) (Revision, error) {
	r := Revision{Oid: at.String(), Time: c.Committer.When.UTC(), Author: c.Author.Name}
	r.Subject, r.Body, _ = strings.Cut(c.Message, "\n")
	r.Body = strings.TrimSpace(r.Body)
	var err error
	r.Paths, err = s.pathChanges(before, c.TreeHash)
	return r, err
}

// tell notes the versions that r made: all in here, those that a sync brought in
// came.
func (s *Store) tell(r *Revision, tree plumbing.Hash, path string, came map[string][]versionAt, here map[plumbing.Hash]bool) error {
	if strings.HasPrefix(r.Subject, takenIn) {
		r.From = FromSync
	}
	paths := []string{path}
	if path == "" {
		if r.From == FromHere {
			return nil
		}
		paths = paths[:0]
		for _, p := range r.Paths {
			paths = append(paths, p.Path)
		}
	}
	for _, p := range paths {
		h, err := s.obj.Lookup(tree, p)
		if err != nil {
			return err
		}
		if here[h] = true; r.From == FromSync {
			came[r.Oid] = append(came[r.Oid], versionAt{p, h})
		}
	}
	return nil
}

// newest is the newest revision as it was read last.
type newest struct {
	tip plumbing.Hash // the journal's, then
	rev Revision
	ok  bool
}

// Newest returns the newest revision, false if there is none. What it changed is
// compared once: status asks often, and a first commit may hold all memories.
func (s *Store) Newest(ctx context.Context) (Revision, bool, error) {
	tip, err := s.start()
	if err != nil {
		return Revision{}, false, err
	}
	if n := s.newest.Load(); n != nil && n.tip == tip {
		return n.rev, n.ok, nil
	}
	revs, err := s.Log(ctx, "", 1)
	if err != nil {
		return Revision{}, false, err
	}
	n := &newest{tip: tip, ok: len(revs) > 0}
	if n.ok {
		n.rev = revs[0]
	}
	s.newest.Store(n)
	return n.rev, n.ok, nil
}

// newestOfUser is the newest commit of the user's history as it was read last.
type newestOfUser struct {
	head string // what HEAD named, and where that stood
	rev  Revision
	ok   bool
}

// newestMost is for how long that is looked for.
const newestMost = 2 * time.Second

// NewestOfUser returns the newest commit of the user's own history, from HEAD on, that
// changes fold/, without its paths; false if there is none. It runs git where HEAD has
// moved.
func (s *Store) NewestOfUser(ctx context.Context) (Revision, bool, error) {
	l := s.l
	head, err := l.HeadOid()
	if err != nil || head == "" {
		return Revision{}, false, err // nothing is committed yet
	}
	if n := s.ofUser.Load(); n != nil && n.head == head {
		return n.rev, n.ok, nil
	}
	n := &newestOfUser{head: head}
	bound, cancel := context.WithTimeout(ctx, newestMost)
	defer cancel()
	out, err := l.Git("--literal-pathspecs", "log", "-1", "--no-show-signature", "--no-mailmap", "--encoding=UTF-8",
		"--format=%H%x00%ct%x00%an%x00%s", "--end-of-options", head, "--", s.foldDir()).Line(bound)
	if ctx.Err() != nil || err != nil && bound.Err() == nil {
		return Revision{}, false, err
	}
	if f := strings.Split(out, "\x00"); err == nil && len(f) == 4 { // else it is too far to look for each time
		at, err := usergit.ReadTime(f[1])
		if err != nil {
			return Revision{}, false, err
		}
		n.ok, n.rev = true, Revision{Oid: f[0], Time: at, Author: strings.ToValidUTF8(f[2], ""), Subject: strings.ToValidUTF8(f[3], "")}
	}
	s.ofUser.Store(n)
	return n.rev, n.ok, nil
}

// touches reports whether two trees differ at path.
func (s *Store) touches(a, b plumbing.Hash, path string) (bool, error) {
	if path == "" || a == b {
		return a != b, nil
	}
	for {
		name, rest, deeper := strings.Cut(path, "/")
		var err error
		if a, err = s.child(a, name, deeper); err != nil {
			return false, err
		}
		if b, err = s.child(b, name, deeper); err != nil {
			return false, err
		}
		if a == b || !deeper {
			return a != b, nil // equal folders are not looked into
		}
		path = rest
	}
}

func (s *Store) child(tree plumbing.Hash, name string, dir bool) (plumbing.Hash, error) {
	entries, err := s.obj.ReadTree(tree)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, e := range entries {
		if e.Name == name && e.Dir == dir {
			return e.Hash, nil
		}
	}
	return plumbing.ZeroHash, nil
}

func (s *Store) pathChanges(a, b plumbing.Hash) ([]PathChange, error) {
	var out []PathChange
	err := s.obj.Diff(a, b, func(path string, was, is plumbing.Hash) {
		p := PathChange{Status: 'M', Path: path}
		switch {
		case was.IsZero():
			p.Status = 'A'
		case is.IsZero():
			p.Status = 'D'
		}
		if len(out) < maxNamed {
			out = append(out, p)
		}
	})
	return out, err
}

// resolve finds the commit of the journal, or of the remote's branch, that rev names: its full name, at least
// four digits of it, or "" for the newest. It returns ErrNotFound if there is
// none and ErrInvalid if there are several.
func (s *Store) resolve(ctx context.Context, rev string) (plumbing.Hash, error) {
	at, err := s.start()
	if err != nil {
		return at, err
	}
	if at.IsZero() {
		return at, fmt.Errorf("nothing is recorded yet: %w", fold.ErrNotFound)
	}
	if rev == "" {
		return at, nil
	}
	rev = strings.ToLower(rev)
	if len(rev) < 4 || len(rev) > 40 || strings.Trim(rev, "0123456789abcdef") != "" {
		return plumbing.ZeroHash, fmt.Errorf("revision %.60q: want 4 to 40 hex digits: %w", rev, fold.ErrInvalid)
	}
	found, err := s.resolveRemote(ctx, rev)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return plumbing.ZeroHash, err
		}
		if strings.HasPrefix(at.String(), rev) && !slices.Contains(found, at) {
			found = append(found, at)
		}
		c, err := s.obj.CommitOf(at)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		at = objdb.FirstParent(c)
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, fold.WithHint(fmt.Errorf("revision %s: %w", rev, fold.ErrNotFound), "foldwatch log shows the revisions there are")
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("revision %s is ambiguous: %w", rev, fold.ErrInvalid)
}

// At returns the bytes of path (below fold/) as revision rev left them, or
// ErrNotFound if it was not there.
func (s *Store) At(ctx context.Context, rev, path string) ([]byte, error) {
	at, err := s.resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	tree, err := s.obj.TreeOf(at)
	if err != nil {
		return nil, err
	}
	h, err := s.obj.Lookup(tree, path)
	if err != nil {
		return nil, err
	}
	if h.IsZero() {
		return nil, fmt.Errorf("%s in revision %.12s: %w", path, at, fold.ErrNotFound)
	}
	return s.blob(h)
}

// Versions calls fn with every version of path that the journal holds, newest
// first, each once, until fn returns false. Deleted states are passed over.
func (s *Store) Versions(ctx context.Context, path string, fn func(rev string, b []byte) bool) error {
	at, err := s.start()
	if err != nil {
		return err
	}
	var rev string // oldest commit seen so far that holds last
	var last plumbing.Hash
	tell := func() (bool, error) {
		if last.IsZero() {
			return true, nil
		}
		b, err := s.blob(last)
		if gone := fold.MarkedDeleted(b); gone && err == nil {
			return true, nil
		}
		return err == nil && fn(rev, b), err
	}
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := s.obj.CommitOf(at)
		if err != nil {
			return err
		}
		h, err := s.obj.Lookup(c.TreeHash, path)
		if err != nil {
			return err
		}
		if h != last {
			if more, err := tell(); err != nil || !more {
				return err
			}
			last = h
		}
		rev, at = at.String(), objdb.FirstParent(c)
	}
	_, err = tell()
	return err
}

// Called returns the memories of which the journal has, or had, a file of our form, and
// whose id begins with prefix, which is at least two hex digits; sorted.
func (s *Store) Called(ctx context.Context, prefix string) (ids []fold.ID, err error) {
	if len(prefix) < 2 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil
	}
	at, err := s.start()
	if err != nil {
		return nil, err
	}
	var last plumbing.Hash // the folder that was looked into last
	for !at.IsZero() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := s.obj.CommitOf(at)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		dir := c.TreeHash
		for _, name := range prefix[:2] {
			if dir, err = s.child(dir, string(name), true); err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
		}
		if !dir.IsZero() && dir != last {
			entries, err := s.obj.ReadTree(dir)
			if err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
			for _, e := range entries {
				id, own := fold.OwnPath(prefix[:1] + "/" + prefix[1:2] + "/" + e.Name)
				if own && !e.Dir && strings.HasPrefix(string(id), prefix) && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			last = dir
		}
		at = objdb.FirstParent(c)
	}
	slices.Sort(ids)
	return ids, nil
}

// LastBlob returns the newest bytes the journal holds for path, also if it has
// been deleted since, and the revision that wrote them; ErrNotFound if it
// never had any.
func (s *Store) LastBlob(ctx context.Context, path string) (b []byte, rev string, err error) {
	err = s.Versions(ctx, path, func(r string, v []byte) bool {
		b, rev = v, r
		return false
	})
	if err == nil && rev == "" {
		err = fmt.Errorf("%s was never recorded: %w", path, fold.ErrNotFound)
	}
	return b, rev, err
}

// Restore writes path as revision rev left it, as a new change: history is
// never rewritten. An empty rev means the version that is lost (see [Store.Lost]),
// else the newest that differs from what is on disk. It returns ErrNotFound if there is no such version, and the error
// of check, which may be nil, if that refuses what would be written.
func (s *Store) Restore(ctx context.Context, path, rev string, check func([]byte) error) (Put, error) {
	for range 3 {
		have, err := s.Read(path)
		switch {
		case absentFile(err):
			have = nil
		case err != nil:
			return Put{}, fmt.Errorf("restore: %w", err)
		case have == nil:
			have = []byte{}
		}
		b, from, err := s.version(ctx, path, rev, have)
		if err != nil {
			return Put{}, fmt.Errorf("restore: %w", err)
		}
		if check != nil {
			if err := check(b); err != nil {
				return Put{}, fmt.Errorf("restore %s from %.12s: %w", path, from, err)
			}
		}
		id, _ := fold.OwnPath(path)
		p, err := s.Put(ctx, Write{ID: id, Path: path, Base: have, New: b, Reason: fmt.Sprintf("fold: Restore %s from %.12s", path, from)})
		if err == nil {
			err = s.noteRestored(path)
		}
		if !isConflict(err) {
			return p, err
		}
	}
	return Put{}, fmt.Errorf("restore %s: it keeps changing: %w", path, fold.ErrConflict)
}

// version returns the bytes of path at rev, or the newest that differ from have.
func (s *Store) version(ctx context.Context, path, rev string, have []byte) (b []byte, from string, err error) {
	if rev != "" {
		b, err = s.At(ctx, rev, path)
		return b, rev, err
	}
	if b, err = s.lostVersion(path); b != nil || err != nil {
		return b, "the journal", err
	}
	err = s.Versions(ctx, path, func(r string, v []byte) bool {
		if wal.Same(v, have) {
			return true
		}
		b, from = v, r
		return false
	})
	if err == nil && from == "" {
		err = fmt.Errorf("%s has no other version: %w", path, fold.ErrNotFound)
	}
	return b, from, err
}

// Undo takes back what revision rev changed, as a new change: each file is
// brought to what it was before rev, and merged where it has changed since. All
// is one commit. It returns the paths written.
func (s *Store) Undo(ctx context.Context, rev string) (paths []string, err error) {
	at, err := s.resolve(ctx, rev)
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	c, err := s.obj.CommitOf(at)
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	before, err := s.obj.TreeOf(objdb.FirstParent(c))
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	type step struct {
		path    string
		was, is plumbing.Hash
	}
	var steps []step
	err = s.obj.Diff(before, c.TreeHash, func(path string, was, is plumbing.Hash) {
		steps = append(steps, step{path, was, is})
	})
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	ws := make([]Write, 0, len(steps))
	for _, st := range steps {
		w := Write{Path: st.path, Merge: true}
		for h, b := range map[plumbing.Hash]*[]byte{st.was: &w.New, st.is: &w.Base} {
			if h.IsZero() {
				continue
			}
			if *b, err = s.blob(h); err != nil {
				return nil, fmt.Errorf("undo %s: %w", st.path, err)
			}
		}
		ws = append(ws, w)
	}
	_, paths, skipped, err := s.PutAs(ctx, ws, fmt.Sprintf("fold: Undo %.12s", at))
	if err == nil && len(skipped) > 0 {
		err = fmt.Errorf("%d files cannot be written, %s first: %w", len(skipped), skipped[0], fold.ErrConflict)
	}
	if err != nil {
		return paths, fmt.Errorf("undo: %w", err)
	}
	return paths, nil
}
