package tip

import (
	"bytes"
	"context"
	"sort"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// DescribeOptions say how far [Follower.DescribeTip] goes.
type DescribeOptions struct {
	// Gaps looks at every file of the tip, not only at what changed since the
	// cursor: those without a memory file get one.
	Gaps bool
	// Full is Gaps, and describes also what was deleted by hand.
	Full bool
}

// A tree is what is described: the files of the default branch's tip, or of the
// work tree where there is no commit yet.
type tree struct {
	oid   string // commit; "" for the work tree
	when  time.Time
	blobs map[string]string // eligible paths; the blob is "" in a work tree

	files *imports.Files     // of blobs, made when first asked for
	names map[fold.ID]string // path by id, likewise
	some  bool               // names has only those that were linked to
}

// only is the tree as far as resolving goes, with one blob to read.
func (t *tree) only(path, blob string) *tree {
	return &tree{oid: t.oid, when: t.when, blobs: map[string]string{path: blob}, files: t.files, names: t.names, some: t.some}
}

// tip returns the tree to describe, or nil if it is the one at the cursor and
// nothing more is asked for.
func (fo *Follower) tip(ctx context.Context, cursor string, opt DescribeOptions) (*tree, error) {
	oid := ""
	if fo.Describe != "worktree" {
		var err error
		if _, oid, err = fo.branch.Default(ctx); err != nil {
			return nil, err
		}
	}
	if oid == "" {
		files, err := fo.Selection.Eligible(ctx)
		if err != nil {
			return nil, err
		}
		t := &tree{blobs: make(map[string]string, len(files))}
		for _, p := range files {
			t.blobs[p] = ""
		}
		return t, nil
	}
	if oid == cursor && !opt.Full {
		if !opt.Gaps {
			return nil, nil
		}
		if looked, err := fo.lookedForGaps(ctx, oid); err != nil {
			return nil, err
		} else if looked {
			if pending, err := fo.rulesPending(ctx); err != nil || !pending {
				return nil, err
			}
		}
	}
	return fo.treeAt(ctx, oid)
}

// treeAt returns the eligible files of a commit, nil for "".
func (fo *Follower) treeAt(ctx context.Context, oid string) (*tree, error) {
	if oid == "" {
		return nil, nil
	}
	all, err := fo.committed(ctx, oid)
	if err != nil {
		return nil, err
	}
	rules, dir := fo.Selection.Rules(), fo.Selection.FoldDir()
	blobs := make(map[string]string, len(all.blobs))
	for p, blob := range all.blobs {
		if rules.Eligible(p, dir) {
			blobs[p] = blob
		}
	}
	return &tree{oid: oid, when: all.when, blobs: blobs}, nil
}

// keptTree is how many files a commit may have for its list to be kept: a start
// needs that of the tip several times, and what follows a commit that of the tip
// before. Two lists are some 400 KB.
const keptTree = 1000

// committed returns all files of a commit, which do not change. The caller must not
// change the map of them either.
func (fo *Follower) committed(ctx context.Context, oid string) (*tree, error) {
	for _, t := range fo.whole {
		if t != nil && t.oid == oid {
			return &tree{oid: t.oid, when: t.when, blobs: t.blobs}, nil
		}
	}
	when, err := fo.branch.CommitTime(ctx, oid)
	if err != nil {
		return nil, err
	}
	blobs, err := fo.Repo.Tree(ctx, oid)
	if err != nil {
		return nil, err
	}
	if len(blobs) <= keptTree {
		fo.whole = [2]*tree{{oid: oid, when: when.UTC(), blobs: blobs}, fo.whole[0]}
	}
	return &tree{oid: oid, when: when.UTC(), blobs: blobs}, nil
}

// eachSource reads the files at paths: from the object database of a commit, or
// from the work tree.
func (fo *Follower) eachSource(ctx context.Context, t *tree, paths []string, fn func(p string, src []byte, blob string, when time.Time) error) error {
	if t.oid == "" {
		for _, p := range paths {
			src, info, _, err := disk.ReadSource(fo.Reader.Root, p, fo.Reader.MaxBytes, nil)
			if err != nil {
				continue // set aside by the sweep, with the reason
			}
			fo.Count.FilesRead.Add(1)
			fo.Count.BytesRead.Add(int64(len(src)))
			if err := fn(p, src, usergit.BlobName(src, false), time.Unix(0, info.MtimeNS).UTC().Truncate(time.Second)); err != nil {
				return err
			}
		}
		return nil
	}
	byBlob := map[string][]string{}
	var oids []string
	for _, p := range paths {
		oid := t.blobs[p]
		if byBlob[oid] == nil {
			oids = append(oids, oid)
		}
		byBlob[oid] = append(byBlob[oid], p)
	}
	return fo.Repo.Blobs(ctx, oids, func(oid string, b []byte) error {
		for _, p := range byBlob[oid] {
			if err := fn(p, b[:min(int64(len(b)), fo.Reader.MaxBytes)], oid, t.when); err != nil {
				return err
			}
		}
		return nil
	})
}

// nameFiles makes the names by which a tree's imports are resolved and shown.
func (fo *Follower) nameFiles(ctx context.Context, t *tree) {
	if t.files != nil {
		return
	}
	paths := make([]string, 0, len(t.blobs))
	t.names = make(map[fold.ID]string, len(t.blobs))
	for p := range t.blobs {
		paths = append(paths, p)
		t.names[fold.FileID(fo.Slug, p)] = p
	}
	sort.Strings(paths)
	t.files = imports.NewFiles(paths, func(p string) []byte {
		var out []byte
		err := fo.eachSource(ctx, t, []string{p}, func(_ string, src []byte, _ string, _ time.Time) error {
			out = bytes.Clone(src)
			return nil
		})
		if err != nil {
			return nil // imports of that module then lead nowhere
		}
		return out
	})
}

// FollowsWorkTree reports whether the work tree is to be described.
func (fo *Follower) FollowsWorkTree(ctx context.Context) (bool, error) {
	if fo.Describe == "worktree" {
		return true, nil
	}
	_, oid, err := fo.branch.Default(ctx)
	return err == nil && oid == "", err
}
