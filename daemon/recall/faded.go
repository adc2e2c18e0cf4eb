package recall

import (
	"cmp"
	"context"
	"slices"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A FadedMemory is one whose strength has fallen below a threshold.
type FadedMemory struct {
	ID       fold.ID
	Path     string
	Title    string
	Type     string
	Strength float64
	Access   state.Access
	Stats    index.Stats
}

// Faded lists the faded memories among those that agents and people wrote.
type Faded struct {
	Checked int           // how many memories were checked
	Linked  int           // have faded, but a memory that has not links to them
	Items   []FadedMemory // weakest first
}

// Faded returns the memories whose strength is below threshold, a [rank.Strength].
// Only memories count that agents or people wrote through foldwatch: a description
// goes with its file, a commit stays in the history, and a note made by hand belongs to
// its writer. A memory that one above the threshold links to is not returned, so that no
// link is left dangling.
func (s *Service) Faded(ctx context.Context, threshold float64) (Faded, error) {
	var out Faded
	rows := map[fold.ID]*FadedMemory{}
	err := s.Index.EachMemory(ctx, func(r index.Row) error {
		if r.Source != fold.SourceAgent || r.Note || r.Path == "" {
			return nil
		}
		out.Checked++
		if !r.Pinned {
			rows[r.ID] = &FadedMemory{ID: r.ID, Path: r.Path, Title: r.Title, Type: r.Type, Stats: index.Stats{Type: r.Type, Updated: r.UpdatedAt}}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	ids := make([]fold.ID, 0, len(rows))
	for id := range rows {
		ids = append(ids, id)
	}
	access, err := s.State.Access(ctx, s.Slug, ids)
	if err != nil {
		return out, err
	}
	now, own := s.Now(), s.HalfLife()
	for i, id := range ids {
		m := rows[id]
		m.Access = access[i]
		m.Strength = rank.Strength(now, m.Stats.Updated, m.Access.Last, m.Access.Count, halfLifeOf(own, m.Type), false)
		if m.Strength >= threshold {
			delete(rows, id)
		}
	}
	faded := len(rows)
	if err := s.keepLinked(ctx, rows); err != nil {
		return out, err
	}
	out.Linked = faded - len(rows)
	for _, m := range rows {
		out.Items = append(out.Items, *m)
	}
	slices.SortFunc(out.Items, func(a, b FadedMemory) int {
		return cmp.Or(cmp.Compare(a.Strength, b.Strength), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// keepLinked removes from faded each memory that one outside of it links to, and again
// those that the removed ones link to.
func (s *Service) keepLinked(ctx context.Context, faded map[fold.ID]*FadedMemory) error {
	ids := make([]fold.ID, 0, len(faded))
	for id := range faded {
		ids = append(ids, id)
	}
	_, in, err := s.Index.LinksOf(ctx, ids)
	if err != nil {
		return err
	}
	for again := true; again; {
		again = false
		for id, links := range in {
			if faded[id] == nil {
				continue
			}
			if slices.ContainsFunc(links, func(l fold.Link) bool { return !l.Derived && l.From != id && faded[l.From] == nil }) {
				delete(faded, id)
				again = true
			}
		}
	}
	return nil
}
