package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// Memories that no index knows, since only the branch of the remote has them, are told
// beside those that are here: they are few, and known by their files alone.

// ListBesides is List whose first page also has those of besides that q asks for, each
// at its place by the order of the page: half a page of them at most, where there is
// more here than fits. The total counts all.
func (d *Door) ListBesides(ctx context.Context, q wire.ListQuery, besides []*fold.Memory) (wire.MemoryList, error) {
	f, err := filterOf(q)
	if err != nil {
		return wire.MemoryList{}, err
	}
	if q.Cursor != "" {
		return d.list(ctx, f)
	}
	var others []wire.MemoryItem
	for _, m := range besides {
		if isListed(&f, m) {
			others = append(others, d.beside(m))
		}
	}
	slices.SortStableFunc(others, func(a, b wire.MemoryItem) int { return byOrder(&f, a, b) })
	page := f.PageSize()
	f.Limit = page - min(len(others), page/2)
	list, err := d.list(ctx, f)
	if err != nil {
		return list, err
	}
	list.Total += len(others)
	for _, item := range others[:min(len(others), page-len(list.Items))] {
		at := slices.IndexFunc(list.Items, func(i wire.MemoryItem) bool { return byOrder(&f, item, i) < 0 })
		if at < 0 {
			at = len(list.Items)
		}
		list.Items = slices.Insert(list.Items, at, item)
	}
	return list, nil
}

func (d *Door) beside(m *fold.Memory) wire.MemoryItem {
	item := d.item(index.Row{Memory: *m})
	item.Origin = wire.OriginRemote
	return item
}

// isListed reports whether a list by f has m.
func isListed(f *index.Filter, m *fold.Memory) bool {
	lower := strings.ToLower
	tags := strings.Split(lower(strings.Join(m.Tags, "\x00")), "\x00")
	for _, t := range f.Tags {
		if !slices.Contains(tags, lower(t)) {
			return false
		}
	}
	text := lower(strings.Join([]string{m.Title, m.FilePath, m.Path, m.Context}, "\x00"))
	return (f.Source == "" || f.Source == m.Source) && (f.Type == "" || f.Type == m.Type) && (f.Author == "" || f.Author == m.Author) &&
		(f.Q == "" || strings.Contains(text, lower(f.Q))) &&
		!m.CreatedAt.Before(f.CreatedAfter) && (f.CreatedBefore.IsZero() || m.CreatedAt.Before(f.CreatedBefore)) &&
		!m.UpdatedAt.Before(f.UpdatedAfter) && (f.UpdatedBefore.IsZero() || m.UpdatedAt.Before(f.UpdatedBefore))
}

// byOrder compares by where a list by f has a and b.
func byOrder(f *index.Filter, a, b wire.MemoryItem) int {
	order := a.UpdatedAt.Compare(b.UpdatedAt)
	switch f.SortBy {
	case "created_at":
		order = a.CreatedAt.Compare(b.CreatedAt)
	case "title":
		order = strings.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
	}
	if !f.Asc {
		order = -order
	}
	return order
}

// Surround adds to reply, which is about the memory called id, those that written links
// join with it and that no index knows, or, where it is such a one itself, those that
// are here: known says which. Besides are all that no index knows.
func (d *Door) Surround(ctx context.Context, id fold.ID, known bool, besides []*fold.Memory, req wire.ContextRequest, reply *wire.ContextReply) error {
	if req.Limit <= 0 {
		req.Limit = contextDefault
	}
	out, in, err := d.Index.LinksOf(ctx, []fold.ID{id})
	if err != nil {
		return err
	}
	there := map[fold.ID]*fold.Memory{}
	for _, m := range besides {
		there[m.ID] = m
		for _, l := range m.WrittenLinks(nil) {
			if m.ID == id {
				out[id] = append(out[id], l)
			} else if l.To == id {
				in[id] = append(in[id], l)
			}
		}
	}
	var all []step
	var ids []fold.ID
	for _, l := range out[id] {
		all, ids = append(all, step{l.To, id, l, "out"}), append(ids, l.To)
	}
	for _, l := range in[id] {
		all, ids = append(all, step{l.From, id, l, "in"}), append(ids, l.From)
	}
	rows := map[fold.ID]index.Row{}
	if !known {
		if rows, err = d.Index.Memories(ctx, ids); err != nil {
			return err
		}
	}
	seen := map[fold.ID]bool{id: true}
	for _, s := range all {
		var item wire.MemoryItem
		row, here := rows[s.id]
		switch m := there[s.id]; {
		case seen[s.id] || !here && m == nil:
			continue
		case here:
			item = d.item(row)
		default:
			item = d.beside(m)
		}
		seen[s.id] = true
		switch {
		case req.TokenBudget > 0:
			reply.Truncated = true
			reply.Omitted++
		case len(reply.RelatedMemories) >= min(req.Limit, contextMost):
			reply.Truncated = true
		default:
			reply.RelatedMemories = append(reply.RelatedMemories, wire.RelatedMemory{
				MemoryItem: item, Relationship: string(s.link.Type), Direction: s.direction, Depth: 1, Via: string(id), Context: s.link.Context,
			})
		}
	}
	return nil
}
