package remember

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxRelinked is how many memories may link to one that is merged into another: all of
// them change in the same commit.
const maxRelinked = 1000

// Seen is a memory as the caller read it: its id, and the content hash of its file.
type Seen struct {
	ID   fold.ID
	Hash string
}

// A Merger is the planned merge of two memories.
type Merger struct {
	Keep, Gone *fold.Memory // as they are
	Subject    string       // of the commit
	// Writes are the changed files: that of Keep first, then those that link to Gone, and
	// Gone's last, which is deleted.
	Writes []gitops.Write
}

// PlanMerge plans how the memory gone is merged into the memory keep. Tags, keywords,
// links and text that only gone has are added to keep, the text under a heading that
// names gone, with all that has no field in keep. Then keep supersedes gone, links of
// other memories to gone lead to keep, and gone is deleted. PlanMerge returns a
// *fold.ConflictError if one of the two is not as the caller read it, and ErrNotFound if
// one does not exist.
func (d *Service) PlanMerge(ctx context.Context, keep, gone Seen) (*Merger, error) {
	if keep.ID == gone.ID {
		return nil, fmt.Errorf("merge memory %s with itself: %w", keep.ID, fold.ErrInvalid)
	}
	k, kb, err := d.current(ctx, keep.ID)
	if err != nil {
		return nil, err
	}
	g, gb, err := d.current(ctx, gone.ID)
	if err != nil {
		return nil, err
	}
	if k.Source != fold.SourceAgent || g.Source != fold.SourceAgent || g.Note {
		return nil, fmt.Errorf("merge %s and %s: only memories that agents and people wrote, and no notes: %w", k.ID, g.ID, fold.ErrInvalid)
	}
	next := absorbed(k, g, fold.ForeignLines(gb))
	next.UpdatedAt = d.stamp()
	now, err := fold.Update(kb, k, next, d.titles(ctx, next.Links))
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		seen Seen
		have []byte
	}{{keep, kb}, {gone, gb}} {
		if have := fold.ContentHash(c.have); have != c.seen.Hash {
			conflict := &fold.ConflictError{ID: c.seen.ID, Want: c.seen.Hash, Have: have, Current: c.have}
			if c.seen.ID == keep.ID {
				conflict.Yours = now
			}
			return nil, conflict
		}
	}
	if len(next.Body) > MaxContent {
		return nil, tooMany("bytes of content", len(next.Body), MaxContent)
	}
	m := &Merger{Keep: k, Gone: g, Subject: fmt.Sprintf("fold: Merge %q into %q", g.Title, k.Title)}
	m.Writes = []gitops.Write{{ID: k.ID, Path: k.Path, Base: kb, New: now, Reason: m.Subject}}
	relinked, err := d.relinked(ctx, g, k.ID)
	if err != nil {
		return nil, err
	}
	m.Writes = append(m.Writes, relinked...)
	m.Writes = append(m.Writes, gitops.Write{ID: g.ID, Path: g.Path, Base: gb, Reason: m.Subject})
	return m, nil
}

// relinked returns the writes that change the written links of other memories from gone
// to keep. A memory that superseded gone still does.
func (d *Service) relinked(ctx context.Context, gone *fold.Memory, keep fold.ID) ([]gitops.Write, error) {
	_, in, err := d.Index.LinksOf(ctx, []fold.ID{gone.ID})
	if err != nil {
		return nil, err
	}
	entry := fold.ResolverEntry{ID: gone.ID, Path: gone.Path, Title: gone.Title, Aliases: gone.Aliases, Foreign: gone.Foreign}
	seen := map[fold.ID]bool{keep: true, gone.ID: true}
	var ws []gitops.Write
	for _, l := range in[gone.ID] {
		if l.Derived || l.Type == fold.LinkSupersedes || seen[l.From] {
			continue
		}
		seen[l.From] = true
		old, b, err := d.current(ctx, l.From)
		if err != nil {
			continue // invalid or deleted: a reader of gone is redirected to keep
		}
		next, ok := fold.Retarget(old, entry, keep)
		if !ok {
			continue
		}
		now, err := fold.Update(b, old, next, d.titles(ctx, next.Links))
		if err != nil {
			return nil, err
		}
		ws = append(ws, gitops.Write{ID: old.ID, Path: old.Path, Base: b, New: now, Reason: reason("Relink", old)})
	}
	if len(ws) > maxRelinked {
		return nil, tooMany("memories that link to "+string(gone.ID), len(ws), maxRelinked)
	}
	return ws, nil
}

