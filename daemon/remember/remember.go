// Package remember writes memories: everything that a person or an agent adds, changes,
// links or deletes goes through it, from every surface.
//
// A write returns when it cannot be lost (git.md G3): it is checked, scanned for secrets,
// compared with the version that the caller read, and put into the store with the
// write-ahead log. The index follows as for any change on disk.
package remember

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// Limits of what is written (design.md 4).
const (
	MaxTitle    = 100 // runes
	MaxTags     = 6
	MaxKeywords = 15
	MaxContent  = 960 << 10 // bytes; a file is at most 1 MiB with its frontmatter
)

// Options are the parts of a [Service].
type Options struct {
	Slug  string
	Store *gitops.Store
	Index *index.DB
	State *state.DB

	// Describe returns the memory file of a source file that is described in the index
	// only, made from its blob (git.md G2).
	Describe func(ctx context.Context, id fold.ID) ([]byte, error)
	// Keywords returns at most 15 keywords of a text.
	Keywords func(text string) []string
	// AllowSecret records that rule was allowed for the memory id, so that the check
	// before a commit allows it too.
	AllowSecret func(ctx context.Context, id fold.ID, rule string) error
	// Allowed returns the rules that were allowed for the memory id; nil allows none.
	Allowed func(ctx context.Context, id fold.ID) (map[string]bool, error)
	Now     func() time.Time
}

// A Service writes the memories of one checkout. It is safe for concurrent use.
type Service struct{ Options }

// New returns the service of one checkout.
func New(opt Options) *Service {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Service{opt}
}

// Add makes a memory of req and returns when it is durable. If the same text exists, or
// the slug with the same text, it returns that memory; a slug with another text is
// updated.
func (d *Service) Add(ctx context.Context, sc fold.Scope, req wire.MemoryCreate) (wire.WriteReply, error) {
	m, err := d.fromRequest(sc, req)
	if err != nil {
		return wire.WriteReply{}, fmt.Errorf("add memory: %w", err)
	}
	// Checked before the file is made, so that the reported line is one of the text.
	if err := scan([]byte(m.Body), "text", ruleSet(req.AllowSecret)); err != nil {
		return wire.WriteReply{}, fmt.Errorf("add memory: %w", err)
	}
	if req.Slug != "" {
		m.ID = fold.SlugID(d.Slug, req.Slug)
		return d.upsert(ctx, m, req)
	}
	for salt := range 100 {
		m.ID = fold.ContentID(req.Content, salt)
		old, oldBytes, err := d.current(ctx, m.ID)
		switch {
		case errors.Is(err, fold.ErrNotFound):
			return d.create(ctx, m, req)
		case err != nil && !errors.Is(err, fold.ErrQuarantined):
			return wire.WriteReply{}, fmt.Errorf("add memory: %w", err)
		case err == nil && sameText(old, m):
			return d.reply(old, oldBytes, false), nil
		}
	}
	return wire.WriteReply{}, fmt.Errorf("add memory: 100 memories began as this text: %w", fold.ErrConflict)
}

func (d *Service) create(ctx context.Context, m *fold.Memory, req wire.MemoryCreate) (wire.WriteReply, error) {
	links, err := d.newLinks(ctx, m.ID, req.Links)
	if err != nil {
		return wire.WriteReply{}, fmt.Errorf("add memory: %w", err)
	}
	m.Links = links
	m.Path = m.ID.Path()
	if err := d.allow(ctx, m.ID, req.AllowSecret); err != nil {
		return wire.WriteReply{}, err
	}
	b := fold.Encode(m, d.titles(ctx, m.Links))
	if err := d.put(ctx, gitops.Write{ID: m.ID, Path: m.Path, New: b, Reason: reason("Add", m), Author: m.Author}); err != nil {
		return wire.WriteReply{}, fmt.Errorf("add memory %s: %w", m.ID, err)
	}
	return d.reply(m, b, true), nil
}

// upsert adds under a slug: an existing memory with the slug gets the new text.
func (d *Service) upsert(ctx context.Context, m *fold.Memory, req wire.MemoryCreate) (wire.WriteReply, error) {
	for range 3 { // another write may come between the read and the put
		old, b, err := d.current(ctx, m.ID)
		if errors.Is(err, fold.ErrNotFound) {
			reply, err := d.create(ctx, m, req)
			if errors.Is(err, fold.ErrConflict) {
				continue
			}
			return reply, err
		}
		if err != nil {
			return wire.WriteReply{}, fmt.Errorf("add memory under slug %q: %w", req.Slug, err)
		}
		next := *old
		next.Title, next.Aliases, next.Body = m.Title, m.Aliases, m.Body
		if req.Type != "" {
			next.Type = m.Type
		}
		next.Tags = orKeep(m.Tags, old.Tags)
		next.Keywords = orKeep(m.Keywords, old.Keywords)
		if m.Context != "" {
			next.Context = m.Context
		}
		if req.Pinned {
			next.Pinned = true
		}
		links, err := d.newLinks(ctx, m.ID, req.Links)
		if err != nil {
			return wire.WriteReply{}, fmt.Errorf("add memory under slug %q: %w", req.Slug, err)
		}
		next.Links = mergeLinks(old.Links, links)
		if err := d.allow(ctx, m.ID, req.AllowSecret); err != nil {
			return wire.WriteReply{}, err
		}
		reply, err := d.change(ctx, b, old, &next, reason("Update", &next), m.Author)
		if errors.Is(err, fold.ErrConflict) {
			continue
		}
		return reply, err
	}
	return wire.WriteReply{}, fmt.Errorf("add memory under slug %q: it kept changing: %w", req.Slug, fold.ErrConflict)
}

