package tip

import (
	"context"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// follow brings the memory files in step with what changed between two commits.
func (fo *Follower) follow(ctx context.Context, old, t *tree) error {
	changes, err := fo.Repo.DiffTrees(ctx, old.oid, t.oid)
	if err != nil {
		return err
	}
	rules, dir := fo.Selection.Rules(), fo.Selection.FoldDir()
	known, err := fo.describedBlobs(ctx, changes, t)
	if err != nil {
		return err
	}
	for _, c := range changes {
		eligible := rules.Eligible(c.Path, dir)
		switch {
		case c.Status == 'R' && eligible:
			err = fo.sourceMoved(ctx, old, t, c)
		case c.Status == 'R' && rules.Eligible(c.OldPath, dir):
			err = fo.sourceDeleted(ctx, old, c.OldPath) // moved out of sight
		case !eligible:
		case c.Status == 'D':
			err = fo.sourceDeleted(ctx, old, c.Path)
		case c.Status == 'A':
			if err = fo.notByHand(ctx, c.Path); err == nil {
				err = fo.sourceChanged(ctx, old, t, c.Path, known[c.Path])
			}
		default:
			err = fo.sourceChanged(ctx, old, t, c.Path, known[c.Path])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	return nil
}

// describedBlobs returns for each changed path the blobs that occur in its
// history before the tip, of those its memory file may describe.
func (fo *Follower) describedBlobs(ctx context.Context, changes []usergit.TreeChange, t *tree) (map[string]map[string]bool, error) {
	want := map[string][]string{}
	for _, c := range changes {
		if c.Status == 'D' || c.Status == 'R' {
			continue
		}
		m, _, err := fo.onDisk(fold.FileID(fo.Slug, c.Path))
		if err != nil || m == nil || m.SourceBlob == "" || m.SourceBlob == c.NewBlob {
			continue
		}
		want[c.Path] = []string{m.SourceBlob}
	}
	if len(want) == 0 {
		return nil, nil
	}
	return fo.Repo.HasBlobs(ctx, t.oid, want)
}

// sourceChanged describes a file again. What a person wrote stays: the new
// description is merged over our last one.
func (fo *Follower) sourceChanged(ctx context.Context, old, t *tree, p string, known map[string]bool) error {
	id := fold.FileID(fo.Slug, p)
	m, b, err := fo.onDisk(id)
	if err != nil || m == nil {
		return ignoreQuarantined(err) // a gap, filled with the others
	}
	if keptByHand(m, p) {
		return fo.reclaim(ctx, t, p, m, b)
	}
	if m.SourceBlob == t.blobs[p] || !known[m.SourceBlob] {
		return nil // up to date, or made by a machine that has seen more
	}
	base, err := fo.lastDescription(ctx, old, p, m)
	if err != nil || base == nil {
		return err // without our last words a person's cannot be told from them
	}
	return fo.describeOne(ctx, t, p, func(now *fold.Memory) error {
		now.MovedFrom = m.MovedFrom
		b := t.encode(now)
		return fo.put(ctx, gitops.Write{ID: id, Path: id.Path(), Base: base, New: b, Merge: true, Described: b})
	})
}

// sourceDeleted removes the memory file of a file that a commit deleted. One
// that holds a person's words becomes a memory of its own.
func (fo *Follower) sourceDeleted(ctx context.Context, old *tree, p string) error {
	id := fold.FileID(fo.Slug, p)
	m, b, err := fo.onDisk(id)
	if err != nil {
		return ignoreQuarantined(err)
	}
	if m == nil {
		return fo.notByHand(ctx, p)
	}
	byHand, err := fo.handWritten(ctx, old, p, m)
	if err != nil {
		return err
	}
	if !byHand {
		return fo.remove(ctx, p, b)
	}
	next := *m
	next.Type, next.MovedFrom, next.SourceBlob, next.FilePath = "general", p, "", ""
	next.Source = fold.SourceAgent
	now, err := fold.Update(b, m, &next, fo.titleOf(ctx))
	if err != nil {
		return err
	}
	return fo.put(ctx, gitops.Write{ID: id, Path: id.Path(), Base: b, New: now})
}

// sourceMoved describes a renamed file under its new path, with the words and
// links of the old memory, and leads the links of others there. Where that
// cannot be done the old memory is dealt with as that of a deleted file.
func (fo *Follower) sourceMoved(ctx context.Context, old, t *tree, c usergit.TreeChange) error {
	from, to := fold.FileID(fo.Slug, c.OldPath), fold.FileID(fo.Slug, c.Path)
	m, b, err := fo.onDisk(from)
	if err != nil {
		return ignoreQuarantined(err)
	}
	if m == nil {
		return fo.sourceChanged(ctx, old, t, c.Path, nil)
	}
	base, err := fo.lastDescription(ctx, old, c.OldPath, m)
	if err != nil {
		return err
	}
	there := false
	err = fo.describeOne(ctx, t, c.Path, func(now *fold.Memory) error {
		now.MovedFrom = c.OldPath
		moved, err := fo.carried(ctx, base, b, m, now, t)
		if err != nil {
			return err
		}
		err = fo.put(ctx, gitops.Write{ID: to, Path: to.Path(), New: moved, Described: t.encode(now)})
		if there = err == nil; !errors.Is(err, fold.ErrConflict) {
			return err
		}
		byHand, err := fo.handWritten(ctx, old, c.OldPath, m)
		if err != nil {
			return err
		}
		if !byHand {
			moved = nil
		}
		there, err = fo.moveOnto(ctx, t, now, moved)
		return err
	})
	if err != nil {
		return err
	}
	if !there {
		return fo.sourceDeleted(ctx, old, c.OldPath)
	}
	if err := fo.relinkMoved(ctx, m, to); err != nil {
		return err
	}
	err = fo.remove(ctx, c.OldPath, b)
	if errors.Is(err, fold.ErrConflict) { // edited meanwhile, or led on by a link to itself
		return fo.sourceDeleted(ctx, old, c.OldPath)
	}
	return err
}

// carried is the memory of a moved file: the old one, hand-written parts
// included, brought to the new description.
func (fo *Follower) carried(ctx context.Context, base, ours []byte, m, now *fold.Memory, t *tree) ([]byte, error) {
	theirs := *now
	theirs.ID, theirs.Path = m.ID, m.Path
	both, err := fo.merge3(m.Path, base, ours, t.encode(&theirs))
	if err != nil {
		return nil, err
	}
	merged, err := fold.Decode(fo.Slug, m.Path, both)
	if err != nil {
		return nil, err
	}
	next := *merged
	next.ID, next.Path = now.ID, now.Path
	next.FilePath, next.SourceBlob, next.MovedFrom = now.FilePath, now.SourceBlob, now.MovedFrom
	next.Links = nil
	for _, l := range merged.Links {
		if l.From = now.ID; l.To != now.ID {
			next.Links = append(next.Links, l)
		}
	}
	return fold.Update(both, merged, &next, fo.titleOf(ctx))
}

// relinkMoved leads the written links to was to the memory to.
func (fo *Follower) relinkMoved(ctx context.Context, was *fold.Memory, to fold.ID) error {
	_, links, err := fo.index.LinksOf(ctx, []fold.ID{was.ID})
	if err != nil {
		return err
	}
	entry := fold.ResolverEntry{ID: was.ID, Path: was.Path, Title: was.Title, Aliases: was.Aliases}
	seen := map[fold.ID]bool{was.ID: true, to: true}
	for _, l := range links[was.ID] {
		if l.Derived || seen[l.From] {
			continue
		}
		seen[l.From] = true
		m, b, err := fo.onDisk(l.From)
		if err != nil || m == nil {
			continue // its link dangles, as it would in any editor
		}
		next, ok := fold.Retarget(m, entry, to)
		if !ok {
			continue
		}
		now, err := fold.Update(b, m, next, fo.titleOf(ctx))
		if err != nil {
			continue
		}
		w := gitops.Write{ID: m.ID, Path: m.Path, Base: b, New: now}
		if w.Described, err = fo.relinkKept(ctx, m, entry, to); err != nil {
			return err
		}
		if err := fo.put(ctx, w); err != nil && !errors.Is(err, fold.ErrConflict) {
			return err
		}
	}
	return nil
}

// relinkKept is our last description of what m describes with its links led to
// the memory to, nil if there is none that has such links: that they moved is
// not a person's edit.
func (fo *Follower) relinkKept(ctx context.Context, m *fold.Memory, entry fold.ResolverEntry, to fold.ID) ([]byte, error) {
	if m.Source != fold.SourceFile {
		return nil, nil
	}
	kept, err := fo.keptDescription(ctx, m)
	if err != nil || kept == nil {
		return nil, err
	}
	was, err := fold.Decode(fo.Slug, m.Path, kept)
	if err != nil {
		return nil, ignoreQuarantined(err)
	}
	next, ok := fold.Retarget(was, entry, to)
	if !ok {
		return nil, nil
	}
	b, err := fold.Update(kept, was, next, fo.titleOf(ctx))
	if errors.Is(err, fold.ErrInvalid) {
		return nil, nil // the links then count as a person's
	}
	return b, ignoreQuarantined(err)
}
