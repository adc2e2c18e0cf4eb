package objdb

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"
)

// CopyRef copies all objects that a reference needs, and has another name the same.
func CopyRef(ctx context.Context, from, to *Repo, ref, as string) error {
	return copyNamed(from, to, ref, as, func(h plumbing.Hash) error { return copyHistory(ctx, from, to, h) })
}

// copyAtOnce is how many objects are held before they are written.
const copyAtOnce = 5000

// copyHistory copies a commit, its ancestors and their trees. What is there is
// taken as complete: objects are written before what names them, or with it in one
// pack.
func copyHistory(ctx context.Context, from, to *Repo, tip plumbing.Hash) error {
	type visit struct {
		id   plumbing.Hash
		done bool // its parents are copied
	}
	for todo := []visit{{id: tip}}; len(todo) > 0; {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if v.id.IsZero() || to.Holds(v.id) {
			continue
		}
		if err := ctx.Err(); err != nil {
			to.Drop()
			return err
		}
		c, err := from.CommitOf(v.id)
		if err != nil {
			return err
		}
		if !v.done {
			todo = append(todo, visit{v.id, true})
			for _, p := range c.ParentHashes {
				todo = append(todo, visit{id: p})
			}
			continue
		}
		if err := copyBelow(ctx, from, to, c.TreeHash); err != nil {
			to.Drop()
			return err
		}
		b, err := from.Get(plumbing.CommitObject, v.id)
		if err != nil {
			return err
		}
		if _, err := to.Put(plumbing.CommitObject, b); err != nil {
			return err
		}
		if to.pending() > copyAtOnce {
			if err := to.flushAbove(ctx, 0); err != nil {
				return err
			}
		}
	}
	return to.flushAbove(ctx, 0)
}

// copyBelow copies a tree and what is in it, until ctx ends. What a tree names
// comes before it, so that many can be written in parts.
func copyBelow(ctx context.Context, from, to *Repo, tree plumbing.Hash) error {
	if to.Holds(tree) {
		return nil
	}
	entries, err := from.ReadTree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Dir {
			if err := copyBelow(ctx, from, to, e.Hash); err != nil {
				return err
			}
			continue
		}
		if e.odd == modeGitlink || to.Holds(e.Hash) {
			continue // a submodule's commit is nowhere here
		}
		b, err := from.Get(plumbing.BlobObject, e.Hash)
		if err != nil {
			return err
		}
		if _, err := to.Put(plumbing.BlobObject, b); err != nil {
			return err
		}
		if to.pending() > copyAtOnce {
			if err := to.flushAbove(ctx, 0); err != nil {
				return err
			}
		}
	}
	b, err := from.Get(plumbing.TreeObject, tree)
	if err != nil {
		return err
	}
	_, err = to.Put(plumbing.TreeObject, b)
	return err
}

func (o *Repo) Holds(h plumbing.Hash) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.has(h)
}

func (o *Repo) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.batch.Objects)
}

// CopyTreeRef copies the tree that a reference of from names, and has a reference of
// to name it, until ctx ends.
func CopyTreeRef(ctx context.Context, from, to *Repo, ref, as string) error {
	return copyNamed(from, to, ref, as, func(h plumbing.Hash) error {
		err := copyBelow(ctx, from, to, h)
		if err == nil {
			err = to.flushAbove(ctx, 0)
		}
		if err != nil {
			to.Drop()
		}
		return err
	})
}

// copyNamed has a reference of to name what one of from names, after copy has brought
// it; nothing is done where that is so.
func copyNamed(from, to *Repo, ref, as string, copy func(plumbing.Hash) error) error {
	h, err := from.Ref(ref)
	if err != nil || h.IsZero() {
		return err
	}
	have, err := to.Ref(as)
	if err != nil || have == h {
		return err
	}
	if err := copy(h); err != nil {
		return err
	}
	return to.SetRef(as, h)
}
