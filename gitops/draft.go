package gitops

import (
	"cmp"
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

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
func (rc recorder) commitDraft(ctx context.Context, parent plumbing.Hash, d *draft, message string, out *Recorded) (plumbing.Hash, error) {
	tree, err := rc.obj.TreeOf(parent)
	if err != nil {
		return parent, err
	}
	rc.mu.Lock()
	moved := parent != rc.known.tip // by an earlier draft of this batch
	rc.mu.Unlock()
	changes := map[string]plumbing.Hash{}
	var told []draftFile
	for _, f := range d.files {
		if err := ctx.Err(); err != nil {
			return parent, err
		}
		old := f.c.old
		if moved {
			if old, err = rc.obj.Lookup(tree, f.c.path); err != nil {
				return parent, err
			}
		}
		if f.b != nil {
			if f.blob, err = rc.obj.Put(plumbing.BlobObject, f.b); err != nil {
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
	newTree, err := rc.obj.Splice(tree, changes)
	if err != nil {
		return parent, err
	}
	if newTree == tree {
		return parent, nil
	}
	return rc.commits.Put(newTree, parent, rc.commits.Message(rc.tell(message, told)))
}

// tell returns files as a message tells them, with its subject: where none is given, the
// reason of the only file.
func (rc recorder) tell(subject string, files []draftFile) (string, []commits.Change) {
	changes := make([]commits.Change, len(files))
	for i, f := range files {
		changes[i] = commits.Change{Path: f.c.path, Is: f.b, Added: f.c.old.IsZero()}
		if fold.MarkedDeleted(f.b) {
			changes[i].Is = nil
		}
		if f.c.ours != nil {
			changes[i].Agent = f.c.author
		}
	}
	if len(files) == 1 {
		subject = cmp.Or(subject, files[0].c.reason)
		if changes[0].Is == nil {
			changes[0].Was, _ = rc.obj.Blob(files[0].c.old)
		}
	}
	return subject, changes
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
	s.known.tip, s.known.tipTime = tip, s.opt.Now()
	return nil
}

func (s *Store) tipTree() (plumbing.Hash, error) {
	s.mu.Lock()
	tip := s.known.tip
	s.mu.Unlock()
	return s.obj.TreeOf(tip)
}

// A Recorded says what one call of Commit came to.
type Recorded struct {
	Oid       string             // of the commit; "" if there was nothing to record
	Written   []string           // paths below fold/ that it adds or changes
	Removed   []string           // paths that it deletes
	SetAside  []gitsync.SetAside // kept out, with the reason; the rest went in
	Unsettled []string           // changed less than 300 ms ago: call again for them
	Later     bool               // many files are being written, see [Store.Bulk]: call again
	Guarded   bool               // the vanish guard is up and nothing was committed
	Reason    string             // of Guarded
}
