package apitest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// AddMemory stores a memory under the id that its text gives. Text with the
// word AKIA in it is refused as a secret.
func (d *Fake) AddMemory(_ context.Context, sc fold.Scope, slug string, in wire.MemoryCreate) (wire.WriteReply, error) {
	h, unlock, err := d.open("AddMemory", sc, slug)
	defer unlock()
	if err != nil {
		return wire.WriteReply{}, err
	}
	return d.put(h, in)
}

func (d *Fake) put(h *held, in wire.MemoryCreate) (wire.WriteReply, error) {
	if strings.Contains(in.Content, "AKIA") {
		return wire.WriteReply{}, fold.WithHint(fmt.Errorf("line 1 holds a credential (rule aws-access-token): %w", fold.ErrSecret), "pass allow_secret: aws-access-token")
	}
	slug := h.project.Slug
	id := fold.ContentID(in.Content, 0)
	if in.Slug != "" {
		id = fold.SlugID(slug, in.Slug)
	}
	old, had := h.memories[string(id)]
	m := wire.Memory{
		ID: string(id), Title: cmp.Or(in.Title, title(in.Content)), Type: cmp.Or(in.Type, "general"), Source: cmp.Or(in.Source, "agent"),
		Author: in.Author, Slug: in.Slug, Tags: in.Tags, Keywords: in.Keywords, Context: in.Context, FilePath: in.FilePath, Pinned: in.Pinned,
		Importance: in.Importance, CreatedAt: d.now, UpdatedAt: d.now, Content: in.Content, ContentHash: fold.ContentHash([]byte(in.Content)),
		Path: id.Path(), Described: "fold", Project: slug, State: wire.WriteState{Durable: true, Indexed: true},
	}
	if had {
		m.CreatedAt = old.CreatedAt
	}
	h.memories[m.ID] = m
	for _, l := range in.Links {
		d.link(h, m.ID, wire.LinkCreate{TargetID: l.Target, Type: l.Type, Context: l.Context})
	}
	d.emit("memory:changed", slug, map[string]any{"id": m.ID})
	return reply(m, !had), nil
}

// GetMemory returns a memory and counts the use.
func (d *Fake) GetMemory(_ context.Context, sc fold.Scope, slug, id string) (wire.Memory, error) {
	h, unlock, err := d.open("GetMemory", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Memory{}, err
	}
	m, err := h.memory(id)
	if err != nil {
		return wire.Memory{}, err
	}
	m.RetrievalCount++
	h.memories[m.ID] = m
	return h.full(m), nil
}

func item(m wire.Memory) wire.MemoryItem {
	return wire.MemoryItem{
		ID: m.ID, Title: m.Title, Type: m.Type, Source: m.Source, Author: m.Author, Tags: m.Tags, FilePath: m.FilePath, Path: m.Path,
		Snippet: title(m.Content), CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Project: m.Project,
	}
}

func (h *held) sorted() []wire.Memory {
	return slices.SortedFunc(maps.Values(h.memories), func(a, b wire.Memory) int { return cmp.Compare(a.ID, b.ID) })
}

// ListMemories lists by id; the cursor is an offset.
func (d *Fake) ListMemories(_ context.Context, sc fold.Scope, slug string, in wire.ListQuery) (wire.MemoryList, error) {
	h, unlock, err := d.open("ListMemories", sc, slug)
	defer unlock()
	if err != nil {
		return wire.MemoryList{}, err
	}
	var all []wire.MemoryItem
	for _, m := range h.sorted() {
		if (in.Source == "" || m.Source == in.Source) && (in.Type == "" || m.Type == in.Type) && strings.Contains(m.Title, in.Q) &&
			!slices.ContainsFunc(in.Tags, func(t string) bool { return !slices.Contains(m.Tags, t) }) {
			all = append(all, item(m))
		}
	}
	from, err := strconv.Atoi(cmp.Or(in.Cursor, "0"))
	if err != nil || from > len(all) || from < 0 {
		return wire.MemoryList{}, fmt.Errorf("cursor %q: %w", in.Cursor, fold.ErrInvalid)
	}
	out := wire.MemoryList{Total: len(all), Items: all[from:]}
	if limit := cmp.Or(in.Limit, 20); len(out.Items) > limit {
		out.Items, out.NextCursor = out.Items[:limit], strconv.Itoa(from+limit)
	}
	return out, nil
}

// UpdateMemory changes the text of a memory.
func (d *Fake) UpdateMemory(_ context.Context, sc fold.Scope, slug, id string, in wire.MemoryUpdate) (wire.WriteReply, error) {
	h, unlock, err := d.open("UpdateMemory", sc, slug)
	defer unlock()
	if err != nil {
		return wire.WriteReply{}, err
	}
	m, err := h.memory(id)
	if err != nil {
		return wire.WriteReply{}, err
	}
	text := m.Content
	if in.Content != nil {
		text = *in.Content
	}
	if in.Replace != nil {
		if !strings.Contains(text, in.Replace.Old) {
			return wire.WriteReply{}, fmt.Errorf("replace: the old text does not occur: %w", fold.ErrInvalid)
		}
		text = strings.Replace(text, in.Replace.Old, in.Replace.New, 1)
	}
	text = in.Prepend + text + in.Append
	if in.ExpectedHash != "" && in.ExpectedHash != m.ContentHash {
		return wire.WriteReply{}, &fold.ConflictError{ID: fold.ID(m.ID), Want: in.ExpectedHash, Have: m.ContentHash, Current: []byte(m.Content), Yours: []byte(text)}
	}
	if in.Title != nil {
		m.Title = *in.Title
	}
	if in.Tags != nil {
		m.Tags = *in.Tags
	}
	m.Content, m.ContentHash = text, fold.ContentHash([]byte(text))
	h.memories[m.ID] = m
	d.emit("memory:changed", slug, map[string]any{"id": m.ID})
	return reply(m, false), nil
}

