package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/objdb"
)

// Log returns the revisions that changed path (below fold/; "" means any),
// newest first, at most limit (0 means all). Of one path there are also those
// that others wrote between two syncs, which the journal does not have.
func (r *Reader) Log(ctx context.Context, path string, limit int) ([]Revision, error) {
	at, err := r.tip()
	if err != nil {
		return nil, err
	}
	var out []Revision
	came := map[string][]fileAt{}
	here := map[plumbing.Hash]bool{} // versions that the journal has of path
	for !at.IsZero() && (limit <= 0 || len(out) < limit) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := r.obj.CommitOf(at)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		parent := objdb.FirstParent(c)
		before, err := r.obj.TreeOf(parent)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		hit, err := r.touches(before, c.TreeHash, path)
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if hit {
			v, err := r.revision(at, c, before)
			if err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
			if err := r.tell(&v, c.TreeHash, path, came, here); err != nil {
				return nil, fmt.Errorf("read the journal: %w", err)
			}
			out = append(out, v)
		}
		at = parent
	}
	if err := r.writers(ctx, out, came); err != nil {
		return nil, fmt.Errorf("read what came from the remote: %w", err)
	}
	if path == "" {
		return out, nil
	}
	theirs, err := r.remoteRevisions(ctx, path, here, limit)
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

// tell notes the versions that v made: all in here, those that a sync brought in
// came.
func (r *Reader) tell(v *Revision, tree plumbing.Hash, path string, came map[string][]fileAt, here map[plumbing.Hash]bool) error {
	if strings.HasPrefix(v.Subject, AppliedSubject) {
		v.From = FromSync
	}
	paths := []string{path}
	if path == "" {
		if v.From == FromHere {
			return nil
		}
		paths = paths[:0]
		for _, p := range v.Paths {
			paths = append(paths, p.Path)
		}
	}
	for _, p := range paths {
		h, err := r.obj.Lookup(tree, p)
		if err != nil {
			return err
		}
		if here[h] = true; v.From == FromSync {
			came[v.Oid] = append(came[v.Oid], fileAt{p, h})
		}
	}
	return nil
}

// touches reports whether two trees differ at path.
func (r *Reader) touches(a, b plumbing.Hash, path string) (bool, error) {
	if path == "" || a == b {
		return a != b, nil
	}
	for {
		name, rest, deeper := strings.Cut(path, "/")
		var err error
		if a, err = r.child(a, name, deeper); err != nil {
			return false, err
		}
		if b, err = r.child(b, name, deeper); err != nil {
			return false, err
		}
		if a == b || !deeper {
			return a != b, nil // equal folders are not looked into
		}
		path = rest
	}
}

func (r *Reader) child(tree plumbing.Hash, name string, dir bool) (plumbing.Hash, error) {
	entries, err := r.obj.ReadTree(tree)
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

// newest is the newest revision as it was read last.
type newest struct {
	tip plumbing.Hash // the journal's, then
	rev Revision
	ok  bool
}

// Newest returns the newest revision, false if there is none. What it changed is
// compared once: status asks often, and a first commit may hold all memories.
func (r *Reader) Newest(ctx context.Context) (Revision, bool, error) {
	tip, err := r.tip()
	if err != nil {
		return Revision{}, false, err
	}
	if n := r.newest.Load(); n != nil && n.tip == tip {
		return n.rev, n.ok, nil
	}
	revs, err := r.Log(ctx, "", 1)
	if err != nil {
		return Revision{}, false, err
	}
	n := &newest{tip: tip, ok: len(revs) > 0}
	if n.ok {
		n.rev = revs[0]
	}
	r.newest.Store(n)
	return n.rev, n.ok, nil
}

// maxBack is how many journal commits Back looks at: more than lie between
// two syncs, and than a day has.
const maxBack = 5000

// Back tells fn what each commit of the journal found that it changed, from the
// commit to back to the one after from: newest first, the zero hash for a file that
// was not there. It reports whether it came to from.
func (r *Reader) Back(ctx context.Context, from, to plumbing.Hash, fn func(path string, was plumbing.Hash)) (whole bool, err error) {
	at := to
	for n := 0; at != from && !at.IsZero() && n < maxBack; n++ {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c, err := r.obj.CommitOf(at)
		if err != nil {
			return false, err
		}
		at = objdb.FirstParent(c)
		before, err := r.obj.TreeOf(at)
		if err != nil {
			return false, err
		}
		if err := r.obj.Diff(before, c.TreeHash, func(path string, was, _ plumbing.Hash) { fn(path, was) }); err != nil {
			return false, err
		}
	}
	return at == from, nil
}
