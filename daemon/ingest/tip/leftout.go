package tip

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// followRules brings the memory files in step with which files are left out:
// those of files that are goes, as with a file that is deleted, and what was kept
// of one that is taken in again becomes its description. It returns how many
// memories were kept for the words in them. It does so once after the rules
// changed: what is restored later stays.
func (fo *Follower) followRules(ctx context.Context, t *tree) (kept int, err error) {
	pending, err := fo.rulesPending(ctx)
	if err != nil || !pending {
		return 0, err
	}
	sum := fo.Selection.Rules().Sum()
	described, aside, err := fo.index.DescribedPaths(ctx)
	if err != nil {
		return 0, err
	}
	all := t // with what is left out
	if t.oid != "" {
		if all, err = fo.committed(ctx, t.oid); err != nil {
			return 0, err
		}
	}
	var out []string
	rules, dir := fo.Selection.Rules(), fo.Selection.FoldDir()
	for id, p := range described {
		if id == fold.FileID(fo.Slug, p) && !rules.Eligible(p, dir) && fo.stillThere(all, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	if kept, err = fo.leaveOut(ctx, all, out); err != nil {
		return kept, err
	}
	for id, p := range aside {
		if _, ok := t.blobs[p]; !ok || id != fold.FileID(fo.Slug, p) {
			continue
		}
		m, b, err := fo.onDisk(id)
		if err == nil && m != nil && keptByHand(m, p) {
			err = fo.reclaim(ctx, t, p, m, b)
		}
		if err := ignoreQuarantined(err); err != nil {
			return kept, fmt.Errorf("%s: %w", p, err)
		}
	}
	fo.ruled = sum
	return kept, fo.State.SetNote(ctx, fo.Key, ruledNote, sum)
}

// stillThere reports whether a source file is left out rather than deleted: that
// is for others to follow.
func (fo *Follower) stillThere(all *tree, p string) bool {
	if all.oid != "" {
		_, ok := all.blobs[p]
		return ok
	}
	there, _ := fo.Selection.Stands(p)
	return there
}

// leaveOut removes the memory files of source files that are left out, and keeps
// those that hold a person's words as memories of their own: it returns how many.
func (fo *Follower) leaveOut(ctx context.Context, all *tree, paths []string) (kept int, err error) {
	for part := range slices.Chunk(paths, describeBatch) {
		var writes []gitops.Write
		byPath := map[string]string{} // source by memory file
		for _, p := range part {
			id := fold.FileID(fo.Slug, p)
			m, b, err := fo.onDisk(id)
			if err = ignoreQuarantined(err); err != nil {
				return kept, fmt.Errorf("%s: %w", p, err)
			}
			if m == nil {
				continue
			}
			byHand, err := fo.handWritten(ctx, all, p, m)
			if err != nil {
				return kept, fmt.Errorf("%s: %w", p, err)
			}
			if byHand {
				if err := fo.sourceDeleted(ctx, all, p); err != nil {
					return kept, fmt.Errorf("%s: %w", p, err)
				}
				kept++
				continue
			}
			writes = append(writes, gitops.Write{ID: id, Path: id.Path(), Base: b, Described: []byte{}})
			byPath[id.Path()] = p
		}
		if len(writes) == 0 {
			continue
		}
		_, skipped, err := fo.Store.PutMany(ctx, writes)
		if err != nil {
			return kept, err
		}
		for _, f := range skipped { // written to meanwhile
			if err := fo.sourceDeleted(ctx, all, byPath[f]); err != nil {
				return kept, fmt.Errorf("%s: %w", byPath[f], err)
			}
			if _, err := fo.Store.Read(f); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fold.ErrNotFound) {
				kept++
			}
		}
		var files []string
		for f := range byPath {
			files = append(files, f)
		}
		slices.Sort(files)
		if _, err := fo.Indexer.Fold(ctx, files, nil); err != nil {
			return kept, err
		}
		for _, p := range byPath { // few that go are else taken for deleted by hand
			if err := fo.notByHand(ctx, p); err != nil {
				return kept, err
			}
		}
	}
	return kept, nil
}
