package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// A Recorded says what one call of Commit came to.
type Recorded struct {
	Oid       string     // of the commit; "" if there was nothing to record
	Written   []string   // paths below fold/ that it adds or changes
	Removed   []string   // paths that it deletes
	SetAside  []SetAside // kept out, with the reason; the rest went in
	Unsettled []string   // changed less than 300 ms ago: call again for them
	Later     bool       // many files are being written, see [Store.Bulk]: call again
	Guarded   bool       // the vanish guard is up and nothing was committed
	Reason    string     // of Guarded
}

// Commit records the state on disk of paths (below fold/) in the journal,
// together with every acknowledged write, and then cuts the wal. Paths that
// may not be in a tree are passed over; files that may not be committed are
// set aside. An empty message is made up from what changed. It costs
// O(changed), whatever the size of the whole (G5).
func (s *Store) Commit(ctx context.Context, paths []string, message string) (Recorded, error) {
	if s.bulks.Load() > 0 {
		return Recorded{Later: true}, nil
	}
	return s.commitNow(ctx, paths, message)
}

func (s *Store) commitNow(ctx context.Context, paths []string, message string) (Recorded, error) {
	if err := s.lockCommit(); err != nil {
		return Recorded{}, err
	}
	defer s.commit.Unlock()
	return s.recordAll(ctx, paths, message)
}

// CommitAll compares all of fold/ with the journal and records what differs:
// for start-up and after lost events. Files whose stat data is that of the
// last look are not read.
func (s *Store) CommitAll(ctx context.Context) (Recorded, error) {
	if s.bulks.Load() > 0 {
		return Recorded{Later: true}, nil
	}
	if err := s.lockCommit(); err != nil {
		return Recorded{}, err
	}
	defer s.commit.Unlock()
	paths, err := s.scan(ctx)
	if err != nil {
		return Recorded{}, err
	}
	return s.recordAll(ctx, paths, "")
}

// commitFiles is how many files one commit takes at most, since all of them are
// in memory until it is written. A storm of ten thousand is one or two.
const commitFiles = 10_000

// recordAll is record in as many commits as it takes. What an error, or the end
// of ctx, leaves of them is there as any commit is.
func (s *Store) recordAll(ctx context.Context, paths []string, message string) (Recorded, error) {
	var all Recorded
	for {
		part := paths[:min(len(paths), s.perCommit)]
		paths = paths[len(part):]
		r, err := s.record(ctx, part, message)
		if r.Oid != "" {
			all.Oid = r.Oid
		}
		all.Written = append(all.Written, r.Written...)
		all.Removed = append(all.Removed, r.Removed...)
		all.SetAside = append(all.SetAside, r.SetAside...)
		all.Unsettled = append(all.Unsettled, r.Unsettled...)
		all.Guarded, all.Reason = r.Guarded, r.Reason
		if err != nil || r.Guarded || len(paths) == 0 {
			return all, err
		}
	}
}

// A change is one path of a commit in the making.
type change struct {
	path   string
	old    plumbing.Hash // in the tip's tree; zero if not there
	disk   []byte        // what the file holds; nil if it is gone
	info   disk.Info     // of the bytes in disk; zero if they are not the file's
	at     time.Time     // when it was looked at
	apart  bool          // the file itself stays out: disk is our own last write
	ours   *wal.Entry    // newest acknowledged write, if not yet in the journal
	lost   [][]byte      // older ones that somebody overwrote before the newest
	author string
	reason string

	described []byte // of the newest write that describes; see Write.Described
}