// Update changes the named fields of the memory id. It returns a
// *fold.ConflictError if the caller read another version than is stored.
func (d *Service) Update(ctx context.Context, sc fold.Scope, id fold.ID, req wire.MemoryUpdate) (wire.WriteReply, error) {
	var reply wire.WriteReply
	var err error
	for range 3 { // without an expected version the current one counts, even if others write meanwhile
		reply, err = d.update(ctx, sc, id, req)
		if req.ExpectedHash != "" || !errors.Is(err, fold.ErrConflict) {
			break
		}
	}
	return reply, err
}

func (d *Service) update(ctx context.Context, sc fold.Scope, id fold.ID, req wire.MemoryUpdate) (wire.WriteReply, error) {
	old, b, err := d.materialise(ctx, id)
	if err != nil {
		return wire.WriteReply{}, fmt.Errorf("update memory %s: %w", id, err)
	}
	next, err := d.applied(ctx, old, req)
	if err != nil {
		return wire.WriteReply{}, fmt.Errorf("update memory %s: %w", id, err)
	}
	if have := fold.ContentHash(b); req.ExpectedHash != "" && req.ExpectedHash != have {
		yours, err := fold.Update(b, old, next, d.titles(ctx, next.Links))
		if err != nil {
			yours = nil
		}
		return wire.WriteReply{}, fmt.Errorf("update: %w", &fold.ConflictError{
			ID: id, Want: req.ExpectedHash, Have: have, Current: b, Yours: yours,
		})
	}
	if err := d.allow(ctx, id, req.AllowSecret); err != nil {
		return wire.WriteReply{}, err
	}
	author := sc.Author
	if req.Author != nil {
		author = *req.Author
	}
	return d.change(ctx, b, old, next, reason("Update", next), author)
}

// change replaces old, whose file is b, by next. It writes nothing if they are equal.
func (d *Service) change(ctx context.Context, b []byte, old, next *fold.Memory, why, author string) (wire.WriteReply, error) {
	if next.UpdatedAt.Equal(old.UpdatedAt) {
		next.UpdatedAt = d.stamp()
	}
	probe := *next
	probe.UpdatedAt = old.UpdatedAt
	same, err := fold.Update(b, old, &probe, d.titles(ctx, next.Links))
	if err != nil {
		return wire.WriteReply{}, fmt.Errorf("change memory %s: %w", old.ID, err)
	}
	if string(same) == string(b) {
		return d.reply(old, b, false), nil
	}
	now, err := fold.Update(b, old, next, d.titles(ctx, next.Links))
	if err != nil {
		return wire.WriteReply{}, fmt.Errorf("change memory %s: %w", old.ID, err)
	}
	w := gitops.Write{ID: old.ID, Path: old.Path, Base: b, New: now, Reason: why, Author: author}
	if err := d.put(ctx, w); err != nil {
		return wire.WriteReply{}, fmt.Errorf("change memory %s: %w", old.ID, err)
	}
	return d.reply(next, now, false), nil
}

// Delete removes the memory id. A deleted description is not made again until `foldwatch
// index --full`. It returns fold.ErrNotFound, and fold.ErrInvalid for a memory without a
// file.
func (d *Service) Delete(ctx context.Context, sc fold.Scope, id fold.ID, expectedHash string) (wire.WriteReply, error) {
	m, b, err := d.current(ctx, id)
	if errors.Is(err, fold.ErrNotFound) {
		if row, ierr := d.Index.Memory(ctx, id); ierr == nil && row.Described == "index" {
			return wire.WriteReply{}, fmt.Errorf("delete memory %s: it describes %s and has no file of its own: %w",
				id, row.FilePath, fold.WithHint(fold.ErrInvalid, "exclude the file in fold/project.toml"))
		}
	}
	if err != nil {
		return wire.WriteReply{}, fmt.Errorf("delete memory %s: %w", id, err)
	}
	if have := fold.ContentHash(b); expectedHash != "" && expectedHash != have {
		return wire.WriteReply{}, fmt.Errorf("delete: %w", &fold.ConflictError{ID: id, Want: expectedHash, Have: have, Current: b})
	}
	w := gitops.Write{ID: id, Path: m.Path, Base: b, Reason: reason("Delete", m), Author: sc.Author}
	if err := d.put(ctx, w); err != nil {
		return wire.WriteReply{}, fmt.Errorf("delete memory %s: %w", id, err)
	}
	if m.Source == fold.SourceFile || m.Source == fold.SourceGit {
		// Only now, so that a source whose deletion was refused is still described. That
		// the caller has left changes nothing.
		if err := d.State.SetGone(context.WithoutCancel(ctx), d.Slug, id, true); err != nil {
			return wire.WriteReply{}, fmt.Errorf("memory %s is deleted, but will be described again: %w", id, err)
		}
	}
	reply := d.reply(m, nil, false)
	reply.ContentHash = ""
	return reply, nil
}

