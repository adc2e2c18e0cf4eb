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
}

// A compared is a BranchState with what it was made from.
type compared struct {
	journal plumbing.Hash
	tip     string // of the remote
	base    string
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
	s.compare.mu.Lock()
	defer s.compare.mu.Unlock()
	c := s.compare.last
	if c == nil || c.journal != journal || c.tip != b.Seen || c.base != b.Base || c.state.Branch != notes.Branch {
		c = &compared{journal: journal, tip: b.Seen, base: b.Base}
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
	dir := s.foldDir()
	moved := map[string]userEntry{} // what the remote changed, as it was before
	if c.base != c.tip {
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