// Merge merges the memory gone into keep, see [Service.PlanMerge], in one commit, rev, which
// an undo reverts. All of it is done, or nothing. If it was done before, it returns keep
// as it is now and no commit.
func (d *Service) Merge(ctx context.Context, sc fold.Scope, keep, gone Seen) (reply wire.WriteReply, rev string, err error) {
	if was, b, ok := d.merged(ctx, keep.ID, gone.ID); ok {
		return d.reply(was, b, false), "", nil
	}
	m, err := d.PlanMerge(ctx, keep, gone)
	if err != nil {
		return wire.WriteReply{}, "", fmt.Errorf("merge memory %s into %s: %w", gone.ID, keep.ID, err)
	}
	if err := d.allowAs(ctx, keep.ID, gone.ID); err != nil {
		return wire.WriteReply{}, "", err
	}
	for i := range m.Writes {
		m.Writes[i].Author = sc.Author
		if err := d.check(ctx, m.Writes[i].ID, m.Writes[i].New); err != nil {
			return wire.WriteReply{}, "", fmt.Errorf("merge memory %s into %s: %w", gone.ID, keep.ID, err)
		}
	}
	rev, err = d.Store.PutTogether(ctx, m.Writes, m.Subject)
	if err != nil {
		return wire.WriteReply{}, "", fmt.Errorf("merge memory %s into %s: %w", gone.ID, keep.ID, err)
	}
	reply = d.reply(m.Keep, m.Writes[0].New, false)
	reply.Committed = rev != ""
	return reply, rev, nil
}

// Stands returns the current state of the memory id, as the answer to a write.
func (d *Service) Stands(ctx context.Context, id fold.ID) (wire.WriteReply, error) {
	m, b, err := d.current(ctx, id)
	if err != nil {
		return wire.WriteReply{}, err
	}
	return d.reply(m, b, false), nil
}

// Unchanged returns a *fold.ConflictError if a memory is not as the caller read it.
func (d *Service) Unchanged(ctx context.Context, s Seen) error {
	_, b, err := d.current(ctx, s.ID)
	if err != nil {
		return err
	}
	if have := fold.ContentHash(b); have != s.Hash {
		return &fold.ConflictError{ID: s.ID, Want: s.Hash, Have: have, Current: b}
	}
	return nil
}

// merged reports whether keep already superseded gone, and gone no longer exists.
func (d *Service) merged(ctx context.Context, keep, gone fold.ID) (*fold.Memory, []byte, bool) {
	if _, _, err := d.current(ctx, gone); !errors.Is(err, fold.ErrNotFound) {
		return nil, nil, false
	}
	m, b, err := d.current(ctx, keep)
	if err != nil || !Supersedes(m, gone) {
		return nil, nil, false
	}
	return m, b, true
}

// Supersedes reports whether m has a link that supersedes the memory gone.
func Supersedes(m *fold.Memory, gone fold.ID) bool {
	return slices.ContainsFunc(m.Links, func(l fold.Link) bool { return l.To == gone && l.Type == fold.LinkSupersedes && !l.Derived })
}

// allowAs allows for the memory id the secrets that were allowed for the memory of, whose
// text it gets.
func (d *Service) allowAs(ctx context.Context, id, of fold.ID) error {
	if d.Allowed == nil || d.AllowSecret == nil {
		return nil
	}
	rules, err := d.Allowed(ctx, of)
	if err != nil {
		return err
	}
	for rule := range rules {
		if err := d.AllowSecret(ctx, id, rule); err != nil {
			return err
		}
	}
	return nil
}