// put writes one file. Every write ends here, and none passes with a credential that was
// not allowed.
func (d *Service) put(ctx context.Context, w gitops.Write) error {
	if err := d.check(ctx, w.ID, w.New); err != nil {
		return err
	}
	_, err := d.Store.Put(ctx, w)
	return err
}

// current returns the memory id as it is on disk, with the bytes of its file.
func (d *Service) current(ctx context.Context, id fold.ID) (*fold.Memory, []byte, error) {
	path := id.Path()
	b, err := d.Store.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fold.ErrNotFound) {
		row, ierr := d.Index.Memory(ctx, id) // a note keeps its own path
		if ierr != nil || row.Path == "" || row.Path == path {
			return nil, nil, fmt.Errorf("memory %s: %w", id, fold.ErrNotFound)
		}
		path = row.Path
		if b, err = d.Store.Read(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("memory %s: %w", id, fold.ErrNotFound)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := fold.Decode(d.Slug, path, b)
	return m, b, err
}

// materialise is current, but creates the file of a memory that is described in the index
// only.
func (d *Service) materialise(ctx context.Context, id fold.ID) (*fold.Memory, []byte, error) {
	m, b, err := d.current(ctx, id)
	if !errors.Is(err, fold.ErrNotFound) {
		return m, b, err
	}
	row, ierr := d.Index.Memory(ctx, id)
	if ierr != nil || row.Described != "index" {
		return nil, nil, err
	}
	b, err = d.Describe(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	w := gitops.Write{ID: id, Path: id.Path(), New: b, Described: b}
	if err := d.put(ctx, w); err != nil && !errors.Is(err, fold.ErrConflict) {
		return nil, nil, err
	}
	return d.current(ctx, id)
}

func (d *Service) reply(m *fold.Memory, b []byte, created bool) wire.WriteReply {
	r := wire.WriteReply{
		ID: string(m.ID), Title: m.Title, Created: created, Path: m.Path, Project: d.Slug,
		WriteState: wire.WriteState{Durable: true},
	}
	if b != nil {
		r.ContentHash = fold.ContentHash(b)
	}
	return r
}

func (d *Service) stamp() time.Time { return d.Now().UTC().Truncate(time.Second) }

func (d *Service) allow(ctx context.Context, id fold.ID, rule string) error {
	if rule == "" || d.AllowSecret == nil {
		return nil
	}
	for r := range strings.SplitSeq(rule, ",") {
		if err := d.AllowSecret(ctx, id, r); err != nil {
			return err
		}
	}
	return nil
}

// titles returns the titles for the links in the Related block.
func (d *Service) titles(ctx context.Context, links []fold.Link) func(fold.ID) string {
	ids := make([]fold.ID, 0, len(links))
	for _, l := range links {
		ids = append(ids, l.To)
	}
	names, err := d.Index.Titles(ctx, ids)
	if err != nil {
		names = nil // the titles are optional: the id alone resolves
	}
	return func(id fold.ID) string { return names[id] }
}

// reason returns the subject of the commit with the write (git.md G12).
func reason(verb string, m *fold.Memory) string {
	kind := m.Type
	if kind == "" || kind == "general" {
		kind = "memory"
	}
	return fmt.Sprintf("fold: %s %s %q", verb, kind, m.Title)
}

func orKeep(now, old []string) []string {
	if len(now) == 0 {
		return old
	}
	return now
}

// sameText reports whether two memories say the same below their headings.
func sameText(a, b *fold.Memory) bool {
	return fold.NormalContent(withoutHeading(a.Body)) == fold.NormalContent(withoutHeading(b.Body))
}

func withoutHeading(body string) string {
	if rest, ok := strings.CutPrefix(strings.TrimLeft(body, "\n"), "# "); ok {
		if _, after, ok := strings.Cut(rest, "\n"); ok {
			return after
		}
		return ""
	}
	return body
}

func tooMany(what string, n, limit int) error {
	return fmt.Errorf("%d %s, at most %d are kept: %w", n, what, limit, fold.ErrInvalid)
}

func runes(s string) int { return utf8.RuneCountInString(s) }

func mergeLinks(old, add []fold.Link) []fold.Link {
	out := slices.Clone(old)
	for _, l := range add {
		i := slices.IndexFunc(out, func(o fold.Link) bool { return o.To == l.To && o.Type == l.Type })
		if i < 0 {
			out = append(out, l)
		} else if l.Context != "" {
			out[i].Context = l.Context
		}
	}
	return out
}
