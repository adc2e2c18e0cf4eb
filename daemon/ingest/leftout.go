package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// ruledNote names the rules that memory files were last brought in step with.
const ruledNote = "memory files by rules"

// owesRules reports whether memory files are still to be brought in step with
// what is left out now. That waits while another branch than the described one is
// checked out: its rules are not those of what is described.
func (in *Ingester) owesRules(ctx context.Context) (bool, error) {
	sum := in.rulesSum()
	if in.ruled == sum {
		return false, nil
	}
	was, err := in.State.Note(ctx, in.Key, ruledNote)
	if err != nil {
		return false, err
	}
	if was == sum {
		in.ruled = sum
		return false, nil
	}
	if in.root == nil || in.Describe == "worktree" {
		return true, nil
	}
	name, oid, err := in.branch.Default(ctx)
	if err != nil || oid == "" || name == "" {
		return err == nil, err
	}
	return in.Repo.OnBranch(ctx, name)
}

// followRules brings the memory files in step with which files are left out:
// those of files that are goes, as with a file that is deleted, and what was kept
// of one that is taken in again becomes its description. It returns how many
// memories were kept for the words in them. It does so once after the rules
// changed: what is restored later stays.
func (in *Ingester) followRules(ctx context.Context, t *tree) (kept int, err error) {
	owed, err := in.owesRules(ctx)
	if err != nil || !owed {
		return 0, err
	}
	sum := in.rulesSum()
	described, aside, err := in.Index.DescribedPaths(ctx)
	if err != nil {
		return 0, err
	}
	all, err := in.wholeTree(ctx, t)
	if err != nil {
		return 0, err
	}
	var out []string
	rules, dir := in.Rules(), in.Selection.FoldDir()
	for id, p := range described {
		if id == fold.FileID(in.Slug, p) && !rules.Eligible(p, dir) && in.stillThere(all, p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	if kept, err = in.leaveOut(ctx, all, out); err != nil {
		return kept, err
	}
	for id, p := range aside {
		if _, ok := t.blobs[p]; !ok || id != fold.FileID(in.Slug, p) {
			continue
		}
		m, b, err := in.onDisk(id)
		if err == nil && m != nil && keptByHand(m, p) {
			err = in.reclaim(ctx, t, p, m, b)
		}
		if err := ignoreQuarantined(err); err != nil {
			return kept, fmt.Errorf("%s: %w", p, err)
		}
	}
	in.ruled = sum
	return kept, in.State.SetNote(ctx, in.Key, ruledNote, sum)
}

// wholeTree is t with what is left out.
func (in *Ingester) wholeTree(ctx context.Context, t *tree) (*tree, error) {
	if t.oid == "" {
		return t, nil
	}
	return in.committed(ctx, t.oid)
}

// stillThere reports whether a source file is left out rather than deleted: that
// is for others to follow.
func (in *Ingester) stillThere(all *tree, p string) bool {
	if all.oid != "" {
		_, ok := all.blobs[p]
		return ok
	}
	there, _ := in.Stands(p)
	return there
}

// leaveOut removes the memory files of source files that are left out, and keeps
// those that hold a person's words as memories of their own: it returns how many.
func (in *Ingester) leaveOut(ctx context.Context, all *tree, paths []string) (kept int, err error) {
	for part := range slices.Chunk(paths, describeBatch) {
		var writes []gitops.Write
		byPath := map[string]string{} // source by memory file
		for _, p := range part {
			id := fold.FileID(in.Slug, p)
			m, b, err := in.onDisk(id)
			if err = ignoreQuarantined(err); err != nil {
				return kept, fmt.Errorf("%s: %w", p, err)
			}
			if m == nil {
				continue
			}
			byHand, err := in.handWritten(ctx, all, p, m)
			if err != nil {
				return kept, fmt.Errorf("%s: %w", p, err)
			}
			if byHand {
				if err := in.sourceDeleted(ctx, all, p); err != nil {
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
		_, skipped, err := in.Store.PutMany(ctx, writes)
		if err != nil {
			return kept, err
		}
		for _, f := range skipped { // written to meanwhile
			if err := in.sourceDeleted(ctx, all, byPath[f]); err != nil {
				return kept, fmt.Errorf("%s: %w", byPath[f], err)
			}
			if _, err := in.Store.Read(f); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fold.ErrNotFound) {
				kept++
			}
		}
		var files []string
		for f := range byPath {
			files = append(files, f)
		}
		slices.Sort(files)
		if _, err := in.Fold(ctx, files, nil); err != nil {
			return kept, err
		}
		for _, p := range byPath { // few that go are else taken for deleted by hand
			if err := in.notByHand(ctx, p); err != nil {
				return kept, err
			}
		}
	}
	return kept, nil
}