// absorbed returns keep with all that gone has. Foreign are the lines of gone's front
// matter that are not ours.
func absorbed(keep, gone *fold.Memory, foreign string) *fold.Memory {
	entry := fold.ResolverEntry{ID: gone.ID, Path: gone.Path, Title: gone.Title, Aliases: gone.Aliases}
	next, _ := fold.Retarget(keep, entry, keep.ID) // a memory that linked to gone may now link to keep twice
	var rest leftover
	next.Aliases = joined(append([]string{}, keep.Aliases...), append([]string{gone.Title}, gone.Aliases...))
	next.Aliases = slices.DeleteFunc(next.Aliases, func(a string) bool {
		return strings.EqualFold(a, keep.Title) && !slices.Contains(keep.Aliases, a)
	})
	next.Tags = rest.list("tags", keep.Tags, gone.Tags, MaxTags)
	next.Keywords = rest.list("keywords", keep.Keywords, gone.Keywords, MaxKeywords)
	for _, f := range []struct {
		name string
		dst  *string
		from string
	}{
		{"type", &next.Type, gone.Type},
		{"author", &next.Author, gone.Author},
		{"context", &next.Context, gone.Context},
		{"file_path", &next.FilePath, gone.FilePath},
		{"language", &next.Language, gone.Language},
		{"original_date", &next.OriginalDate, gone.OriginalDate},
		{"subject", &next.Subject, gone.Subject},
		{"relation", &next.Relation, gone.Relation},
		{"object", &next.Object, gone.Object},
		{"session", &next.Session, gone.Session},
		{"agent", &next.Agent, gone.Agent},
		{"commit", &next.Commit, gone.Commit},
		{"moved_from", &next.MovedFrom, gone.MovedFrom},
		{"layer", &next.Layer, gone.Layer},
	} {
		rest.text(f.name, f.dst, f.from)
	}
	if gone.Slug != "" { // the id of keep does not follow from it
		rest.lines = append(rest.lines, "- slug: "+gone.Slug)
	}
	if !gone.CreatedAt.IsZero() && (next.CreatedAt.IsZero() || gone.CreatedAt.Before(next.CreatedAt)) {
		next.CreatedAt = gone.CreatedAt
	}
	next.Pinned = keep.Pinned || gone.Pinned
	next.Importance = max(keep.Importance, gone.Importance)
	next.Links = rest.links(keep.ID, gone, next.Links)
	for _, n := range gone.ByName {
		if !slices.Contains(next.ByName, n) {
			next.ByName = append(slices.Clone(next.ByName), n)
		}
	}
	if lacking := lackingText(keep, gone); lacking != "" {
		rest.parts = append(rest.parts, lacking)
	}
	if foreign != "" {
		rest.parts = append(rest.parts, "```yaml\n"+strings.TrimRight(foreign, "\n")+"\n```")
	}
	if text := rest.String(); text != "" {
		next.Body = strings.TrimRight(next.Body, "\n") + "\n\n## From “" + gone.Title + "”, which this supersedes\n\n" + text + "\n"
	}
	return next
}

// A leftover is what of a memory no key of the other can hold.
type leftover struct {
	lines []string // of a list
	parts []string // paragraphs behind it
}

// String returns it as markdown, "" if there is none.
func (r *leftover) String() string {
	parts := r.parts
	if len(r.lines) > 0 {
		parts = append([]string{strings.Join(r.lines, "\n")}, parts...)
	}
	return strings.Join(parts, "\n\n")
}

// text takes from over where dst is empty, and keeps it where they differ.
func (r *leftover) text(name string, dst *string, from string) {
	switch {
	case from == "" || *dst == from:
	case *dst == "":
		*dst = from
	default:
		r.lines = append(r.lines, "- "+name+": "+strings.Join(strings.Fields(from), " "))
	}
}

// list returns keep with what only more has, up to most; the rest is kept.
func (r *leftover) list(name string, keep, more []string, most int) []string {
	all := joined(slices.Clone(keep), more)
	if cut := max(most, len(keep)); len(all) > cut {
		r.lines = append(r.lines, "- "+name+": "+strings.Join(all[cut:], ", "))
		all = all[:cut]
	}
	return all
}