// record is one commit, with the lock held.
func (s *Store) record(ctx context.Context, paths []string, message string) (out Recorded, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("commit fold/: %w", err)
		}
	}()
	entries := s.settledEntries()
	root, err := s.openFold(false)
	if errors.Is(err, fs.ErrNotExist) && s.hasJournal() && !s.opt.Tracked {
		s.raiseGuard(reasonFoldMissing)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if root != nil {
		defer root.Close()
	}
	if reason, up := s.guarded(); up {
		return Recorded{Guarded: true, Reason: reason}, nil
	}
	if root == nil && !s.opt.Tracked { // an empty journal and no folder
		if len(entries) == 0 {
			return out, nil
		}
		// Gone before the first commit: what was acknowledged is written again.
		if _, err := s.replay(); err != nil {
			return out, err
		}
		if root, err = s.openFold(false); err != nil {
			return out, err
		}
		defer root.Close()
	}
	changes, err := s.collect(ctx, root, paths, entries, &out)
	if err != nil {
		return out, err
	}
	if up, err := s.checkVanished(root, changes); err != nil || up {
		reason, _ := s.guarded()
		return Recorded{Guarded: up, Reason: reason, SetAside: out.SetAside}, err
	}
	done, err := s.write(ctx, changes, message, &out)
	if err != nil {
		s.obj.Drop()
		return out, err
	}
	return out, s.wal.Cut(done)
}

// settledEntries returns the wal as it is when no write is between wal and
// disk: each entry's file has been written.
func (s *Store) settledEntries() []wal.Entry {
	s.flight.Lock()
	defer s.flight.Unlock()
	return s.wal.Entries()
}

// collect reads what is on disk at paths and at every path of the wal.
func (s *Store) collect(ctx context.Context, root *disk.Root, paths []string, entries []wal.Entry, out *Recorded) ([]*change, error) {
	byPath := map[string]*change{}
	for _, p := range paths {
		if allowed(p) {
			byPath[p] = &change{path: p}
		}
	}
	for i := range entries {
		e := &entries[i]
		c := byPath[e.Path]
		if c == nil {
			c = &change{path: e.Path}
			byPath[e.Path] = c
		}
		if c.ours != nil && c.ours.New != nil && !wal.Same(c.ours.New, e.Base) {
			c.lost = append(c.lost, c.ours.New)
		}
		if e.New == nil && e.Base != nil {
			// What was written and deleted before any commit, or saved by hand a
			// moment before, would be nowhere: [Store.Restore] could not find it.
			c.lost = append(c.lost, e.Base)
		}
		c.ours, c.author, c.reason = e, e.Author, e.Reason
		if e.Described != nil {
			c.described = e.Described
		}
	}
	old, err := s.oldBlobs(byPath)
	if err != nil {
		return nil, err
	}
	var committed map[string]string
	if s.opt.Tracked {
		if _, committed, err = s.user.Head(ctx); err != nil {
			return nil, err
		}
		if committed == nil {
			committed = map[string]string{}
		}
	}
	var list []*change
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := byPath[p]
		c.old, c.at = old[p], s.opt.Now()
		var b []byte
		var info disk.Info
		err := fs.ErrNotExist
		if root != nil {
			b, info, err = root.ReadNamed(p, maxFile)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && takenByGit(c, committed):
			if c.ours == nil {
				continue
			}
			c.disk, c.apart = c.ours.New, true
		case err == nil:
			if c.disk, c.info = b, info; b == nil {
				c.disk = []byte{}
			}
			s.noteThere(p)
		case errors.Is(err, fs.ErrNotExist) && s.justGone(c):
			// What we wrote there goes in; that it is gone is for a later look.
			out.Unsettled = append(out.Unsettled, p)
			if c.ours == nil {
				continue
			}
			c.disk, c.apart = c.ours.New, true
		case errors.Is(err, fs.ErrNotExist):
		default:
			// A read error is never a deletion. What we wrote there ourselves
			// still goes in.
			s.setApart(out, p, err)
			if c.ours == nil || c.ours.New == nil {
				continue
			}
			c.disk, c.apart = c.ours.New, true
		}
		mine := c.ours != nil && wal.Same(c.disk, c.ours.New)
		if c.disk != nil && !mine && s.unsettled(c.info) {
			out.Unsettled = append(out.Unsettled, p)
			if c.ours == nil || c.ours.New == nil {
				continue
			}
			c.disk, c.info, c.apart = c.ours.New, disk.Info{}, true
		}
		list = append(list, c)
	}
	return list, nil
}

// takenByGit reports whether the file of c, which is missing, was not deleted: in
// tracked mode, where committed is what HEAD has, one that HEAD lacks went with a branch
// that has it. What was deleted through the API was.
func takenByGit(c *change, committed map[string]string) bool {
	return committed != nil && committed[c.path] == "" && (c.ours == nil || c.ours.New != nil)
}

