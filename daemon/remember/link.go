package remember

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

var linkWord = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// newLinks checks the links of a request: their types are single words, and their targets
// exist.
func (d *Service) newLinks(ctx context.Context, from fold.ID, asked []wire.NewLink) ([]fold.Link, error) {
	var out []fold.Link
	for _, a := range asked {
		l, err := d.newLink(ctx, from, a)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

func (d *Service) newLink(ctx context.Context, from fold.ID, a wire.NewLink) (fold.Link, error) {
	if a.Type == "" {
		a.Type = string(fold.LinkRelated)
	}
	if !linkWord.MatchString(a.Type) {
		return fold.Link{}, fmt.Errorf("link type %.40q is not one word of a-z, 0-9, _ and -: %w", a.Type, fold.ErrInvalid)
	}
	to, err := fold.ParseID(a.Target)
	if err != nil {
		return fold.Link{}, fmt.Errorf("link target: %w", err)
	}
	if to == from {
		return fold.Link{}, fmt.Errorf("memory %s cannot link to itself: %w", from, fold.ErrInvalid)
	}
	if _, _, err := d.current(ctx, to); err != nil {
		if _, ierr := d.Index.Memory(ctx, to); ierr != nil {
			return fold.Link{}, fmt.Errorf("link target %s: %w", to, ierr)
		}
	}
	return fold.Link{From: from, To: to, Type: fold.LinkType(a.Type), Context: a.Context, Weight: 1}, nil
}

// AddLink writes a link into the memory id and returns it.
func (d *Service) AddLink(ctx context.Context, sc fold.Scope, id fold.ID, req wire.LinkCreate) (wire.Link, error) {
	for range 3 {
		old, b, err := d.materialise(ctx, id)
		if err != nil {
			return wire.Link{}, fmt.Errorf("link memory %s: %w", id, err)
		}
		l, err := d.newLink(ctx, id, wire.NewLink{Target: req.TargetID, Type: req.Type, Context: req.Context})
		if err != nil {
			return wire.Link{}, fmt.Errorf("link memory %s: %w", id, err)
		}
		next := *old
		next.Links = mergeLinks(old.Links, []fold.Link{l})
		_, err = d.change(ctx, b, old, &next, reason("Link", old), sc.Author)
		if isConflict(err) {
			continue
		}
		if err != nil {
			return wire.Link{}, err
		}
		return wire.Link{
			ID: l.ID(), SourceID: string(l.From), TargetID: string(l.To), Type: string(l.Type), Context: l.Context,
			Direction: "out", Title: d.titles(ctx, []fold.Link{l})(l.To), Weight: 1,
		}, nil
	}
	return wire.Link{}, fmt.Errorf("link memory %s: it kept changing: %w", id, fold.ErrConflict)
}

// RemoveLink removes the written link with that id from its memory. Links that are
// derived, or written in the text, cannot be removed this way.
func (d *Service) RemoveLink(ctx context.Context, sc fold.Scope, linkID string) error {
	if fold.IsAlikeID(linkID) {
		return fmt.Errorf("remove link %.40s: this link is derived, made from what the texts share; it goes when they differ: %w", linkID, fold.ErrInvalid)
	}
	l, err := d.Index.LinkByID(ctx, linkID)
	if err != nil {
		return fmt.Errorf("remove link: %w", err)
	}
	if l.Derived {
		return fmt.Errorf("remove link %s: it is derived (%s), not written: %w", linkID, l.Evidence, fold.ErrInvalid)
	}
	for range 3 {
		old, b, err := d.current(ctx, l.From)
		if err != nil {
			return fmt.Errorf("remove link %s: %w", linkID, err)
		}
		next := *old
		next.Links = slices.DeleteFunc(slices.Clone(old.Links), func(o fold.Link) bool { return o.To == l.To && o.Type == l.Type })
		if len(next.Links) == len(old.Links) {
			return fmt.Errorf("remove link %s: it stands in the text of memory %s; edit the text: %w", linkID, l.From, fold.ErrInvalid)
		}
		_, err = d.change(ctx, b, old, &next, reason("Unlink", old), sc.Author)
		if isConflict(err) {
			continue
		}
		return err
	}
	return fmt.Errorf("remove link %s: its memory kept changing: %w", linkID, fold.ErrConflict)
}

// Adopt gives notes that people wrote an id and a path of their own, and rewrites the
// links that name them by their old paths. Notes that are adopted already are left out of
// the answer.
func (d *Service) Adopt(ctx context.Context, sc fold.Scope, ids []fold.ID) (wire.Adopted, error) {
	out := wire.Adopted{Moved: []wire.AdoptedNote{}}
	for _, id := range ids {
		moved, err := d.adopt(ctx, sc, id)
		if err != nil {
			return out, fmt.Errorf("adopt %s: %w", id, err)
		}
		if moved != nil {
			out.Moved = append(out.Moved, *moved)
		}
	}
	return out, nil
}

func (d *Service) adopt(ctx context.Context, sc fold.Scope, id fold.ID) (*wire.AdoptedNote, error) {
	m, b, err := d.current(ctx, id)
	if err != nil {
		return nil, err
	}
	if !m.Note {
		return nil, nil
	}
	next := *m
	next.Note, next.Foreign = false, ""
	next.ID = d.freeID(ctx, m)
	next.Path = next.ID.Path()
	next.MovedFrom = m.Path
	if next.CreatedAt.IsZero() {
		next.CreatedAt = d.stamp()
	}
	next.UpdatedAt = d.stamp()
	for i := range next.Links {
		next.Links[i].From = next.ID
	}
	was := *m
	was.Title, was.Aliases = "", nil // what may only stand in the file's name has to be written now
	if len(next.Aliases) == 0 {
		next.Aliases = []string{m.Title}
	}
	now, err := fold.Update(b, &was, &next, d.titles(ctx, next.Links))
	if err != nil {
		return nil, err
	}
	if err := d.put(ctx, gitops.Write{ID: next.ID, Path: next.Path, New: now, Reason: reason("Adopt", m), Author: sc.Author}); err != nil {
		return nil, err
	}
	if err := d.relink(ctx, sc, m, &next); err != nil {
		return nil, err
	}
	if err := d.put(ctx, gitops.Write{ID: id, Path: m.Path, Base: b, Reason: reason("Adopt", m), Author: sc.Author}); err != nil {
		return nil, err
	}
	return &wire.AdoptedNote{OldID: string(id), NewID: string(next.ID), From: m.Path, To: next.Path}, nil
}

func (d *Service) freeID(ctx context.Context, m *fold.Memory) fold.ID {
	for salt := 0; ; salt++ {
		id := fold.ContentID(m.Body, salt)
		if _, _, err := d.current(ctx, id); err != nil {
			return id
		}
	}
}

// relink rewrites the links to the note in other memories, from its old path or file name
// to its new path.
func (d *Service) relink(ctx context.Context, sc fold.Scope, note, now *fold.Memory) error {
	_, in, err := d.Index.LinksOf(ctx, []fold.ID{note.ID})
	if err != nil {
		return err
	}
	entry := fold.ResolverEntry{ID: note.ID, Path: note.Path, Title: note.Title, Aliases: note.Aliases, Foreign: note.Foreign}
	seen := map[fold.ID]bool{}
	for _, l := range in[note.ID] {
		if l.Derived || seen[l.From] {
			continue
		}
		seen[l.From] = true
		old, b, err := d.current(ctx, l.From)
		if err != nil {
			continue // invalid or deleted: its link dangles
		}
		next, ok := fold.Retarget(old, entry, now.ID)
		if !ok {
			continue
		}
		if _, err := d.change(ctx, b, old, next, reason("Relink", old), sc.Author); err != nil {
			return err
		}
	}
	return nil
}