// links returns own, the links of the memory keep, with those of gone, and with that
// keep supersedes gone. Of a link that both have the reason of keep stays.
func (r *leftover) links(keep fold.ID, gone *fold.Memory, own []fold.Link) []fold.Link {
	out := slices.DeleteFunc(slices.Clone(own), func(l fold.Link) bool { return l.To == keep || l.To == gone.ID })
	for _, l := range gone.Links {
		if l.To == keep || l.To == gone.ID || l.Derived {
			continue
		}
		l.From = keep
		i := slices.IndexFunc(out, func(o fold.Link) bool { return o.To == l.To && o.Type == l.Type })
		switch {
		case i < 0:
			out = append(out, l)
		case out[i].Context == "":
			out[i].Context = l.Context
		case l.Context != "" && l.Context != out[i].Context:
			r.lines = append(r.lines, fmt.Sprintf("- %s %s: %s", l.Type, fold.LinkTarget(l.To, ""), l.Context))
		}
	}
	return append(out, fold.Link{From: keep, To: gone.ID, Type: fold.LinkSupersedes, Weight: 1})
}

// joined returns list with what only more has, whatever the case.
func joined(list, more []string) []string {
	for _, s := range more {
		if s != "" && !slices.ContainsFunc(list, func(have string) bool { return strings.EqualFold(have, s) }) {
			list = append(list, s)
		}
	}
	return list
}

// lackingText returns the paragraphs of gone that keep does not have, and of a list
// the items. What counts as had stands in keep as a paragraph or as lines of its own,
// with the same words: nothing is taken for said because it is a part of something.
func lackingText(keep, gone *fold.Memory) string {
	had, lines := map[string]bool{}, map[string]bool{}
	for _, b := range paragraphs(keep.Body) {
		had[spaced(b)] = true
		for l := range strings.Lines(b) {
			lines[spaced(l)] = true
		}
	}
	var out []string
	for i, b := range paragraphs(gone.Body) {
		if i == 0 && spaced(b) == spaced("# "+gone.Title) || had[spaced(b)] {
			continue
		}
		var missing []string
		items, code := true, strings.HasPrefix(b, "```") || strings.HasPrefix(b, "~~~")
		for l := range strings.Lines(b) {
			l = strings.TrimRight(l, "\n")
			items = items && listItem(l)
			if !lines[spaced(l)] {
				missing = append(missing, l)
			}
		}
		switch {
		case len(missing) == 0 && !code:
		case items:
			out = append(out, strings.Join(missing, "\n"))
		default:
			out = append(out, b)
		}
	}
	return strings.Join(out, "\n\n")
}

// listItem reports whether a line is an item of a flat list.
func listItem(l string) bool {
	return len(l) > 2 && strings.ContainsRune("-*+", rune(l[0])) && l[1] == ' '
}

// spaced returns s with one blank wherever there is white space.
func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// paragraphs cuts a text at its empty lines, but for those in fenced code. A
// heading on the line above is a paragraph of its own.
func paragraphs(body string) []string {
	var out []string
	var cur []string
	end := func() {
		if len(cur) > 0 {
			out = append(out, strings.Join(cur, "\n"))
		}
		cur = nil
	}
	fence := ""
	for l := range strings.Lines(body) {
		l = strings.TrimRight(l, " \t\r\n")
		mark := strings.TrimLeft(l, " ")
		switch {
		case fence != "":
			cur = append(cur, l)
			if strings.HasPrefix(mark, fence) && strings.Trim(mark, fence[:1]) == "" {
				fence = ""
				end()
			}
		case strings.HasPrefix(mark, "```") || strings.HasPrefix(mark, "~~~"):
			end()
			fence = mark[:len(mark)-len(strings.TrimLeft(mark, mark[:1]))]
			cur = append(cur, l)
		case l == "":
			end()
		case strings.HasPrefix(l, "#"):
			end()
			cur = append(cur, l)
			end()
		default:
			cur = append(cur, l)
		}
	}
	end()
	return out
}