// oldBlobs returns what the tip's tree holds at the paths of m.
func (s *Store) oldBlobs(m map[string]*change) (map[string]plumbing.Hash, error) {
	tree, err := s.tipTree()
	if err != nil {
		return nil, err
	}
	if len(m) > 200 { // one pass over the tree costs less than a path each
		return s.obj.List(tree)
	}
	out := make(map[string]plumbing.Hash, len(m))
	for p := range m {
		if out[p], err = s.obj.Lookup(tree, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Store) tipTree() (plumbing.Hash, error) {
	s.mu.Lock()
	tip := s.tip
	s.mu.Unlock()
	return s.obj.TreeOf(tip)
}

// setApart notes a file that stays out.
func (s *Store) setApart(out *Recorded, path string, err error) {
	out.SetAside = append(out.SetAside, SetAside{Path: path, Err: err})
	s.noteSetAside(path, err.Error())
}

// write makes the commits and moves the journal. It returns the wal entries
// that the journal now holds.
//
// Where somebody has changed a file since we acknowledged a write to it, the
// journal gets our version first, in a commit of its own, and then theirs: an
// acknowledged byte is never only in a file that others may overwrite.
func (s *Store) write(ctx context.Context, changes []*change, message string, out *Recorded) (done []uint64, err error) {
	s.mu.Lock()
	tip := s.tip
	s.mu.Unlock()
	first, second := &draft{}, &draft{}
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		diskErr, oursErr := error(nil), error(nil)
		mine := c.ours != nil && wal.Same(c.disk, c.ours.New)
		if c.disk != nil {
			diskErr = s.gate(c.path, c.disk)
		}
		if c.ours != nil && !mine && c.ours.New != nil {
			if oursErr = s.gate(c.path, c.ours.New); oursErr == nil {
				first.add(c, c.ours.New)
			}
		}
		if diskErr != nil {
			s.setApart(out, c.path, diskErr)
		} else {
			second.add(c, c.disk)
			if !c.apart {
				s.noteSetAside(c.path, "")
			}
		}
		if oursErr == nil && (!mine || diskErr == nil) && c.ours != nil {
			done = append(done, c.ours.Seq)
		}
	}
	before := tip
	for _, d := range append(overwritten(changes, s.gate), first) {
		if tip, err = s.commitDraft(ctx, tip, d, "fold: Keep writes that were overwritten", nil); err != nil {
			return nil, err
		}
	}
	if tip, err = s.commitDraft(ctx, tip, second, message, out); err != nil {
		return nil, err
	}
	described, err := s.spliceDescribed(changes)
	if err != nil {
		return nil, err
	}
	if tip != before {
		if err := s.moveTip(ctx, tip); err != nil {
			return nil, err
		}
		out.Oid = tip.String()
	}
	if err := s.setDescribed(described); err != nil {
		return nil, err
	}
	for _, c := range changes {
		s.noteSeen(c)
	}
	return s.upTo(done), s.notePending(changes, done)
}

// overwritten returns, oldest first, the acknowledged writes that the newest of
// their path was not built on. What the gate refuses was never to be kept.
func overwritten(changes []*change, gate func(string, []byte) error) []*draft {
	var rounds []*draft
	for _, c := range changes {
		for i, b := range c.lost {
			if i == len(rounds) {
				rounds = append(rounds, &draft{})
			}
			if gate(c.path, b) == nil {
				rounds[i].add(c, b)
			}
		}
	}
	return rounds
}

// moveTip writes the batch and then lets the journal name its last commit: a
// crash in between leaves objects that nothing names, and no more.
func (s *Store) moveTip(ctx context.Context, tip plumbing.Hash) error {
	if err := s.obj.FlushWhile(ctx); err != nil {
		return err
	}
	if err := s.obj.SetRef(refJournal, tip); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tip, s.tipTime = tip, s.opt.Now()
	return nil
}

// upTo adds to seqs the older entries of the same paths, which are superseded.
func (s *Store) upTo(seqs []uint64) []uint64 {
	newest := map[string]uint64{}
	in := map[uint64]bool{}
	for _, q := range seqs {
		in[q] = true
	}
	entries := s.wal.Entries()
	for _, e := range entries {
		if in[e.Seq] {
			newest[e.Path] = e.Seq
		}
	}
	out := make([]uint64, 0, len(seqs))
	for _, e := range entries {
		if e.Seq <= newest[e.Path] {
			out = append(out, e.Seq)
		}
	}
	return out
}

// A draft is the content of a commit to be.
type draft struct{ files []draftFile }

type draftFile struct {
	c    *change
	b    []byte // nil = delete
	blob plumbing.Hash
}

func (d *draft) add(c *change, b []byte) { d.files = append(d.files, draftFile{c: c, b: b}) }

// commitDraft adds the commit of d to the batch and returns the new tip, which
// is parent if d changes nothing.
func (s *Store) commitDraft(ctx context.Context, parent plumbing.Hash, d *draft, message string, out *Recorded) (plumbing.Hash, error) {
	tree, err := s.obj.TreeOf(parent)
	if err != nil {
		return parent, err
	}
	s.mu.Lock()
	moved := parent != s.tip // by an earlier draft of this batch
	s.mu.Unlock()
	changes := map[string]plumbing.Hash{}
	var told []draftFile
	for _, f := range d.files {
		if err := ctx.Err(); err != nil {
			return parent, err
		}
		old := f.c.old
		if moved {
			if old, err = s.obj.Lookup(tree, f.c.path); err != nil {
				return parent, err
			}
		}
		if f.b != nil {
			if f.blob, err = s.obj.Put(plumbing.BlobObject, f.b); err != nil {
				return parent, err
			}
		}
		if f.blob == old {
			continue
		}
		changes[f.c.path] = f.blob
		told = append(told, f)
		if out != nil && f.b == nil {
			out.Removed = append(out.Removed, f.c.path)
		} else if out != nil {
			out.Written = append(out.Written, f.c.path)
		}
	}
	if len(changes) == 0 {
		return parent, nil
	}
	newTree, err := s.obj.Splice(tree, changes)
	if err != nil {
		return parent, err
	}
	if newTree == tree {
		return parent, nil
	}
	return s.putCommit(newTree, parent, s.message(message, told))
}

// committer is who makes our commits; their author is the user.
const (
	committerName  = "foldwatch"
	committerEmail = "foldwatch@localhost"
)

// putCommit adds a commit to the batch.
func (s *Store) putCommit(tree, parent plumbing.Hash, message string) (plumbing.Hash, error) {
	now := s.opt.Now().Truncate(time.Second)
	name, email := s.author()
	c := object.Commit{
		Author:    object.Signature{Name: name, Email: email, When: now},
		Committer: object.Signature{Name: committerName, Email: committerEmail, When: now},
		Message:   message,
		TreeHash:  tree,
	}
	if !parent.IsZero() {
		c.ParentHashes = []plumbing.Hash{parent}
	}
	obj := &plumbing.MemoryObject{}
	if err := c.Encode(obj); err != nil {
		return plumbing.ZeroHash, err
	}
	r, err := obj.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer r.Close()
	b := make([]byte, obj.Size())
	if _, err := r.Read(b); err != nil {
		return plumbing.ZeroHash, err
	}
	return s.obj.Put(plumbing.CommitObject, b)
}

// author returns who the user is, in a form a commit can hold.
func (s *Store) author() (name, email string) {
	if s.opt.Author != nil {
		name, email = s.opt.Author()
	} else {
		name, email = s.identity()
	}
	name, email = plainName(name), plainName(email)
	if name == "" {
		name = committerName
	}
	if email == "" {
		email = committerEmail
	}
	return name, email
}

// identityAge is for how long the user's identity is not read again.
const identityAge = time.Minute

// identity returns the user's git identity; the caller holds commit.
func (s *Store) identity() (name, email string) {
	if now := s.opt.Now(); s.who.at.IsZero() || now.Sub(s.who.at) > identityAge || now.Before(s.who.at) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.who.name, s.who.email = s.l.Identity(ctx)
		s.who.at = now
	}
	return s.who.name, s.who.email
}

// An identity is who commits are by, as git's configuration said at a time.
type identity struct {
	name, email string
	at          time.Time
}
