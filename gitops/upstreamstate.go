package gitops

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A BranchState says how the checkout's branch stands with the remote's, as far as is
// known without asking it.
type BranchState struct {
	SyncState
	Branch string // that was synced last; "" before the first
	// Theirs are the memories that the remote's branch has and the checkout has not,
	// or has in an older version or one of its own, since it may not be moved: blobs by
	// path. What was deleted here, or only changed here, is not among them.
	Theirs map[string]string
	// Pulled says that the checkout's branch has all that was seen of the remote's, and
	// Level that nothing else is on it: a pull of the user's, or a push, of which a sync
	// need not have heard yet.
	Pulled, Level bool
}

// A compared is a BranchState with what it was made from.
type compared struct {
	journal plumbing.Hash
	tip     string // of the remote
	base    string
	local   oid // of the checkout; "" if it is on another branch
	sent    oid // where the user's own fetches and pushes saw the remote's
	state   BranchState
}

// A comparing keeps the last comparison. It is safe for concurrent use.
type comparing struct {
	mu   sync.Mutex // guards the field below; held across I/O
	last *compared
}

// BranchState returns how the store stands with its remote in branch mode. It costs
// what has changed since the last time, or about ten milliseconds.
func (s *Store) BranchState(ctx context.Context) (st BranchState, err error) {
	notes, err := readUpstream(s.l.StateDir())
	if err != nil || notes.Branch == "" {
		return st, err
	}
	b := notes.of(notes.Branch)
	journal, err := s.start()
	if err != nil {
		return st, err
	}
	local, sent := s.standing(notes.Branch, len(b.Seen)/2)
	s.compare.mu.Lock()
	defer s.compare.mu.Unlock()
	c := s.compare.last
	if c == nil || c.journal != journal || c.tip != b.Seen || c.base != b.Base || c.local != local || c.sent != sent || c.state.Branch != notes.Branch {
		c = &compared{journal: journal, tip: b.Seen, base: b.Base, local: local, sent: sent}
		c.state.Branch = notes.Branch
		if err := s.compareBranch(ctx, c); err != nil {
			return st, err
		}
		s.compare.last = c
	}
	st = c.state
	st.Address, st.RemoteTip, st.Pushed = notes.Remote, b.Seen, b.Pushed
	s.mu.Lock()
	st.Contact = s.contact
	s.mu.Unlock()
	return st, nil
}

// standing returns where a branch of the checkout stands, "" if it is on another, and
// where the user's own git saw that of origin; both without a process.
func (s *Store) standing(branch string, size int) (local, sent oid) {
	t := newBranchTarget(s.l, s.foldDir())
	t.size = max(size, t.size)
	if p, _, err := t.position(); err == nil && p.branch == branch {
		local = p.oid
	}
	if v, err := t.refValue("refs/remotes/origin/" + branch); err == nil && filepath.IsLocal(filepath.FromSlash(branch)) {
		sent, _ = parseOid(v, t.size)
	}
	return local, sent
}

// seenUpstream returns the upstream, to be read only, and the object names of it that
// names say; nil if there is none. The caller closes it.
func (s *Store) seenUpstream(names ...string) (u *upstream, ids []oid) {
	dir := filepath.Join(s.l.StateDir(), upstreamName)
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return nil, nil
	}
	u = &upstream{dir: dir, size: 20}
	for _, c := range names {
		if len(c) == 64 {
			u.size = 32
		}
		id, _ := parseOid(c, u.size)
		ids = append(ids, id)
	}
	u.objects = newUserObjects(u.layout(), u.size)
	return u, ids
}

// compareBranch finds what of the journal the remote's branch lacks, and what it has
// beyond that.
func (s *Store) compareBranch(ctx context.Context, c *compared) error {
	if c.tip == "" {
		return nil
	}
	u, ids := s.seenUpstream(c.tip, c.base)
	if u == nil || u.size != 20 { // blobs of ours have SHA-1 names
		return nil
	}
	defer u.close()
	if c.local != "" {
		c.state.Pulled = c.local == ids[0]
		if !c.state.Pulled {
			_, err := u.layout().git("merge-base", "--is-ancestor", ids[0].String(), c.local.String()).output(ctx)
			c.state.Pulled = err == nil
		}
		c.state.Level = c.local == ids[0] || c.state.Pulled && c.local == c.sent
		if c.state.Pulled {
			ids[1] = ids[0]
		}
	}
	dir := s.foldDir()
	moved := map[string]userEntry{} // what the remote changed, as it was before
	if ids[1] != ids[0] {
		err := u.foldDiff(ctx, dir, ids[1], ids[0], func(path string, was, _ userEntry) error {
			moved[path] = was
			return nil
		})
		if err != nil {
			return err
		}
	}
	at, err := u.objects.commit(ctx, ids[0])
	if err != nil {
		return err
	}
	entry, err := u.objects.child(ctx, at.tree, dir)
	if err != nil || entry.mode != "" && !entry.isDir() {
		return err
	}
	tree, err := s.obj.treeOf(c.journal)
	if err != nil {
		return err
	}
	var differ []*branchChange
	if err := s.compareTrees(ctx, &branchTarget{objects: u.objects}, tree, entry.oid, "", &differ); err != nil {
		return err
	}
	gone := map[string]bool{} // of what differs, what the journal had once
	for _, d := range differ {
		if d.blob.IsZero() {
			gone[d.path] = true
		}
	}
	if err := s.everRecorded(ctx, gone); err != nil {
		return err
	}
	c.state.Theirs = map[string]string{}
	for _, d := range differ {
		was, changed := moved[d.path]
		theirs := changed && d.was != ""
		if changed && (string(was.oid) == string(d.blob[:]) || was.oid == "" && d.blob.IsZero()) {
			if theirs {
				c.state.Theirs[d.path] = d.was.String()
			}
			continue
		}
		if d.blob.IsZero() && !gone[d.path] {
			continue // a clone brought it, and the journal is to follow
		}
		if !d.blob.IsZero() {
			b, err := s.blob(d.blob)
			if err != nil || local(s.opt.Slug, d.path, b) {
				continue
			}
			if _, buried := fold.Buried(b); theirs && !buried { // both have changed it
				c.state.Theirs[d.path] = d.was.String()
			}
		}
		c.state.Unpushed++
	}
	return nil
}

// EachTheirs calls fn with the bytes of the memories of [BranchState] Theirs, sorted by
// path. Those that may not be shown are passed over (G6, G7).
func (s *Store) EachTheirs(ctx context.Context, blobs map[string]string, fn func(path string, b []byte)) error {
	paths := sortedKeys(blobs)
	if len(paths) == 0 {
		return nil
	}
	u, _ := s.seenUpstream(blobs[paths[0]])
	if u == nil {
		return nil
	}
	defer u.close()
	for _, path := range paths {
		id, _ := parseOid(blobs[path], u.size)
		b, err := u.objects.get(ctx, "blob", id)
		if err != nil {
			return err
		}
		if s.gate(path, b) == nil {
			fn(path, b)
		}
	}
	return nil
}