// DeleteMemory removes a memory and its links.
func (d *Fake) DeleteMemory(_ context.Context, sc fold.Scope, slug, id, expectedHash string) (wire.WriteReply, error) {
	h, unlock, err := d.open("DeleteMemory", sc, slug)
	defer unlock()
	if err != nil {
		return wire.WriteReply{}, err
	}
	m, err := h.memory(id)
	if err != nil {
		return wire.WriteReply{}, err
	}
	if expectedHash != "" && expectedHash != m.ContentHash {
		return wire.WriteReply{}, &fold.ConflictError{ID: fold.ID(m.ID), Want: expectedHash, Have: m.ContentHash, Current: []byte(m.Content)}
	}
	delete(h.memories, m.ID)
	maps.DeleteFunc(h.links, func(_ string, l wire.Link) bool { return l.SourceID == m.ID })
	d.emit("memory:deleted", slug, map[string]any{"id": m.ID})
	return reply(m, false), nil
}

// MemorySource returns lines of a text of ten.
func (d *Fake) MemorySource(_ context.Context, sc fold.Scope, slug, id string, start, end int) (wire.SourceText, error) {
	h, unlock, err := d.open("MemorySource", sc, slug)
	defer unlock()
	if err != nil {
		return wire.SourceText{}, err
	}
	m, err := h.memory(id)
	if err != nil {
		return wire.SourceText{}, err
	}
	start, end = max(start, 1), min(cmp.Or(end, 10), 10)
	var b strings.Builder
	for n := start; n <= end; n++ {
		fmt.Fprintf(&b, "line %d\n", n)
	}
	return wire.SourceText{ID: m.ID, FilePath: m.FilePath, StartLine: start, EndLine: end, Content: b.String()}, nil
}

// Adopt moves nothing, as there are no notes here.
func (d *Fake) Adopt(_ context.Context, sc fold.Scope, slug string, in wire.Adopt) (wire.Adopted, error) {
	_, unlock, err := d.open("Adopt", sc, slug)
	defer unlock()
	if err == nil && !in.All && len(in.IDs) == 0 {
		err = fmt.Errorf("adopt: neither ids nor all: %w", fold.ErrInvalid)
	}
	return wire.Adopted{}, err
}

// RemoveMissing confirms the ids it is given.
func (d *Fake) RemoveMissing(_ context.Context, sc fold.Scope, slug string, in wire.RemoveMissing) (wire.RemovedMissing, error) {
	_, unlock, err := d.open("RemoveMissing", sc, slug)
	defer unlock()
	return wire.RemovedMissing{Removed: in.IDs}, err
}

// Links returns the links of a memory in both directions.
func (d *Fake) Links(_ context.Context, sc fold.Scope, slug, id string) (wire.LinkList, error) {
	h, unlock, err := d.open("Links", sc, slug)
	defer unlock()
	if err != nil {
		return wire.LinkList{}, err
	}
	m, err := h.memory(id)
	if err != nil {
		return wire.LinkList{}, err
	}
	m = h.full(m)
	return wire.LinkList{Items: append(m.Links, m.Backlinks...)}, nil
}

func (d *Fake) link(h *held, from string, in wire.LinkCreate) wire.Link {
	l := fold.Link{From: fold.ID(from), To: fold.ID(in.TargetID), Type: fold.LinkType(cmp.Or(in.Type, "related"))}
	out := wire.Link{ID: l.ID(), SourceID: from, TargetID: in.TargetID, Type: string(l.Type), Context: in.Context, Direction: "out"}
	h.links[out.ID] = out
	return out
}

// AddLink links two memories that exist.
func (d *Fake) AddLink(_ context.Context, sc fold.Scope, slug, id string, in wire.LinkCreate) (wire.Link, error) {
	h, unlock, err := d.open("AddLink", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Link{}, err
	}
	for _, end := range []string{id, in.TargetID} {
		if _, err := h.memory(end); err != nil {
			return wire.Link{}, err
		}
	}
	return d.link(h, id, in), nil
}

// RemoveLink removes a link by its id.
func (d *Fake) RemoveLink(_ context.Context, sc fold.Scope, slug, linkID string) error {
	h, unlock, err := d.open("RemoveLink", sc, slug)
	defer unlock()
	if err != nil {
		return err
	}
	if _, ok := h.links[linkID]; !ok {
		return fmt.Errorf("link %s: %w", linkID, fold.ErrNotFound)
	}
	delete(h.links, linkID)
	return nil
}

// Upload adds one memory a file.
func (d *Fake) Upload(_ context.Context, sc fold.Scope, slug string, in wire.FilesUpload) (wire.FilesUploaded, error) {
	h, unlock, err := d.open("Upload", sc, slug)
	defer unlock()
	if err != nil {
		return wire.FilesUploaded{}, err
	}
	var out wire.FilesUploaded
	for _, f := range in.Files {
		res := wire.UploadResult{Path: f.Path}
		if res.WriteReply, err = d.put(h, wire.MemoryCreate{Content: f.Content, Slug: "upload:" + f.Path, Author: in.Author}); err != nil {
			res.Error = err.Error()
		}
		out.Results = append(out.Results, res)
	}
	return out, nil
}
