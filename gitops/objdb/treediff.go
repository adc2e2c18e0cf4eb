package objdb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A treeDiff compares two trees. Equal folders are not read, and neither is what
// lies deeper than any path of ours may (G6).
type treeDiff struct {
	o *Repo
	// ctx ends it; nil never does.
	ctx context.Context
	// budget is how many trees and files may differ at most; 0 is no bound. A
	// tree of a few hundred bytes can name more files than there is memory for.
	budget int
	fn     func(path string, was, is plumbing.Hash)
	seen   int
}

// maxTreeDepth is how many folders deep a file of ours lies at most.
const maxTreeDepth = 8

// List returns every file of a tree, path → blob.
func (o *Repo) List(tree plumbing.Hash) (map[string]plumbing.Hash, error) {
	out := map[string]plumbing.Hash{}
	return out, o.Diff(plumbing.ZeroHash, tree, func(p string, _, h plumbing.Hash) {
		out[p] = h
	})
}

// Diff calls fn with every regular file that differs between two trees, in
// lexical order of folders; equal folders are not read. The zero hash stands
// for what is missing on a side.
func (o *Repo) Diff(a, b plumbing.Hash, fn func(path string, was, is plumbing.Hash)) error {
	d := treeDiff{o: o, fn: fn}
	return d.run(a, b, "")
}

// DiffWithin is diff that ends with ctx, and with ErrInvalid where more than budget
// files differ.
func (o *Repo) DiffWithin(ctx context.Context, a, b plumbing.Hash, budget int, fn func(path string, was, is plumbing.Hash)) error {
	d := treeDiff{o: o, ctx: ctx, budget: budget, fn: fn}
	return d.run(a, b, "")
}

func (d *treeDiff) count() error {
	d.seen++
	if d.budget > 0 && d.seen > d.budget {
		return fmt.Errorf("more than %d files differ: %w", d.budget, fold.ErrInvalid)
	}
	if d.ctx != nil {
		return d.ctx.Err()
	}
	return nil
}

func (d *treeDiff) run(a, b plumbing.Hash, prefix string) error {
	if a == b || strings.Count(prefix, "/") >= maxTreeDepth {
		return nil
	}
	if err := d.count(); err != nil {
		return err
	}
	left, err := d.o.ReadTree(a)
	if err != nil {
		return err
	}
	right, err := d.o.ReadTree(b)
	if err != nil {
		return err
	}
	type pair struct{ was, is plumbing.Hash }
	both := map[string]pair{} // by sortKey, so that a file and a folder of one name are two
	for _, e := range left {
		if e.odd == "" {
			both[e.sortKey()] = pair{was: e.Hash}
		}
	}
	for _, e := range right {
		if e.odd == "" {
			p := both[e.sortKey()]
			p.is = e.Hash
			both[e.sortKey()] = p
		}
	}
	for _, key := range slices.Sorted(maps.Keys(both)) {
		p := both[key]
		if p.was == p.is {
			continue
		}
		if name, dir := strings.CutSuffix(key, "/"); dir {
			if err := d.run(p.was, p.is, prefix+name+"/"); err != nil {
				return err
			}
			continue
		}
		if err := d.count(); err != nil {
			return err
		}
		d.fn(prefix+key, p.was, p.is)
	}
	return nil
}
